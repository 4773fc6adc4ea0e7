//! Writes the sample history, with every kind of record and row in it, into a new directory: `cargo run -p store
//! --example sample_database <dir>`. This is how a release's fixture is made; see fixtures/databases/README.md.

use std::path::Path;
use store::Store;
use store::conformance::sample::sample;
use store::sqlite::Sqlite;

fn main() {
    let dir = std::env::args().nth(1).expect("the directory to make");
    let mut store = Sqlite::open(Path::new(&dir)).expect("the store opens");
    for batch in sample().1 {
        store.commit(&batch).expect("an empty database takes the sample");
    }
}
