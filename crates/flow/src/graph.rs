//! Pictures of an IR: as Mermaid for pages, drawn with lines for a terminal, and as SVG. Nothing is laid out twice: the order of a
//! body's nodes is the IR's, and `layers` makes layers of it.

mod layered;
mod layers;
mod mermaid;
pub mod pen;
pub mod svg;
mod terminal;

pub use mermaid::mermaid;
pub use terminal::drawn;

use kernel::ir::{EachFailure, Edge, Ir, Join, Node, NodeKind, On, Sleep};

/// Characters of an expression that a label shows.
const LABEL_CHARS_MAX: usize = 40;

/// What a node is, in a word or two.
fn kind(node: &Node) -> String {
    match &node.kind {
        NodeKind::Work { kind, .. } => kind.to_string(),
        NodeKind::Branch { .. } => "branch".to_owned(),
        NodeKind::Route { .. } => "route".to_owned(),
        NodeKind::Loop { iterations_max, .. } => format!("loop ≤ {iterations_max}"),
        NodeKind::Each { concurrency, .. } => format!("each × {concurrency}"),
        NodeKind::Join => match node.join {
            Join::All => "join".to_owned(),
            Join::NOf(count) => format!("join {count}"),
        },
        NodeKind::Approval { .. } => "approval".to_owned(),
        NodeKind::Sleep(Sleep::For { ms }) => format!("sleep {}", duration(*ms)),
        NodeKind::Sleep(_) => "sleep".to_owned(),
        NodeKind::Wait { event, .. } => format!("wait {event}"),
        NodeKind::Workflow { workflow, .. } => format!("workflow {workflow}"),
        NodeKind::Transform { called, .. } => (*called).to_owned(),
    }
}

pub(crate) fn duration(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    match units.iter().find(|(unit_ms, _)| ms.is_multiple_of(*unit_ms)) {
        Some((unit_ms, unit)) => format!("{}{unit}", ms / unit_ms),
        None => format!("{ms}ms"),
    }
}

/// What is written on an edge; nothing on a plain one.
fn label(ir: &Ir, edge: &Edge) -> Option<String> {
    Some(match edge.on {
        On::Done => return None,
        On::Rule(at) => match &ir.node(edge.from).kind {
            NodeKind::Branch { rules } => one_line(&ir.expr(rules[usize::from(at)]).source),
            _ => format!("rule {at}"),
        },
        On::Default => "else".to_owned(),
        On::Named => "if named".to_owned(),
        On::Error => "on error".to_owned(),
        On::Reject => "if rejected".to_owned(),
        On::Timeout => match ir.node(edge.from).kind {
            NodeKind::Wait { .. } => "if no event came in time".to_owned(),
            _ => "if not answered".to_owned(),
        },
        On::Max => "at the most iterations".to_owned(),
    })
}

/// Ways that are taken when something did not go as hoped.
fn is_detour(on: On) -> bool {
    matches!(on, On::Error | On::Reject | On::Timeout | On::Max)
}

/// Under which condition a node is entered.
fn when(ir: &Ir, node: &Node) -> Option<String> {
    node.when.map(|when| format!("when {}", one_line(&ir.expr(when).source)))
}

/// What a body is for.
fn body_title(ir: &Ir, node: &Node) -> String {
    let title = body_of(ir, node);
    when(ir, node).map_or_else(|| title.clone(), |when| format!("{title}, {when}"))
}

fn body_of(ir: &Ir, node: &Node) -> String {
    match &node.kind {
        NodeKind::Loop { iterations_max, until, .. } => {
            format!("{} repeats, at most {iterations_max} times, until {}", node.id, one_line(&ir.expr(*until).source))
        }
        NodeKind::Each { items, concurrency, on_failure, .. } => {
            let failure = match on_failure {
                EachFailure::Fast => String::new(),
                EachFailure::WaitAll => ", all to the end".to_owned(),
                EachFailure::Tolerate(count) => format!(", {count} may fail"),
            };
            format!("{} for each of {}, {concurrency} at once{failure}", node.id, one_line(&ir.expr(*items).source))
        }
        _ => node.id.to_string(),
    }
}

/// An expression on one line, its beginning if it is long.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = words.chars().filter(|c| !c.is_control()).collect();
    let mut shown: String = clean.chars().take(LABEL_CHARS_MAX).collect();
    if shown.len() < clean.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
