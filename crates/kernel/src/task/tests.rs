use crate::ids::{RecordSeq, TaskId};
use crate::record::{CancelCause, Entry, Failure, Owner, Record, ReleaseCause, TaskSpec};
use crate::route::Route;
use crate::script::world::Memory;
use crate::script::{check, tell};
use crate::task::{Card, Status, Task};
use std::sync::Arc;

const STATES: [(&str, &str); 7] = [
    ("idle", "add a idle"),
    ("queued", "add a"),
    ("running", "add a; lease w"),
    ("done", "add a; lease w; finish a done"),
    ("failed", "add a; lease w; finish a failed final"),
    ("cancelled", "add a; cancel a"),
    ("gone", "add a; delete a"),
];

/// What each verb does to a task in each state: the status it gets, `=` for "fine, and nothing changed", or why not.
const VERBS: &str = "
                         | idle        | queued      | running     | done        | failed      | cancelled   | gone
cancel a                 | wrong_state | cancelled   | running     | wrong_state | wrong_state | =           | task_not_found
retry a                  | queued      | wrong_state | wrong_state | wrong_state | queued      | queued      | task_not_found
reset a                  | =           | idle        | wrong_state | idle        | idle        | idle        | task_not_found
start a                  | queued      | queued      | wrong_state | wrong_state | wrong_state | wrong_state | task_not_found
start a force            | queued      | queued      | wrong_state | wrong_state | wrong_state | wrong_state | task_not_found
start a worker=w         | running     | running     | wrong_state | wrong_state | wrong_state | wrong_state | task_not_found
delete a                 | gone        | gone        | wrong_state | gone        | gone        | gone        | task_not_found
prio a high              | idle        | queued      | =           | =           | =           | =           | task_not_found
prio a normal            | =           | =           | =           | =           | =           | =           | task_not_found
redrive q a              | =           | =           | =           | =           | queued      | =           | task_not_found
redrive other a          | =           | =           | =           | =           | =           | =           | task_not_found
finish a done=1          | lease_lost  | lease_lost  | done        | lease_lost  | lease_lost  | lease_lost  | task_not_found
finish a failed=x        | lease_lost  | lease_lost  | queued      | lease_lost  | lease_lost  | lease_lost  | task_not_found
finish a failed=x final  | lease_lost  | lease_lost  | failed      | lease_lost  | lease_lost  | lease_lost  | task_not_found
finish a released        | lease_lost  | lease_lost  | queued      | lease_lost  | lease_lost  | lease_lost  | task_not_found
undelivered a            | lease_lost  | lease_lost  | queued      | lease_lost  | lease_lost  | lease_lost  | lease_lost
lapse a                  | lease_lost  | lease_lost  | queued      | lease_lost  | lease_lost  | lease_lost  | lease_lost
";

#[test]
fn every_verb_in_every_state_moves_along_the_table_or_is_refused_without_a_record() {
    let mut rows = VERBS.lines().filter(|line| !line.is_empty()).map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let header = rows.next().unwrap();
    for row in rows {
        for (at, cell) in row.iter().enumerate().skip(1) {
            let (state, prelude) = STATES[at - 1];
            assert_eq!(header[at], state);
            let verb = row[0];
            for memory in [Memory::Cools, Memory::Stays, Memory::Restarts] {
                let told = tell(memory, &format!("{prelude}; {verb}"));
                let answer =
                    told.answers.iter().skip(usize::from(prelude.contains("lease"))).find(|answer| !answer.contains("changed"));
                let ends = told.ends().join(",");
                let context = format!("{verb} on a task that is {state}: {answer:?}, {ends}");
                let refused = cell.contains('_');
                if refused {
                    assert!(answer.is_some_and(|answer| answer.ends_with(&format!(": {cell}"))), "{context}");
                }
                let status = if refused || *cell == "=" { state } else { cell };
                assert_eq!(ends, format!("a {status}"), "{context}");
                assert_eq!(told.world.stepped.is_empty(), refused || *cell == "=", "{context}: records");
            }
        }
    }
}

#[test]
fn every_legal_edge_of_the_table_can_be_walked() {
    for (script, expected) in [
        ("add a idle", "| a idle"),
        ("add a", "| a queued"),
        ("add a idle; retry a", "| a queued"),
        ("add a idle; start a worker=w", "leased a | a running"),
        ("add a; lease w", "leased a | a running"),
        ("add a; cancel a", "| a cancelled"),
        ("add a; reset a", "| a idle"),
        ("add a; lease w; finish a done", "leased a | a done"),
        ("add a; lease w; finish a failed final", "leased a | a failed"),
        ("add a; lease w; cancel a; finish a done", "leased a | a cancelled"),
        ("add a; lease w; finish a failed", "leased a | a queued"),
        ("add a; lease w; finish a released", "leased a | a queued"),
        ("add a; lease w; finish a done; reset a; retry a; lease w; finish a done", "leased a; leased a | a done"),
        ("add a; lease w; finish a failed final; reset a", "leased a | a idle"),
        ("add a; lease w; finish a failed final; retry a", "leased a | a queued"),
        ("add a; cancel a; reset a", "| a idle"),
        ("add a; cancel a; retry a", "| a queued"),
        ("add a idle; delete a; add b; delete b; add c; cancel c; delete c", "| a gone, b gone, c gone"),
    ] {
        check(script, expected);
    }
}

/// Any record on any state: it is an edge of the table or it stops the process.
#[test]
fn a_record_off_the_table_cannot_be_folded() {
    let by = || crate::names::Actor::parse("ann").unwrap();
    let failure = || Failure { code: "x".into(), message: String::new() };
    let at = crate::time::Time::from_ms(5);
    let leased = || Record::TaskLeased {
        worker: crate::names::WorkerName::parse("w").unwrap(),
        attempt: 1,
        heartbeat_ms: 1,
        budget_until: at,
        run_now: false,
    };
    let cancelled = || Record::TaskCancelled { cause: CancelCause::Asked, by: by(), reason: String::new(), digest: None };
    let queue = || Record::TaskQueued { ready_at: at, run_now: false, by: by(), bulk: None };
    let spec = |idle: bool| {
        let (queue, kind) = (crate::script::say::queue("q"), crate::script::say::kind("t"));
        Box::new(TaskSpec { idle, ..TaskSpec::new(queue, kind) })
    };
    // I idle, Q queued, R running, D done, F failed, C cancelled.
    let table: [(Record, &str); 20] = [
        (Record::TaskAdded { spec: spec(false) }, ""),
        (queue(), "IFC"),
        (Record::TaskRunNow { by: by() }, "Q"),
        (Record::TaskUnblocked { blocker: TaskId::new(9, 0) }, "IQ"),
        (Record::TaskBlockersChanged { blocked_by: vec![], deleted: TaskId::new(9, 0) }, "IQ"),
        (Record::TaskReprioritized { priority: Default::default(), by: by() }, "IQ"),
        (Record::TaskExpedited { bulk: crate::ids::BulkId::new(1, 0) }, "Q"),
        (leased(), "IQ"),
        (Record::TaskReleased { cause: ReleaseCause::Worker }, "R"),
        (Record::TaskCancelRequested { by: by(), reason: String::new() }, "R"),
        (Record::TaskTimedOut {}, "R"),
        (Record::TaskHeld { pause: 1 }, "QR"),
        (Record::TaskLetGo { pause: 1 }, "QR"),
        (Record::TaskRetried { failure: failure(), retry_at: at, digest: 1 }, "R"),
        (Record::TaskDone { digest: 1 }, "R"),
        (Record::TaskFailed { failure: failure(), digest: 1 }, "R"),
        (cancelled(), "QR"),
        (Record::TaskReset { by: by() }, "QDFC"),
        (Record::TaskDeleted { queue: crate::names::QueueName::parse("q").unwrap(), by: by() }, "IQDFC"),
        (Record::QueueResumed { by: by(), expired: false }, ""),
    ];
    let id = TaskId::new(1, 0);
    let fold = |task: Option<Task>, record: &Record| {
        let entry =
            Entry { seq: RecordSeq(7), prev: RecordSeq(6), at, owner: Owner::Task(id), record: record.clone(), payload: None };
        Task::fold(task, id, &entry, |spec| Arc::new(Route::new(spec.queue.clone(), spec.kind.clone(), Vec::new())))
    };
    let way_to = |letter: char| {
        let mut way = vec![Record::TaskAdded { spec: spec(letter == 'I') }];
        if "RDF".contains(letter) {
            way.push(leased());
        }
        match letter {
            'D' => way.push(Record::TaskDone { digest: 1 }),
            'F' => way.push(Record::TaskFailed { failure: failure(), digest: 1 }),
            'C' => way.push(cancelled()),
            _ => {}
        }
        way.iter().fold(None, &fold)
    };
    for (record, legal) in table {
        for letter in "IQRDFC".chars() {
            let folded = std::panic::catch_unwind(|| fold(way_to(letter), &record));
            assert_eq!(folded.is_ok(), legal.contains(letter), "{} on {letter}", record.kind());
        }
    }
}

#[test]
fn a_rejection_says_what_is_wrong_and_what_to_do() {
    for (status, script, sentence, fix) in [
        (
            Status::Done,
            "add a; lease w; finish a done",
            "is done: cancel works only on a task that is queued or running",
            "reset",
        ),
        (Status::Idle, "add a idle", "is idle: cancel works only on a task that is queued or running", "retry"),
    ] {
        let mut told = tell(Memory::Cools, script);
        let task = told.world.tasks().next().unwrap().card().id();
        let command =
            crate::command::Command::Cancel { task, by: crate::names::Actor::parse("ann").unwrap(), reason: String::new() };
        let no = told.world.run(&command).unwrap_err();
        assert_eq!(no.to_string(), format!("{task} {sentence}"));
        assert!(no.fix().starts_with(fix), "{status}: {}", no.fix());
    }
}

#[test]
fn a_queued_task_is_small() {
    assert!(size_of::<Task>() <= 96, "a task takes {} bytes", size_of::<Task>());
    assert!(size_of::<Card>() <= 72, "a card takes {} bytes", size_of::<Card>());
}
