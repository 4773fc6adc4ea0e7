//! An IR in a few lines, for golden tests.

use kernel::ir::*;

pub fn summary(ir: &Ir) -> String {
    let mut lines = vec![format!("{} v{}", ir.workflow, ir.version)];
    body(ir, ROOT, 0, &mut lines);
    lines.join("\n") + "\n"
}

fn ids(ir: &Ir, nodes: &[NodeIx]) -> String {
    nodes.iter().map(|ix| ir.node(*ix).id.as_str()).collect::<Vec<_>>().join(" ")
}

fn body(ir: &Ir, ix: BodyIx, depth: usize, lines: &mut Vec<String>) {
    let body_ = ir.body(ix);
    let indent = "  ".repeat(depth);
    let output = body_.output.map(|output| format!(" gives {}", expr(ir, output))).unwrap_or_default();
    lines.push(format!("{indent}from {} to {}{output}", ids(ir, &body_.entries), ids(ir, &body_.sinks)));
    for ix in &body_.nodes {
        let node = ir.node(*ix);
        let mut line = format!("{indent}{}: {}", node.id, kind(ir, &node.kind));
        if let Join::NOf(count) = node.join {
            line += &format!(" join {count}");
        }
        if let Some(when) = node.when {
            line += &format!(" when {}", expr(ir, when));
        }
        if node.on_error != OnError::Fail {
            line += &format!(" on_error {:?}", node.on_error);
        }
        if let Some(retry) = node.retry {
            line += &format!(" retry {}x{}..{}ms", retry.attempts, retry.backoff_ms, retry.backoff_max_ms);
        }
        if let Some(ms) = node.timeout_ms {
            line += &format!(" timeout {ms}ms");
        }
        for edge in &node.outs {
            let edge = ir.edge(*edge);
            let on = if edge.on == On::Done { String::new() } else { format!("{:?}", edge.on) };
            line += &format!(" -{on}> {}", ir.node(edge.to).id);
        }
        lines.push(line);
        if let NodeKind::Loop { body: inner, .. } | NodeKind::Each { body: inner, .. } = &node.kind {
            body(ir, *inner, depth + 1, lines);
        }
    }
}

fn expr(ir: &Ir, ix: ExprIx) -> String {
    let expr = ir.expr(ix);
    let reads = &expr.reads;
    let flags =
        [("input", reads.input), ("output", reads.output), ("item", reads.item), ("last", reads.last), ("run", reads.run)];
    let mut names: Vec<&str> = flags.iter().filter(|(_, read)| *read).map(|(name, _)| *name).collect();
    names.extend(reads.nodes.iter().map(|ix| ir.node(*ix).id.as_str()));
    let form = if expr.form == Form::Template { "$" } else { "" };
    format!("{form}⟨{}⟩({})", expr.source, names.join(" "))
}

fn kind(ir: &Ir, kind: &NodeKind) -> String {
    let or_none = |ix: &Option<ExprIx>| ix.map(|ix| expr(ir, ix)).unwrap_or_else(|| "-".to_owned());
    match kind {
        NodeKind::Work { kind, queue, priority, keys, with } => {
            let priority = priority.map(|priority| format!(" priority {}", priority.head_start_s())).unwrap_or_default();
            let keys: String = keys.iter().map(|(name, value)| format!(" {name}={}", expr(ir, *value))).collect();
            format!("{kind}@{queue}{priority}{keys} with {}", or_none(with))
        }
        NodeKind::Branch { rules } => {
            format!("branch {}", rules.iter().map(|rule| expr(ir, *rule)).collect::<Vec<_>>().join(" "))
        }
        NodeKind::Route { .. } => "route".to_owned(),
        NodeKind::Loop { iterations_max, init, until, .. } => {
            format!("loop {iterations_max} init {} until {}", or_none(init), expr(ir, *until))
        }
        NodeKind::Each { items, concurrency, on_failure, .. } => {
            format!("each {} by {concurrency} {on_failure:?}", expr(ir, *items))
        }
        NodeKind::Join => "join".to_owned(),
        NodeKind::Approval { who, message } => format!("approval {who:?} {}", or_none(message)),
        NodeKind::Sleep(Sleep::For { ms }) => format!("sleep {ms}ms"),
        NodeKind::Sleep(Sleep::ForExpr(ix)) => format!("sleep for {}", expr(ir, *ix)),
        NodeKind::Sleep(Sleep::UntilExpr(ix)) => format!("sleep until {}", expr(ir, *ix)),
        NodeKind::Wait { event, matches, key } => {
            let key =
                key.map(|key| format!(" by {} is {} {}", expr(ir, key.of), expr(ir, key.is), key.whole)).unwrap_or_default();
            format!("wait {event} {}{key}", or_none(matches))
        }
        NodeKind::Workflow { workflow, version, with } => format!("workflow {workflow} {version:?} with {}", or_none(with)),
        NodeKind::Transform { value, called } => format!("{called} {}", expr(ir, *value)),
    }
}
