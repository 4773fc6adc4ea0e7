//! `signaller blob`: bytes that values mention by name.

use super::Session;
use crate::client::with_query;
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::units::count_of;
use clap::{Args, Subcommand};
use doors::wire::{BlobPut, BlobRef, BlobsSwept, SweepParams};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Blobs: put and get bytes that values mention by name
#[derive(Args, Debug)]
pub struct BlobArgs {
    #[command(subcommand)]
    command: BlobCommand,
}

#[derive(Subcommand, Debug)]
enum BlobCommand {
    /// Keep a file, up to 64 MiB, and say its name
    #[command(after_help = "It stays as long as some value mentions it, and for the grace period at least.\n\n\
                            Examples:\n  signaller blob put report.pdf\n  date | signaller blob put -")]
    Put {
        /// The file; - for standard input
        file: PathBuf,
    },
    /// Write a blob to a file, or to standard output
    #[command(after_help = "Examples:\n  \
                            signaller blob get blob:sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad -o report.pdf")]
    Get {
        /// Its name, as put said it
        #[arg(value_name = "REF", value_parser = blob_ref)]
        name: BlobRef,
        /// Where to write it
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Count the blobs, and those that nothing mentions
    #[command(after_help = "Examples:\n  signaller blob stats")]
    Stats,
    /// Remove what nothing mentions now; the server does so by itself every hour
    #[command(
        after_help = "What was put within the grace period stays.\n\nExamples:\n  signaller blob gc --dry-run\n  signaller blob gc"
    )]
    Gc {
        /// Only say what would go
        #[arg(long)]
        dry_run: bool,
    },
}

fn blob_ref(text: &str) -> Result<BlobRef, String> {
    BlobRef::parse(text).map_err(|problem| format!("{}: {}", problem.message, problem.fix))
}

pub fn run(args: BlobArgs, session: &Session) -> Outcome {
    match args.command {
        BlobCommand::Put { file } => put(&file, session),
        BlobCommand::Get { name, output } => get(name, output.as_deref(), session),
        BlobCommand::Stats => {
            let all = sweep(session, true)?;
            Ok(Answer::new(&all, format!("{}. {}", counted(&all), idle(&all))).next("blob gc", "remove what nothing mentions"))
        }
        BlobCommand::Gc { dry_run } => {
            let all = sweep(session, dry_run)?;
            let verb = if dry_run { "would go" } else { "went" };
            let text =
                format!("{} with {} {verb} of {}.", count_of(all.removed, "blob"), bytes_text(all.removed_bytes), counted(&all));
            let young = match all.young {
                0 => String::new(),
                young => format!(" Nothing mentions {young} more, but their grace period goes on."),
            };
            let trouble = all.trouble.as_ref().map(|trouble| format!(" Some could not be removed: {trouble}."));
            Ok(Answer::new(&all, text + &young + &trouble.unwrap_or_default()))
        }
    }
}

fn put(file: &Path, session: &Session) -> Outcome {
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(file).map(|read| bytes = read),
    };
    read.map_err(|error| {
        Failure::new(Exit::Usage, "no_file", format!("{} cannot be read: {error}", file.display()))
            .fix("name a file that is there")
    })?;
    let put: BlobPut = session.client.put_bytes("/v1/blobs", bytes)?;
    let text = format!("{} ({})", put.r#ref, bytes_text(put.size));
    Ok(Answer::new(&put, text).next(format!("blob get {}", put.r#ref), "read it again"))
}

/// What was written, where it was not written to the standard output.
#[derive(serde::Serialize)]
struct Got {
    r#ref: BlobRef,
    size: u64,
    file: PathBuf,
}

fn get(name: BlobRef, output: Option<&Path>, session: &Session) -> Outcome {
    let bytes = session.client.get_bytes(&format!("/v1/blobs/{name}"))?;
    let Some(file) = output else {
        let failed = |error| Failure::new(Exit::Unavailable, "no_output", format!("it cannot be written: {error}"));
        std::io::stdout().write_all(&bytes).and_then(|()| std::io::stdout().flush()).map_err(failed)?;
        return Ok(Answer { verbatim: true, ..Answer::new(&name, "") });
    };
    std::fs::write(file, &bytes).map_err(|error| {
        Failure::new(Exit::Usage, "no_file", format!("{} cannot be written: {error}", file.display()))
            .fix("name a file that can be written with -o")
    })?;
    let got = Got { r#ref: name, size: bytes.len() as u64, file: file.to_owned() };
    Ok(Answer::new(&got, format!("{} in {}", bytes_text(got.size), file.display())))
}

/// All of them, a page at a time.
fn sweep(session: &Session, dry_run: bool) -> Result<BlobsSwept, Failure> {
    let (mut all, mut after) = (BlobsSwept::default(), None);
    loop {
        let params = SweepParams { dry_run, after };
        let some: BlobsSwept = session.client.post(&with_query("/v1/blobs/sweep", &params), &serde_json::json!({}))?;
        all.seen += some.seen;
        all.seen_bytes += some.seen_bytes;
        all.removed += some.removed;
        all.removed_bytes += some.removed_bytes;
        all.young += some.young;
        all.trouble = all.trouble.or(some.trouble);
        match some.next {
            Some(next) => after = Some(next.to_string()),
            None => return Ok(all),
        }
    }
}

fn counted(all: &BlobsSwept) -> String {
    format!("{} with {}", count_of(all.seen, "blob"), bytes_text(all.seen_bytes))
}

fn idle(all: &BlobsSwept) -> String {
    match (all.removed, all.young) {
        (0, 0) => "Every one is mentioned.".into(),
        (old, 0) => format!("Nothing mentions {old} of them, and their grace period is over."),
        (0, young) => format!("Nothing mentions {young} of them; their grace period goes on."),
        (old, young) => format!("Nothing mentions {} of them; the grace period of {young} of those goes on.", old + young),
    }
}

fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..1_024 => count_of(bytes, "byte"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.),
    }
}
