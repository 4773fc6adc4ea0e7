//! One kernel with its store: rows as a disk would hold them, so that it can be started anew from these alone.

use super::book::{Book, compile};
use kernel::command::{Command, Reply};
use kernel::decide;
use kernel::ids::{RecordSeq, RunId};
use kernel::message::Message;
use kernel::needs::{Begun, Need, needs};
use kernel::node::Started;
use kernel::record::{Owner, Payload, Record};
use kernel::rejection::Rejection;
use kernel::row::{RUNS, Row, TABLES, TASKS, Table, Value};
use kernel::run::NodeAt;
use kernel::runs::WantedIr;
use kernel::state::State;
use kernel::step::{Step, Stepped};
use kernel::time::Time;
use std::collections::BTreeMap;

pub struct Shard {
    pub state: State,
    id: u16,
    pub rows: BTreeMap<(usize, Vec<Value>), Row>,
    pub payloads: BTreeMap<RecordSeq, Payload>,
    /// What each node has ever had done by others.
    begun: BTreeMap<NodeAt, Vec<Begun>>,
    elsewhere: fn(&Message) -> bool,
}

impl Shard {
    pub fn new(id: u16, elsewhere: fn(&Message) -> bool) -> Shard {
        Shard { state: State::new(id), id, rows: BTreeMap::new(), payloads: BTreeMap::new(), begun: BTreeMap::new(), elsewhere }
    }

    pub fn ask(&mut self, command: &Command, now: Time, book: &mut Book) -> (Result<Reply, Rejection>, Stepped) {
        while self.state.advance(now) {}
        self.load(command, now);
        // Queues alone have no workflows to ask.
        let step = match self.id {
            0 => Step::with_flow(&mut self.state, now, book),
            _ => Step::new(&mut self.state, now),
        };
        let mut step = step.without(self.elsewhere);
        let reply = decide(&mut step, command);
        let stepped = step.finish();
        for entry in &stepped.entries {
            entry.payload.iter().for_each(|payload| _ = self.payloads.insert(entry.seq, payload.clone()));
            if let (Owner::Node(at), Record::NodeStarted { at: started }) = (&entry.owner, &entry.record) {
                let begun = match started {
                    Started::Working { task } => Some(Begun::Task(*task)),
                    Started::Calling { run, .. } => Some(Begun::Run(*run)),
                    _ => None,
                };
                self.begun.entry(at.clone()).or_default().extend(begun);
            }
        }
        for owner in &stepped.dirty {
            self.write(owner);
        }
        for (owner, _) in &stepped.forgotten {
            let (table, key) = owner.place(self.id);
            self.rows.remove(&(rank(table), key));
        }
        self.state.cool();
        (reply, stepped)
    }

    fn write(&mut self, owner: &Owner) {
        match self.state.row(owner) {
            Ok(row) => _ = self.rows.insert((rank(row.table), row.key().to_vec()), row),
            Err((table, key)) => _ = self.rows.remove(&(rank(table), key)),
        }
    }

    /// What a command touches that is not in memory.
    fn load(&mut self, command: &Command, now: Time) {
        for _ in 0..2 {
            let mut needed = Vec::new();
            needs(command, &self.state, now, &mut needed);
            for need in needed {
                let (table, number) = match need {
                    Need::RunWhole(run) => {
                        let of_run = |(at, key): &(usize, Vec<Value>)| *at >= rank(&RUNS) && key[0] == Value::Int(run.number());
                        let rows = self.rows.iter().filter(|(place, _)| of_run(place));
                        rows.for_each(|(_, row)| take(&mut self.state, &self.payloads, row, now));
                        self.state.took_whole([run]);
                        continue;
                    }
                    Need::RunParts { runs, limit } => {
                        self.load_parts(&runs, limit, now);
                        continue;
                    }
                    Need::Task(task) => (&TASKS, task.number()),
                    Need::Run(run) => (&RUNS, run.number()),
                    other => panic!("{other:?} is of no command here"),
                };
                if let Some(row) = self.rows.get(&(rank(table), vec![Value::Int(number)])) {
                    take(&mut self.state, &self.payloads, row, now);
                }
            }
        }
    }

    /// Into another state that has followed the same records: what is past there as well.
    pub fn lend_whole(&self, state: &mut State, run: RunId, now: Time) {
        let of_run = |(at, key): &(usize, Vec<Value>)| *at > rank(&RUNS) && key[0] == Value::Int(run.number());
        let rows = self.rows.iter().filter(|(place, _)| of_run(place));
        rows.for_each(|(_, row)| take(state, &self.payloads, row, now));
        state.took_whole([run]);
    }

    fn load_parts(&mut self, runs: &[RunId], limit: usize, now: Time) {
        // Once in a batch.
        if !self.state.nodes_leaving().is_empty() {
            return;
        }
        let of = |run: &RunId| {
            let number = Value::Int(run.number());
            let parts = self.rows.iter().filter(move |((at, key), _)| *at > rank(&RUNS) && key[0] == number);
            parts.map(|(_, row)| row.clone()).collect::<Vec<_>>()
        };
        let rows: Vec<Row> = runs.iter().flat_map(of).take(limit).collect();
        rows.iter().for_each(|row| take(&mut self.state, &self.payloads, row, now));
        self.state.looked_for_parts(runs, limit);
        for (at, _) in self.state.nodes_leaving() {
            for begun in self.begun.get(&at).into_iter().flatten() {
                self.state.take_begun(&at, *begun);
            }
        }
    }

    /// The rows of a table whose keys begin with this number, as they are kept.
    pub fn rows_of(&self, table: &Table, number: i64) -> Vec<Row> {
        let from = (rank(table), vec![Value::Int(number)]);
        let same = |((at, key), _): &(&(usize, Vec<Value>), &Row)| *at == rank(table) && key[0] == Value::Int(number);
        self.rows.range(from..).take_while(same).map(|(_, row)| row.clone()).collect()
    }

    /// Rows in these tables.
    pub fn count(&self, tables: &[&Table]) -> usize {
        self.rows.keys().filter(|(at, _)| tables.iter().any(|table| rank(table) == *at)).count()
    }

    /// As after a crash: from rows alone.
    pub fn restart(&mut self, now: Time) {
        let mut state = State::new(self.id);
        let number = |key: &[Value]| if let Value::Int(number) = key[0] { number } else { panic!("a run's rows begin with it") };
        for ((at, key), row) in &self.rows {
            // A run that is closed lives in the store alone, with all that belongs to it.
            if *at >= rank(&RUNS) && !self.is_live(number(key), *at > rank(&RUNS)) {
                continue;
            }
            take(&mut state, &self.payloads, row, now);
        }
        state.loaded();
        state.cool();
        self.state = state;
    }

    /// Of one that is being deleted the parts are in the store alone.
    fn is_live(&self, run: i64, part: bool) -> bool {
        let run = RunId::from_number(run).expect("the number of a run");
        self.state.live_run(run).is_some_and(|live| !(live.is_closed() || (part && live.run().is_deleting())))
    }
}

/// A row that was written; a run needs its text first.
fn take(state: &mut State, payloads: &BTreeMap<RecordSeq, Payload>, row: &Row, now: Time) {
    match state.wants_ir(row) {
        None => {}
        Some(WantedIr::Version(workflow)) => {
            let ir = compile(&workflow).expect("it was put");
            state.learn_ir(workflow.name(), workflow.version(), ir);
        }
        Some(WantedIr::Revision { run, revision, record, workflow }) => {
            let ir = super::book::revised(workflow.version(), &payloads[&record]);
            state.learn_revision(run, revision, Ok(ir));
        }
    }
    state.take_row(row, now).unwrap_or_else(|bad| panic!("{bad}"));
}

/// Where a table stands in the order of loading.
fn rank(table: &Table) -> usize {
    TABLES.iter().position(|known| *known == table).expect("a table of the state")
}
