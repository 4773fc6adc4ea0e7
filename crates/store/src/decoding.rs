//! Decoding meets whatever a disk may hold: it answers, it never panics, and what it accepts it writes back the same.

use crate::conformance::sample::sample;
use kernel::bulk::Bulk;
use kernel::event::Event;
use kernel::queue::Queue;
use kernel::record::{Owner, Record};
use kernel::registry::{Control, Registry};
use kernel::row::{BadRow, FrameRow, NodeRow, Permits, Row, TABLES, Value};
use kernel::run::Run;
use kernel::shard::Shard;
use kernel::task::Task;
use kernel::workflow::Workflow;
use proptest::prelude::*;

/// Decodes a row as what it is, and gives the row that would be written for it.
fn decoded(row: &Row) -> Result<Row, BadRow> {
    let values = &row.values;
    match row.table.name {
        "shards" => Shard::from_row(values).map(|shard| shard.to_row()),
        "queues" => Queue::from_row(values).map(|queue| queue.to_row()),
        "keys" => Permits::from_row(values).map(|permits| permits.to_row()),
        "bulks" => Bulk::from_row(values).map(|bulk| bulk.to_row()),
        "tasks" => Task::from_row(values).map(|task| task.to_row()),
        "workflows" => Workflow::from_row(values).map(|workflow| workflow.to_row()),
        "runs" => Run::from_row(values).map(|run| run.to_row()),
        "frames" => FrameRow::from_row(values).map(|frame| frame.to_row()),
        "nodes" => NodeRow::from_row(values).map(|node| node.to_row()),
        "events" => Event::from_row(values).map(|event| event.to_row()),
        "registries" => Registry::from_row(values).map(|registry| registry.to_row(0)),
        "controls" => Control::from_row(values).map(|control| control.to_row()),
        other => panic!("{other} is not a table"),
    }
}

fn check(row: &Row) -> Result<(), TestCaseError> {
    match decoded(row) {
        // JSON may be written in more ways than one, so the second writing is compared with the first.
        Ok(written) => prop_assert_eq!(decoded(&written), Ok(written.clone())),
        Err(bad) => prop_assert_eq!(bad.table, row.table.name),
    }
    Ok(())
}

fn any_value() -> impl Strategy<Value = Value> {
    let ints = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(-1), Just(0), Just(1), any::<i64>(), -10_000i64..10_000];
    let words = prop_oneof![
        Just(""),
        Just("ci"),
        Just("queued"),
        Just("running"),
        Just("failed"),
        Just("cancelled"),
        Just("asked"),
        Just("timed_out"),
        Just("open"),
        Just("null"),
        Just("[]"),
        Just("{}"),
        Just("[[\"b\",\"x\"],[\"a\",\"y\"]]"),
        Just("[[\"a\",\"x\"],[\"a\",\"y\"]]"),
        Just("[\"task-1\",\"task-zzzzzzzzzzzzz.99999\"]"),
        Just("{\"attempts\":0,\"jitter_percent\":255}"),
        Just("[[{},99999999999]]"),
        Just("done"),
        Just("started"),
        Just("skipped"),
        Just("waiting"),
        Just("dropped"),
        Just("asking"),
        Just("working"),
        Just("spreading"),
        Just("passed"),
        Just("untaken"),
        Just("ignore"),
        Just("r17"),
        Just("r17[4]"),
        Just("r0"),
        Just("a[0].b[12]"),
        Just("\"reject\""),
        Just("{\"rule\":70000}"),
        Just("{\"run\":\"run-7\",\"frame\":\"a[0]\",\"node\":\"b\"}"),
        Just("{\"since\":1,\"reason\":\"\",\"by\":\"ada\"}"),
        Just("{\"work\":\"clear\",\"queue\":\"ci\",\"upto\":\"task-1\",\"reason\":\"\"}"),
    ];
    prop_oneof![
        1 => Just(Value::Null),
        2 => ints.prop_map(Value::Int),
        2 => words.prop_map(Value::from),
        1 => ".{0,40}".prop_map(|text| Value::from(text.as_str())),
    ]
}

/// Of any table.
const COLUMNS_MAX: usize = 40;

fn sample_rows() -> Vec<Row> {
    let (_, batches) = sample();
    batches.into_iter().flat_map(|batch| batch.puts).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn rows_of_anything_are_answered(table in 0..TABLES.len(), values in proptest::collection::vec(any_value(), COLUMNS_MAX)) {
        let table = TABLES[table];
        let values = values[..table.columns.len()].to_vec();
        check(&Row { table, values })?;
    }

    #[test]
    fn good_rows_gone_bad_are_answered(
        row in proptest::sample::select(sample_rows()),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any_value()), 1..4),
    ) {
        let mut row = row;
        for (at, value) in changes {
            let at = at.index(row.values.len());
            row.values[at] = value;
        }
        check(&row)?;
    }

    #[test]
    fn owners_and_records_of_anything_are_answered(text in "[a-z:|=.0-9\\-]{0,30}|run-[0-9a-z]{1,3}(/([a-z]{1,2}\\[[0-9]{1,2}\\]\\.?){0,2}){0,1}(/[a-z]{0,3})?|.{0,30}") {
        if let Some(owner) = Owner::parse(&text) {
            prop_assert_eq!(owner.to_string(), text.clone());
        }
        let _ = serde_json::from_str::<Record>(&text);
    }

    #[test]
    fn records_gone_bad_are_answered(
        body in proptest::sample::select(sample_bodies()),
        at in any::<proptest::sample::Index>(),
        with in "[0-9\"{}\\[\\]a-z,:]{0,3}",
    ) {
        let mut body = body;
        let at = at.index(body.len());
        if body.is_char_boundary(at) && body.is_char_boundary(at + 1) {
            body.replace_range(at..=at, &with);
        }
        if let Ok(record) = serde_json::from_str::<Record>(&body) {
            let again = serde_json::to_string(&record).unwrap();
            prop_assert_eq!(serde_json::from_str::<Record>(&again).unwrap(), record);
        }
    }
}

fn sample_bodies() -> Vec<String> {
    let (_, batches) = sample();
    let entries = batches.iter().flat_map(|batch| &batch.entries);
    entries.map(|entry| serde_json::to_string(&entry.record).unwrap()).collect()
}

#[test]
fn good_rows_are_written_back_the_same() {
    for row in sample_rows() {
        assert_eq!(decoded(&row), Ok(row.clone()));
    }
}

#[test]
fn rows_of_another_length_are_refused() {
    for row in sample_rows() {
        let longer = [row.values.clone(), vec![Value::Null]].concat();
        for values in [Vec::new(), row.values[1..].to_vec(), longer] {
            assert!(decoded(&Row { table: row.table, values }).is_err());
        }
    }
}
