//! A definition as its author wrote it, with the place of everything that may turn out wrong. Both written forms, the native
//! one and the list of edges, are decoded into this; what a node leads to is still a name here, and nothing is known
//! yet about the whole. Decoding goes on after a mistake, so that several are told at once: a definition with problems is
//! never lowered.

mod edge_list;
pub(crate) mod fields;
mod input;
mod node;
mod region;
mod rewrite;
pub(crate) mod scalars;
pub(crate) mod written;

pub use scalars::parse_duration_ms;

use crate::expr::Root;
use crate::limits::*;
use crate::problem::{At, Problems};
use crate::source::{self, Data, Value};
use fields::Fields;
use kernel::ir::{EachFailure, Form, Join};
use kernel::limits::{RUN_STEPS_MAX, TASK_TAGS_MAX};
use kernel::names::{EventName, KeyName, NodeId, QueueName, Tag, TypeName, WorkflowName};
use kernel::priority::Priority;
use kernel::retry::RetryPolicy;
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    pub workflow: WorkflowName,
    pub workflow_at: At,
    /// Without one the file says nothing about versions; it compiles as 1.
    pub version: Option<u32>,
    pub description: Option<Arc<str>>,
    pub tags: Vec<Tag>,
    /// The JSON Schema of the input, as text.
    pub input_schema: Option<Arc<str>>,
    /// The same with its places.
    pub input: Option<Value>,
    pub defaults: Defaults,
    pub limits: Limits,
    pub body: Body,
}

/// For worker nodes that do not say otherwise.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Defaults {
    pub retry: Option<RetryPolicy>,
    pub timeout_ms: Option<u64>,
    pub queue: Option<QueueName>,
    pub priority: Option<Priority>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Limits {
    pub deadline_ms: Option<u64>,
    pub stall_ms: Option<u64>,
    pub steps: Option<u32>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Body {
    pub at: At,
    pub nodes: Vec<Node>,
    pub output: Option<Source>,
    /// Some of its nodes could not be read, or are not where they belong: what leads where is not known.
    pub torn: bool,
}

/// What a mistake in a node's text leaves open about its edges.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Doubt {
    /// More may lead to it than is known.
    pub ins: bool,
    /// It may lead to more than is known.
    pub outs: bool,
}

impl Doubt {
    pub const BOTH: Doubt = Doubt { ins: true, outs: true };

    pub fn and(&mut self, other: Doubt) {
        self.ins |= other.ins;
        self.outs |= other.outs;
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub id: NodeId,
    pub at: At,
    pub after: Vec<Target>,
    pub join: Option<(Join, At)>,
    pub when: Option<Source>,
    pub on_error: OnError,
    pub retry: Option<RetryPolicy>,
    pub timeout_ms: Option<u64>,
    pub kind: Kind,
    pub doubt: Doubt,
}

/// A node that is named as the other end of an edge.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    pub id: Arc<str>,
    pub at: At,
}

#[derive(Clone, PartialEq, Debug)]
pub enum OnError {
    Fail,
    Ignore(At),
    To(Vec<Target>),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Work {
        kind: TypeName,
        queue: Option<QueueName>,
        priority: Option<Priority>,
        keys: Vec<(KeyName, Source)>,
        with: Option<Source>,
    },
    Branch {
        rules: Vec<Rule>,
        default: Vec<Target>,
    },
    Route {
        to: Vec<Target>,
    },
    Loop {
        iterations_max: u32,
        init: Option<Source>,
        until: Source,
        on_max: Vec<Target>,
        body: Body,
    },
    Each {
        items: Source,
        concurrency: u32,
        on_failure: EachFailure,
        body: Body,
    },
    Join,
    Approval {
        who: Vec<Arc<str>>,
        message: Option<Source>,
        on_reject: Vec<Target>,
        on_timeout: Vec<Target>,
    },
    SleepFor {
        ms: u64,
    },
    SleepForExpr(Source),
    SleepUntil(Source),
    Wait {
        event: EventName,
        matches: Option<Source>,
        on_timeout: Vec<Target>,
    },
    Workflow {
        workflow: WorkflowName,
        version: Option<u32>,
        with: Option<Source>,
    },
    Transform {
        value: Source,
        /// A part of `value` that must give a list.
        items: Option<Source>,
        called: &'static str,
    },
    /// Could not be read; the problem has been told.
    Broken,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    pub when: Source,
    pub to: Vec<Target>,
}

impl Kind {
    pub fn body(&self) -> Option<&Body> {
        match self {
            Kind::Loop { body, .. } | Kind::Each { body, .. } => Some(body),
            _ => None,
        }
    }
}

/// The text of an expression or a template, and where its parts stand in the file. It may be put together of several.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    pub text: Arc<str>,
    pub form: Form,
    pub at: At,
    parts: Vec<Part>,
}

/// A text of the file that an expression is made of, or that stands in a template.
#[derive(Clone, PartialEq, Debug)]
struct Part {
    at: At,
    text: source::Text,
    /// In an expression: where it begins, in bytes of the whole.
    start: usize,
    /// In a template: its JSON Pointer.
    pointer: String,
}

impl Source {
    /// Where a byte stands in the file: exactly, or at least the value it lies in. The byte is one of the text that `pointer`
    /// leads to, in a template, and one of the whole in an expression.
    pub fn place(&self, pointer: &str, offset: usize) -> At {
        let (part, offset) = match self.form {
            Form::Template => (self.parts.iter().find(|part| part.pointer == pointer), offset),
            Form::Cel => {
                let part = self.parts.iter().rfind(|part| part.start <= offset);
                (part, offset - part.map_or(0, |part| part.start))
            }
        };
        let Some(part) = part else { return self.at.clone() };
        let mut at = part.at.clone();
        if let Some(skip) = part.text.verbatim {
            let within = part.text.text.get(..offset.min(part.text.text.len())).unwrap_or_default();
            at.column += skip + within.chars().count() as u32;
        }
        at
    }
}

impl Source {
    /// Where `{{ input.x }}` stands in a template, and what it should be.
    pub fn foreign(&self) -> Vec<(At, String)> {
        let mut found = Vec::new();
        for part in self.parts.iter().filter(|_| self.form == Form::Template) {
            let text = &*part.text.text;
            for (offset, _) in text.match_indices("{{") {
                let Some((inner, _)) = text[offset + 2..].split_once("}}") else { break };
                let inner = inner.trim().trim_start_matches('.');
                let word = inner.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
                if Root::parse(word).is_some() {
                    found.push((self.place(&part.pointer, offset), format!("write ${{{}}}", source::short(inner))));
                }
            }
        }
        found
    }
}

/// Puts an expression together while remembering where its parts came from.
struct Composer {
    text: String,
    at: At,
    parts: Vec<Part>,
}

impl Composer {
    fn new(at: &At) -> Composer {
        Composer { text: String::new(), at: at.clone(), parts: Vec::new() }
    }

    fn text(mut self, text: &str) -> Composer {
        self.text.push_str(text);
        self
    }

    fn part(mut self, source: &Source) -> Composer {
        let offset = self.text.len();
        self.text.push_str(&source.text);
        self.parts.extend(source.parts.iter().map(|part| Part { start: part.start + offset, ..part.clone() }));
        self
    }

    fn cel(self) -> Source {
        Source { text: self.text.into(), form: Form::Cel, at: self.at, parts: self.parts }
    }
}

/// Decodes either form. What is wrong goes to `problems`; the result is only worth something if nothing did.
pub fn decode(document: &Value, problems: &mut Problems) -> Definition {
    let Some(mut fields) = Fields::of(document, "a workflow", problems) else {
        return Header::default().into_definition(Body::default());
    };
    let nodes = fields.take("nodes");
    let edge_list = matches!(nodes, Some(entry) if matches!(entry.value.data, Data::List(_)));
    let mut header = Header::decode(&mut fields, edge_list, problems);
    if edge_list {
        let metadata = fields.take("metadata");
        if let Some(metadata) = metadata {
            header.metadata(&metadata.value, problems);
        }
    }
    header.require_name(document, edge_list, problems);
    let output = fields.take("output").and_then(|entry| written::either(&entry.value, problems));
    let (body, torn) = match nodes {
        Some(entry) if edge_list => {
            let edges = fields.take("edges");
            edge_list::decode(&entry.value, edges.map(|edges| &edges.value), problems)
        }
        Some(entry) => node::decode_nodes(&entry.value, 0, problems),
        None => {
            problems.say(&document.at, "a workflow needs `nodes`");
            (Vec::new(), true)
        }
    };
    if let (true, Some(entry)) = (body.is_empty() && problems.is_empty(), nodes) {
        problems.say(&entry.key_at, "a workflow needs at least one node");
    }
    fields.finish(problems);
    header.into_definition(Body { at: document.at.clone(), nodes: body, output, torn })
}

/// All but the nodes.
#[derive(Default)]
struct Header {
    workflow: Option<WorkflowName>,
    workflow_at: At,
    named: bool,
    version: Option<u32>,
    description: Option<Arc<str>>,
    tags: Vec<Tag>,
    input_schema: Option<Arc<str>>,
    input: Option<Value>,
    defaults: Defaults,
    limits: Limits,
}

impl Header {
    fn decode(fields: &mut Fields<'_>, edge_list: bool, problems: &mut Problems) -> Header {
        let mut header = Header::default();
        if let Some(entry) = fields.take("workflow") {
            header.name(&entry.value, problems);
        }
        if let Some(entry) = fields.take("version") {
            header.version = scalars::version(&entry.value, edge_list, problems);
        }
        header.words(fields, problems);
        if let Some(entry) = fields.take("input") {
            header.input_schema = input::schema(&entry.value, problems);
            header.input = Some(entry.value.clone());
        }
        if let Some(entry) = fields.take("defaults") {
            header.defaults = defaults(&entry.value, problems);
        }
        if let Some(entry) = fields.take("limits") {
            header.limits = limits(&entry.value, problems);
        }
        header
    }

    fn name(&mut self, value: &Value, problems: &mut Problems) {
        self.named = true;
        self.workflow_at = value.at.clone();
        self.workflow = scalars::name(value, WorkflowName::parse, problems);
    }

    fn words(&mut self, fields: &mut Fields<'_>, problems: &mut Problems) {
        if let Some(entry) = fields.take("description") {
            self.description = scalars::text_up_to(&entry.value, DESCRIPTION_BYTES_MAX, problems);
        }
        if let Some(entry) = fields.take("tags") {
            self.tags = scalars::list(&entry.value, TASK_TAGS_MAX, problems, |value, problems| {
                scalars::name(value, Tag::parse, problems)
            });
        }
    }

    /// A list of edges keeps name and version here.
    fn metadata(&mut self, metadata: &Value, problems: &mut Problems) {
        let Some(mut fields) = Fields::of(metadata, "`metadata`", problems) else { return };
        if let Some(entry) = fields.take("name") {
            self.name(&entry.value, problems);
        }
        if let Some(entry) = fields.take("version") {
            self.version = scalars::version(&entry.value, true, problems);
        }
        self.words(&mut fields, problems);
        fields.finish(problems);
    }

    fn require_name(&mut self, document: &Value, edge_list: bool, problems: &mut Problems) {
        if !self.named {
            let message =
                if edge_list { "a workflow needs a name, `metadata.name`" } else { "a workflow needs a name, `workflow`" };
            problems.say(&document.at, message);
        }
    }

    fn into_definition(self, body: Body) -> Definition {
        Definition {
            workflow: self.workflow.unwrap_or_else(|| WorkflowName::parse("unnamed").expect("a legal name")),
            workflow_at: self.workflow_at,
            version: self.version,
            description: self.description,
            tags: self.tags,
            input_schema: self.input_schema,
            input: self.input,
            defaults: self.defaults,
            limits: self.limits,
            body,
        }
    }
}

fn defaults(value: &Value, problems: &mut Problems) -> Defaults {
    let Some(mut fields) = Fields::of(value, "`defaults`", problems) else { return Defaults::default() };
    let defaults = Defaults {
        retry: fields.take("retry").and_then(|entry| scalars::retry(&entry.value, problems)),
        timeout_ms: fields.take("timeout").and_then(|entry| scalars::duration(&entry.value, problems)),
        queue: fields.take("queue").and_then(|entry| scalars::name(&entry.value, QueueName::parse, problems)),
        priority: fields.take("priority").and_then(|entry| scalars::priority(&entry.value, problems)),
    };
    fields.finish(problems);
    defaults
}

fn limits(value: &Value, problems: &mut Problems) -> Limits {
    let Some(mut fields) = Fields::of(value, "`limits`", problems) else { return Limits::default() };
    let limits = Limits {
        deadline_ms: fields.take("deadline").and_then(|entry| scalars::duration(&entry.value, problems)),
        stall_ms: fields.take("stall").and_then(|entry| scalars::duration(&entry.value, problems)),
        steps: fields.take("steps").and_then(|entry| {
            let steps = scalars::int(&entry.value, 1, i64::from(RUN_STEPS_MAX), problems);
            steps.and_then(|steps| u32::try_from(steps).ok())
        }),
    };
    fields.finish(problems);
    limits
}
