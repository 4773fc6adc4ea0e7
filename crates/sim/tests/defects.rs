//! The simulator must be able to fail: each of these deliberate defects is switched on and must be noticed, by the
//! checker named beside it or one that looks earlier.

use sim::Options;

/// What is broken, and who is expected to notice.
const DEFECTS: [(&str, &str); 28] = [
    ("any_outcome_again", "answers tell the truth"),
    ("blockers_not_handed_on", "who is deleted hands its blockers on"),
    ("bulk_skips_one", "bulks do what they count"),
    ("cold_key_unread", "one key makes one task"),
    ("fairness_stale", "no eligible task is passed by one with a later order"),
    ("gone_unnoticed", "no task leased twice, fences rise"),
    ("idempotency_ignored", "one key makes one task"),
    ("lapse_unheard", "a lease ends by the word of its holder, or for its silence"),
    ("last_lane_first", "the next task is the right one"),
    ("late_timer", "timers are never late"),
    ("leaked_slot", "counters are conserved"),
    ("leases_while_stopping", "no task leased twice, fences rise"),
    ("lost_follow_up", "who is done unblocks"),
    ("lost_row", "fold equals live"),
    ("memory_kept", "fold equals live"),
    ("no_fence_check", "a lease ends by the word of its holder, or for its silence"),
    ("no_fresh_window", "a lease ends by the word of its holder, or for its silence"),
    ("nobody_called_back", "the next task is the right one"),
    ("nothing_offered", "no work waits beside an idle worker"),
    ("one_attempt_more", "attempts are counted right"),
    ("overrides_unbounded", "override slots are never exceeded"),
    ("pause_ignored", "the next task is the right one"),
    ("permit_not_recorded", "permits are recorded"),
    ("release_burns", "no task leased twice, fences rise"),
    ("reply_before_commit", "answers only after the commit"),
    ("slot_freed_early", "counters are conserved"),
    ("tag_ignored", "no eligible task is passed by one with a later order"),
];
