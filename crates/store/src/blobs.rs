//! Blobs: bytes too large for a record, kept under the hash of their content. One is durable when `put` returns, so a
//! batch that mentions it may be committed after that. A blob never changes, and the same content is kept once.
//!
//! The texts of records mention blobs (`mention`), and nothing else does; what the content of a blob mentions that stands for the
//! value of a record, that record mentions. What no record mentions goes in the end (`sweep`), but never what
//! somebody is about to mention: whoever puts a blob, or finds it there, has a `Hold` on it for as long as that takes. What is
//! put for somebody outside has a grace period instead, counted from when it was put last.

mod folder;
mod holds;
mod memory;
mod mention;
pub mod s3;
mod sweep;

pub use folder::Blobs;
pub use holds::{Hold, Holds};
pub use memory::{BlobFault, MemoryBlobs};
pub use mention::mentions;
pub use sweep::{Sweep, Swept, sweep};

use crate::store::StoreError;
use kernel::row::BadRow;
use kernel::time::Time;
use sha2::{Digest, Sha256};
use std::fmt;

/// The hash of a blob's content.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 32]);

const PREFIX: &str = "sha256-";

impl BlobId {
    pub fn of(bytes: &[u8]) -> BlobId {
        BlobId(Sha256::digest(bytes).into())
    }

    /// The first half of it.
    pub fn digest(&self) -> u128 {
        let (half, _) = self.0.split_first_chunk().expect("a hash is longer than half of it");
        u128::from_be_bytes(*half)
    }

    /// Reads `sha256-` and 64 digits in lower case; anything else is `None`.
    pub fn parse(text: &str) -> Option<BlobId> {
        let digits = text.strip_prefix(PREFIX)?.as_bytes();
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(BlobId(hash))
    }

    pub(crate) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A blob as it lies there.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    pub id: BlobId,
    pub size: u64,
    /// When it was put last, by whoever it was put for.
    pub put_at: Time,
}

/// Where blobs are kept; for any thread. Not for a thread that may not wait: the place may be far away.
pub trait BlobStore: Send + Sync {
    /// Keeps these bytes; they are durable when this returns, and stay as long as they are held.
    fn put(&self, bytes: &[u8]) -> Result<Hold, StoreError>;

    /// The same, and if they were there before, their grace period begins anew.
    fn put_anew(&self, bytes: &[u8]) -> Result<Hold, StoreError>;

    /// The bytes, if they are there and still what they were.
    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError>;

    /// What is known of it without reading it.
    fn look(&self, id: &BlobId) -> Result<Option<Kept>, StoreError>;

    /// The same for who goes by it and does not put what is there: it is there whole, and durable.
    fn sound(&self, id: &BlobId) -> Result<Option<Kept>, StoreError> {
        self.look(id)
    }

    /// Those after this one, in the order of their ids, so many at most.
    fn list(&self, after: Option<&BlobId>, limit: usize) -> Result<Vec<Kept>, StoreError>;

    /// Whether it was there or not. Only `sweep` asks for this.
    fn remove(&self, id: &BlobId) -> Result<(), StoreError>;

    fn holds(&self) -> &Holds;

    /// Where this is, for people.
    fn place(&self) -> String;

    /// It can be asked while others wait. What the engine makes itself stays in its records where this is not so.
    fn is_near(&self) -> bool {
        true
    }

    /// What keeps it from being reached, if it was tried of late and was not.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Holds a blob that is there.
    fn hold(&self, id: &BlobId) -> Result<Option<(Hold, Kept)>, StoreError> {
        // First held, then looked for: between the two it could go.
        let hold = self.holds().hold(*id);
        Ok(self.look(id)?.map(|kept| (hold, kept)))
    }
}

/// What is said of content that is not what its name says.
fn damaged(place: impl fmt::Display, found: &BlobId) -> StoreError {
    BadRow { table: "blobs", column: "content", why: format!("{place} is damaged: its content is that of {found}") }.into()
}

#[cfg(test)]
mod tests;
