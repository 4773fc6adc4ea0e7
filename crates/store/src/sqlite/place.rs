//! The directory the data lives in: made private, made durable, and held by one server at a time.

use crate::store::StoreError;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn database(dir: &Path) -> PathBuf {
    dir.join("signaller.db")
}

pub(super) fn log(dir: &Path) -> PathBuf {
    dir.join("signaller.db-wal")
}

/// A handle of our own to the database, to make its pages durable. Closing any handle to a file lets go of all the locks
/// this process has on it, so this one is shared with every connection and outlives them all.
pub(super) fn open(database: &Path) -> Result<Arc<File>, StoreError> {
    let file = OpenOptions::new().read(true).write(true).open(database);
    file.map(Arc::new).map_err(|error| StoreError::Failed(format!("{} cannot be opened: {error}", database.display())))
}

/// Fills a log with zeros up to `bytes`: a commit into space the file already has is one write to the disk, one at its
/// end two. SQLite stops reading its log at the first frame that is not its own.
pub(super) fn lengthen(log: &Path, bytes: u64) -> Result<(), StoreError> {
    let lengthen = || {
        let mut file = OpenOptions::new().create(true).append(true).open(log)?;
        let missing = bytes.saturating_sub(file.metadata()?.len());
        io::copy(&mut io::repeat(0).take(missing), &mut file)?;
        file.sync_all()
    };
    lengthen().map_err(|error: io::Error| StoreError::Failed(format!("{} cannot be written: {error}", log.display())))
}

/// Makes the directory if it is missing, so that its name survives a power cut and nobody else can look inside.
pub(crate) fn create(dir: &Path) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    create_inside(dir)?;
    let failed = |error: io::Error| StoreError::Failed(format!("{} cannot be made: {error}", dir.display()));
    // `a/b` lies in `a`, `a` lies in the working directory.
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync(parent).map_err(failed)
}

/// The same; the one it lies in is not made durable yet.
pub(crate) fn create_inside(dir: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| StoreError::Failed(format!("{} cannot be made: {error}", dir.display())))
}

/// Makes the names in a directory durable. Windows has no such call and needs none.
pub(crate) fn sync(dir: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

/// Holds the directory until the file is dropped; the system lets go of it when the process ends, however it ends.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join("lock");
    let failed = |error: io::Error| StoreError::Failed(format!("{} cannot be locked: {error}", path.display()));
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            // Whoever comes second is told who came first; that this may fail to be written changes nothing.
            let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).and_then(|()| file.rewind());
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = (&mut file).take(20).read_to_string(&mut holder);
            let holder = if holder.is_empty() { String::new() } else { format!(" (process {holder})") };
            Err(StoreError::Taken(format!(
                "another signaller{holder} is using {}: stop it first, or give this one a directory of its own",
                dir.display()
            )))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
