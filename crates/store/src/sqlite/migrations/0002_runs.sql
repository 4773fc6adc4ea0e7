-- Workflows and their runs. Columns are those of kernel/row/runs.rs, in the same order. Frames and nodes lie beside those
-- of the same run, so that a run is read and deleted in one place.

CREATE TABLE workflows (
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL,
    "last"  INTEGER NOT NULL,
    put_at  INTEGER NOT NULL,
    put_by  TEXT    NOT NULL,
    text    TEXT    NOT NULL,
    disabled TEXT,                     -- JSON while no new runs start; that of the newest version counts
    PRIMARY KEY (name, version)
) STRICT;

CREATE TABLE runs (
    id              INTEGER PRIMARY KEY,
    "last"          INTEGER NOT NULL,
    status          TEXT    NOT NULL,  -- running, done, failed, cancelled
    live            INTEGER,           -- 1 while it is in memory, else null
    deleting        TEXT,              -- JSON, who asked for it
    workflow        TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    generation      INTEGER NOT NULL,
    priority        INTEGER,           -- head start in seconds
    tags            TEXT,              -- JSON, a list
    idempotency_key TEXT,
    parent          TEXT,              -- JSON, the node that called it
    depth           INTEGER NOT NULL,  -- how many runs called one another down to it
    deadline        INTEGER,
    input           INTEGER NOT NULL,  -- records.seq of the record with its input
    output          TEXT,              -- r17 is the payload of record 17, r17[4] an item of it
    error_code      TEXT,
    error_message   TEXT,
    pause           TEXT,              -- JSON while paused in its own right
    held            INTEGER,           -- 1 while the run that called it is paused
    caller_pause    INTEGER,           -- the last pause of that run it heard of
    pauses          INTEGER NOT NULL,  -- how often it was paused, one way or the other
    telling         INTEGER,           -- 1 while not all that it works on has heard of that, or of its end
    again           INTEGER NOT NULL,  -- how often it was tried again
    given_ms        INTEGER,           -- how long it was given
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER
) STRICT;

CREATE INDEX runs_live ON runs (id) WHERE live = 1;
CREATE INDEX runs_idempotency ON runs (workflow, idempotency_key, id) WHERE idempotency_key IS NOT NULL;
-- With all that is asked for when the youngest are counted, so that no row is read for it.
CREATE INDEX runs_ended ON runs (ended_at, id, deleting, parent) WHERE ended_at IS NOT NULL AND deleting IS NULL AND parent IS NULL;

-- Walks through the body of a loop or an each; a run's own frame has no row.
CREATE TABLE frames (
    run    INTEGER NOT NULL,
    path   TEXT    NOT NULL,  -- rounds[1].check[0]
    "last" INTEGER NOT NULL,
    status TEXT    NOT NULL,  -- open, done, failed, dropped
    output TEXT,
    PRIMARY KEY (run, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
    run           INTEGER NOT NULL,
    frame         TEXT    NOT NULL,  -- empty for the run's own
    node          TEXT    NOT NULL,
    "last"        INTEGER NOT NULL,
    entered       INTEGER NOT NULL,  -- records.seq of the record by which it stopped waiting
    status        TEXT    NOT NULL,  -- waiting, started, done, failed, skipped, cancelled
    work          TEXT,              -- working, calling, asking, sleeping, turning, spreading: what it is or was at
    since         INTEGER,
    ended_at      INTEGER,
    task          INTEGER,           -- tasks.id
    call          INTEGER,           -- runs.id
    until         INTEGER,
    count         INTEGER,
    again         INTEGER,           -- how often what it called was tried again; 1 if what failed in its items is
    value         TEXT,              -- where what it turns or spreads over is
    output        TEXT,              -- where its output is, or passed
    went          TEXT,              -- JSON, unless it went the plain way
    cause         TEXT,
    error_code    TEXT,
    error_message TEXT,
    PRIMARY KEY (run, frame, node)
) STRICT, WITHOUT ROWID;

CREATE INDEX nodes_asking ON nodes (since) WHERE status = 'started' AND work = 'asking';

-- The work of a run says so. If it fails, that is the run's affair: it is not a dead letter of its queue.
ALTER TABLE tasks ADD COLUMN node TEXT; -- JSON
ALTER TABLE tasks ADD COLUMN generation INTEGER;
ALTER TABLE tasks ADD COLUMN held INTEGER; -- 1 while its run is paused
ALTER TABLE tasks ADD COLUMN pause INTEGER; -- the last pause of its run it heard of

DROP INDEX tasks_dead;
CREATE INDEX tasks_dead ON tasks (queue, id) WHERE status = 'failed' AND node IS NULL;

-- For people with sqlite3 in hand; the server reads none of these.
CREATE VIEW readable_runs AS
SELECT id, workflow, version, status, live, deleting, pause ->> 'reason' AS paused, held,
    strftime('%Y-%m-%d %H:%M:%f', started_at / 1e6, 'unixepoch') AS started,
    strftime('%Y-%m-%d %H:%M:%f', ended_at / 1e6, 'unixepoch') AS ended,
    strftime('%Y-%m-%d %H:%M:%f', deadline / 1e6, 'unixepoch') AS deadline,
    generation, priority, tags, idempotency_key, parent ->> 'run' AS parent, parent ->> 'node' AS parent_node,
    (SELECT payload FROM records WHERE seq = runs.input) AS input, output, error_code, error_message
FROM runs;

CREATE VIEW readable_nodes AS
SELECT nodes.run, runs.workflow, nodes.frame, nodes.node, nodes.status, nodes.work,
    strftime('%Y-%m-%d %H:%M:%f', nodes.since / 1e6, 'unixepoch') AS since,
    strftime('%Y-%m-%d %H:%M:%f', nodes.ended_at / 1e6, 'unixepoch') AS ended,
    strftime('%Y-%m-%d %H:%M:%f', nodes.until / 1e6, 'unixepoch') AS until,
    nodes.task, nodes.call, nodes.count, nodes.output, nodes.went, nodes.cause, nodes.error_code, nodes.error_message
FROM nodes LEFT JOIN runs ON runs.id = nodes.run;
