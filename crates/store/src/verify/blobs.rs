//! Whether every blob is there that a record mentions, and is what it was.

use super::{DIFFERENCES_KEPT_MAX, Difference, Report};
use crate::blobs::{BlobId, BlobStore};
use crate::store::{Reader, StoreError};
use kernel::ids::RecordSeq;
use kernel::row::Value;

const PAGE: usize = 500;

/// Adds what is wrong to the report. What is far away is looked for, and not read.
pub fn verify_blobs(reader: &mut dyn Reader, blobs: &dyn BlobStore, report: &mut Report) -> Result<(), StoreError> {
    let mut after: Option<BlobId> = None;
    loop {
        let page = reader.mentions(after.as_ref(), PAGE)?;
        for (id, record) in &page {
            let found = if blobs.is_near() {
                blobs.get(id).map(|bytes| bytes.is_some())
            } else {
                blobs.look(id).map(|kept| kept.is_some())
            };
            let (wrong, record) = match found {
                Ok(true) => continue,
                // A value may mention what was never there, or is there no more since somebody deleted what it belonged to.
                Ok(false) => match reader.valued_by(id)? {
                    Some(record) => ("is not there".to_owned(), record),
                    None => continue,
                },
                Err(StoreError::Corrupt(bad)) => (bad.why, *record),
                Err(error) => return Err(error),
            };
            // A run that was deleted meanwhile took it along.
            if reader.blobs_mentioned(&[*id])?.contains(&true) {
                differ(report, id, record, &wrong);
            }
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => after = Some(*last),
            _ => return Ok(()),
        }
    }
}

fn differ(report: &mut Report, id: &BlobId, record: RecordSeq, wrong: &str) {
    report.differences_total += 1;
    if report.differences.len() < DIFFERENCES_KEPT_MAX {
        report.differences.push(Difference {
            owner: String::new(),
            table: "blobs",
            key: vec![Value::from(id.to_string().as_str())],
            column: "content",
            stored: "-".into(),
            folded: id.to_string(),
            sentence: format!("{id} {wrong}, but record {} mentions it", record.0),
        });
    }
}
