-- Statistics by the minute, folded from the records off the writer. They are derived: whoever empties all three tables gets
-- them again, as far as the history goes.
CREATE TABLE rollups (
    minute INTEGER NOT NULL,  -- since 1970
    queue  TEXT    NOT NULL,
    family TEXT    NOT NULL,
    body   TEXT    NOT NULL,  -- JSON, as in kernel/rollup.rs
    PRIMARY KEY (minute, queue, family)
) STRICT, WITHOUT ROWID;

-- The last attempts that failed, of each queue and family; what they failed of is in their records.
CREATE TABLE rollup_failures (
    queue  TEXT    NOT NULL,
    family TEXT    NOT NULL,
    seq    INTEGER NOT NULL,  -- records.seq
    at     INTEGER NOT NULL,
    PRIMARY KEY (queue, family, seq)
) STRICT, WITHOUT ROWID;

-- How far the records are folded, and those of tasks that were deleted before they were.
CREATE TABLE rollup_cursor (
    id      INTEGER PRIMARY KEY CHECK (id = 0),
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    lost    INTEGER NOT NULL,
    lost_at INTEGER NOT NULL
) STRICT;

INSERT INTO rollup_cursor VALUES (0, 0, 0, 0, 0);
