//! Blobs: bytes too large for a record, kept under the hash of their content. One is durable when `put` returns, so a
//! batch that mentions it may be committed after that. A blob never changes, and the same content is kept once.
//!
//! In a folder the blob `sha256-abcdef…` is the file `ab/cdef…`. A file gets its name only when it is whole and durable;
//! what a crash leaves behind has another name, and is removed at the next start. The folder belongs to one process, as
//! the lock of the data around it sees to.

use crate::sqlite::place;
use crate::store::StoreError;
use kernel::row::BadRow;
use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

    fn hex(&self) -> String {
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

/// Where blobs are kept; for any thread.
pub trait BlobStore: Send + Sync {
    /// Keeps these bytes; they are durable when this returns.
    fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreError>;

    /// The bytes, if they are there and still what they were.
    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError>;
}

/// For tests and the simulator. Clones are the same place.
#[derive(Clone, Default)]
pub struct MemoryBlobs(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    blobs: FxHashMap<BlobId, Arc<[u8]>>,
    damaged: FxHashSet<BlobId>,
    ever_damaged: FxHashSet<BlobId>,
    faults: Vec<BlobFault>,
    hits: [u64; 2],
}

/// What can go wrong with the next call that it fits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BlobFault {
    PutFails,
    GetFails,
}

impl MemoryBlobs {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn inject(&self, fault: BlobFault) {
        self.kept().faults.push(fault);
    }

    /// Faults that have not hit anything do so no more.
    pub fn spare(&self) {
        self.kept().faults.clear();
    }

    /// How often this fault has hit.
    pub fn hits(&self, fault: BlobFault) -> u64 {
        self.kept().hits[fault as usize]
    }

    /// Spoils what is kept, as a bad disk would: by a number, whichever that is; which it was.
    pub fn damage(&self, number: usize) -> Option<BlobId> {
        let mut kept = self.kept();
        let mut ids: Vec<BlobId> = kept.blobs.keys().copied().collect();
        ids.sort_unstable();
        let id = *ids.get(number % ids.len().max(1))?;
        kept.damaged.insert(id);
        kept.ever_damaged.insert(id);
        Some(id)
    }

    pub fn remove(&self, id: &BlobId) {
        self.kept().blobs.remove(id);
    }

    /// Also if it was put anew since.
    pub fn was_damaged(&self, id: &BlobId) -> bool {
        self.kept().ever_damaged.contains(id)
    }
}

impl Kept {
    fn fault(&mut self, fault: BlobFault) -> Result<(), StoreError> {
        let Some(at) = self.faults.iter().position(|known| *known == fault) else { return Ok(()) };
        self.faults.remove(at);
        self.hits[fault as usize] += 1;
        Err(StoreError::Failed(format!("injected: {fault:?}")))
    }
}

impl BlobStore for MemoryBlobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreError> {
        let id = BlobId::of(bytes);
        let mut kept = self.kept();
        kept.fault(BlobFault::PutFails)?;
        kept.damaged.remove(&id);
        kept.blobs.entry(id).or_insert_with(|| bytes.into());
        Ok(id)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let mut kept = self.kept();
        kept.fault(BlobFault::GetFails)?;
        if kept.damaged.contains(id) {
            return Err(BadRow { table: "blobs", column: "content", why: format!("{id} is damaged") }.into());
        }
        Ok(kept.blobs.get(id).map(|bytes| bytes.to_vec()))
    }
}

/// How a file is called that is not whole yet.
const UNFINISHED: &str = "new-";

/// Blobs in a folder.
pub struct Blobs {
    dir: PathBuf,
    /// Those of the 256 folders in it that are known to be there, durably.
    made: Mutex<FxHashSet<u8>>,
    /// Names of files that are not whole yet.
    next: AtomicU64,
}

fn failed<'a>(path: &'a Path, what: &'a str) -> impl FnOnce(io::Error) -> StoreError + use<'a> {
    move |error| StoreError::Failed(format!("{} cannot be {what}: {error}", path.display()))
}

impl Blobs {
    /// The blobs in `dir`, which is made if it is missing.
    pub fn open(dir: &Path) -> Result<Blobs, StoreError> {
        place::create(dir)?;
        for entry in fs::read_dir(dir).map_err(failed(dir, "read"))? {
            let path = entry.map_err(failed(dir, "read"))?.path();
            let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix(UNFINISHED));
            if number.is_some_and(|number| number.parse::<u64>().is_ok()) {
                fs::remove_file(&path).map_err(failed(&path, "removed"))?;
            }
        }
        Ok(Blobs { dir: dir.to_owned(), made: Mutex::default(), next: AtomicU64::new(0) })
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        let hex = id.hex();
        self.dir.join(&hex[..2]).join(&hex[2..])
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let unfinished = self.dir.join(format!("{UNFINISHED}{}", self.next.fetch_add(1, Ordering::Relaxed)));
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&unfinished)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&unfinished, path)
        };
        write().map_err(|error| {
            // Whether it can be removed or not, the next start removes it.
            let _ = fs::remove_file(&unfinished);
            failed(path, "written")(error)
        })
    }

    /// Makes one of the folders, so that its name survives a power cut.
    fn make(&self, number: u8, folder: &Path) -> Result<(), StoreError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains(&number) {
            place::create(folder)?;
            place::sync(&self.dir).map_err(failed(&self.dir, "made durable"))?;
            made.insert(number);
        }
        Ok(())
    }
}

impl BlobStore for Blobs {
    fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreError> {
        let id = BlobId::of(bytes);
        let path = self.path(&id);
        let folder = path.parent().expect("a blob lies in a folder");
        self.make(id.0[0], folder)?;
        // One that is there but damaged is written anew.
        if !fs::read(&path).is_ok_and(|kept| kept == bytes) {
            self.write(&path, bytes)?;
        }
        // Also if somebody else has written it: the name may be there and not yet durable.
        place::sync(folder).map_err(failed(folder, "made durable"))?;
        Ok(id)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(id);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, "read")(error)),
        };
        let found = BlobId::of(&bytes);
        if found != *id {
            let why = format!("{} is damaged: its content is that of {found}", path.display());
            return Err(BadRow { table: "blobs", column: "content", why }.into());
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::File;

    const EMPTY: &str = "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const ABC: &str = "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn file_of(dir: &Path, id: &BlobId) -> PathBuf {
        let hex = id.hex();
        dir.join(&hex[..2]).join(&hex[2..])
    }

    /// Every file below a folder.
    fn files(dir: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
        }
        found.sort();
        found
    }

    #[test]
    fn ids_read_back_as_they_are_shown() {
        for (bytes, text) in [(&b""[..], EMPTY), (b"abc", ABC)] {
            let id = BlobId::of(bytes);
            assert_eq!(id.to_string(), text);
            assert_eq!(BlobId::parse(text), Some(id));
        }
        let upper = format!("sha256-{}", ABC[7..].to_uppercase());
        let odd = format!("{ABC}0");
        for text in ["", "sha256-", &ABC[7..], &ABC[..70], &odd, &upper, &ABC.replace("sha256", "sha512"), &ABC.replace('b', "ß")]
        {
            assert_eq!(BlobId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_put_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let large = vec![7; 3_000_000];
        let folder = Blobs::open(&dir.path().join("a/blobs")).unwrap();
        let memory = MemoryBlobs::default();
        for blobs in [&folder as &dyn BlobStore, &memory] {
            for bytes in [&b""[..], b"abc", b"\0\xff", &large] {
                let id = blobs.put(bytes).unwrap();
                assert_eq!(id, BlobId::of(bytes));
                assert_eq!(blobs.get(&id).unwrap().as_deref(), Some(bytes));
            }
            assert_eq!(blobs.get(&BlobId::of(b"never")).unwrap(), None);
        }
        let again = Blobs::open(&dir.path().join("a/blobs")).unwrap();
        for blobs in [&again as &dyn BlobStore, &memory.clone()] {
            assert_eq!(blobs.get(&BlobId::of(b"abc")).unwrap().as_deref(), Some(&b"abc"[..]));
        }
    }

    #[test]
    fn the_same_content_is_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path()).unwrap();
        let id = blobs.put(b"abc").unwrap();
        assert_eq!(files(dir.path()), [dir.path().join("ba").join(&ABC[9..])]);
        let written = || fs::metadata(file_of(dir.path(), &id)).unwrap().modified().unwrap();
        let mut file = File::options().write(true).open(file_of(dir.path(), &id)).unwrap();
        file.flush().unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        file.set_modified(long_ago).unwrap();
        assert_eq!(blobs.put(b"abc").unwrap(), id);
        assert_eq!(Blobs::open(dir.path()).unwrap().put(b"abc").unwrap(), id);
        assert_eq!((files(dir.path()).len(), written()), (1, long_ago));
    }

    #[test]
    fn a_damaged_blob_is_named_and_can_be_put_again() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path()).unwrap();
        let id = blobs.put(b"abc").unwrap();
        for damage in [&b"abd"[..], b"ab", b"abcd", b""] {
            fs::write(file_of(dir.path(), &id), damage).unwrap();
            let Err(error @ StoreError::Corrupt(_)) = blobs.get(&id) else { panic!("{damage:?} goes unseen") };
            let part = format!("{} is damaged: its content is that of {}", &ABC[9..], BlobId::of(damage));
            assert!(error.to_string().contains(&part), "{error}");
            assert_eq!(blobs.put(b"abc").unwrap(), id);
            assert_eq!(blobs.get(&id).unwrap().as_deref(), Some(&b"abc"[..]));
        }
    }

    #[test]
    fn what_a_crash_leaves_behind_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let id = Blobs::open(dir.path()).unwrap().put(b"abc").unwrap();
        for name in ["new-0", "new-1", "new-99"] {
            fs::write(dir.path().join(name), "half of someth").unwrap();
        }
        // Of somebody else.
        fs::write(dir.path().join("new-ideas"), "").unwrap();
        let blobs = Blobs::open(dir.path()).unwrap();
        assert_eq!(files(dir.path()), [file_of(dir.path(), &id), dir.path().join("new-ideas")]);
        blobs.put(b"next").unwrap();
        assert_eq!(files(dir.path()).len(), 3);
    }

    #[test]
    fn threads_may_put_the_same_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for number in 0..20u8 {
                        let bytes = vec![number; 10_000];
                        let id = blobs.put(&bytes).unwrap();
                        assert_eq!(blobs.get(&id).unwrap(), Some(bytes));
                    }
                });
            }
        });
        assert_eq!(files(dir.path()).len(), 20);
    }

    #[test]
    fn what_cannot_be_written_is_said_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let Err(error) = Blobs::open(&dir.path().join("file")) else { panic!("a file where the folder belongs") };
        assert!(error.to_string().contains("file cannot be made"), "{error}");
        let blobs = Blobs::open(&dir.path().join("blobs")).unwrap();
        // A folder where the blob belongs.
        fs::create_dir_all(file_of(&dir.path().join("blobs"), &BlobId::of(b"abc")).join("x")).unwrap();
        for error in [blobs.put(b"abc").unwrap_err(), blobs.get(&BlobId::of(b"abc")).unwrap_err()] {
            assert!(error.to_string().contains("cannot be"), "{error}");
        }
        assert!(files(&dir.path().join("blobs")).is_empty(), "nothing is left of it");
    }

    #[test]
    #[cfg(unix)]
    fn the_folders_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/blobs");
        Blobs::open(&inner).unwrap().put(b"abc").unwrap();
        for folder in [&inner, &inner.join("ba")] {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        }
    }
}
