//! SIGINT and SIGTERM, as calls.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::thread;

/// Calls `stop` on a thread of its own each time the process is asked to end, until it answers false.
pub fn on_stop(mut stop: impl FnMut() -> bool + Send + 'static) {
    let mut signals = Signals::new([SIGINT, SIGTERM]).expect("these two signals may be caught");
    thread::spawn(move || {
        for _ in signals.forever() {
            if !stop() {
                return;
            }
        }
    });
}
