//! Which records mention which blobs: written with them, gone with them.

use super::Open;
use super::scribe::{Scribe, actor, plain, queue, task};
use crate::blobs::BlobId;
use kernel::ids::RecordSeq;
use kernel::record::{Owner, Payload, Record};

pub(super) fn blobs_are_mentioned_as_long_as_a_record_does(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    let [a, b, c, d] = [b"a", b"b", b"c", b"d"].map(|bytes| BlobId::of(bytes));
    for id in 1..=3 {
        scribe.add(task(id), plain("ci"));
    }
    // One is its value, one is mentioned in its value, one in the content that its value lies in.
    let value = scribe.done(task(1), Payload::blob(&a.to_string()).text());
    let inline = scribe.done(task(2), &format!("{{\"files\":[\"blob:{b}\",\"blob:{a}\"]}}"));
    scribe.done(task(3), "{\"n\":1}");
    let mut batch = scribe.batch();
    batch.mentions = vec![(value, c), (value, a)];
    store.commit(&batch).unwrap();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.blobs_mentioned(&[a, b, c, d]).unwrap(), [true, true, true, false]);
    let sorted = |mut ids: Vec<BlobId>| {
        ids.sort_unstable();
        ids
    };
    assert_eq!(reader.mentioned_by(value).unwrap(), sorted(vec![a, c]));
    assert_eq!(reader.mentioned_by(inline).unwrap(), sorted(vec![a, b]));
    let mut all = vec![(a, value), (b, inline), (c, value)];
    all.sort_unstable();
    assert_eq!(reader.mentions(None, 10).unwrap(), all);
    assert_eq!(reader.mentions(None, 2).unwrap(), all[..2]);
    assert_eq!(reader.mentions(Some(&all[1].0), 10).unwrap(), all[2..]);

    // The one it is the value of, not the first that mentions it.
    scribe.add(task(4), plain("ci"));
    let late = scribe.done(task(4), Payload::blob(&b.to_string()).text());
    store.commit(&scribe.batch()).unwrap();
    assert_eq!([a, b, c].map(|id| reader.valued_by(&id).unwrap()), [Some(value), Some(late), None]);

    let mut delete = |scribe: &mut Scribe, id| {
        let last = scribe.last(&Owner::Task(task(id)));
        scribe.record(Owner::Task(task(id)), Record::TaskDeleted { queue: queue("ci"), by: actor("ada") });
        let mut batch = scribe.batch();
        batch.prunes = vec![last, RecordSeq::NONE];
        store.commit(&batch).unwrap();
    };
    delete(&mut scribe, 1);
    assert_eq!(reader.blobs_mentioned(&[a, b, c]).unwrap(), [true, true, false]);
    assert_eq!(reader.mentioned_by(value).unwrap(), []);
    delete(&mut scribe, 2);
    delete(&mut scribe, 3);
    delete(&mut scribe, 4);
    assert_eq!(reader.blobs_mentioned(&[a, b, c]).unwrap(), [false; 3]);
    assert_eq!(reader.mentions(None, 10).unwrap(), []);
}
