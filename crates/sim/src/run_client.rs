//! What clients ask of workflows and runs: mostly sense, some nonsense, and some of it twice.

use crate::catalogue::CATALOGUE;
use crate::client::{Client, actor};
use crate::model::runs::NodeState;
use crate::temper::Wish;
use engine::Request;
use kernel::command::Command;
use kernel::decide::{NewRun, NewWorkflow};
use kernel::frame::FramePath;
use kernel::ids::{RunId, TaskId};
use kernel::limits::CHUNK_ITEMS_MAX;
use kernel::message::{Ending, Message};
use kernel::names::{Actor, IdempotencyKey, NodeId, WorkflowName};
use kernel::node::Started;
use kernel::record::{Failure, Payload, TaskSpec};
use kernel::run::{NodeAt, RunSpec, RunStatus, ValueAt};

/// Items for workers, all of one run.
const CROWD_ITEMS: usize = 200;
/// More than a chunk holds, and not by a round number.
const WIDE_ITEMS: usize = CHUNK_ITEMS_MAX + 130;

impl Client<'_> {
    pub fn about_runs(&mut self, wish: Wish) -> Vec<Request> {
        let by = actor();
        let command = match wish {
            Wish::PutWorkflow if self.chance.permille(200) => {
                Command::PutWorkflows { new: (0..1 + self.chance.below(3)).map(|_| self.new_workflow()).collect(), by }
            }
            Wish::PutWorkflow => Command::PutWorkflow { new: Box::new(self.new_workflow()), by },
            Wish::DisableWorkflow => {
                Command::DisableWorkflow { workflow: self.chance.pick(&CATALOGUE).name.clone(), reason: "audit".into(), by }
            }
            Wish::EnableWorkflow => {
                let disabled: Vec<WorkflowName> = self.model.runs.disabled.iter().map(|(name, _)| name.clone()).collect();
                let any = self.chance.pick(&CATALOGUE).name.clone();
                let workflow = if disabled.is_empty() { any } else { self.chance.pick(&disabled).clone() };
                Command::EnableWorkflow { workflow, by }
            }
            Wish::StartRun => self.start(),
            Wish::CancelRun => Command::CancelRun { run: self.run(None), by, reason: "not needed".into() },
            Wish::PauseRun => {
                let run = self.wide().unwrap_or_else(|| self.run(Some(RunStatus::Running)));
                Command::PauseRun { run, by, reason: "a look".into() }
            }
            Wish::ResumeRun => Command::ResumeRun { run: self.paused(), by },
            Wish::RetryRun => {
                let run = self.run(Some(RunStatus::Failed));
                let node = if self.chance.permille(300) { Some(Box::new(self.node(run))) } else { None };
                let changed = self.temper.changes && self.chance.permille(300);
                let new = if changed { self.new_revision(run) } else { None };
                Command::RetryRun { run, node, new, reason: String::new(), by }
            }
            Wish::DeleteRun => Command::DeleteRun { run: self.run(Some(RunStatus::Done)), by },
            Wish::ExpireRuns => {
                let runs = (0..1 + self.chance.below(3)).map(|_| self.run(Some(RunStatus::Done))).collect();
                Command::ExpireRuns { runs }
            }
            Wish::Answer => return self.answer(),
            Wish::LookAtRun => return vec![Request::ExplainRun { run: self.run(None) }],
            Wish::PatchRun | Wish::RestartRun | Wish::SkipNode => match self.change(wish) {
                Some(command) => command,
                None => return Vec::new(),
            },
            Wish::RunMistake => self.run_mistake(),
            Wish::RunBulk => self.bulk_of_runs(),
            Wish::Echo => match self.echo() {
                Some(message) => Command::Hear(Box::new(message)),
                None => return Vec::new(),
            },
            other => unreachable!("{other:?} is not about runs"),
        };
        // Cancelled and at once tried again or deleted, all in one batch if it so happens.
        let mut requests = vec![Request::Command(command.clone())];
        if let Command::CancelRun { run, .. } = command
            && self.chance.permille(300)
        {
            let by = actor();
            let then = match self.chance.below(3) {
                0 => Command::DeleteRun { run, by },
                1 => Command::PauseRun { run, by, reason: "too late".into() },
                _ => Command::RetryRun { run, node: None, new: None, reason: String::new(), by },
            };
            requests.push(Request::Command(then));
        }
        requests
    }

    fn new_workflow(&mut self) -> NewWorkflow {
        let fresh = |name: &WorkflowName| !self.model.runs.workflows.keys().any(|(known, _)| known == name);
        let new = CATALOGUE.iter().find(|known| fresh(&known.name));
        let known = match new {
            Some(known) if self.chance.permille(700) => known,
            _ => self.chance.pick(&CATALOGUE),
        };
        let text = known.texts[usize::from(self.chance.permille(150))].clone();
        let version = self.chance.maybe(150, |chance| 1 + chance.below(4) as u32);
        NewWorkflow { name: known.name.clone(), version, text, ir: known.ir.clone() }
    }

    fn start(&mut self) -> Command {
        let often_wide = self.temper.wide && self.chance.permille(100);
        let name = *self.chance.pick(&["wide", "crowd"]);
        let known = if often_wide { CATALOGUE.iter().find(|known| known.name.as_str() == name) } else { None };
        let workflow = known.unwrap_or_else(|| self.chance.pick(&CATALOGUE)).name.clone();
        let version = self.chance.maybe(100, |chance| 1 + chance.below(3) as u32);
        // Few keys, so that they are used again and again.
        let idempotency_key =
            self.chance.maybe(300, |chance| IdempotencyKey::parse(&format!("k{}", chance.below(4))).expect("a key"));
        let deadline = self.chance.maybe(50, |chance| chance.between(0, 5_000)).map(|ms| self.now.plus_ms(ms));
        let spec = RunSpec { idempotency_key, deadline, ..RunSpec::new(workflow.clone(), 0) };
        let wide = self.temper.wide && self.chance.permille(700);
        let items = match workflow.as_str() {
            "wide" if wide => WIDE_ITEMS,
            "crowd" if wide => CROWD_ITEMS,
            _ => self.chance.below(5),
        };
        let list: Vec<usize> = (0..items).collect();
        let input = match self.chance.below(20) {
            0 => "null".to_owned(),
            _ => format!("{{\"n\":{},\"list\":{list:?}}}", self.chance.below(10)),
        };
        let new = NewRun { workflow, version, spec, input: Payload(input.into()) };
        Command::StartRun { new: Box::new(new), by: actor() }
    }

    /// One of the newest, as a rule; if a status is given, one that has it, as a rule.
    pub(crate) fn run(&mut self, status: Option<RunStatus>) -> RunId {
        if let Some(status) = status
            && self.chance.permille(800)
        {
            let mut fitting = self.model.runs.runs.iter().filter(|(_, run)| run.status == status && !run.deleting).rev();
            let at = self.chance.below(6);
            let first = fitting.next();
            if let Some((run, _)) = fitting.nth(at).or(first) {
                return *run;
            }
        }
        let Some(newest) = self.runs.len().checked_sub(1) else { return RunId::new(7, 0) };
        self.runs[newest - self.chance.below(newest.min(8) + 1)]
    }

    /// One with very many items, now and then.
    fn wide(&mut self) -> Option<RunId> {
        if !self.temper.wide || !self.chance.permille(500) {
            return None;
        }
        let wide = self.model.runs.running().filter(|(_, run)| run.workflow.as_str() == "wide");
        wide.map(|(id, _)| id).max_by_key(|id| self.model.runs.nodes_of(*id).count())
    }

    fn paused(&mut self) -> RunId {
        let paused: Vec<RunId> = self.model.runs.running().filter(|(_, run)| run.paused).map(|(id, _)| id).collect();
        if paused.is_empty() || self.chance.permille(200) { self.run(None) } else { *self.chance.pick(&paused) }
    }

    /// One that has ended somehow, as a rule.
    pub(crate) fn node(&mut self, run: RunId) -> NodeAt {
        let nodes: Vec<&NodeAt> = self.model.runs.nodes_of(run).map(|(at, _)| at).collect();
        if nodes.is_empty() || self.chance.permille(100) {
            return NodeAt { run, frame: FramePath::root(), node: NodeId::parse("zz").expect("an id") };
        }
        (*self.chance.pick(&nodes)).clone()
    }

    /// Somebody answers: whom it was asked, as a rule, and once, as a rule.
    fn answer(&mut self) -> Vec<Request> {
        let asks = |state: &NodeState| matches!(state, NodeState::Started(Started::Asking { .. }));
        let asking: Vec<&NodeAt> = self.model.runs.nodes.iter().filter(|(_, node)| asks(&node.state)).map(|(at, _)| at).collect();
        let at = match asking.is_empty() || self.chance.permille(100) {
            false => (*self.chance.pick(&asking)).clone(),
            true => {
                let run = self.run(None);
                self.node(run)
            }
        };
        let by = if self.chance.permille(100) { Actor::parse("other").expect("a name") } else { actor() };
        let approved = self.chance.permille(600);
        let mut answers = vec![Command::Answer { at: at.clone(), approved, comment: "well".into(), by: by.clone() }];
        if self.chance.permille(150) {
            answers.push(Command::Answer { at, approved: !approved, comment: String::new(), by });
        }
        answers.into_iter().map(Request::Command).collect()
    }

    /// What queues and runs told one another comes again, and is to change nothing.
    fn echo(&mut self) -> Option<Message> {
        if self.chance.permille(500)
            && let Some(message) = self.old_word()
        {
            return Some(message);
        }
        if self.chance.permille(300) {
            let (run, known) = self.model.runs.runs.iter().nth(self.chance.below(self.model.runs.runs.len().max(1)))?;
            let over = known.status != RunStatus::Running;
            if let Some(at) = known.parent.clone().filter(|_| over) {
                return Some(Message::RunEnded { at, run: *run, again: known.again, result: Ending::Done(ValueAt::Null) });
            }
            let (spec, input) = (Box::new(RunSpec::new(known.workflow.clone(), 1)), Payload::null());
            // Not of one that may be deleted before this is heard: it would be begun anew.
            return (!over).then(|| Message::StartRun { run: *run, spec, input, by: actor() });
        }
        let task = self.model.tasks.get(self.tasks.get(self.chance.below(self.tasks.len().max(1)))?)?;
        let at = task.node.clone()?;
        let failure = Failure { code: "echo".into(), message: "heard again".into() };
        let result = match self.chance.below(4) {
            0 => Ending::Failed(failure),
            1 | 2 => Ending::Done(ValueAt::Null),
            _ => {
                self.model.runs.runs.get(&at.run).filter(|run| run.status == RunStatus::Running)?;
                let spec = TaskSpec { node: Some(Box::new(at)), ..TaskSpec::new(task.queue.clone(), task.kind.clone()) };
                return Some(Message::Enqueue { task: task.id, spec: Box::new(spec), input: Payload::null() });
            }
        };
        task.status.is_finished().then_some(Message::TaskEnded { at, task: task.id, result })
    }

    /// What was once said of a pause, or to or by a run that was called, and no longer holds.
    fn old_word(&mut self) -> Option<Message> {
        let (model, runs) = (self.model, &self.model.runs);
        let tasks = model.queued.iter().chain(&model.running).filter(|id| model.tasks[id].pause > 0);
        let called = runs.running().filter(|(_, run)| run.parent.is_some() && (run.again > 0 || run.caller_pause > 0));
        let (tasks, called): (Vec<TaskId>, Vec<RunId>) = (tasks.copied().collect(), called.map(|(id, _)| id).collect());
        let hold = self.chance.permille(500);
        if called.is_empty() || (!tasks.is_empty() && self.chance.permille(300)) {
            let task = if tasks.is_empty() { return None } else { *self.chance.pick(&tasks) };
            // It has heard of this pause, and of the end of the one before.
            let pause = model.tasks[&task].pause;
            return Some(if hold { Message::Hold { task, pause } } else { Message::LetGo { task, pause: pause - 1 } });
        }
        // Few are ever tried again.
        let again: Vec<RunId> = called.iter().copied().filter(|run| runs.runs[run].again > 0).collect();
        let run = *self.chance.pick(if again.is_empty() { &called } else { &again });
        let known = &runs.runs[&run];
        if known.again == 0 || self.chance.permille(200) {
            let pause = known.caller_pause;
            let word = if hold { Message::HoldRun { run, pause } } else { Message::LetRunGo { run, pause: pause.max(1) - 1 } };
            return (pause > 0).then_some(word);
        }
        let (at, again) = (known.parent.clone()?, known.again - 1);
        let failure = Failure { code: "echo".into(), message: "heard again".into() };
        Some(match self.chance.below(4) {
            0 => Message::CancelRun { run, again, by: actor(), reason: "heard again".into() },
            1 => Message::RetryRun { at, run, again: again + 1, held: None },
            _ => Message::RunEnded { at, run, again, result: Ending::Failed(failure) },
        })
    }

    fn run_mistake(&mut self) -> Command {
        let (by, run) = (actor(), RunId::new(1 << 40, 0));
        match self.chance.below(4) {
            0 => Command::CancelRun { run, by, reason: String::new() },
            1 => Command::RetryRun { run, node: None, new: None, reason: String::new(), by },
            2 => Command::DeleteRun { run: self.run(Some(RunStatus::Running)), by },
            _ => {
                let Command::StartRun { mut new, .. } = self.start() else { unreachable!("a start starts") };
                new.workflow = WorkflowName::parse("unknown").expect("a name");
                Command::StartRun { new, by }
            }
        }
    }
}
