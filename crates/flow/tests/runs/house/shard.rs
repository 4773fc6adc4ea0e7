//! One kernel with its store: rows as a disk would hold them, so that it can be started anew from these alone.

use super::book::Book;
use kernel::command::{Command, Reply};
use kernel::decide;
use kernel::ids::RecordSeq;
use kernel::ir::Ir;
use kernel::message::Message;
use kernel::needs::{Need, needs};
use kernel::record::{Owner, Payload};
use kernel::rejection::Rejection;
use kernel::row::{BULKS, FRAMES, KEYS, NODES, QUEUES, RUNS, Row, SHARDS, TASKS, Table, Value};
use kernel::state::State;
use kernel::step::{Step, Stepped};
use kernel::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// In the order in which they are loaded.
const TABLES: [&Table; 8] = [&SHARDS, &QUEUES, &KEYS, &BULKS, &TASKS, &RUNS, &FRAMES, &NODES];
const RUNS_FROM: usize = 5;

pub struct Shard {
    pub state: State,
    id: u16,
    irs: Vec<Arc<Ir>>,
    rows: BTreeMap<(usize, Vec<Value>), Row>,
    pub payloads: BTreeMap<RecordSeq, Payload>,
    elsewhere: fn(&Message) -> bool,
}

impl Shard {
    pub fn new(id: u16, irs: &[Arc<Ir>], elsewhere: fn(&Message) -> bool) -> Shard {
        let mut state = State::new(id);
        irs.iter().for_each(|ir| state.put_workflow(ir.clone()));
        Shard { state, id, irs: irs.to_vec(), rows: BTreeMap::new(), payloads: BTreeMap::new(), elsewhere }
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
        }
        for owner in &stepped.dirty {
            self.write(owner);
        }
        self.state.cool();
        (reply, stepped)
    }

    fn write(&mut self, owner: &Owner) {
        let rank = |table: &Table| TABLES.iter().position(|known| *known == table).expect("a table that is loaded");
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
                let Need::Task(task) = need else { panic!("{need:?} is of no command here") };
                if let Some(row) = self.rows.get(&(4, vec![Value::Int(task.number())])) {
                    self.state.take_row(row, now).expect("a row that was written");
                }
            }
        }
    }

    /// As after a crash: from rows alone.
    pub fn restart(&mut self, now: Time) {
        let mut state = State::new(self.id);
        self.irs.iter().for_each(|ir| state.put_workflow(ir.clone()));
        // A run that is closed lives in the store alone, with all that belongs to it.
        let number = |key: &[Value]| if let Value::Int(number) = key[0] { number } else { panic!("a run's rows begin with it") };
        let live: Vec<i64> = self
            .rows
            .iter()
            .filter(|((rank, key), _)| *rank == RUNS_FROM && self.is_live(number(key)))
            .map(|((_, key), _)| number(key))
            .collect();
        for ((rank, key), row) in &self.rows {
            let taken = match *rank {
                rank if rank < RUNS_FROM => state.take_row(row, now),
                _ if live.contains(&number(key)) => state.take_run_row(row),
                _ => Ok(()),
            };
            taken.unwrap_or_else(|bad| panic!("{bad}"));
        }
        state.runs_loaded();
        state.cool();
        self.state = state;
    }

    fn is_live(&self, run: i64) -> bool {
        let run = kernel::ids::RunId::from_number(run).expect("the number of a run");
        self.state.live_run(run).is_some_and(|live| !live.is_closed())
    }
}
