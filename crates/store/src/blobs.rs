//! Stand-in until the folder store is merged.
use crate::store::StoreError;
use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct BlobId(String);
impl BlobId {
    pub fn parse(text: &str) -> Option<BlobId> {
        Some(BlobId(text.to_owned()))
    }
}
impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
pub trait BlobStore: Send + Sync {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreError>;
    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError>;
}
#[derive(Default)]
pub struct MemoryBlobs(Mutex<HashMap<String, Vec<u8>>>);
impl BlobStore for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreError> {
        let id = format!("sha256-{:x}", bytes.len());
        self.0.lock().unwrap().insert(id.clone(), bytes.to_vec());
        Ok(BlobId(id))
    }
    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.lock().unwrap().get(&id.0).cloned())
    }
}
