//! Blobs in a folder: the blob `sha256-abcdef…` is the file `ab/cdef…`. A file gets its name when it is whole, and is durable
//! when `put` returns; what a crash leaves behind without its name is removed at the next start. When a file was changed is when its blob was
//! put last. The folder belongs to one process, as the lock of the data around it sees to.
//!
//! The power may go between the name and the disk, and leave a name with half a file: so a name alone says nothing of the content to
//! anybody who would mention it (`sound`, `put`).

use super::{BlobId, BlobStore, Hold, Holds, Kept, damaged};
use crate::sqlite::place;
use crate::store::StoreError;
use kernel::limits::PAYLOAD_BYTES_MAX;
use kernel::time::Time;
use rustc_hash::FxHashSet;
use sha2::{Digest, Sha256};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How a file is called that is not whole yet.
const UNFINISHED: &str = "new-";

/// Blobs in a folder.
pub struct Blobs {
    dir: PathBuf,
    /// The 256 folders in it are known to be there, durably.
    is_made: Mutex<bool>,
    /// Names of files that are not whole yet.
    next: AtomicU64,
    holds: Holds,
    /// Those that this process has made durable, or found so.
    sound: Mutex<FxHashSet<BlobId>>,
    /// Of each folder, who puts something there. What one could not make durable goes again, and nobody else may have gone by it
    /// meanwhile: of a disk that failed only the first who asks hears of it.
    putting: Vec<Mutex<()>>,
    sync: MakesDurable,
}

/// Makes a file durable.
type MakesDurable = Box<dyn Fn(&File) -> io::Result<()> + Send + Sync>;

/// So many are known to be sound; of more it is found out again.
const SOUND_MAX: usize = 100_000;

/// What is larger is written while its hash is worked out, which takes as long: values are not, and most of the rest is new.
const WRITTEN_AHEAD_MIN: usize = PAYLOAD_BYTES_MAX;

/// Tells the disk to begin with what was written, without waiting for it. A hint: Linux starts writing what it is told will not be
/// needed.
fn begin_writing(file: &File) {
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// A file that goes again unless it gets its name.
struct Unnamed {
    path: PathBuf,
    file: File,
}

impl Unnamed {
    /// It is durable when this returns. First the name and then the disk, so that one write of the disk's journal is enough for both: until
    /// this has returned nobody mentions it, and what a crash leaves here is held against its hash before anybody gets it.
    fn name(mut self, path: &Path, sync: impl Fn(&File) -> io::Result<()>) -> Result<(), StoreError> {
        fs::rename(&self.path, path).map_err(failed(path, "written"))?;
        // What could not be made durable may not be found there: it goes again.
        self.path = path.to_owned();
        sync(&self.file).map_err(failed(path, "written"))?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // Whether it can be removed or not, the next start removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn failed<'a>(path: &'a Path, what: &'a str) -> impl FnOnce(io::Error) -> StoreError + use<'a> {
    move |error| StoreError::Failed(format!("{} cannot be {what}: {error}", path.display()))
}

/// What is not there is none.
fn found<T>(result: io::Result<T>, path: &Path) -> Result<Option<T>, StoreError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, "read")(error)),
    }
}

/// Bytes that are hashed while the disk brings the next.
const READ_AT_ONCE: u64 = 128 * 1_024;

/// A file and the hash of its content.
fn read_hashing(path: &Path) -> io::Result<(Vec<u8>, BlobId)> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len()).unwrap_or(0));
    let mut hash = Sha256::new();
    loop {
        let start = bytes.len();
        if Read::by_ref(&mut file).take(READ_AT_ONCE).read_to_end(&mut bytes)? == 0 {
            return Ok((bytes, BlobId(hash.finalize().into())));
        }
        hash.update(&bytes[start..]);
    }
}

fn kept(id: BlobId, metadata: &Metadata) -> Kept {
    let put_at = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Kept { id, size: metadata.len(), put_at: Time::from_us(i64::try_from(put_at.as_micros()).unwrap_or(i64::MAX)) }
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
        Ok(Blobs::peek(dir))
    }

    /// The same for one who only reads, while a server may be writing there.
    pub fn peek(dir: &Path) -> Blobs {
        Blobs {
            dir: dir.to_owned(),
            is_made: Mutex::default(),
            next: AtomicU64::new(0),
            holds: Holds::default(),
            sound: Mutex::default(),
            putting: (0..=u8::MAX).map(|_| Mutex::default()).collect(),
            sync: Box::new(File::sync_all),
        }
    }

    #[cfg(test)]
    pub(super) fn syncing(self, sync: impl Fn(&File) -> io::Result<()> + Send + Sync + 'static) -> Blobs {
        Blobs { sync: Box::new(sync), ..self }
    }

    /// Alone with its folder.
    fn alone(&self, id: &BlobId) -> MutexGuard<'_, ()> {
        self.putting[usize::from(id.0[0])].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, FxHashSet<BlobId>> {
        self.sound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_sound(&self, id: BlobId) {
        let mut known = self.known();
        if known.len() >= SOUND_MAX {
            known.clear();
        }
        known.insert(id);
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        let hex = id.hex();
        self.dir.join(&hex[..2]).join(&hex[2..])
    }

    /// All of it is written, under no name yet, and the disk is told to begin with it.
    fn write(&self, bytes: &[u8]) -> Result<Unnamed, StoreError> {
        let path = self.dir.join(format!("{UNFINISHED}{}", self.next.fetch_add(1, Ordering::Relaxed)));
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed(&path, "written"))?;
        let mut unnamed = Unnamed { path, file };
        if let Err(error) = unnamed.file.write_all(bytes) {
            return Err(failed(&unnamed.path, "written")(error));
        }
        begin_writing(&unnamed.file);
        Ok(unnamed)
    }

    /// The hash of the bytes, and what was written before it was worked out.
    fn hashed(&self, bytes: &[u8]) -> Result<(BlobId, Option<Unnamed>), StoreError> {
        let written = if bytes.len() > WRITTEN_AHEAD_MIN { Some(self.write(bytes)?) } else { None };
        Ok((BlobId::of(bytes), written))
    }

    /// Makes the folders before the first of them is needed, all at once: that their names survive a power cut costs the same for one and
    /// for all.
    fn make(&self) -> Result<(), StoreError> {
        let mut is_made = self.is_made.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_made {
            for number in 0..=u8::MAX {
                place::create_inside(&self.dir.join(format!("{number:02x}")))?;
            }
            place::sync(&self.dir).map_err(failed(&self.dir, "made durable"))?;
            *is_made = true;
        }
        Ok(())
    }

    fn keep(&self, bytes: &[u8], anew: bool) -> Result<Hold, StoreError> {
        let (id, written) = self.hashed(bytes)?;
        let hold = self.holds.hold(id);
        let path = self.path(&id);
        let folder = path.parent().expect("a blob lies in a folder");
        self.make()?;
        let _alone = self.alone(&id);
        // One that is there but damaged is written anew.
        if !fs::read(&path).is_ok_and(|kept| kept == bytes) {
            written.map_or_else(|| self.write(bytes), Ok)?.name(&path, &self.sync)?;
        } else {
            self.renew(&path, anew).map_err(failed(&path, "renewed"))?;
        }
        // The same of its name.
        place::sync(folder).map_err(failed(folder, "made durable"))?;
        self.note_sound(id);
        Ok(hold)
    }

    /// Makes one durable that is there: a crash may have come before that.
    fn renew(&self, path: &Path, anew: bool) -> io::Result<()> {
        let file = File::options().write(true).open(path)?;
        if anew {
            file.set_modified(SystemTime::now())?;
        }
        (self.sync)(&file)
    }

    /// The blobs in one of the 256 folders, by id.
    fn in_folder(&self, number: u8) -> Result<Vec<BlobId>, StoreError> {
        let folder = self.dir.join(format!("{number:02x}"));
        let Some(entries) = found(fs::read_dir(&folder), &folder)? else { return Ok(Vec::new()) };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed(&folder, "read"))?.file_name();
            // What is called otherwise is somebody else's.
            ids.extend(name.to_str().and_then(|name| BlobId::parse(&format!("sha256-{number:02x}{name}"))));
        }
        ids.sort_unstable();
        Ok(ids)
    }
}

impl BlobStore for Blobs {
    fn put(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.keep(bytes, false)
    }

    fn put_anew(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.keep(bytes, true)
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(id);
        let Some((bytes, content)) = found(read_hashing(&path), &path)? else { return Ok(None) };
        if content == *id { Ok(Some(bytes)) } else { Err(damaged(path.display(), &content)) }
    }

    fn look(&self, id: &BlobId) -> Result<Option<Kept>, StoreError> {
        let path = self.path(id);
        Ok(found(fs::metadata(&path), &path)?.map(|metadata| kept(*id, &metadata)))
    }

    fn sound(&self, id: &BlobId) -> Result<Option<Kept>, StoreError> {
        // Not while it is being put, or it might go again.
        let _alone = self.alone(id);
        if !self.known().contains(id) {
            let path = self.path(id);
            let folder = path.parent().expect("a blob lies in a folder");
            if found(read_hashing(&path), &path)?.is_none_or(|(_, content)| content != *id) {
                return Ok(None);
            }
            self.renew(&path, false).map_err(failed(&path, "made durable"))?;
            place::sync(folder).map_err(failed(folder, "made durable"))?;
            self.note_sound(*id);
        }
        self.look(id)
    }

    fn list(&self, after: Option<&BlobId>, limit: usize) -> Result<Vec<Kept>, StoreError> {
        let mut all = Vec::new();
        for number in after.map_or(0, |after| after.0[0])..=u8::MAX {
            for id in self.in_folder(number)?.into_iter().filter(|id| after.is_none_or(|after| id > after)) {
                if all.len() == limit {
                    return Ok(all);
                }
                all.extend(self.look(&id)?);
            }
        }
        Ok(all)
    }

    fn remove(&self, id: &BlobId) -> Result<(), StoreError> {
        let path = self.path(id);
        self.known().remove(id);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&path, "removed")(error)),
            // That a name is gone need not be durable: what comes back is looked at again.
            _ => Ok(()),
        }
    }

    fn holds(&self) -> &Holds {
        &self.holds
    }

    fn place(&self) -> String {
        format!("the folder {}", self.dir.display())
    }
}
