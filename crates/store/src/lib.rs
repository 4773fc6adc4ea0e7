//! Durable rows, records and blobs. `store` is the contract, `sqlite` and `memory` keep it, `conformance` proves it, and
//! `verify` folds the history and compares it with the rows. `blobs` keeps what is too large for a record. Nothing here
//! decides anything.

pub mod blobs;
mod chain;
pub mod conformance;
#[cfg(test)]
mod decoding;
mod fold;
mod logs;
pub mod memory;
mod rollups;
pub mod sqlite;
mod store;
pub mod verify;

pub use blobs::{BlobId, BlobStore, Blobs, Hold, Holds, MemoryBlobs};
pub use logs::{LOG_BYTES_MAX, LOG_LINE_BYTES_MAX, LOG_LINES_MAX, LogLine, LogPage, LogStore, MemoryLogs, Progress};
pub use rollups::{FAILURES_KEPT, RollupBatch, RollupCursor, RollupQuery, RollupReader, RollupRow, RollupStore};
pub use store::*;
