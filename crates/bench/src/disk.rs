//! What the disk itself takes: the floor under everything durable.

use crate::{Measure, Options, percentile};
use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

const APPENDS: usize = 500;
/// Two pages of SQLite's log: what the smallest commit writes.
const COMMIT_BYTES: usize = 2 * (4_096 + 24);

pub fn fdatasync(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let failed = |error: std::io::Error| error.to_string();
    let mut file = std::fs::File::create(dir.path().join("append")).map_err(failed)?;
    let block = [7u8; 4096];
    let mut times = Vec::with_capacity(APPENDS);
    for _ in 0..APPENDS {
        let start = Instant::now();
        file.write_all(&block).and_then(|()| file.sync_data()).map_err(failed)?;
        times.push(start.elapsed().as_secs_f64() * 1_000.0);
    }
    let value = percentile(&mut times, 0.5);
    Ok(vec![Measure { name: "disk.fdatasync_ms.p50", value, unit: "ms", how: "append 4 KiB and fdatasync, 500 times" }])
}

/// What a commit on an idle server costs by itself: one write into space the file already has, after a rest in which disk
/// and processor fell asleep.
pub fn idle(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    let failed = |error: std::io::Error| error.to_string();
    let mut file = std::fs::File::create(dir.path().join("log")).map_err(failed)?;
    file.write_all(&vec![0; COMMIT_BYTES * APPENDS]).and_then(|()| file.sync_all()).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let block = [7u8; COMMIT_BYTES];
    let mut times = Vec::with_capacity(APPENDS);
    for _ in 0..APPENDS {
        std::thread::sleep(Duration::from_millis(3));
        let start = Instant::now();
        file.write_all(&block).and_then(|()| file.sync_data()).map_err(failed)?;
        times.push(start.elapsed().as_secs_f64() * 1_000.0);
    }
    let how = "write 8 KiB into the file's own space and fdatasync, 500 times, 3 ms apart";
    Ok(vec![Measure { name: "disk.idle_fdatasync_ms.p50", value: percentile(&mut times, 0.5), unit: "ms", how }])
}
