//! Which records mention which blobs: a row for each, written with the record and removed with it.

use crate::blobs::BlobId;
use crate::store::{Batch, StoreError};
use kernel::ids::RecordSeq;
use rusqlite::Connection;

const INSERT: &str = "INSERT OR IGNORE INTO blob_refs (record, blob) VALUES (?1, ?2)";

pub(super) fn insert(db: &Connection, batch: &Batch) -> Result<(), StoreError> {
    let mut mentioned = batch.mentioned().peekable();
    if mentioned.peek().is_none() {
        return Ok(());
    }
    let mut insert = db.prepare_cached(INSERT)?;
    for (record, blob) in mentioned {
        insert.execute((record.0 as i64, blob.to_string()))?;
    }
    Ok(())
}

pub(super) fn forget(db: &Connection, record: i64) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM blob_refs WHERE record = ?1")?.execute([record])?;
    Ok(())
}

pub(super) fn mentioned(db: &Connection, blobs: &[BlobId]) -> Result<Vec<bool>, StoreError> {
    let mut select = db.prepare_cached("SELECT 1 FROM blob_refs WHERE blob = ?1 LIMIT 1")?;
    blobs.iter().map(|id| Ok(select.exists([id.to_string()])?)).collect()
}

pub(super) fn mentioned_by(db: &Connection, record: RecordSeq) -> Result<Vec<BlobId>, StoreError> {
    let mut select = db.prepare_cached("SELECT blob FROM blob_refs WHERE record = ?1 ORDER BY blob")?;
    let texts = select.query_map([record.0 as i64], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(texts.iter().filter_map(|text| BlobId::parse(text)).collect())
}

pub(super) fn valued_by(db: &Connection, blob: &BlobId) -> Result<Option<RecordSeq>, StoreError> {
    let sql = "SELECT min(record) FROM blob_refs JOIN records ON seq = record WHERE blob = ?1 AND payload = 'blob:' || ?1";
    let found: Option<i64> = db.prepare_cached(sql)?.query_row([blob.to_string()], |row| row.get(0))?;
    Ok(found.map(|record| RecordSeq(record.max(0) as u64)))
}

pub(super) fn mentions(db: &Connection, after: Option<&BlobId>, limit: usize) -> Result<Vec<(BlobId, RecordSeq)>, StoreError> {
    // What is no id sorts elsewhere, and `verify` finds it by itself.
    let sql = "SELECT blob, min(record) FROM blob_refs WHERE blob > ?1 AND blob GLOB 'sha256-*' AND length(blob) = 71
        GROUP BY blob ORDER BY blob LIMIT ?2";
    let mut select = db.prepare_cached(sql)?;
    let after = after.map_or_else(String::new, BlobId::to_string);
    let mut rows = select.query((after, i64::try_from(limit).unwrap_or(i64::MAX)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = BlobId::parse(&row.get::<_, String>(0)?);
        let record: i64 = row.get(1)?;
        found.extend(id.map(|id| (id, RecordSeq(record.max(0) as u64))));
    }
    Ok(found)
}
