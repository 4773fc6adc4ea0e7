//! Conditions in a list of edges name outputs as `ctx.<node>.output.x`; here they are `nodes.<node>.output.x`.

use std::collections::HashMap;

/// None: nothing to change. Texts in quotes are left alone; an id that is no identifier goes into brackets.
pub fn condition(text: &str, ids: &HashMap<String, usize>) -> Option<String> {
    let mut rewritten = String::new();
    let mut rest = text;
    let mut before = ' ';
    let mut changed = false;
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '"' | '\'' => quoted(rest, next),
            _ if is_word(next) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => next.len_utf8(),
        };
        let (token, after) = rest.split_at(taken);
        rest = after;
        if token == "ctx" && before != '.' {
            changed = true;
            rewritten.push_str("nodes");
            if let Some((id, after)) =
                named(after, ids).filter(|(id, _)| id.contains('-') || id.starts_with(|c: char| c.is_ascii_digit()))
            {
                rewritten.push_str(&format!("[\"{id}\"]"));
                rest = after;
            }
        } else {
            rewritten.push_str(token);
        }
        before = rewritten.chars().next_back().unwrap_or(' ');
    }
    changed.then_some(rewritten)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Bytes of a text in quotes, the quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The longest id that follows a dot, and what comes after it.
fn named<'a>(text: &'a str, ids: &HashMap<String, usize>) -> Option<(&'a str, &'a str)> {
    let text = text.strip_prefix('.')?;
    let run = text.find(|c| !is_word(c) && c != '-').unwrap_or(text.len());
    let ends = (1..=run).rev().filter(|end| *end == run || text.as_bytes()[*end] == b'-');
    ends.map(|end| text.split_at(end)).find(|(id, _)| ids.contains_key(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctx_becomes_nodes_and_nothing_else_changes() {
        let ids = ["score", "fetch-all", "fetch", "1st"].map(|id| (id.to_owned(), 0)).into();
        for (text, expected) in [
            ("output.score > 80", None),
            ("ctx.score.output.value > 80", Some("nodes.score.output.value > 80")),
            ("ctx.fetch-all.output.n > 1", Some("nodes[\"fetch-all\"].output.n > 1")),
            ("ctx.fetch-1", Some("nodes.fetch-1")),
            ("ctx.1st.output", Some("nodes[\"1st\"].output")),
            ("ctx[\"score\"].output", Some("nodes[\"score\"].output")),
            ("input.ctx.score + myctx.a", None),
            ("'ctx.score' == output", None),
            ("'it\\'s ctx.a' == ctx.score.output", Some("'it\\'s ctx.a' == nodes.score.output")),
            ("\"unterminated ctx.a", None),
            ("ctx.nobody.output", Some("nodes.nobody.output")),
            ("ctx", Some("nodes")),
            ("ü ctx.score", Some("ü nodes.score")),
        ] {
            assert_eq!(condition(text, &ids).as_deref(), expected, "{text}");
        }
    }
}
