//! Blobs in a bucket, against a real S3 server.

mod s3_server;

use s3_server::S3Server;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use store::blobs::s3::{S3Blobs, S3Options};
use store::blobs::{Sweep, sweep};
use store::conformance::scribe::{Scribe, plain, task};
use store::sqlite::Sqlite;
use store::verify::{Report, verify_blobs};
use store::{Batch, BlobId, BlobStore, Store, StoreError};

fn object(server: &S3Server, bucket: &str, id: &BlobId) -> String {
    let hex = id.to_string().replace("sha256-", "");
    format!("{}/{bucket}/{}/{}", server.endpoint(), &hex[..2], &hex[2..])
}

const EVER: kernel::time::Time = kernel::time::Time::from_us(i64::MAX);

#[test]
fn a_bucket_keeps_blobs_as_a_folder_does() {
    let mut server = S3Server::start();
    server.make_bucket("box");
    for url in ["s3://box", "s3://box/deep/er/"] {
        let blobs = S3Blobs::open(server.options(url)).unwrap();
        assert_eq!((blobs.trouble(), blobs.place().as_str()), (None, url));
        let large = vec![7; 1_000_000];
        let mut ids = Vec::new();
        for bytes in [&b""[..], b"abc", b"\0\xff", &large] {
            // The second time it is there.
            for _ in 0..2 {
                let hold = blobs.put(bytes).unwrap();
                assert_eq!(hold.id(), BlobId::of(bytes));
                assert_eq!(blobs.get(&hold.id()).unwrap().as_deref(), Some(bytes));
            }
            let kept = blobs.look(&BlobId::of(bytes)).unwrap().unwrap();
            assert_eq!(kept.size, bytes.len() as u64);
            ids.push(kept.id);
        }
        ids.sort_unstable();
        let listed = |after: Option<&BlobId>, limit| -> Vec<BlobId> {
            blobs.list(after, limit).unwrap().iter().map(|kept| kept.id).collect()
        };
        assert_eq!(listed(None, 10), ids);
        assert_eq!(listed(Some(&ids[0]), 2), ids[1..3]);
        assert_eq!(blobs.get(&BlobId::of(b"never")).unwrap(), None);
        assert_eq!(blobs.look(&BlobId::of(b"never")).unwrap(), None);
        blobs.remove(&ids[0]).unwrap();
        blobs.remove(&ids[0]).unwrap();
        assert_eq!(listed(None, 10), ids[1..]);
    }
    // The other prefix is no part of the first.
    let blobs = S3Blobs::open(server.options("s3://box")).unwrap();
    assert_eq!(blobs.list(None, 100).unwrap().len(), 3);
    server.kill();
}

/// What has to be escaped is signed as it is escaped; the server of all these tests looks at every signature.
#[test]
fn whatever_the_prefix_every_request_is_signed_and_a_wrong_one_is_told() {
    let server = S3Server::start();
    server.make_bucket("box");
    let signed = server.options("s3://box/a b+c/ä=1&2~");
    let blobs = S3Blobs::open(signed.clone()).unwrap();
    assert_eq!(blobs.trouble(), None);
    let id = blobs.put(b"abc").unwrap().id();
    blobs.put_anew(b"abc").unwrap();
    assert_eq!(blobs.get(&id).unwrap().as_deref(), Some(&b"abc"[..]));
    assert_eq!(blobs.list(None, 10).unwrap().len(), 1);
    blobs.remove(&id).unwrap();
    assert_eq!((blobs.list(None, 10).unwrap().len(), blobs.trouble()), (0, None));
    let wrong = [
        (S3Options { secret_access_key: Some("wrong".into()), ..signed.clone() }, "SignatureDoesNotMatch"),
        (S3Options { region: Some("eu-west-1".into()), ..signed.clone() }, "SignatureDoesNotMatch"),
        (S3Options { access_key_id: Some("nobody".into()), ..signed }, "InvalidAccessKeyId"),
    ];
    for (options, code) in wrong {
        let trouble = S3Blobs::open(options).unwrap().trouble().unwrap();
        assert!(trouble.contains("cannot be reached: the credentials are refused") && trouble.contains(code), "{trouble}");
    }
}

#[test]
fn damage_is_named_and_what_is_put_anew_is_young() {
    let server = S3Server::start();
    server.make_bucket("box");
    let blobs = S3Blobs::open(server.options("s3://box")).unwrap();
    let id = blobs.put(b"abc").unwrap().id();
    let before = blobs.look(&id).unwrap().unwrap().put_at;
    server.curl(&["-X", "PUT", "--data", "damaged", &object(&server, "box", &id)]);
    let Err(error @ StoreError::Corrupt(_)) = blobs.get(&id) else { panic!("it goes unseen") };
    assert!(error.to_string().contains("is damaged: its content is that of"), "{error}");
    // Another size is seen when it is put, and mended.
    blobs.put(b"abc").unwrap();
    assert_eq!(blobs.get(&id).unwrap().as_deref(), Some(&b"abc"[..]));
    let changed = blobs.look(&id).unwrap().unwrap().put_at;
    // A bucket tells the time in whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    blobs.put(b"abc").unwrap();
    assert_eq!(blobs.look(&id).unwrap().unwrap().put_at, changed, "it is there already");
    blobs.put_anew(b"abc").unwrap();
    assert!(before <= changed && changed < blobs.look(&id).unwrap().unwrap().put_at);
}

/// As somebody who tries until it can be reached.
fn again<T>(ask: impl Fn() -> Result<T, StoreError>) -> T {
    for _ in 0..100 {
        if let Ok(answer) = ask() {
            return answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    ask().unwrap()
}

#[test]
fn a_place_that_cannot_be_reached_is_named_and_comes_back() {
    let mut server = S3Server::start();
    let blobs = S3Blobs::open(server.options("s3://nowhere")).unwrap();
    assert!(
        blobs.trouble().unwrap().contains("the blobs in s3://nowhere cannot be reached: there is no such bucket"),
        "{:?}",
        blobs.trouble()
    );
    server.make_bucket("nowhere");
    assert!(blobs.put(b"abc").is_err(), "it was asked just now");
    let id = again(|| blobs.put(b"abc")).id();
    assert_eq!(blobs.trouble(), None);
    server.kill();
    for error in [blobs.put(b"abd").unwrap_err(), blobs.get(&id).unwrap_err()] {
        assert!(error.to_string().contains("the blobs in s3://nowhere cannot be reached"), "{error}");
    }
    assert!(blobs.trouble().is_some());
    let server = S3Server::start_at(server.port);
    server.make_bucket("nowhere");
    assert_eq!(again(|| blobs.get(&id)), None, "it kept nothing");
    assert_eq!(blobs.trouble(), None);
}

#[test]
fn a_place_belongs_to_one_and_what_is_none_is_refused() {
    let server = S3Server::start();
    server.make_bucket("box");
    let first = S3Blobs::open(server.options("s3://box/p")).unwrap();
    first.put(b"abc").unwrap();
    S3Blobs::open(server.options("s3://box/p")).unwrap();
    let other = S3Options { owner: "somebody else".into(), ..server.options("s3://box/p") };
    let Err(StoreError::Taken(why)) = S3Blobs::open(other.clone()) else { panic!("two owners") };
    assert!(why.contains("s3://box/p holds the blobs of other data (tests): give each server a prefix of its own"), "{why}");
    // Whoever could not ask at the start finds out when something is put.
    let (port, endpoint) = (server.port, server.endpoint());
    drop(server);
    let late = S3Blobs::open(other).unwrap();
    let server = S3Server::start_at(port);
    server.make_bucket("box");
    again(|| S3Blobs::open(S3Options { endpoint: Some(endpoint.clone()), ..server.options("s3://box/p") })?.put(b"abc"));
    let taken = (0..100).find_map(|_| match late.put(b"abd") {
        Err(StoreError::Taken(why)) => Some(why),
        _ => {
            std::thread::sleep(std::time::Duration::from_millis(100));
            None
        }
    });
    assert!(taken.is_some_and(|why| why.contains("holds the blobs of other data")));
    for url in ["", "b", "https://b/p", "s3://", "s3:///p", "s3://box/a//b"] {
        let Err(error) = S3Blobs::open(server.options(url)) else { panic!("{url}") };
        assert!(error.to_string().contains("is not a place for blobs such as s3://BUCKET/PREFIX"), "{error}");
    }
    for endpoint in ["127.0.0.1:9000", "ftp://x", "http://", "no address"] {
        let options = S3Options { endpoint: Some(endpoint.into()), ..server.options("s3://box/p") };
        let Err(error) = S3Blobs::open(options) else { panic!("{endpoint}") };
        assert!(error.to_string().contains("is no endpoint: write it as https://HOST"), "{error}");
    }
    let Err(error) = S3Blobs::open(S3Options { access_key_id: None, ..server.options("s3://box/p") }) else { panic!("no key") };
    assert!(error.to_string().contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{error}");
}

/// Threads put and mention the same few blobs while another removes, without any grace.
#[test]
fn nothing_that_is_mentioned_is_removed_from_a_bucket() {
    let server = S3Server::start();
    server.make_bucket("box");
    let blobs = S3Blobs::open(server.options("s3://box")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = Mutex::new((Sqlite::open(dir.path()).unwrap(), Scribe::new(), 0u64));
    let (ended, removed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let mut reader = store.lock().unwrap().0.reader().unwrap();
        scope.spawn(|| {
            let all = Sweep { before: EVER, after: None, limit: 100, until: None, dry: false };
            while !ended.load(Ordering::Relaxed) {
                removed
                    .fetch_add(sweep(&blobs, &mut |ids| reader.blobs_mentioned(ids), &all).unwrap().removed, Ordering::Relaxed);
            }
            drop(reader);
        });
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (store, blobs) = (&store, &blobs);
                scope.spawn(move || {
                    for round in 0..40u64 {
                        let hold = blobs.put(&[(round % 4) as u8; 64]).unwrap();
                        if (round + writer) % 5 == 0 {
                            let (store, scribe, number) = &mut *store.lock().unwrap();
                            *number += 1;
                            scribe.add(task(*number), plain("ci"));
                            scribe.done(task(*number), &format!("blob:{}", hold.id()));
                            store.commit(&scribe.batch()).unwrap();
                            let last = scribe.last(&kernel::record::Owner::Task(task(*number)));
                            if round < 30 {
                                store.commit(&Batch { prunes: vec![last], ..Batch::default() }).unwrap();
                            }
                        }
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        ended.store(true, Ordering::Relaxed);
    });
    assert!(removed.load(Ordering::Relaxed) > 0);
    let mut reader = store.lock().unwrap().0.reader().unwrap();
    let mentioned = reader.mentions(None, 100).unwrap();
    assert!(!mentioned.is_empty());
    let mut report = Report::default();
    verify_blobs(&mut *reader, &blobs, &mut report).unwrap();
    assert!(report.is_clean(), "{report:?}");
    // And what is lost all the same is named.
    server.curl(&["-X", "DELETE", &object(&server, "box", &mentioned[0].0)]);
    verify_blobs(&mut *reader, &blobs, &mut report).unwrap();
    assert_eq!(report.differences_total, 1);
    assert!(report.differences[0].sentence.contains("is not there, but record"), "{report:?}");
}
