use super::*;
use crate::record::Owner;
use crate::route::Route;
use crate::script::tell;
use crate::script::walk::{act, cases, walk};
use crate::script::world::{Memory, World};
use crate::task::Task;
use proptest::prelude::*;

/// As whoever keeps every trail for ever would do it.
fn project(entries: &[Entry]) -> Projection {
    let (mut projection, mut trails) = (Projection::default(), BTreeMap::<TaskId, Trail>::new());
    let mut families = BTreeMap::new();
    for entry in entries {
        match &entry.owner {
            Owner::Queue(queue) => projection.take_queue(queue, entry),
            Owner::Event(id) => {
                if let Record::EventReceived { spec, .. } = &entry.record {
                    families.insert(*id, spec.name.family());
                }
                projection.take_event(&families[id], entry);
            }
            Owner::Task(id) => match trails.get_mut(id) {
                Some(trail) => projection.take(entry, trail),
                None => trails.extend(projection.begin(entry).map(|trail| (*id, trail))),
            },
            _ => {}
        }
    }
    projection
}

/// The same by brute force: the task machine says what a task was before each of its records.
#[derive(Default, Debug, PartialEq)]
struct Naive {
    counts: BTreeMap<&'static str, u64>,
    waits: Vec<u64>,
    durations: Vec<u64>,
}

fn naive(entries: &[Entry]) -> BTreeMap<(Minute, QueueName), Naive> {
    let mut rows: BTreeMap<(Minute, QueueName), Naive> = BTreeMap::new();
    let mut tasks: BTreeMap<TaskId, (Priority, Task)> = BTreeMap::new();
    for entry in entries {
        if let (Owner::Queue(queue), Record::QueueBoosted { boost, .. }) = (&entry.owner, &entry.record)
            && boost.head_start_s() > 0
        {
            *rows.entry((Minute::of(entry.at), queue.clone())).or_default().counts.entry("boosts").or_default() += 1;
        }
        let Owner::Task(id) = &entry.owner else { continue };
        let before = tasks.remove(id);
        let was = before.as_ref().map(|(_, task)| task);
        let queue = match (&entry.record, was) {
            (Record::TaskAdded { spec }, _) => spec.queue.clone(),
            (_, Some(task)) => task.card().route().queue().clone(),
            (_, None) => continue,
        };
        let row = rows.entry((Minute::of(entry.at), queue)).or_default();
        let counted = match (&entry.record, was) {
            (Record::TaskAdded { .. }, _) => "added",
            (Record::TaskQueued { .. }, _) => "queued",
            (Record::TaskLeased { run_now, .. }, was) => {
                let (ready_at, expedited) = match was {
                    Some(Task::Queued(queued)) => (queued.ready_at(), queued.is_expedited()),
                    _ => (entry.at, false),
                };
                row.waits.push((entry.at.us() - ready_at.us()).max(0) as u64);
                let raised = before.as_ref().is_some_and(|(added, task)| task.card().priority() > *added);
                let ahead = [(*run_now, "run_now"), (expedited, "expedited"), (raised, "raised")];
                if let Some((_, why)) = ahead.iter().find(|(is_so, _)| *is_so) {
                    *row.counts.entry(why).or_default() += 1;
                }
                "started"
            }
            (Record::TaskReleased { .. }, _) => "released",
            (Record::TaskDone { .. }, _) => "completed",
            (Record::TaskRetried { .. }, _) => "retried",
            (Record::TaskFailed { .. }, _) => "failed",
            (Record::TaskCancelled { cause, .. }, _) => cause.as_str(),
            _ => "",
        };
        *row.counts.entry(counted).or_default() += 1;
        if let (Some(lease), false) = (was.and_then(Task::lease), ["released", ""].contains(&counted)) {
            row.durations.push((entry.at.us() - lease.since().us()) as u64);
        }
        let route = |spec: &TaskSpec| Arc::new(Route::new(spec.queue.clone(), spec.kind.clone(), spec.keys.clone()));
        let (added, task) = before.map_or((None, None), |(added, task)| (Some(added), Some(task)));
        if let Some(task) = Task::fold(task, *id, entry, route) {
            tasks.insert(*id, (added.unwrap_or(task.card().priority()), task));
        }
    }
    rows
}

#[track_caller]
fn check(entries: &[Entry]) {
    let projection = project(entries);
    let mut expected = naive(entries);
    expected.values_mut().for_each(|row| _ = row.counts.remove(""));
    expected.retain(|_, row| !row.counts.is_empty());
    let keys: Vec<(Minute, QueueName)> = projection.rows.keys().map(|key| (key.minute, key.queue.clone())).collect();
    assert_eq!(keys, expected.keys().cloned().collect::<Vec<_>>());
    for ((key, row), naive) in projection.rows.iter().zip(expected.values()) {
        assert_eq!(*key.family, *key.queue.as_str());
        let Promotions { run_now, expedited, raised, boosts } = row.promotions;
        let mut counts = BTreeMap::from([
            ("added", row.added),
            ("queued", row.queued),
            ("started", row.started),
            ("released", row.released),
            ("completed", row.completed),
            ("retried", row.retried),
            ("failed", row.failed),
            ("run_now", run_now),
            ("expedited", expedited),
            ("raised", raised),
            ("boosts", boosts),
        ]);
        counts.extend(row.cancelled.iter().map(|(cause, count)| (if cause == "asked" { "asked" } else { "cleared" }, *count)));
        counts.retain(|_, count| *count > 0);
        assert_eq!(counts, naive.counts, "{key:?}");
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value));
            histogram
        };
        assert_eq!((&row.wait, &row.duration), (&of(&naive.waits), &of(&naive.durations)), "{key:?}");
        let text = serde_json::to_string(row).unwrap();
        assert_eq!(serde_json::from_str::<Rollup>(&text).unwrap(), *row, "{text}");
    }
    let failed = entries.iter().filter(|entry| matches!(entry.record, Record::TaskRetried { .. } | Record::TaskFailed { .. }));
    assert_eq!(
        projection.failures.iter().map(|failed| failed.seq).collect::<Vec<_>>(),
        failed.map(|entry| entry.seq).collect::<Vec<_>>()
    );
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn any_walk_is_counted_as_by_brute_force(ops in walk()) {
        let mut world = World::new(Memory::Cools);
        for op in &ops {
            act(&mut world, op, &|_, _| {});
        }
        check(&world.history);
    }
}

/// The roll-ups of a script as JSON, by minute since its start.
#[track_caller]
fn check_script(script: &str, expected: &str) {
    let entries = tell(Memory::Cools, script).world.history;
    check(&entries);
    let first = Minute::of(entries[0].at);
    let told: Vec<String> = (project(&entries).rows.iter())
        .map(|(key, row)| format!("{} {} {}", key.minute.0 - first.0, key.queue, serde_json::to_string(row).unwrap()))
        .collect();
    assert_eq!(told.join("\n"), expected, "{script}");
}

#[test]
fn what_happens_is_counted_in_its_minute() {
    check_script(
        "add a; advance 10s; lease w; advance 2min; finish a done",
        r#"0 q {"added":1,"started":1,"wait":[10000000,[[614,1]]]}
2 q {"completed":1,"duration":[120000000,[[729,1]]]}"#,
    );
    check_script(
        "add a at=5s; advance 6s; lease w; finish a released; lease w; finish a failed final; retry a; cancel a",
        r#"0 q {"added":1,"queued":1,"started":2,"released":1,"failed":1,"cancelled":{"asked":1},"wait":[1000000,[[509,2]]],"duration":[0,[[0,1]]]}"#,
    );
}

#[test]
fn what_runs_ahead_of_its_turn_is_counted_once_by_why() {
    for (script, expected) in [
        ("add a; prio a high; lease w", r#"{"raised":1}"#),
        ("add a prio=high; prio a normal; lease w", "{}"),
        ("add a; start a; lease w", r#"{"run_now":1}"#),
        ("add a; drain q; proceed; lease w", r#"{"expedited":1}"#),
        ("add a; boost q high; boost q background; lease w", r#"{"boosts":1}"#),
    ] {
        let entries = tell(Memory::Cools, script).world.history;
        check(&entries);
        let row = project(&entries).rows.into_values().next().unwrap();
        assert_eq!(serde_json::to_string(&row.promotions).unwrap(), expected, "{script}");
    }
}

#[test]
fn what_events_do_not_become_is_counted_by_outcome_queue_and_family() {
    let told = tell(
        Memory::Cools,
        "queue q backlog=1; emit a x/y; emit b x/y + h dedup=k/1h + h2 broken queue=r; emit c x/y + h dedup=k/1h; emit d z + s shadow
         emit e x/y + h2 queue=q; emit f x/y.z + g debounce=k/1s queue=g; emit i x/y.z + g debounce=k/1s queue=g; replay a + h2 broken queue=r
         emit l x/y + b batch=k/9/1s queue=o; emit m x/y + b batch=k/9/1s queue=o",
    );
    let mut found = Vec::new();
    for (key, row) in project(&told.world.history).rows {
        found.extend(row.events.iter().map(|(outcome, count)| format!("{} {} {outcome} {count}", key.queue, key.family)));
    }
    let expected = [
        "@nobody x unhandled 1",
        "@nobody z unhandled 1",
        "q x duplicate 1",
        "q x backlog_dropped 1",
        "g x/y debounced 1",
        "r x failed 2",
        "s z shadow 1",
    ];
    let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
