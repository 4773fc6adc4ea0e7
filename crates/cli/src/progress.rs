//! Progress bars, on stderr and only where someone watches.

use crate::client::Client;
use crate::output::{Exit, Failure, Screen};
use crate::signals::on_giving_up;
use crate::stream::{News, follow};
use crate::units::{count_of, show_about_ms};
use doors::wire::{BulkStatus, BulkView, StreamQuery};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel::ids::BulkId;
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// A bar with a known end, or a spinner that counts.
pub fn bar(screen: &Screen, total: Option<u64>, what: &str) -> ProgressBar {
    let template = match total {
        Some(_) => "{msg} {wide_bar} {human_pos}/{human_len} {eta}",
        None => "{spinner} {human_pos} {msg}",
    };
    dressed(screen, total, what, template)
}

/// As a bar, of a file that is read.
pub fn bytes_bar(screen: &Screen, total: Option<u64>, what: &str) -> ProgressBar {
    let template = match total {
        Some(_) => "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}",
        None => "{spinner} {msg} {binary_bytes}",
    };
    dressed(screen, total, what, template)
}

/// Something goes on that cannot be counted.
pub fn spinner(screen: &Screen, what: &str) -> ProgressBar {
    dressed(screen, None, what, "{spinner} {msg}")
}

fn dressed(screen: &Screen, total: Option<u64>, what: &str, template: &str) -> ProgressBar {
    let watched = screen.people && std::io::stderr().is_terminal();
    let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(total, target).with_message(what.to_owned());
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    bar.set_style(if screen.ascii { style.progress_chars("#>.").tick_chars("|/-\\ ") } else { style });
    if watched && total.is_none() {
        bar.enable_steady_tick(Duration::from_millis(120));
    }
    bar
}

/// What a bulk is over.
pub fn noun(bulk: &BulkView) -> &'static str {
    if bulk.r#where.is_some() { "run" } else { "task" }
}

/// Waits until a bulk is closed, or whoever waits gives up. `total` is about how many it will touch.
pub fn follow_bulk(screen: &Screen, client: &Client, bulk: BulkId, total: Option<u64>) -> Result<BulkView, Failure> {
    const SHOWN_EVERY: Duration = Duration::from_millis(150);
    const ASKED_EVERY: Duration = Duration::from_secs(2);
    const PATIENCE: Duration = Duration::from_secs(30);
    let path = format!("/v1/bulks/{bulk}");
    let show = bar(screen, total, &if total.is_some() { bulk.to_string() } else { format!("changed by {bulk}") });
    let (sender, news) = sync_channel(1_024);
    let wake = sender.clone();
    // If there is no room in the channel, there is something in it, which is as good.
    let stopped = on_giving_up(move || _ = wake.try_send(Heard::Stop));
    let query = StreamQuery {
        record: Some("bulk_advanced,bulk_runs_advanced,bulk_finished,bulk_cancelled".into()),
        ..StreamQuery::default()
    };
    follow(client.clone(), query, None, move |news| sender.send(Heard::News(news)).is_ok());
    let owner = bulk.to_string();
    let (mut asked, mut answered, mut away) = (Instant::now(), Instant::now(), false);
    let say = |text: &str| show.suspend(|| screen.note(text));
    loop {
        // The stream only says when to look: the bulk itself is the truth, and is asked for now and then in any case.
        let look = match news.recv_timeout(ASKED_EVERY) {
            Ok(Heard::News(News::Event(event))) => {
                let ours = event.record().is_some_and(|record| record.owner == owner);
                event.is_reset() || (ours && (!event.name.ends_with("_advanced") || asked.elapsed() >= SHOWN_EVERY))
            }
            Ok(Heard::News(News::Opened | News::Lost(_)) | Heard::Stop) | Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(ASKED_EVERY);
                true
            }
        };
        if stopped.load(Ordering::Relaxed) {
            show.finish_and_clear();
            return Err(given_up(bulk));
        }
        if !look {
            continue;
        }
        asked = Instant::now();
        let view: BulkView = match client.get(&path) {
            Ok(view) => view,
            // The server may be on its way back; the bulk goes on where it was.
            Err(failure) if failure.retryable && answered.elapsed() < PATIENCE => {
                if !std::mem::replace(&mut away, true) {
                    say(&format!("{}; {bulk} goes on when it is back; trying again", failure.message));
                }
                continue;
            }
            Err(failure) => return Err(failure),
        };
        answered = Instant::now();
        if std::mem::take(&mut away) {
            say("the server answers again");
        }
        show.set_position(view.items + if view.r#where.is_some() { view.skipped } else { 0 });
        if let Some((total, per_s)) = total.zip(view.per_s) {
            pace(&show, screen, total, view.items + view.skipped, per_s);
        }
        match view.status {
            BulkStatus::Open => {}
            BulkStatus::Done => {
                show.finish_and_clear();
                return Ok(view);
            }
            BulkStatus::Cancelled => {
                show.finish_and_clear();
                let message = format!("{bulk} was cancelled after {}", count_of(view.items, noun(&view)));
                return Err(Failure::new(Exit::WorkFailed, "bulk_cancelled", message).result(&view));
            }
        }
    }
}

enum Heard {
    News(News),
    Stop,
}

/// Under a rate what is left takes as long as the rate says, however fast the first of them went.
fn pace(show: &ProgressBar, screen: &Screen, total: u64, done: u64, per_s: u32) {
    let template = "{msg} {wide_bar} {human_pos}/{human_len} {prefix}";
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    show.set_style(if screen.ascii { style.progress_chars("#>.") } else { style });
    show.set_prefix(show_about_ms(left_ms(total, done, per_s)));
}

fn left_ms(total: u64, done: u64, per_s: u32) -> u64 {
    total.saturating_sub(done).saturating_mul(1_000) / u64::from(per_s.max(1))
}

fn given_up(bulk: BulkId) -> Failure {
    let message = format!("{bulk} was not closed when this was stopped; it goes on");
    Failure::new(Exit::Limited, "interrupted", message)
        .fix("wait for it again, or stop it where it is")
        .retryable()
        .next(format!("bulk show {bulk} --wait"), "wait for its end")
        .next(format!("bulk cancel {bulk}"), "stop it where it is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_under_a_rate_follows_the_rate() {
        for (total, done, per_s, ms) in [(100, 0, 50, 2_000), (100, 75, 1, 25_000), (5, 9, 1, 0), (3, 0, 0, 3_000)] {
            assert_eq!(left_ms(total, done, per_s), ms, "{total} {done} {per_s}");
        }
    }
}
