//! SIGINT and SIGTERM, as calls.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// What a shell says of a process that SIGINT ended.
pub const INTERRUPTED: i32 = 130;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Signal {
    Interrupt,
    Terminate,
}

/// Calls `heard` on a thread of its own each time.
pub fn on_signal(mut heard: impl FnMut(Signal) + Send + 'static) {
    let mut signals = Signals::new([SIGINT, SIGTERM]).expect("these two signals may be caught");
    thread::spawn(move || {
        for signal in signals.forever() {
            heard(if signal == SIGINT { Signal::Interrupt } else { Signal::Terminate });
        }
    });
}

/// For commands that only look on: the first time, `stop` is called and the answer says from then on that it was asked for;
/// the second time the process ends as it stands.
pub fn on_giving_up(mut stop: impl FnMut() + Send + 'static) -> Arc<AtomicBool> {
    let asked = Arc::new(AtomicBool::new(false));
    let ours = asked.clone();
    on_stop(move || {
        if ours.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        stop();
        true
    });
    asked
}
