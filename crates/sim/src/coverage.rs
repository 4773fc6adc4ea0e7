//! How often everything was hit: a simulator that meets nothing proves nothing. Names are fixed beforehand, so what was
//! never hit shows as zero.

use kernel::event::Outcome;
use kernel::record::Record;
use kernel::rejection::Rejection;
use std::collections::BTreeMap;
use std::fmt;

/// What the world does to the engine.
pub const FAULTS: [&str; 36] = [
    "answer_doubled",
    "answer_lost",
    "beaten_for",
    "blob_damaged",
    "blob_get_failed",
    "blob_put_failed",
    "blob_slow",
    "blobs_swept",
    "clock_exactly_next",
    "clock_just_before_next",
    "clock_stands_still",
    "commit_kept_but_reported_failed",
    "commit_lost",
    "crash_after_commit",
    "crash_before_commit",
    "crash_between_ticks",
    "decided_while_committing",
    "lost_behind_another",
    "gave_up",
    "inbox_not_drained",
    "load_failed",
    "poll_gone",
    "request_resent",
    "rows_failed",
    "stop_cut_short",
    "stop_drained",
    "suspend",
    "undelivered",
    "values_late",
    "values_lost",
    "worker_crashed",
    "worker_forgot_a_lease",
    "worker_ignored_cancel",
    "worker_resent_result",
    "worker_sent_other_outcome",
    "worker_silent",
];

/// Every kind of bulk.
const BULKS: [&str; 11] = [
    "cancel_runs",
    "clear",
    "drain",
    "patch_runs",
    "pause_runs",
    "redrive",
    "reprioritize",
    "resume_runs",
    "retry_runs",
    "shed",
    "unblock",
];

/// Everything `explain` can name.
const CAUSES: [&str; 28] = [
    "backoff",
    "batch",
    "behind",
    "blocked_by",
    "cancel_requested",
    "cancelled",
    "debounce",
    "failed",
    "family_paused",
    "handler_concurrency",
    "handler_rate",
    "idle",
    "in_run",
    "key_concurrency",
    "key_rate",
    "no_worker",
    "queue_concurrency",
    "queue_paused",
    "queue_rate",
    "require_tag",
    "run_now",
    "run_paused",
    "scheduled",
    "singleton",
    "stopping",
    "timed_out",
    "worker_silent",
    "workers_busy",
];

/// All that may become of an event.
const OUTCOMES: [&str; 10] =
    ["backlog_dropped", "batched", "debounced", "duplicate", "failed", "queued", "rate_dropped", "shadow", "skipped", "stale"];

#[derive(Clone, Debug)]
pub struct Coverage {
    pub faults: BTreeMap<&'static str, u64>,
    pub bulks: BTreeMap<&'static str, u64>,
    /// What `explain` answered.
    pub causes: BTreeMap<&'static str, u64>,
    pub rejections: BTreeMap<&'static str, u64>,
    pub records: BTreeMap<&'static str, u64>,
    /// What became of events.
    pub outcomes: BTreeMap<&'static str, u64>,
    pub ticks: u64,
}

impl Default for Coverage {
    fn default() -> Coverage {
        let zero = |names: &[&'static str]| names.iter().map(|name| (*name, 0)).collect();
        Coverage {
            faults: zero(&FAULTS),
            bulks: zero(&BULKS),
            causes: zero(&CAUSES),
            rejections: zero(&Rejection::CODES),
            records: zero(&Record::KINDS),
            outcomes: zero(&OUTCOMES),
            ticks: 0,
        }
    }
}

impl Coverage {
    pub fn fault(&mut self, name: &'static str) {
        *self.faults.get_mut(name).unwrap_or_else(|| panic!("{name} is not a fault")) += 1;
    }

    pub fn outcome(&mut self, outcome: &Outcome) {
        let name = if matches!(outcome, Outcome::Debounced { stale: true, .. }) { "stale" } else { outcome.as_str() };
        *self.outcomes.get_mut(name).unwrap_or_else(|| panic!("{name} is not an outcome")) += 1;
    }

    fn groups(&self) -> [(&'static str, &BTreeMap<&'static str, u64>); 6] {
        let Coverage { faults, bulks, causes, rejections, records, outcomes, .. } = self;
        [
            ("fault", faults),
            ("rejection", rejections),
            ("record", records),
            ("bulk", bulks),
            ("cause", causes),
            ("outcome", outcomes),
        ]
    }

    pub fn merge(&mut self, other: &Coverage) {
        let Coverage { faults, bulks, causes, rejections, records, outcomes, .. } = self;
        let mine = [faults, rejections, records, bulks, causes, outcomes];
        for (mine, (_, theirs)) in mine.into_iter().zip(other.groups()) {
            theirs.iter().for_each(|(name, count)| *mine.entry(name).or_default() += count);
        }
        self.ticks += other.ticks;
    }

    /// What was never hit, of all that a seed can reach.
    pub fn missing(&self) -> Vec<String> {
        // Ten thousand queues or workflows are more than a seed has something to say about; the kernel's tests have it.
        // Nor has it runs with more than a thousand tasks at once, which would hear of a pause one batch after another.
        // And no run lives so long that it is patched a hundred times.
        const OUT_OF_REACH: [&str; 4] = ["queues_taken", "revisions_taken", "run_told", "workflows_taken"];
        let all =
            self.groups().into_iter().flat_map(|(kind, counts)| counts.iter().map(move |(name, count)| (kind, name, count)));
        all.filter(|(_, name, count)| **count == 0 && !OUT_OF_REACH.contains(name))
            .map(|(kind, name, _)| format!("{kind} {name}"))
            .collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ticks", self.ticks)?;
        for (kind, counts) in self.groups() {
            for (name, count) in counts {
                writeln!(f, "  {kind:<9} {name:<34} {count:>12}")?;
            }
        }
        Ok(())
    }
}
