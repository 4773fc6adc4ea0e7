//! JSON laid out for people, token by token: no number is rounded and no key moves.

/// `text` is JSON. Short values stay on one line.
pub fn pretty(text: &str) -> String {
    const ONE_LINE_CHARS_MAX: usize = 72;
    let flat = lay_out(text, false);
    if flat.chars().count() <= ONE_LINE_CHARS_MAX { flat } else { lay_out(text, true) }
}

fn lay_out(text: &str, broken: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth: usize = 0;
    let mut chars = text.chars().peekable();
    let open = |out: &mut String, depth: usize| {
        if broken {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push(c);
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(c);
                while chars.peek().is_some_and(char::is_ascii_whitespace) {
                    chars.next();
                }
                if let Some(end) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    open(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                open(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                if broken {
                    open(&mut out, depth);
                } else {
                    out.push(' ');
                }
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
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
        let long = format!(r#"{{"a":"{}","b":[1,{{}}]}}"#, "x".repeat(80));
        assert_eq!(pretty(&long), format!("{{\n  \"a\": \"{}\",\n  \"b\": [\n    1,\n    {{}}\n  ]\n}}", "x".repeat(80)));
    }
}
