-- What a patch of a run needs to know of it: whose deadline is whose, and whether all that is under way was looked at.
ALTER TABLE runs ADD COLUMN asked_ms INTEGER;  -- how long whoever started it gave it
ALTER TABLE runs ADD COLUMN opened_at INTEGER; -- when it last went on after an end
ALTER TABLE runs ADD COLUMN following INTEGER; -- 1: not all turns and items under way have been looked at since the last patch
