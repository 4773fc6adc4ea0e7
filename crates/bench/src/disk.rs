//! What the disk itself takes: the floor under everything durable.

use crate::{Measure, Options, percentile};
use std::io::Write;
use std::time::Instant;

const APPENDS: usize = 500;

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
