//! Workflows and their runs in memory: looked through where a database would have an index.

use super::Durable;
use crate::chain::{self, Moment, column};
use crate::store::{ApprovalQuery, NodeQuery, RunQuery, Stamp, StoreError};
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::names::{IdempotencyKey, WorkflowName};
use kernel::record::Entry;
use kernel::row::{BadRow, FRAMES, NODES, RUNS, Row, TASKS, Table, Value, WORKFLOWS};
use kernel::run::Run;
use kernel::task::Task;
use kernel::time::Time;
use std::collections::BTreeSet;

fn of<'a>(table: &'static Table, values: &'a [Value], name: &str) -> &'a Value {
    &values[column(table, name)]
}

pub(super) fn is_live(values: &[Value]) -> bool {
    *of(&RUNS, values, "live") == Value::Int(1)
}

fn is_deleting(values: &[Value]) -> bool {
    *of(&RUNS, values, "deleting") != Value::Null
}

impl Durable {
    /// Rows whose key begins with this value, by key.
    fn below<'a>(&'a self, table: &'static Table, first: &Value) -> impl Iterator<Item = Row> + use<'a> {
        let first = first.clone();
        let from = self.tables[super::index_of(table)].range(vec![first.clone()]..);
        let same = from.take_while(move |(key, _)| key[0] == first);
        same.map(move |(_, values)| Row { table, values: values.clone() })
    }

    pub(super) fn frames_of(&self, run: RunId) -> impl Iterator<Item = Row> {
        self.below(&FRAMES, &Value::Int(run.number()))
    }

    /// Frames, then nodes.
    pub(super) fn parts(&self, run: RunId) -> impl Iterator<Item = Row> {
        self.frames_of(run).chain(self.below(&NODES, &Value::Int(run.number())))
    }

    /// Runs that are live with all that belongs to them.
    pub(super) fn runs_whole(&self) -> BTreeSet<Value> {
        let whole = self.rows(&RUNS).filter(|values| is_live(values) && !is_deleting(values));
        whole.map(|values| values[0].clone()).collect()
    }

    pub(super) fn run_by_key(&self, workflow: &WorkflowName, key: &IdempotencyKey) -> Option<Row> {
        let (workflow, key) = (workflow.shared().into(), key.shared().into());
        let fits = |values: &&[Value]| *of(&RUNS, values, "workflow") == workflow && *of(&RUNS, values, "idempotency_key") == key;
        self.rows(&RUNS).rev().find(fits).map(|values| Row { table: &RUNS, values: values.to_vec() })
    }

    pub(super) fn runs_ended(&self, before: Time, keep: usize, limit: usize) -> Vec<Row> {
        let ended_at = |values: &[Value]| if let Value::Int(at) = of(&RUNS, values, "ended_at") { Some(*at) } else { None };
        let ended = self.rows(&RUNS).filter(|values| !is_deleting(values) && *of(&RUNS, values, "parent") == Value::Null);
        let mut ended: Vec<(i64, &[Value])> = ended.filter_map(|values| Some((ended_at(values)?, values))).collect();
        ended.sort_by(|a, b| (a.0, &a.1[0]).cmp(&(b.0, &b.1[0])));
        let beyond = ended.len().saturating_sub(keep);
        let wanted = ended.iter().enumerate().filter(|(place, (at, _))| *at < before.us() || *place < beyond);
        wanted.take(limit).map(|(_, (_, values))| Row { table: &RUNS, values: values.to_vec() }).collect()
    }

    /// Lowest first.
    pub(super) fn workflow_versions(&self, name: &WorkflowName) -> Vec<Row> {
        self.below(&WORKFLOWS, &name.shared().into()).collect()
    }

    pub(super) fn workflows_newest(&self) -> Vec<Row> {
        let mut newest: Vec<Row> = Vec::new();
        for values in self.rows(&WORKFLOWS) {
            if newest.last().is_some_and(|row| row.values[0] == values[0]) {
                newest.pop();
            }
            newest.push(Row { table: &WORKFLOWS, values: values.to_vec() });
        }
        newest
    }

    pub(super) fn runs(&self, query: &RunQuery) -> Result<Vec<Row>, BadRow> {
        let mut found = Vec::new();
        let mut rows: Vec<&[Value]> = self.rows(&RUNS).collect();
        if !query.oldest_first {
            rows.reverse();
        }
        for values in rows {
            if found.len() == query.limit {
                break;
            }
            let run = Run::from_row(values)?;
            let spec = run.spec();
            let fits = !run.is_deleting()
                && query.before.is_none_or(|before| run.id() < before)
                && query.after.is_none_or(|after| run.id() > after)
                && query.workflow.as_ref().is_none_or(|workflow| *workflow == spec.workflow)
                && query.status.is_none_or(|status| status == run.status())
                && query.paused.is_none_or(|paused| paused == run.is_paused())
                && query.tag.as_ref().is_none_or(|tag| spec.tags.contains(tag))
                && query.parent.is_none_or(|parent| spec.parent.as_ref().is_some_and(|at| at.run == parent))
                && query.called.is_none_or(|called| spec.parent.is_some() == called)
                && query.idempotency_key.as_ref().is_none_or(|key| spec.idempotency_key.as_ref() == Some(key));
            if fits {
                found.push(Row { table: &RUNS, values: values.to_vec() });
            }
        }
        Ok(found)
    }

    pub(super) fn nodes(&self, query: &NodeQuery) -> Vec<Row> {
        let frame = query.frame.as_ref().map(|frame| Value::from(frame.to_string().as_str()));
        let status = query.status.as_deref().map(Value::from);
        let after = query.after.as_ref();
        let after = after.map(|(frame, node)| [Value::from(frame.to_string().as_str()), node.shared().into()]);
        let fits = |row: &Row| {
            frame.as_ref().is_none_or(|frame| *frame == row.values[1])
                && status.as_ref().is_none_or(|status| status == of(&NODES, &row.values, "status"))
                && after.as_ref().is_none_or(|after| row.values[1..3] > after[..])
        };
        self.below(&NODES, &Value::Int(query.run.number())).filter(fits).take(query.limit).collect()
    }

    pub(super) fn approvals(&self, query: &ApprovalQuery) -> Vec<Row> {
        let workflow = query.workflow.as_ref().map(|workflow| Value::from(workflow.shared()));
        let place = |values: &[Value]| (of(&NODES, values, "since").clone(), values[..3].to_vec());
        let after = query.after.as_ref().map(|(since, at)| {
            let key = vec![Value::Int(at.run.number()), at.frame.to_string().as_str().into(), at.node.shared().into()];
            (Value::from(*since), key)
        });
        let is_of = |run: &Value, workflow: &Value| {
            self.row(&RUNS, std::slice::from_ref(run)).is_some_and(|values| of(&RUNS, values, "workflow") == workflow)
        };
        let asks = |values: &&[Value]| {
            *of(&NODES, values, "status") == Value::from("started")
                && *of(&NODES, values, "work") == Value::from("asking")
                && workflow.as_ref().is_none_or(|workflow| is_of(&values[0], workflow))
                && after.as_ref().is_none_or(|after| place(values) > *after)
        };
        let mut asking: Vec<&[Value]> = self.rows(&NODES).filter(asks).collect();
        asking.sort_by_key(|values| place(values));
        asking.into_iter().take(query.limit).map(|values| Row { table: &NODES, values: values.to_vec() }).collect()
    }
}

impl Moment for Durable {
    fn record(&self, seq: RecordSeq, payload: bool) -> Result<Option<Entry>, StoreError> {
        let entry = self.entries.get(&seq);
        Ok(entry.map(|entry| if payload { entry.clone() } else { Entry { payload: None, ..entry.clone() } }))
    }

    fn lasts(&self, table: &'static Table, number: i64, limit: usize) -> Result<Vec<RecordSeq>, StoreError> {
        let rows = self.below(table, &Value::Int(number)).take(limit);
        Ok(rows.map(|row| chain::last_of(table, &row.values)).collect::<Result<_, BadRow>>()?)
    }

    fn scan(&self, after: RecordSeq, each: &mut dyn FnMut(Stamp, &str) -> Result<bool, StoreError>) -> Result<(), StoreError> {
        for entry in self.entries_after(after) {
            if !each(Stamp { seq: entry.seq, at: entry.at }, &entry.owner.to_string())? {
                break;
            }
        }
        Ok(())
    }

    fn first_of(&self, run: RunId) -> Result<Option<RecordSeq>, StoreError> {
        let row = self.row(&RUNS, &[Value::Int(run.number())]);
        Ok(row.map(Run::from_row).transpose()?.map(|run| run.input()))
    }

    fn run_of(&self, task: TaskId) -> Result<Option<RunId>, StoreError> {
        let row = self.row(&TASKS, &[Value::Int(task.number())]);
        let task = row.map(Task::from_row).transpose()?;
        Ok(task.and_then(|task| task.card().node().map(|at| at.run)))
    }
}
