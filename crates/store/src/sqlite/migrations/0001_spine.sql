-- Rows and records of one shard. Columns are those of kernel/row.rs, in the same order; times are microseconds since
-- 1970 in UTC. Indexes cost half the throughput of a commit, so there are two, and both leave out most rows.

PRAGMA application_id = 0x5369676e; -- "Sign"

CREATE TABLE shards (
    id      INTEGER PRIMARY KEY,
    "last"  INTEGER NOT NULL,  -- records.seq of its newest record
    ids     INTEGER NOT NULL,  -- ids below this may have been given out
    records INTEGER NOT NULL,  -- record numbers, likewise
    at      INTEGER NOT NULL
) STRICT;

CREATE TABLE queues (
    name   TEXT    NOT NULL PRIMARY KEY,
    "last" INTEGER NOT NULL,
    config TEXT    NOT NULL,  -- JSON
    pause  TEXT,              -- JSON while paused
    boosts TEXT               -- JSON, a list of [on, seconds]
) STRICT, WITHOUT ROWID;

-- What a rate remembers of one value of one key; name and value are empty for the queue as a whole.
CREATE TABLE keys (
    queue   TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    "last"  INTEGER NOT NULL,
    arrival INTEGER NOT NULL,
    PRIMARY KEY (queue, name, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE bulks (
    id          INTEGER PRIMARY KEY,
    "last"      INTEGER NOT NULL,
    status      TEXT    NOT NULL,  -- open, done, cancelled
    work        TEXT    NOT NULL,  -- JSON
    started_by  TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    "after"     INTEGER,           -- the last task looked at
    items       INTEGER NOT NULL,
    skipped     INTEGER NOT NULL,
    resume_at   INTEGER
) STRICT;

CREATE TABLE tasks (
    id              INTEGER PRIMARY KEY,
    "last"          INTEGER NOT NULL,  -- records.seq of its newest record; of a done task, the one with its output
    queue           TEXT    NOT NULL,
    type            TEXT    NOT NULL,
    status          TEXT    NOT NULL,  -- idle, queued, running, done, failed, cancelled
    priority        INTEGER NOT NULL,  -- head start in seconds
    attempt         INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    input           INTEGER NOT NULL,  -- records.seq of the record with its input
    since           INTEGER,           -- when it entered its status
    ready_at        INTEGER,
    run_now         INTEGER,           -- 1 or null, as is expedited
    expedited       INTEGER,
    worker          TEXT,
    fence           INTEGER,
    heartbeat_ms    INTEGER,
    budget_until    INTEGER,
    cause           TEXT,              -- why it ends or was cancelled
    cause_by        TEXT,
    cause_reason    TEXT,
    settled_fence   INTEGER,
    settled_digest  INTEGER,
    keys            TEXT,              -- JSON, a list of [name, value]
    tags            TEXT,              -- JSON, a list
    blocked_by      TEXT,              -- JSON, a list
    scheduled_for   INTEGER,
    idempotency_key TEXT,
    retry           TEXT,              -- JSON
    budget_ms       INTEGER,
    error_code      TEXT,
    error_message   TEXT
) STRICT;

CREATE INDEX tasks_dead ON tasks (queue, id) WHERE status = 'failed';
CREATE INDEX tasks_idempotency ON tasks (queue, idempotency_key, id) WHERE idempotency_key IS NOT NULL;

-- History. An owner's records are a chain through prev, from the row's "last" back to 0, so no index is needed.
CREATE TABLE records (
    seq     INTEGER PRIMARY KEY,
    prev    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    owner   TEXT    NOT NULL,
    body    TEXT    NOT NULL,  -- JSON
    payload TEXT               -- JSON: the input beside task_added, the output beside task_done
) STRICT;

-- For people with sqlite3 in hand; the server reads none of these.
CREATE VIEW readable_tasks AS
SELECT id, queue, type, status, priority, attempt,
    strftime('%Y-%m-%d %H:%M:%f', created_at / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%d %H:%M:%f', since / 1e6, 'unixepoch') AS since,
    strftime('%Y-%m-%d %H:%M:%f', ready_at / 1e6, 'unixepoch') AS ready,
    worker, keys, tags, blocked_by, cause, cause_by, cause_reason, error_code, error_message
FROM tasks;

CREATE VIEW task_payloads AS
SELECT tasks.id, tasks.queue, tasks.type, tasks.status, added.payload AS input,
    CASE tasks.status WHEN 'done' THEN (SELECT payload FROM records WHERE seq = tasks."last") END AS output
FROM tasks LEFT JOIN records AS added ON added.seq = tasks.input;

CREATE VIEW readable_records AS
SELECT seq, strftime('%Y-%m-%d %H:%M:%f', at / 1e6, 'unixepoch') AS time, owner, body ->> 'record' AS record, body, payload
FROM records;
