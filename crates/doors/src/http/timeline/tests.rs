use super::fold::{apart, folded, rows};
use super::track::Tracks;
use super::*;
use flow::graph::pen::step_ms;
use kernel::record::{Entry, Owner, Record};
use kernel::time::Time;
use std::collections::BTreeSet;

/// `owner ms record`, one a line, as the store keeps them.
fn tracks(text: &str, until_ms: i64) -> Vec<track::Track> {
    tracks_without(text, until_ms, &[]).0
}

/// With frames that a restart has undone; and the moments.
fn tracks_without(text: &str, until_ms: i64, undone: &[&str]) -> (Vec<track::Track>, Vec<TimelineMoment>) {
    let mut tracks = Tracks::default();
    for (number, line) in text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let mut parts = line.splitn(3, ' ');
        let owner = Owner::parse(parts.next().unwrap()).unwrap();
        let at = Time::from_ms(parts.next().unwrap().parse().unwrap());
        let record: Record = serde_json::from_str(parts.next().unwrap()).unwrap_or_else(|error| panic!("{line}: {error}"));
        let seq = RecordSeq(number as u64 + 1);
        tracks.take(&Entry { seq, prev: RecordSeq::NONE, at, owner, record, payload: None });
    }
    let undone: BTreeSet<FramePath> = undone.iter().filter_map(|path| FramePath::parse(path)).collect();
    let moments = tracks.moments().to_vec();
    (tracks.ended(Instant(Time::from_ms(until_ms)), &undone), moments)
}

fn shown(rows: &[TimelineRow]) -> String {
    let ms = |at: Instant| at.0.us() / 1_000;
    let span = |span: &TimelineSpan| {
        let to = span.to.map_or_else(String::new, |to| ms(to).to_string());
        let error = span.error.as_ref().map_or_else(String::new, |error| format!("!{}", error.code));
        let undone = if span.undone { " undone" } else { "" };
        format!("{} {}-{to}{error}{undone}", span.what.as_str(), ms(span.from))
    };
    let row = |row: &TimelineRow| {
        let spans: Vec<String> = row.spans.iter().map(span).collect();
        format!("{} {} x{}: {}\n", row.node, row.status, row.instances, spans.join(", "))
    };
    rows.iter().map(row).collect()
}

fn bounds(until_ms: i64) -> (Instant, Instant) {
    (Instant(Time::from_ms(0)), Instant(Time::from_ms(until_ms)))
}

const LEASED: &str = r#"{"record":"task_leased","worker":"w","attempt":1,"heartbeat_ms":1,"budget_until":0}"#;
const FAILURE: &str = r#""failure":{"code":"boom","message":"m"}"#;

#[test]
fn records_become_what_a_node_was_at() {
    let text = format!(
        r#"
        run-1//a 0 {{"record":"node_started","at":{{"working":{{"task":"task-2"}}}}}}
        task-2 10 {LEASED}
        task-2 30 {{"record":"task_retried",{FAILURE},"retry_at":50000,"digest":1}}
        task-2 70 {LEASED}
        task-2 80 {{"record":"task_done","digest":1}}
        run-1//a 80 {{"record":"node_done","output":"own","went":"done"}}
        run-1//t 80 {{"record":"node_done","output":"own","went":"done"}}
        run-1//ask 81 {{"record":"node_started","at":{{"asking":{{"until":null}}}}}}
        run-1//no 81 {{"record":"node_skipped","cause":"untaken"}}
        run-1//b 82 {{"record":"node_started","at":{{"working":{{"task":"task-3"}}}}}}
        task-3 83 {{"record":"task_held","pause":1}}
        task-3 85 {{"record":"task_let_go","pause":1}}
        task-3 86 {LEASED}
        task-3 90 {{"record":"task_failed",{FAILURE},"digest":1}}
        run-1//b 90 {{"record":"node_failed",{FAILURE},"then":"fail"}}
        run-1//c 91 {{"record":"node_started","at":{{"working":{{"task":"task-4"}}}}}}
        task-4 92 {LEASED}
        task-4 93 {{"record":"task_retried",{FAILURE},"retry_at":95000,"digest":1}}
        "#
    );
    let rows = rows(apart(tracks(&text, 100)), &Texts::default(), bounds(100));
    let expected = "\
a done x1: queued 0-10, running 10-30!boom, backoff 30-50, queued 50-70, running 70-80
ask asking x1: asking 81-
b failed x1: queued 82-83, held 83-85, queued 85-86, running 86-90!boom
c queued x1: queued 91-92, running 92-93!boom, backoff 93-95, queued 95-
no skipped x1: 
t done x1: running 80-80
";
    assert_eq!(shown(&rows), expected);
    let totals = &rows[0].totals;
    assert_eq!((totals.queued_ms, totals.running_ms, totals.backoff_ms, totals.attempts), (30, 30, 20, 2));
}

#[test]
fn what_a_restart_undoes_ends_with_it() {
    let text = format!(
        r#"
        run-1//l 0 {{"record":"node_started","at":{{"turning":{{"init":"null"}}}}}}
        run-1/l[0]/a 0 {{"record":"node_started","at":{{"working":{{"task":"task-2"}}}}}}
        task-2 1 {LEASED}
        run-1//ask 5 {{"record":"node_started","at":{{"asking":{{"until":null}}}}}}
        run-1//l 10 {{"record":"node_done","output":"own","went":"done"}}
        run-1 30 {{"record":"run_patched","revision":1,"description":"d","by":"ana"}}
        run-1 40 {{"record":"run_restarted","node":{{"run":"run-1","frame":"","node":"l"}},"generation":1,"reason":"","by":"ana"}}
        run-1//ask 40 {{"record":"node_reset"}}
        run-1//l 40 {{"record":"node_rewound","turns":0,"generation":1}}
        run-1/l[0@1]/a 41 {{"record":"node_started","at":{{"working":{{"task":"task-3"}}}}}}
        task-3 42 {LEASED}
        task-2 43 {{"record":"task_cancelled","cause":"asked","reason":"","by":"ana"}}
        run-1//ask 60 {{"record":"node_started","at":{{"asking":{{"until":null}}}}}}
        "#
    );
    let (tracks, moments) = tracks_without(&text, 100, &["l[0]"]);
    let expected = "\
ask asking x1: asking 5-40 undone, asking 60-
l running x1: inside 0-10, inside 40-
l[0]/a running x1: queued 0-1 undone, running 1-43 undone
l[0@1]/a running x1: queued 41-42, running 42-
";
    let rows = rows(apart(tracks), &Texts::default(), bounds(100));
    assert_eq!(shown(&rows), expected);
    // Undone time is not added to the rest.
    assert_eq!((rows[0].totals.asking_ms, rows[2].totals.running_ms), (40, 42));
    let told: Vec<String> = moments.iter().map(TimelineMoment::sentence).collect();
    assert_eq!(told, ["patched to revision 1 by ana: d", "restarted from l, generation 1, by ana"]);
}

#[test]
fn failures_are_seen_among_many() {
    let mut text = String::new();
    for item in 0..20 {
        let to = if item == 7 {
            format!("{{\"record\":\"node_failed\",{FAILURE},\"then\":\"fail\"}}")
        } else {
            "{\"record\":\"node_done\",\"output\":\"own\",\"went\":\"done\"}".to_owned()
        };
        text += &format!("run-1/e[{item}]/x {item} {to}\n");
    }
    text += "run-1//e 0 {\"record\":\"node_started\",\"at\":{\"asking\":{\"until\":null}}}\n";
    let rows = rows(folded(tracks(&text, 2_400)), &Texts::default(), bounds(2_400));
    assert_eq!(shown(&rows), "e asking x1: asking 0-\ne[*]/x failed x20: running 0-19, running 7-7!boom\n");
    assert_eq!(rows[1].failed, 1);
}

#[test]
fn many_turns_and_items_are_one_row() {
    let mut text = String::new();
    for turn in 0..2 {
        for item in 0..20 {
            let (from, to) = (turn * 100 + item, turn * 100 + item + 5);
            text += &format!(
                "run-1/l[{turn}].e[{item}]/x {from} {{\"record\":\"node_started\",\"at\":{{\"asking\":{{\"until\":null}}}}}}\n"
            );
            text +=
                &format!("run-1/l[{turn}].e[{item}]/x {to} {{\"record\":\"node_done\",\"output\":\"own\",\"went\":\"done\"}}\n");
        }
    }
    let told = shown(&rows(folded(tracks(&text, 200)), &Texts::default(), bounds(200)));
    assert_eq!(told, "l[0].e[*]/x done x20: asking 0-24\nl[1].e[*]/x done x20: asking 100-124\n");
    assert_eq!(rows(apart(tracks(&text, 200)), &Texts::default(), bounds(200)).len(), 40);
}

#[test]
fn the_picture_holds_what_was_said() {
    let text = format!(
        "run-1//a 0 {{\"record\":\"node_started\",\"at\":{{\"working\":{{\"task\":\"task-2\"}}}}}}\ntask-2 10 {LEASED}\n\
         task-2 30 {{\"record\":\"task_failed\",\"failure\":{{\"code\":\"boom\",\"message\":\"<&\"}},\"digest\":1}}\n"
    );
    let rows = rows(apart(tracks(&text, 40)), &Texts::default(), bounds(40));
    let instant = |ms| Instant(Time::from_ms(ms));
    let line = Timeline {
        run: RunId::parse("run-1").unwrap(),
        workflow: kernel::names::WorkflowName::parse("w").unwrap(),
        version: 1,
        revision: 0,
        generation: 0,
        status: RunStatus::Running,
        started_at: instant(0),
        ended_at: None,
        until: instant(40),
        moments: vec![TimelineMoment {
            what: MomentKind::Patched,
            at: instant(20),
            record: Cursor(RecordSeq(9)),
            revision: Some(1),
            generation: None,
            node: None,
            by: kernel::names::Actor::parse("ana").unwrap(),
            reason: "why".to_owned(),
        }],
        rows,
        left_out: 3,
        more: true,
    };
    let svg = paint::svg(&line);
    for text in [
        "boom: &lt;&amp;",
        "class=\"b-failed\"",
        "class=\"b-queued\"",
        ">20 ms</text>",
        "and 3 more rows; `--limit 4` has them",
        "more records than",
        ">revision 1</text>",
        "patched to revision 1 by ana: why",
        "class=\"moment m-patched\" d=\"M704 ",
        ">took</text>",
    ] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
    // A quarter of the time is a quarter of the width.
    assert!(svg.contains("<rect class=\"b-queued\" x=\"294\" y=\"137\" width=\"205\""), "{svg}");
    for (all_ms, step) in [(1, 1), (40, 5), (100_000, 15_000), (3_600_000, 600_000), (40 * 86_400_000, 8 * 86_400_000)] {
        assert_eq!(step_ms(all_ms, 8), step, "{all_ms}");
    }
}
