use super::*;

use crate::conformance::scribe::{Scribe, plain, task};
use crate::sqlite::Sqlite;
use crate::store::Store;
use kernel::record::Payload;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    for text in ["", "sha256-", &ABC[7..], &ABC[..70], &odd, &upper, &ABC.replace("sha256", "sha512"), &ABC.replace('b', "ß")] {
        assert_eq!(BlobId::parse(text), None, "{text}");
    }
}

#[test]
fn what_is_put_anew_is_as_young_as_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(dir.path()).unwrap();
    let id = blobs.put(b"abc").unwrap().id();
    let age =
        |at: std::time::SystemTime| File::options().write(true).open(file_of(dir.path(), &id)).unwrap().set_modified(at).unwrap();
    let put_at = || blobs.look(&id).unwrap().unwrap().put_at;
    age(std::time::SystemTime::UNIX_EPOCH);
    blobs.put(b"abc").unwrap();
    assert_eq!(put_at(), Time::ZERO, "whoever puts it for a record holds it, and has no need of a grace period");
    blobs.put_anew(b"abc").unwrap();
    assert!(put_at() > Time::from_ms(1_700_000_000_000), "{:?}", put_at());
}

#[test]
fn blobs_are_listed_by_their_ids() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, memory) = (Blobs::open(dir.path()).unwrap(), MemoryBlobs::default());
    // Of somebody else.
    fs::create_dir_all(dir.path().join("00")).unwrap();
    fs::write(dir.path().join("00/notes"), "").unwrap();
    fs::write(dir.path().join("new-ideas"), "").unwrap();
    for blobs in [&folder as &dyn BlobStore, &memory] {
        let mut ids: Vec<BlobId> = (0..40u8).map(|number| blobs.put(&[number; 9]).unwrap().id()).collect();
        ids.sort_unstable();
        let listed = |after: Option<&BlobId>, limit| -> Vec<BlobId> {
            let kept = blobs.list(after, limit).unwrap();
            assert!(kept.iter().all(|kept| kept.size == 9));
            kept.iter().map(|kept| kept.id).collect()
        };
        assert_eq!(listed(None, 100), ids);
        assert_eq!(listed(None, 7), ids[..7]);
        assert_eq!(listed(Some(&ids[6]), 7), ids[7..14]);
        assert_eq!(listed(Some(&ids[38]), 7), ids[39..]);
        blobs.remove(&ids[39]).unwrap();
        blobs.remove(&ids[39]).unwrap();
        assert_eq!(listed(Some(&ids[38]), 7), []);
        assert_eq!((blobs.look(&ids[39]).unwrap(), blobs.hold(&ids[39]).unwrap().is_none()), (None, true));
    }
}

/// A task's output that stands for a blob.
fn mention(scribe: &mut Scribe, number: u64, id: &BlobId) -> crate::Batch {
    scribe.add(task(number), plain("ci"));
    scribe.done(task(number), Payload::blob(&id.to_string()).text());
    scribe.batch()
}

fn swept(blobs: &dyn BlobStore, store: &dyn Store, before: Time) -> Swept {
    let mut reader = store.reader().unwrap();
    let (mut all, mut after) = (Swept::default(), None);
    loop {
        let some =
            sweep(blobs, &mut |ids| reader.blobs_mentioned(ids), &Sweep { before, after, limit: 3, until: None, dry: false })
                .unwrap();
        all.add(&some);
        after = some.next;
        if after.is_none() {
            return all;
        }
    }
}

const FOREVER: Time = Time::from_us(i64::MAX);

#[test]
fn what_nothing_mentions_goes_and_nothing_else_does() {
    let (dir, blobs_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = Sqlite::open(dir.path()).unwrap();
    let blobs = Blobs::open(blobs_dir.path()).unwrap();
    let ids: Vec<BlobId> = (0..10u8).map(|number| blobs.put(&[number; 100]).unwrap().id()).collect();
    let mut scribe = Scribe::new();
    store.commit(&mention(&mut scribe, 1, &ids[3])).unwrap();
    let held = blobs.hold(&ids[4]).unwrap().unwrap().0;
    let young = swept(&blobs, &store, Time::ZERO);
    assert_eq!((young.seen, young.seen_bytes, young.removed, young.young), (10, 1_000, 0, 8));
    let mut reader = store.reader().unwrap();
    let all = Sweep { before: FOREVER, after: None, limit: 100, until: None, dry: true };
    let dry = sweep(&blobs, &mut |ids| reader.blobs_mentioned(ids), &all).unwrap();
    assert_eq!((dry.removed, dry.removed_bytes, blobs.list(None, 100).unwrap().len()), (8, 800, 10));
    assert_eq!(swept(&blobs, &store, FOREVER).removed, 8);
    let left = |blobs: &Blobs| -> Vec<BlobId> { blobs.list(None, 100).unwrap().iter().map(|kept| kept.id).collect() };
    let mut expected = vec![ids[3], ids[4]];
    expected.sort_unstable();
    assert_eq!(left(&blobs), expected);
    drop(held);
    assert_eq!(swept(&blobs, &store, FOREVER).removed, 1);
    // The record goes, and with it the blob.
    let last = scribe.last(&kernel::record::Owner::Task(task(1)));
    store.commit(&crate::Batch { prunes: vec![last], ..crate::Batch::default() }).unwrap();
    assert_eq!(swept(&blobs, &store, FOREVER).removed, 1);
    assert_eq!(left(&blobs), []);
}

#[test]
fn what_cannot_be_removed_holds_up_no_other_and_a_look_ends_with_its_time() {
    let (dir, blobs_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Sqlite::open(dir.path()).unwrap();
    let blobs = Blobs::open(blobs_dir.path()).unwrap();
    let mut ids: Vec<BlobId> = (0..3u8).map(|number| blobs.put(&[number; 100]).unwrap().id()).collect();
    ids.sort_unstable();
    // A folder is no file, whoever asks.
    let stuck = file_of(blobs_dir.path(), &ids[0]);
    fs::remove_file(&stuck).unwrap();
    fs::create_dir(&stuck).unwrap();
    let mut reader = store.reader().unwrap();
    let mut look = |until| {
        let all = Sweep { before: FOREVER, after: None, limit: 100, until, dry: false };
        sweep(&blobs, &mut |ids| reader.blobs_mentioned(ids), &all).unwrap()
    };
    let swept = look(None);
    assert_eq!((swept.seen, swept.removed, swept.next), (3, 2, None));
    assert!(swept.trouble.is_some_and(|trouble| trouble.contains("cannot be removed")));
    assert_eq!(blobs.list(None, 10).unwrap().len(), 1);
    blobs.put(b"one more").unwrap();
    let swept = look(Some(std::time::Instant::now()));
    assert_eq!((swept.seen, swept.next.is_some()), (1, true), "it goes on from there");
}

/// Some write and mention the same few blobs again and again while others remove, without any grace: whatever a record mentions
/// in the end is there.
fn race(blobs: &dyn BlobStore, rounds: u64) {
    let dir = tempfile::tempdir().unwrap();
    let store = Mutex::new((Sqlite::open(dir.path()).unwrap(), Scribe::new(), 0u64));
    let (ended, removed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u8)
            .map(|writer| {
                let (store, blobs) = (&store, &blobs);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let bytes = [(round % 5) as u8; 64];
                        let hold = if round % 3 == 0 { blobs.put_anew(&bytes).unwrap() } else { blobs.put(&bytes).unwrap() };
                        // Most of them are put and mentioned by nobody, so that there is something to remove.
                        if (round + u64::from(writer)) % 4 != 0 {
                            continue;
                        }
                        let (store, scribe, number) = &mut *store.lock().unwrap();
                        *number += 1;
                        store.commit(&mention(scribe, *number, &hold.id())).unwrap();
                        let last = scribe.last(&kernel::record::Owner::Task(task(*number)));
                        // And what was mentioned is forgotten again, but for the last of each.
                        if round + 20 < rounds {
                            store.commit(&crate::Batch { prunes: vec![last], ..crate::Batch::default() }).unwrap();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            let mut reader = store.lock().unwrap().0.reader().unwrap();
            let (ended, removed, blobs) = (&ended, &removed, &blobs);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    let all = Sweep { before: FOREVER, after: None, limit: 100, until: None, dry: false };
                    removed.fetch_add(
                        sweep(*blobs, &mut |ids| reader.blobs_mentioned(ids), &all).unwrap().removed,
                        Ordering::Relaxed,
                    );
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        ended.store(true, Ordering::Relaxed);
    });
    let mut reader = store.lock().unwrap().0.reader().unwrap();
    let mentioned = reader.mentions(None, 100).unwrap();
    assert!(!mentioned.is_empty() && removed.load(Ordering::Relaxed) > 0, "{removed:?} were removed meanwhile");
    for (id, record) in mentioned {
        assert!(blobs.get(&id).unwrap().is_some(), "{id} is gone, and record {} mentions it", record.0);
    }
}

#[test]
fn nothing_that_is_mentioned_is_ever_removed_whoever_writes_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    race(&Blobs::open(dir.path()).unwrap(), 300);
    race(&MemoryBlobs::default(), 300);
}

#[test]
fn what_is_put_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let large = vec![7; 3_000_000];
    let folder = Blobs::open(&dir.path().join("a/blobs")).unwrap();
    let memory = MemoryBlobs::default();
    for blobs in [&folder as &dyn BlobStore, &memory] {
        for bytes in [&b""[..], b"abc", b"\0\xff", &large] {
            let id = blobs.put(bytes).unwrap().id();
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
    let id = blobs.put(b"abc").unwrap().id();
    assert_eq!(files(dir.path()), [dir.path().join("ba").join(&ABC[9..])]);
    let written = || fs::metadata(file_of(dir.path(), &id)).unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(file_of(dir.path(), &id)).unwrap();
    file.flush().unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    file.set_modified(long_ago).unwrap();
    assert_eq!(blobs.put(b"abc").unwrap().id(), id);
    assert_eq!(Blobs::open(dir.path()).unwrap().put(b"abc").unwrap().id(), id);
    assert_eq!((files(dir.path()).len(), written()), (1, long_ago));
}

#[test]
fn a_damaged_blob_is_named_and_can_be_put_again() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(dir.path()).unwrap();
    let id = blobs.put(b"abc").unwrap().id();
    for damage in [&b"abd"[..], b"ab", b"abcd", b""] {
        fs::write(file_of(dir.path(), &id), damage).unwrap();
        let Err(error @ StoreError::Corrupt(_)) = blobs.get(&id) else { panic!("{damage:?} goes unseen") };
        let part = format!("{} is damaged: its content is that of {}", &ABC[9..], BlobId::of(damage));
        assert!(error.to_string().contains(&part), "{error}");
        assert_eq!(blobs.put(b"abc").unwrap().id(), id);
        assert_eq!(blobs.get(&id).unwrap().as_deref(), Some(&b"abc"[..]));
    }
}

#[test]
fn what_a_crash_leaves_behind_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let id = Blobs::open(dir.path()).unwrap().put(b"abc").unwrap().id();
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
                    let id = blobs.put(&bytes).unwrap().id();
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
    Blobs::open(&inner).unwrap().put(b"abc").unwrap().id();
    for folder in [&inner, &inner.join("ba")] {
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
    }
}

#[test]
fn a_name_that_a_power_cut_left_says_nothing_of_its_content() {
    let dir = tempfile::tempdir().unwrap();
    let id = Blobs::open(dir.path()).unwrap().put(b"abc").unwrap().id();
    let file = file_of(dir.path(), &id);
    for torn in [&b"\0\0\0"[..], b"a", b""] {
        fs::write(&file, torn).unwrap();
        let blobs = Blobs::open(dir.path()).unwrap();
        assert!(blobs.look(&id).unwrap().is_some());
        assert_eq!(blobs.sound(&id).unwrap(), None, "{torn:?}");
        blobs.put(b"abc").unwrap();
        assert_eq!(blobs.sound(&id).unwrap().map(|kept| kept.size), Some(3));
    }
    let again = Blobs::open(dir.path()).unwrap();
    assert_eq!(again.sound(&id).unwrap().map(|kept| kept.size), Some(3), "it is whole, and was put before");
    again.remove(&id).unwrap();
    assert_eq!(again.sound(&id).unwrap(), None);
}

#[test]
fn nobody_goes_by_what_another_could_not_make_durable() {
    use std::sync::mpsc::channel;
    use std::time::Duration;
    let dir = tempfile::tempdir().unwrap();
    let (begin, begun) = channel();
    let (told, tell) = channel();
    let (begin, tell) = (Mutex::new(Some(begin)), Mutex::new(tell));
    // The first file is given up by the disk, after somebody else has had the time to find it.
    let sync = move |file: &File| match begin.lock().unwrap().take() {
        Some(begin) => {
            begin.send(()).unwrap();
            _ = tell.lock().unwrap().recv_timeout(Duration::from_millis(300));
            Err(std::io::Error::other("the disk failed"))
        }
        None => file.sync_all(),
    };
    let blobs = Blobs::open(dir.path()).unwrap().syncing(sync);
    let second = std::thread::scope(|scope| {
        let first = scope.spawn(|| blobs.put(b"abc").map(drop));
        begun.recv().unwrap();
        let second = blobs.put(b"abc").unwrap().id();
        _ = told.send(());
        let failed = first.join().unwrap().unwrap_err();
        assert!(failed.to_string().contains("the disk failed"), "{failed}");
        second
    });
    assert_eq!(blobs.get(&second).unwrap().as_deref(), Some(&b"abc"[..]), "what was put is there");
}
