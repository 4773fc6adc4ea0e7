-- Which records mention which blobs: what no record mentions may go. Until now a blob was mentioned by a record whose payload it
-- is, and in no other way.

CREATE TABLE blob_refs (
    record INTEGER NOT NULL,  -- records.seq
    blob   TEXT NOT NULL,     -- sha256-…
    PRIMARY KEY (record, blob)
) STRICT, WITHOUT ROWID;

INSERT INTO blob_refs (record, blob) SELECT seq, substr(payload, 6) FROM records WHERE payload >= 'blob:' AND payload < 'blob;';

CREATE INDEX blob_refs_by_blob ON blob_refs (blob);
