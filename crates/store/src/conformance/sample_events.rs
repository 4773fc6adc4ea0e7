//! The part of the sample that comes in from outside: events, what they made, the registry and families.

use super::sample::key;
use super::scribe::{Scribe, actor, event, plain, plain_run, queue, run, task};
use kernel::event::{EventSpec, Handled, Outcome};
use kernel::handler::{Trigger, Window};
use kernel::ids::{EventId, RunId, TaskId};
use kernel::names::{EventKey, EventName, HandlerName, Pattern, TypeName, WebhookName, WorkflowName};
use kernel::priority::Priority;
use kernel::record::{CancelCause, Newer, Owner, Payload, Record, TaskSpec};
use kernel::run::{RunSpec, ValueAt};
use kernel::time::Time;

pub const WRITES: [fn(&mut Scribe); 3] = [events, tasks_of_events, controls];

pub fn handler(name: &str) -> HandlerName {
    HandlerName::parse(name).expect("a good name")
}

pub fn named(name: &str) -> EventSpec {
    EventSpec::named(EventName::parse(name).expect("a good name"))
}

pub fn receive(scribe: &mut Scribe, id: EventId, spec: EventSpec, handled: Vec<Handled>) -> kernel::ids::RecordSeq {
    let data = Payload(format!(r#"{{"of":"{id}"}}"#).into());
    scribe.record_with(Owner::Event(id), Record::EventReceived { spec: Box::new(spec), handled }, Some(data))
}

fn handled(name: &str, outcome: Outcome) -> Handled {
    Handled::new(handler(name), &queue("ci"), outcome)
}

fn events(scribe: &mut Scribe) {
    let spec = EventSpec {
        key: Some(EventKey::parse("delivery/7").expect("a good key")),
        source: Some("hub \"eu\"".into()),
        ts: Some(scribe.now()),
        priority: Some(Priority::HIGH),
        dedup_key: Some(key("k", "größe").1),
        correlation_id: Some("c-1".into()),
        causation_id: Some("event-1".into()),
        ..named("github/pull_request.opened")
    };
    let outcomes = [
        Outcome::Queued { task: task(380) },
        Outcome::Debounced { task: task(381), stale: true },
        Outcome::Batched { task: task(382) },
        Outcome::Duplicate { task: task(380) },
        Outcome::Skipped { task: task(380) },
        Outcome::RateDropped { key: key("k", "acme").1 },
        Outcome::BacklogDropped { max: 7 },
        Outcome::Failed { message: "no such field".into() },
        Outcome::Shadow { failed: Some("no such field".into()) },
    ];
    let all = outcomes.into_iter().enumerate().map(|(at, outcome)| handled(&format!("h{at}"), outcome)).collect();
    receive(scribe, event(50), spec, all);
    receive(scribe, event(51), named("github/push"), Vec::new());
    receive(
        scribe,
        event(52),
        named("deploy"),
        vec![handled("h", Outcome::Queued { task: task(383) }), handled("s", Outcome::Shadow { failed: None })],
    );
    let again = vec![handled("h", Outcome::Queued { task: task(384) })];
    scribe.record(Owner::Event(event(52)), Record::EventReplayed { handled: again, by: actor("ada") });
    scribe.record(Owner::Event(event(52)), Record::EventHeard { run: RunId::new(101, 0), unhandled: false });
    scribe.record(Owner::Shard, Record::EventsExpired { events: vec![event(53)] });
    let webhook = WebhookName::parse("hub").expect("a good name");
    scribe.record(Owner::Shard, Record::RequestsRefused { webhook, requests: 3, reason: "bad signature".into() });
    scribe.record(Owner::Shard, Record::SignalsRefused { signals: 2, reason: "late".into() });
}

fn made_of(id: EventId, window: Option<Window>) -> TaskSpec {
    let trigger = Trigger {
        event: id,
        name: EventName::parse("github/push").expect("a good name"),
        handler: handler("h"),
        workflow: Some(WorkflowName::parse("lint").expect("a good name")),
        whole: true,
        critical: true,
        single: Some(key("h@single", "x")),
        window,
        closed: false,
        dedup_until: Some(Time::from_ms(1_800_000_000_000)),
    };
    TaskSpec { trigger: Some(Box::new(trigger)), ..plain("ci") }
}

/// A plain task that an event of this name made.
pub fn made_by(name: &str) -> TaskSpec {
    let mut spec = TaskSpec { queue: queue("made"), ..made_of(event(51), None) };
    spec.trigger.iter_mut().for_each(|trigger| {
        trigger.name = EventName::parse(name).expect("a good name");
        trigger.single = None;
    });
    spec
}

fn tasks_of_events(scribe: &mut Scribe) {
    let at = scribe.now();
    let name = || EventName::parse("github/push").expect("a good name");
    let seq = scribe.last(&Owner::Event(event(51)));
    let value = || key("k", "main").1;
    scribe.add(task(380), TaskSpec { start_by: Some(at.plus_ms(9)), input: Some(seq), ..made_of(event(51), None) });
    let debounce = Window::Debounce { key: value(), newest: at, until: Some(at.plus_ms(9_000)), events: 1 };
    scribe.add(task(381), made_of(event(50), Some(debounce)));
    for newer in [Some(Newer { input: seq, happened_at: at.plus_ms(1) }), None] {
        let (ready_at, start_by) = (at.plus_ms(5_000), Some(at.plus_ms(7_000)));
        let record = Record::TaskDebounced { event: event(51), name: name(), newer, ready_at, start_by };
        scribe.record(Owner::Task(task(381)), record);
    }
    scribe.add(task(382), made_of(event(50), Some(Window::Batch { key: value(), size: 2, events: 1, bytes: 16 })));
    let batched = Record::TaskBatched {
        event: event(51),
        name: name(),
        input: seq,
        bytes: 16,
        full: true,
        ready_at: Some(at.plus_ms(3_000)),
    };
    scribe.record(Owner::Task(task(382)), batched);
    for (id, cause) in [(383, CancelCause::Expired), (384, CancelCause::Shed), (385, CancelCause::Replaced)] {
        scribe.add(task(id), made_of(event(52), None));
        let record = Record::TaskCancelled { cause, by: actor("signaller"), reason: "late".into(), digest: None };
        scribe.record(Owner::Task(task(id)), record);
    }
    let kind = TypeName::parse("@workflow").expect("a good name");
    scribe.add(task(386), TaskSpec { kind, ..made_of(event(52), None) });
    scribe.lease(task(386));
    scribe.start(run(112), RunSpec { task: Some(task(386)), event: Some(event(52)), ..plain_run("lint") });
    scribe.record(Owner::Task(task(386)), Record::TaskHandedOver { run: run(112) });
    scribe.start(run(113), RunSpec { task: Some(TaskId::new(387, 0)), ..plain_run("lint") });
    scribe.record(Owner::Run(run(113)), Record::RunDone { output: ValueAt::Null, closed: true });
}

fn controls(scribe: &mut Scribe) {
    let by = || actor("ada");
    let put = |revision, queues| Record::RegistryPut { revision, queues, by: actor("ada") };
    let text = || Some(Payload(r#""handlers: {}\n""#.into()));
    scribe.record_with(Owner::Registry, put(1, [queue("ci")].into()), text());
    scribe.record_with(Owner::Registry, put(2, [queue("ci"), queue("mail")].into()), text());
    let of = |pattern: &str| Owner::Families(Pattern::parse(pattern).expect("a good pattern"));
    let until = Some(scribe.now().plus_ms(60_000));
    let paused = || Record::FamilyPaused { until, reason: "a storm".into(), by: by() };
    scribe.record(of("github/*"), paused());
    scribe.record(of("github/*"), Record::FamilyBoosted { boost: Priority::HIGH, by: by() });
    // What is said no more is gone, and begins a new chain.
    for pattern in ["deploy", "back"] {
        scribe.record(of(pattern), paused());
        scribe.record(of(pattern), Record::FamilyResumed { by: by(), expired: true });
    }
    scribe.record(of("back"), paused());
}
