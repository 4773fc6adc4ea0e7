-- Events, what handlers made of them, the registry in force and what was said about families.

CREATE TABLE events (
    id             INTEGER PRIMARY KEY,
    "last"         INTEGER NOT NULL,
    name           TEXT    NOT NULL,
    family         TEXT    NOT NULL,
    key            TEXT,              -- the id its sender gave it
    received_at    INTEGER NOT NULL,
    data           INTEGER NOT NULL,  -- records.seq of the record whose payload is its data
    unhandled      INTEGER,           -- 1 if no handler took it
    handled        TEXT,              -- JSON, what became of it at each handler
    replays        INTEGER,
    source         TEXT,
    ts             INTEGER,           -- when it happened, by its sender's clock
    priority       INTEGER,
    dedup_key      TEXT,
    correlation_id TEXT,
    causation_id   TEXT
) STRICT;

CREATE INDEX events_key ON events (key) WHERE key IS NOT NULL;
CREATE INDEX events_name ON events (name, id);
CREATE INDEX events_unhandled ON events (id) WHERE unhandled = 1;

CREATE TABLE registries (
    shard    INTEGER PRIMARY KEY,
    "last"   INTEGER NOT NULL,        -- records.seq of the record whose payload is its text, as a JSON string
    revision INTEGER NOT NULL,
    put_at   INTEGER NOT NULL,
    put_by   TEXT,
    queues   TEXT                     -- JSON, those it states
) STRICT;

CREATE TABLE controls (
    families TEXT PRIMARY KEY,        -- a pattern
    "last"   INTEGER NOT NULL,
    pause    TEXT,                    -- JSON
    boost    INTEGER NOT NULL
) STRICT;

ALTER TABLE tasks ADD COLUMN start_by INTEGER; -- cancelled unless it starts before this
ALTER TABLE tasks ADD COLUMN "trigger" TEXT;   -- JSON, the event and the handler it was made by
ALTER TABLE tasks ADD COLUMN run INTEGER;      -- runs.id of the run that does its work
ALTER TABLE runs ADD COLUMN task INTEGER;      -- tasks.id of the task that was handed over to it

-- For people with sqlite3 in hand; the server does not read it.
CREATE VIEW readable_events AS
SELECT id, name, key, strftime('%Y-%m-%d %H:%M:%f', received_at / 1e6, 'unixepoch') AS received, source,
    (SELECT payload FROM records WHERE seq = events.data) AS data, handled, replays
FROM events;
