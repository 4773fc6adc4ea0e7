use super::{Facts, explain};
use crate::script::tell;
use crate::script::world::{Memory, START};

/// The answer to the script's last `explain`: the sentence, [each cause, with its end where it is known], the eta.
#[track_caller]
fn check(script: &str, expected: &str) {
    for memory in [Memory::Cools, Memory::Stays, Memory::Restarts] {
        let told = tell(memory, script);
        assert_eq!(told.answers.last().map(String::as_str), Some(expected), "memory {memory:?}, script:\n{script}");
    }
}

#[test]
fn every_cause_is_told_with_its_end_where_it_is_known() {
    for (script, expected) in [
        ("add a idle; explain a", "a is idle: it runs when it is queued or started. [idle] no eta"),
        ("add b; add a by=b; explain a", "a waits: it is blocked by b, which is queued. [blocked_by] eta unknown"),
        ("add b; add a by=b; lease w; explain a", "a waits: it is blocked by b, which is running. [blocked_by] eta unknown"),
        (
            "add b; add a by=b; lease w; finish b failed final; explain a",
            "a waits: it is blocked by b, which ended without success. [blocked_by] eta unknown",
        ),
        (
            "add b; add a by=b; cancel b; explain a",
            "a waits: it is blocked by b, which ended without success. [blocked_by] eta unknown",
        ),
        ("add a; lease w; advance 14s; explain a heard=10s", "a is running on worker w for 14 s. [] no eta"),
        (
            "add a; lease w; advance 22s; explain a heard=20s",
            "a was leased 22 s ago: worker w has not been heard of for 20 s; if it stays silent, the lease is taken back in 10 s. [worker_silent until 32s] no eta",
        ),
        ("add b; add a by=b idle; explain a", "a is idle: it runs when it is queued or started. [idle, blocked_by] no eta"),
        ("add a delay=90s; explain a", "a waits: it is scheduled to start in 2 min. [scheduled until 90s] eta 90s"),
        (
            "add a; lease w; finish a failed; advance 200ms; explain a",
            "a waits: attempt 1 ended with oops: no luck; the next is due in 800 ms. [backoff until 1s] eta 1s",
        ),
        (
            "queue q tag=x; add a; explain a",
            "a waits: queue `q` takes only tasks with the tag `x`, which it does not have. [require_tag] eta unknown",
        ),
        ("pause q; add a; explain a", "a waits: queue `q` is paused by ann. [queue_paused] eta unknown"),
        (
            "pause q until=10s because=of_the_deploy; add a; advance 4s; explain a",
            "a waits: queue `q` is paused by ann for another 6.0 s because of the deploy. [queue_paused until 10s] eta 10s",
        ),
        (
            "queue q concurrency=1; add b; add a; lease w; explain a",
            "a waits: queue `q` runs its limit of 1 at once. [queue_concurrency] eta unknown",
        ),
        (
            "queue q rate=2/5s; add b; add a; lease w; advance 1s; explain a",
            "a waits: rate limit of queue `q`: next permit in 1.5 s. [queue_rate until 2500ms] eta 2500ms",
        ),
        (
            "queue q key.k=1; add b key.k=acme; add a key.k=acme; lease w; explain a",
            "a waits: key k=acme runs its limit of 1 at once in queue `q`. [key_concurrency] eta unknown",
        ),
        (
            "queue q keyrate.k=1/3200ms; add b key.k=acme; add a key.k=acme; lease w; explain a",
            "a waits: rate limit for key k=acme: next permit in 3.2 s. [key_rate until 3200ms] eta 3200ms",
        ),
        (
            "queue q rate=1/5s; add b; add c; add a; lease w; explain a",
            "a waits: rate limit of queue `q`: next permit in 5.0 s (and one more cause). [queue_rate until 5s, behind] eta unknown",
        ),
        (
            "add a; advance 5s; explain a",
            "a waits: no worker has asked for type `t` since the server came up 5.0 s ago. [no_worker] eta unknown",
        ),
        (
            "add a type=process; advance 5s; explain a",
            "a waits: no worker has asked for type `process` since the server came up 5.0 s ago; `signaller serve` does where signaller.toml \
             has a [process.NAME], unless it was started with --no-workers. [no_worker] eta unknown",
        ),
        (
            "add a; advance 1h; explain a asked=1s busy=1 own",
            "a waits: the server's own worker for type `t` is busy; one asked last 1.0 s ago. [workers_busy] eta unknown",
        ),
        (
            "add a; advance 1h; explain a asked=4min",
            "a waits: no worker has asked for type `t` for 4 min. [no_worker] eta unknown",
        ),
        (
            "add a; advance 1h; explain a asked=60s",
            "a waits: no worker has asked for type `t` for 1 min. [no_worker] eta unknown",
        ),
        (
            "add a; advance 1h; explain a left=30s",
            "a waits: nobody is there for type `t`: its last worker left 30 s ago. [no_worker] eta unknown",
        ),
        (
            "add a; advance 1h; explain a asked=60s busy=1",
            "a waits: the worker for type `t` is busy; one asked last 1 min ago. [workers_busy] eta unknown",
        ),
        (
            "add a; advance 1h; explain a asked=1s busy=3",
            "a waits: all 3 workers for type `t` are busy; one asked last 1.0 s ago. [workers_busy] eta unknown",
        ),
        (
            "add a; advance 1h; explain a elsewhere=2",
            "a waits: the workers for type `t` ask for it in other queues than `q`. [no_worker] eta unknown",
        ),
        (
            "add b; add c; add a; advance 5s; explain a asked=1s",
            "a waits: no worker for type `t` is waiting at this instant; one asked last 1.0 s ago (and one more cause). [workers_busy, behind] eta unknown",
        ),
        (
            "queue q rate=1/5s; add b key.k=x; add c key.k=y; add a key.k=z; lease w; explain c; explain a",
            "a waits: rate limit of queue `q`: next permit in 5.0 s (and one more cause). [queue_rate until 5s, behind] eta unknown",
        ),
        (
            "queue q keyrate.k=1/5s; add b key.k=x; add c key.k=x type=u; add a key.k=x; lease w; explain a",
            "a waits: rate limit for key k=x: next permit in 5.0 s (and one more cause). [key_rate until 5s, behind] eta unknown",
        ),
        (
            "queue q keyrate.k=1/5s; add b key.k=x; add a key.k=x; add c key.k=x type=u; lease w; explain a",
            "a waits: rate limit for key k=x: next permit in 5.0 s. [key_rate until 5s] eta 5s",
        ),
        (
            "pause q; add a; start a; advance 5s; explain a",
            "a waits: it was started and goes to the next worker that asks for its type (and one more cause). [run_now, no_worker] eta unknown",
        ),
        ("add a; explain a stopping", "a waits: the server is shutting down and hands out no more work. [stopping] eta unknown"),
        (
            "add a delay=5s; explain a stopping",
            "a waits: the server is shutting down and hands out no more work (and one more cause). [stopping, scheduled until 5s] eta unknown",
        ),
        ("add a; lease w; advance 5s; explain a", "a is running on worker w for 5.0 s. [] no eta"),
        (
            "add a; lease w; cancel a; explain a",
            "a is being stopped: ann asked worker w to stop, and its slots stay taken until the worker confirms or falls silent. [cancel_requested] no eta",
        ),
        (
            "add a; lease w; cancel a because=wrong_input; explain a",
            "a is being stopped: ann asked worker w to stop (wrong input), and its slots stay taken until the worker confirms or falls silent. [cancel_requested] no eta",
        ),
        (
            "queue q budget=1s; add a; lease w; advance 1s; explain a",
            "a is being stopped: it ran longer than its time budget on worker w, and its slots stay taken until the worker confirms or falls silent. [timed_out] no eta",
        ),
        ("add a; lease w; finish a done; explain a", "a is done. [] no eta"),
        (
            "add a; lease w; finish a failed=http_503/no_luck final; explain a",
            "a failed: its last attempt ended with http_503: no_luck. [failed] no eta",
        ),
        ("add a; cancel a because=not_needed; explain a", "a is cancelled: ann asked for it: not needed. [cancelled] no eta"),
        ("add a; clear q; advance 0s; explain a", "a is cancelled: its queue was cleared by ann. [cancelled] no eta"),
    ] {
        check(script, expected);
    }
}

#[test]
fn the_eta_is_the_last_of_several_known_ends_and_unknown_when_one_is() {
    check(
        "pause q until=10s; add a delay=20s; explain a",
        "a waits: it is scheduled to start in 20 s (and one more cause). [scheduled until 20s, queue_paused until 10s] eta 20s",
    );
    check(
        "pause q until=30s; add a delay=20s; explain a",
        "a waits: it is scheduled to start in 20 s (and one more cause). [scheduled until 20s, queue_paused until 30s] eta 30s",
    );
    check(
        "queue q rate=1/9s keyrate.k=1/20s key.k=1; add b key.k=x; add a key.k=x; lease w; explain a",
        "a waits: rate limit of queue `q`: next permit in 9.0 s (and 2 more causes). \
         [queue_rate until 9s, key_concurrency, key_rate until 20s] eta unknown",
    );
    check(
        "queue q rate=1/9s keyrate.k=1/20s key.k=1; add b key.k=x; add a key.k=x; lease w; finish b done; explain a",
        "a waits: rate limit of queue `q`: next permit in 9.0 s (and one more cause). [queue_rate until 9s, key_rate until 20s] eta 20s",
    );
}

/// What is told comes true: just before its eta nothing is handed out, and at its eta it is.
#[test]
fn an_eta_is_exact() {
    for (prelude, eta_us) in [
        ("add a delay=90s", 90_000_000),
        ("queue q backoff=7s; add a; lease w; finish a failed", 7_000_000),
        ("pause q until=10s; add a", 10_000_000),
        ("queue q rate=3/10s; add b; add a; lease w", 3_333_334),
        ("queue q rate=1/10s burst=2; add b; add c; lease w want=2; add a", 10_000_000),
        ("queue q keyrate.k=3/10s; add b key.k=x; add a key.k=x; lease w", 3_333_334),
        ("queue q rate=1/10s; add b key.k=x; add a key.k=y; add c key.k=z; lease w", 10_000_000),
        ("pause q until=10s; queue q rate=1/25s; add b; start b; lease w; add a", 10_000_000),
    ] {
        let mut told = tell(Memory::Cools, prelude);
        let task = told.world.task(told.id("a")).unwrap();
        let said = explain(&told.world.state, &task, &Facts::default(), told.world.now);
        assert_eq!(said.eta, Some(START.plus_us(eta_us)), "{prelude}");
        let pick = |told: &crate::script::Script| told.world.state.pick(&[crate::script::say::kind("t")], &[]);
        told.world.advance(START.plus_us(eta_us - 1));
        assert_eq!(pick(&told), None, "{prelude}");
        told.world.advance(START.plus_us(eta_us));
        assert_eq!(pick(&told), Some(told.id("a")), "{prelude}");
    }
}

#[test]
fn every_cause_that_someone_can_end_says_how() {
    for (script, action) in [
        ("add a idle", "signaller task retry a"),
        ("add b; add a by=b", "signaller task explain b"),
        ("add b; add a by=b; cancel b", "signaller task retry b"),
        ("add a delay=9s", "signaller task start a"),
        ("queue q tag=x; add a", "signaller queue set q --require-tag none"),
        ("registry q tag=x; add a", "signaller registry put FILE"),
        ("pause q; add a", "signaller queue resume q"),
        ("queue q concurrency=1; add b; lease w; add a", "signaller task list --queue q --status running"),
        ("queue q rate=1/9s; add b; lease w; add a", "signaller queue drain q"),
        ("queue q key.k=1; add b key.k=x; lease w; add a key.k=x", "signaller task list --queue q --status running --key k=x"),
        ("queue q keyrate.k=1/9s; add b key.k=x; lease w; add a key.k=x", "signaller queue drain q"),
        ("add a", "signaller work --type t -- COMMAND"),
        ("add a; start a", "signaller work --type t -- COMMAND"),
        ("add a; lease w; finish a done", "signaller task reset a"),
        ("add a; lease w; finish a failed final", "signaller task retry a"),
        ("add a; cancel a", "signaller task retry a"),
    ] {
        let told = tell(Memory::Cools, script);
        let task = told.world.task(told.id("a")).unwrap();
        let said = explain(&told.world.state, &task, &Facts::default(), told.world.now);
        let actions: Vec<String> = said.next_actions.iter().map(|action| told.named(action)).collect();
        assert!(actions.contains(&action.to_owned()), "{script}: {actions:?}");
    }
}
