//! Blobs against plain files in the same folder, by turns, so that both meet the same disk.

use crate::{Measure, Options, percentile};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use store::BlobStore;
use store::blobs::Blobs;

const BYTES: usize = 1 << 20;
const ROUNDS: usize = 100;

/// As whoever wants to find it after a power cut: the file is made durable, and its name.
fn write(dir: &Path, name: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(name)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    File::open(dir)?.sync_all()
}

fn timed<T>(times: &mut Vec<f64>, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let start = Instant::now();
    let done = work()?;
    times.push(start.elapsed().as_secs_f64());
    Ok(done)
}

/// The system keeps what was just written in memory; both are to come from the disk.
fn forget(files: &[&Path]) -> Result<(), String> {
    for file in files {
        let file = File::open(file).map_err(|error| error.to_string())?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn blob_file(dir: &Path, id: &str) -> PathBuf {
    let hex = id.trim_start_matches("sha256-");
    dir.join("blobs").join(&hex[..2]).join(&hex[2..])
}

pub fn against_files(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let blobs = Blobs::open(&dir.path().join("blobs")).map_err(|error| error.to_string())?;
    let plain = dir.path().join("plain");
    std::fs::create_dir(&plain).map_err(|error| error.to_string())?;
    let mut bytes = vec![7; BYTES];
    let [mut puts, mut writes, mut gets, mut reads]: [Vec<f64>; 4] = Default::default();
    for round in 0..ROUNDS {
        bytes[..8].copy_from_slice(&round.to_be_bytes());
        let id = timed(&mut puts, || blobs.put(&bytes).map_err(|error| error.to_string()))?.id();
        let name = plain.join(round.to_string());
        timed(&mut writes, || write(&plain, &name, &bytes).map_err(|error| error.to_string()))?;
        forget(&[&blob_file(dir.path(), &id.to_string()), &name])?;
        timed(&mut gets, || blobs.get(&id).map_err(|error| error.to_string()))?.ok_or("a blob that was put is gone")?;
        timed(&mut reads, || std::fs::read(&name).map_err(|error| error.to_string()))?;
    }
    let ratio = |name, ours: &mut [f64], theirs: &mut [f64], how| {
        let value = percentile(ours, 0.5) / percentile(theirs, 0.5);
        Measure { name, value, unit: "×", how }
    };
    let put = "1 MiB put, against the same as a plain file that is made durable with its name; medians of 100 by turns";
    let get = "1 MiB got from the disk and its hash compared, against the same read from a plain file; medians of 100 by turns";
    Ok(vec![ratio("blob.put_ratio", &mut puts, &mut writes, put), ratio("blob.get_ratio", &mut gets, &mut reads, get)])
}
