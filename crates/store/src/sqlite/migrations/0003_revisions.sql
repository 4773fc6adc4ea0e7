-- Runs that are patched, restarted and forked.

ALTER TABLE runs ADD COLUMN origin TEXT;  -- JSON, the run it was forked from
ALTER TABLE runs ADD COLUMN patches TEXT; -- JSON, records.seq of the records with its texts, in order
ALTER TABLE frames ADD COLUMN revision INTEGER NOT NULL DEFAULT 0; -- which of these it follows; 0 is its version's own
ALTER TABLE nodes ADD COLUMN generation INTEGER; -- turns and items of earlier ones, of a loop beyond its count, are undone
