-- Nodes that wait for events.

ALTER TABLE nodes ADD COLUMN awaiting TEXT;  -- JSON, which event and what is asked of it
ALTER TABLE runs ADD COLUMN event INTEGER;   -- events.id of the event it was started for
ALTER TABLE shards ADD COLUMN behind INTEGER; -- events.id: not all who wait have seen what came after it
