//! `signaller verify`: does every row say what its history says?

use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::place::{self, DataDir};
use crate::progress::bar;
use crate::table::{cell, table};
use crate::units::count_of;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use store::sqlite::Sqlite;
use store::verify::{Report, verify, verify_blobs};

/// Fold every record and name each row that differs from its history
#[derive(Args, Debug)]
#[command(
    after_help = "Reads only, and works while a server runs. Exits with 1 when something differs.\n\nExamples:\n  signaller verify\n  \
                        signaller verify --data-dir /var/lib/signaller --json"
)]
pub struct VerifyArgs {
    /// The folder to look into [env: SIGNALLER_DATA_DIR] [default: data_dir in signaller.toml, or .signaller]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// The file that `serve` reads; signaller.toml if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Serialize)]
struct Verified {
    /// The folder that was looked into.
    data_dir: String,
    records: u64,
    rows: u64,
    differences_total: u64,
    differences: Vec<Different>,
}

#[derive(Serialize)]
struct Different {
    owner: String,
    table: String,
    column: String,
    stored: String,
    folded: String,
    sentence: String,
}

pub fn run(args: VerifyArgs, screen: Screen) -> Outcome {
    let file = place::read(args.config.as_deref())?;
    let data = DataDir::resolve(args.data_dir, file.data_dir, place::env);
    check(&data)?;
    let wrong = |error: store::StoreError| {
        Failure::new(Exit::Unavailable, "store_failed", format!("{data}: {error}"))
            .fix("name the folder of a signaller with --data-dir; `signaller status` shows a server's")
    };
    let mut reader = Sqlite::open_reader(&data.path).map_err(wrong)?;
    let shown = bar(&screen, None, "records folded");
    let mut report = verify(&mut reader, &mut |records| shown.set_position(records)).map_err(wrong)?;
    let blobs = crate::blobs::peek(&data.path, &file.blobs, place::env)?;
    verify_blobs(&mut reader, &*blobs, &mut report).map_err(wrong)?;
    shown.finish_and_clear();
    tell(&data, &report, screen)
}

/// Nothing to look into is not the same as nothing wrong.
fn check(data: &DataDir) -> Result<(), Failure> {
    let fix = "name the folder of a signaller with --data-dir; `signaller status` shows a server's";
    let missing = |what: &str| Failure::new(Exit::NotFound, "no_data", format!("{data}: {what}")).fix(fix);
    let denied = |error: &std::io::Error| {
        Failure::new(Exit::Unavailable, "store_failed", format!("{data} cannot be read: {error}"))
            .fix("run it as the user that the server runs as")
    };
    match std::fs::read_dir(&data.path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(missing("there is no such folder")),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Err(missing("this is a file, not a folder")),
        Err(error) => Err(denied(&error)),
        Ok(mut entries) => match entries.next() {
            None => Err(missing("the folder is empty")),
            Some(Err(error)) => Err(denied(&error)),
            Some(Ok(_)) => Ok(()),
        },
    }
}

fn tell(data: &DataDir, report: &Report, screen: Screen) -> Outcome {
    let each = report.differences.iter().map(|difference| Different {
        owner: difference.owner.clone(),
        table: difference.table.to_owned(),
        column: difference.column.to_owned(),
        stored: difference.stored.clone(),
        folded: difference.folded.clone(),
        sentence: difference.sentence.clone(),
    });
    let verified = Verified {
        data_dir: data.whole().display().to_string(),
        records: report.records,
        rows: report.rows,
        differences_total: report.differences_total,
        differences: each.collect(),
    };
    let looked = format!("{} and {}", count_of(report.records, "record"), count_of(report.rows, "row"));
    if report.is_clean() {
        return Ok(Answer::new(&verified, format!("Clean: {looked} in {data}, and every row is what its history says.")));
    }
    if screen.people {
        let rows = verified.differences.iter().map(|difference| {
            [&difference.owner, &difference.table, &difference.column, &difference.stored, &difference.folded].map(cell).to_vec()
        });
        screen.line(&table(&screen, &["OWNER", "TABLE", "COLUMN", "STORED", "HISTORY SAYS"], rows));
    }
    let message = format!("{} among {looked} in {data}", count_of(report.differences_total, "difference"));
    Err(Failure::new(Exit::WorkFailed, "differences", message).result(&verified).fix("restore a backup, or report this as a bug"))
}
