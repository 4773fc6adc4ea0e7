-- A bulk over runs tells of the first that it left as they were; its cursor, `after`, is a run.
ALTER TABLE bulks ADD COLUMN refused TEXT; -- JSON
