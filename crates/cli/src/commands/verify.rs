//! `signaller verify`: does every row say what its history says?

use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::progress::bar;
use crate::table::table;
use crate::units::count_of;
use clap::Args;
use comfy_table::Cell;
use serde::Serialize;
use std::path::PathBuf;
use store::sqlite::Sqlite;
use store::verify::{Report, verify};

/// Fold every record and name each row that differs from its history
#[derive(Args, Debug)]
#[command(
    after_help = "Reads only, and works while a server runs. Exits with 1 when something differs.\n\nExamples:\n  signaller verify\n  \
                        signaller verify --data-dir /var/lib/signaller --json"
)]
pub struct VerifyArgs {
    /// The folder to look into
    #[arg(long, default_value = ".signaller", value_name = "FOLDER")]
    data_dir: PathBuf,
}

#[derive(Serialize)]
struct Verified {
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
    let wrong = |error: store::StoreError| {
        Failure::new(Exit::Unavailable, "store_failed", error.to_string())
            .fix("name the folder of a signaller with --data-dir; `signaller status` shows a server's")
    };
    let mut reader = Sqlite::open_reader(&args.data_dir).map_err(wrong)?;
    let shown = bar(&screen, None, "records folded");
    let report = verify(&mut reader, &mut |records| shown.set_position(records)).map_err(wrong)?;
    shown.finish_and_clear();
    tell(&report, screen)
}

fn tell(report: &Report, screen: Screen) -> Outcome {
    let each = report.differences.iter().map(|difference| Different {
        owner: difference.owner.clone(),
        table: difference.table.to_owned(),
        column: difference.column.to_owned(),
        stored: difference.stored.clone(),
        folded: difference.folded.clone(),
        sentence: difference.sentence.clone(),
    });
    let verified = Verified {
        records: report.records,
        rows: report.rows,
        differences_total: report.differences_total,
        differences: each.collect(),
    };
    let looked = format!("{} and {}", count_of(report.records, "record"), count_of(report.rows, "row"));
    if report.is_clean() {
        return Ok(Answer::new(&verified, format!("Clean: {looked}, and every row is what its history says.")));
    }
    if screen.people {
        let rows = verified.differences.iter().map(|difference| {
            [&difference.owner, &difference.table, &difference.column, &difference.stored, &difference.folded]
                .map(Cell::new)
                .to_vec()
        });
        screen.line(&table(&screen, &["OWNER", "TABLE", "COLUMN", "STORED", "HISTORY SAYS"], rows));
    }
    let message = format!("{} among {looked}", count_of(report.differences_total, "difference"));
    Err(Failure::new(Exit::WorkFailed, "differences", message).result(&verified).fix("restore a backup, or report this as a bug"))
}
