//! JSON laid out for people, token by token: no number is rounded and no key moves.

const LINE_CHARS_MAX: usize = 72;
/// What lies deeper is not laid out.
const DEPTH_MAX: usize = 32;

/// A list or an object that is being read.
struct Open {
    mark: char,
    parts: Vec<String>,
    /// The part that is being put together: perhaps a key.
    part: String,
}

/// `text` is JSON. What fits on a line stays on one; of lists, as many items stand on a line as fit.
pub fn pretty(text: &str) -> String {
    let mut stack = vec![Open { mark: ' ', parts: Vec::new(), part: String::new() }];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let depth = stack.len() - 1;
        let top = stack.last_mut().expect("the whole is never closed");
        match c {
            '"' => {
                top.part.push(c);
                while let Some(c) = chars.next() {
                    top.part.push(c);
                    match c {
                        '\\' => top.part.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => stack.push(Open { mark: c, parts: Vec::new(), part: String::new() }),
            '}' | ']' if depth > 0 => {
                let closed = laid_out(stack.pop().expect("it was opened"), c, depth - 1);
                stack.last_mut().expect("the whole is never closed").part.push_str(&closed);
            }
            ',' => {
                let part = std::mem::take(&mut top.part);
                top.parts.push(part);
            }
            ':' => top.part.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => top.part.push(c),
        }
    }
    stack.swap_remove(0).part
}

/// `depth`: of the line it begins on.
fn laid_out(open: Open, end: char, depth: usize) -> String {
    let Open { mark, mut parts, part } = open;
    if !part.is_empty() {
        parts.push(part);
    }
    let room = LINE_CHARS_MAX.saturating_sub(2 * depth).max(20);
    let broken = |part: &String| part.contains('\n');
    let length = parts.iter().map(|part| part.chars().count() + 2).sum::<usize>();
    if depth >= DEPTH_MAX || (length <= room && !parts.iter().any(broken)) {
        return format!("{mark}{}{end}", parts.join(", "));
    }
    let mut lines: Vec<String> = Vec::new();
    let plain = |part: &String| !part.contains(['{', '[', '\n']);
    let fills = mark == '[' && parts.iter().all(plain);
    let last = parts.len() - 1;
    for (at, part) in parts.into_iter().enumerate() {
        let comma = if at < last { "," } else { "" };
        match lines.last_mut().filter(|line| fills && line.chars().count() + part.chars().count() + 2 <= room) {
            Some(line) => line.push_str(&format!(" {part}{comma}")),
            None => lines.push(format!("{part}{comma}")),
        }
    }
    let inner = lines.join("\n").replace('\n', "\n  ");
    format!("{mark}\n  {inner}\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_stays_on_one_line_and_nothing_is_changed() {
        for (text, shown) in [
            ("null", "null"),
            ("{\n}", "{}"),
            (r#"{"b":1.50,"a":[ 1,2 ],"c":{"d":"x, \"y\": {"}}"#, r#"{"b": 1.50, "a": [1, 2], "c": {"d": "x, \"y\": {"}}"#),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.10"),
        ] {
            assert_eq!(pretty(text), shown);
        }
        let long = "x".repeat(80);
        let shown = format!("{{\n  \"a\": \"{long}\",\n  \"b\": [1, {{}}]\n}}");
        assert_eq!(pretty(&format!(r#"{{"a":"{long}","b":[1,{{}}]}}"#)), shown);
        let nested = pretty(&format!(r#"[{{"id":1}},[{{"a":"{long}"}}]]"#));
        assert_eq!(nested, format!("[\n  {{\"id\": 1}},\n  [\n    {{\n      \"a\": \"{long}\"\n    }}\n  ]\n]"));
    }

    #[test]
    fn a_long_list_fills_its_lines() {
        let list = format!("[{}]", (1..=40).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
        let shown = pretty(&list);
        assert_eq!(shown.lines().count(), 5, "{shown}");
        assert!(shown.starts_with("[\n  1, 2, 3,") && shown.lines().all(|line| line.len() <= 76), "{shown}");
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let plain: String = pretty(&deep).split_whitespace().collect();
        assert!(plain == deep && pretty(&deep).len() < 3 * deep.len(), "what lies too deep is not laid out");
    }
}
