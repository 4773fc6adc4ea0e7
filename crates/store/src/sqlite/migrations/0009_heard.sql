-- Events that runs waited for.

ALTER TABLE events ADD COLUMN heard TEXT;  -- JSON, the first runs that went on with it
