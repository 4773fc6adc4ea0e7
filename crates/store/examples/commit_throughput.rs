//! How many rows and records a second a commit takes, in batches of 1,000 tasks: `cargo run --release -p store
//! --example commit_throughput [tasks] [dir]`. Batches are made beforehand, so that only the store is measured.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use store::conformance::sample::key;
use store::conformance::scribe::{Scribe, plain, task};
use store::sqlite::Sqlite;
use store::{Batch, Store};

const BATCH_TASKS: u64 = 1_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let tasks: u64 = arguments.next().map_or(200_000, |text| text.parse().expect("a number of tasks"));
    let dir =
        arguments.next().map_or_else(|| std::env::temp_dir().join(format!("signaller-{}", std::process::id())), PathBuf::from);
    let mut store = Sqlite::open(&dir).expect("the store opens");
    println!("{}", store.describe());

    let mut scribe = Scribe::new();
    let tenants: Vec<_> = (0..100).map(|tenant| vec![key("tenant", &format!("tenant-{tenant}"))]).collect();
    let batches = |scribe: &mut Scribe, each: &mut dyn FnMut(&mut Scribe, u64)| -> Vec<Batch> {
        let ids: Vec<u64> = (1..=tasks).collect();
        let mut write = |ids: &[u64]| {
            ids.iter().for_each(|id| each(scribe, *id));
            scribe.batch()
        };
        ids.chunks(BATCH_TASKS as usize).map(&mut write).collect()
    };
    let added = batches(&mut scribe, &mut |scribe, id| {
        let keys = tenants[id as usize % tenants.len()].clone();
        scribe.add(task(id), kernel::record::TaskSpec { keys, ..plain("ci") });
    });
    commit_all("add", &mut store, &added);
    drop(added);
    let leased = batches(&mut scribe, &mut |scribe, id| {
        scribe.lease(task(id));
    });
    commit_all("lease", &mut store, &leased);
    drop(leased);
    let digest = 7;
    let output = kernel::record::Payload(r#"{"ok":true}"#.into());
    let done = batches(&mut scribe, &mut |scribe, id| {
        let owner = kernel::record::Owner::Task(task(id));
        scribe.record_with(owner, kernel::record::Record::TaskDone { digest }, Some(output.clone()));
    });
    commit_all("done", &mut store, &done);

    let began = Instant::now();
    let mut rows = 0;
    store.load(&mut |_| rows += 1).expect("the store loads");
    println!("load   {rows} live rows among {tasks} in {:?}", began.elapsed());
    let began = Instant::now();
    let report = store::verify::verify(&mut *store.reader().expect("a reader"), &mut |_| {}).expect("it can be read");
    println!(
        "verify {} records, {} rows, {} differences in {:?}",
        report.records,
        report.rows,
        report.differences_total,
        began.elapsed()
    );
    drop(store);
    std::fs::remove_dir_all(dir).expect("the data can be removed");
}

fn commit_all(what: &str, store: &mut dyn Store, batches: &[Batch]) {
    let (mut items, mut times) = (0, Vec::new());
    for batch in batches {
        let began = Instant::now();
        store.commit(batch).expect("it commits");
        times.push(began.elapsed());
        items += batch.entries.len() + batch.puts.len();
    }
    let total: Duration = times.iter().sum();
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    let per_s = items as f64 / total.as_secs_f64();
    println!("{what:6} {per_s:9.0} rows and records/s, commit p50 {:?} p99 {:?} max {:?}", at(50), at(99), at(100));
}
