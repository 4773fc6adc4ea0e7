//! Lines on a terminal that are drawn anew in their place: only when they have changed, each over the one before, none
//! wider than the terminal and no more than it has rows.

use rustix::termios::tcgetwinsize;
use std::io::Write;

/// Where the terminal does not say how large it is.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

#[derive(Default)]
pub struct Canvas {
    lines: Vec<String>,
    size: (u16, u16),
}

impl Canvas {
    /// The lines as they are now; all of them are ours, and those beyond the last row are counted, but for so many at the end
    /// that are always seen.
    pub fn draw(&mut self, lines: &[String], kept: usize) {
        let size = tcgetwinsize(std::io::stderr()).map_or((COLUMNS, ROWS), |size| (size.ws_col, size.ws_row));
        let size = (if size.0 == 0 { COLUMNS } else { size.0 }, if size.1 == 0 { ROWS } else { size.1 });
        let lines = fit(lines, kept, size);
        if lines == self.lines && size == self.size {
            return;
        }
        write(&over(&self.lines, &lines, size.0));
        (self.lines, self.size) = (lines, size);
    }

    /// What was drawn stays, and what was typed since, such as `^C`, goes.
    pub fn leave(&self) {
        write("\r\x1b[K");
    }

    /// Takes what was drawn off the terminal.
    pub fn clear(&mut self) {
        write(&over(&std::mem::take(&mut self.lines), &[], self.size.0.max(1)));
    }
}

fn write(text: &str) {
    let mut terminal = std::io::stderr().lock();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// The last column and the last row stay free, so that nothing wraps or scrolls.
fn fit(lines: &[String], kept: usize, (columns, rows): (u16, u16)) -> Vec<String> {
    let (width, height) = (usize::from(columns).saturating_sub(1).max(1), usize::from(rows).saturating_sub(1).max(2));
    if lines.len() <= height {
        return lines.iter().map(|line| cut(line, width)).collect();
    }
    // One row says how many there are beyond.
    let kept = kept.min(height - 1);
    let shown = height - 1 - kept;
    let more = format!("… and {} more", lines.len() - shown - kept);
    let last = &lines[lines.len() - kept..];
    lines[..shown].iter().chain([&more]).chain(last).map(|line| cut(line, width)).collect()
}

/// So many columns of a line, its colours left alone; where it was longer, the last says so.
fn cut(line: &str, width: usize) -> String {
    if columns_in(line) <= width {
        return line.to_owned();
    }
    let (mut out, mut left, mut coloured, mut rest) = (String::with_capacity(line.len()), width - 1, false, line);
    while let Some(c) = rest.chars().next() {
        let colour = colour_bytes(rest);
        if colour > 0 {
            out.push_str(&rest[..colour]);
            (coloured, rest) = (true, &rest[colour..]);
            continue;
        }
        if columns_of(c) > left {
            break;
        }
        left -= columns_of(c);
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out.push('…');
    if coloured {
        out.push_str("\x1b[0m");
    }
    out
}

/// How long the sequence of a colour is that the text begins with.
fn colour_bytes(text: &str) -> usize {
    let Some(inner) = text.strip_prefix("\x1b[") else { return 0 };
    let digits = inner.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if inner[digits..].starts_with('m') { 3 + digits } else { 0 }
}

/// The scripts and pictures that take two.
fn columns_of(c: char) -> usize {
    let wide = matches!(u32::from(c), 0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD);
    if wide { 2 } else { 1 }
}

fn columns_in(line: &str) -> usize {
    let (mut rest, mut width) = (line, 0);
    while let Some(c) = rest.chars().next() {
        let colour = colour_bytes(rest);
        width += if colour > 0 { 0 } else { columns_of(c) };
        rest = &rest[colour.max(c.len_utf8() * usize::from(colour == 0))..];
    }
    width
}

/// How many rows a line takes on a terminal of this width: more than one if it was wider when the line was drawn.
fn rows_of(line: &str, columns: u16) -> usize {
    columns_in(line).div_ceil(usize::from(columns).max(1)).max(1)
}

/// What draws the new lines over the old ones, without taking away first what stays.
fn over(old: &[String], new: &[String], columns: u16) -> String {
    let up: usize = old.iter().map(|line| rows_of(line, columns)).sum();
    let mut text = if up > 0 { format!("\r\x1b[{up}A") } else { String::new() };
    for line in new {
        text.push_str(line);
        text.push_str("\x1b[K\n");
    }
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> Vec<String> {
        (1..=count).map(|at| format!("line {at}")).collect()
    }

    #[test]
    fn what_does_not_fit_is_cut_and_counted() {
        assert_eq!(fit(&lines(3), 0, (80, 24)), ["line 1", "line 2", "line 3"]);
        assert_eq!(fit(&lines(3), 1, (80, 4)), ["line 1", "line 2", "line 3"]);
        assert_eq!(fit(&lines(30), 0, (80, 5)), ["line 1", "line 2", "line 3", "… and 27 more"]);
        assert_eq!(fit(&lines(30), 1, (80, 5)), ["line 1", "line 2", "… and 27 more", "line 30"]);
        assert_eq!(fit(&lines(30), 1, (80, 2)), ["… and 29 more", "line 30"]);
        assert_eq!(fit(&lines(2), 0, (6, 24)), ["line…", "line…"]);
        for (line, width, shown) in [
            ("\x1b[32mdone\x1b[0m now", 6, "\x1b[32mdone\x1b[0m …\x1b[0m"),
            ("\x1b[32mdone\x1b[0m", 4, "\x1b[32mdone\x1b[0m"),
            ("\x1b[32mdone\x1b[0m", 2, "\x1b[32md…\x1b[0m"),
            ("größer", 4, "grö…"),
            ("漢字だ", 5, "漢字…"),
            ("漢字だ", 4, "漢…"),
        ] {
            assert_eq!(cut(line, width), shown, "{line} {width}");
        }
    }

    #[test]
    fn the_new_is_drawn_over_the_old() {
        assert_eq!(over(&[], &lines(1), 80), "line 1\x1b[K\n\x1b[J");
        assert_eq!(over(&lines(2), &lines(1), 80), "\r\x1b[2Aline 1\x1b[K\n\x1b[J");
        assert_eq!(over(&lines(1), &[], 80), "\r\x1b[1A\x1b[J");
        // On a terminal that has become narrower, what was a row is two.
        assert_eq!(over(&lines(2), &lines(1), 4), "\r\x1b[4Aline 1\x1b[K\n\x1b[J");
        assert_eq!(over(&["\x1b[32mabcdefgh\x1b[0m".into()], &[], 4), "\r\x1b[2A\x1b[J");
    }
}
