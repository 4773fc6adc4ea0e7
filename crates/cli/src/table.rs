//! Tables and pages for people.

use crate::output::{Paint, Screen};
use crate::plain::plain;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};
use doors::wire::{BulkStatus, NodeStatus, Priority, RunStatus, Status};

/// A table without lines: a header, and a row each.
pub fn table(screen: &Screen, header: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    // Where there is no terminal there is no width to fit into; where there is one, it counts without colour too.
    let width = table.width().map(width_of);
    if screen.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    if let Some(width) = width {
        table.set_width(width);
    }
    table.set_header(header.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Some terminals say 0 when they do not know: then it is what terminals have always been.
fn width_of(told: u16) -> u16 {
    if told == 0 { 80 } else { told }
}

/// A cell with this text, whoever wrote it.
pub fn cell(text: impl ToString) -> Cell {
    Cell::new(plain(&text.to_string()))
}

pub fn status_cell(status: Status) -> Cell {
    let cell = Cell::new(status);
    match status {
        Status::Idle => cell.add_attribute(Attribute::Dim),
        Status::Queued => cell.fg(Color::Blue),
        Status::Running => cell.fg(Color::Yellow),
        Status::Done => cell.fg(Color::Green),
        Status::Failed => cell.fg(Color::Red),
        Status::Cancelled => cell.fg(Color::DarkGrey),
    }
}

pub fn status_text(screen: &Screen, status: Status) -> String {
    let paint = match status {
        Status::Idle | Status::Cancelled => Paint::Dim,
        Status::Queued => Paint::Blue,
        Status::Running => Paint::Yellow,
        Status::Done => Paint::Green,
        Status::Failed => Paint::Red,
    };
    screen.paint(paint, &status.to_string())
}

pub fn run_status_cell(status: RunStatus) -> Cell {
    let cell = Cell::new(status);
    match status {
        RunStatus::Running => cell.fg(Color::Yellow),
        RunStatus::Done => cell.fg(Color::Green),
        RunStatus::Failed => cell.fg(Color::Red),
        RunStatus::Cancelled => cell.fg(Color::DarkGrey),
    }
}

pub fn run_status_text(screen: &Screen, status: RunStatus) -> String {
    let paint = match status {
        RunStatus::Running => Paint::Yellow,
        RunStatus::Done => Paint::Green,
        RunStatus::Failed => Paint::Red,
        RunStatus::Cancelled => Paint::Dim,
    };
    screen.paint(paint, &status.to_string())
}

pub fn node_paint(status: NodeStatus) -> Paint {
    match status {
        NodeStatus::Running | NodeStatus::Sleeping | NodeStatus::Awaiting => Paint::Yellow,
        NodeStatus::Asking | NodeStatus::Queued => Paint::Blue,
        NodeStatus::Done => Paint::Green,
        NodeStatus::Failed => Paint::Red,
        NodeStatus::Waiting | NodeStatus::Skipped | NodeStatus::Cancelled => Paint::Dim,
    }
}

pub fn bulk_status_cell(status: BulkStatus) -> Cell {
    match status {
        BulkStatus::Open => Cell::new(status).fg(Color::Yellow),
        BulkStatus::Done => Cell::new(status).fg(Color::Green),
        BulkStatus::Cancelled => Cell::new(status).fg(Color::DarkGrey),
    }
}

/// `high`, or `+90 s` where it has no name.
pub fn priority_text(priority: Priority) -> String {
    match priority.0.name() {
        Some(name) => name.to_owned(),
        None => format!("{:+} s", priority.0.head_start_s()),
    }
}

/// Lines of `name  value`, the names in one column.
pub fn facts(screen: &Screen, facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| {
        let name = screen.paint(Paint::Dim, &format!("{name:width$}"));
        format!("{name}  {}", value.replace('\n', &format!("\n{:width$}  ", "")))
    };
    facts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// How many columns the terminal has; `None` where there is none.
pub fn columns() -> Option<usize> {
    Table::new().width().filter(|width| *width > 0).map(usize::from)
}

/// A name of no more than so many signs: the beginning and the end, which tell it from others.
pub fn middle(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let kept = chars_max.saturating_sub(1);
    let (first, last) = (kept.div_ceil(2), kept / 2);
    let (begin, end): (String, String) = (text.chars().take(first).collect(), text.chars().skip(count - last).collect());
    format!("{begin}…{end}")
}

/// Text that fits in a cell.
pub fn short(text: &str, chars_max: usize) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() <= chars_max && line.len() == text.trim_end().len() {
        return line.to_owned();
    }
    let cut: String = line.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_a_width_has_one_all_the_same() {
        assert_eq!([0, 1, 120].map(width_of), [80, 1, 120]);
    }

    #[test]
    fn what_a_cell_holds_cannot_leave_it() {
        let screen = Screen { people: true, colour: false, ascii: false };
        let shown = table(&screen, &["NOTE", "B"], [vec![cell("a\x1b[2Jb\nc"), cell(1)]]);
        assert_eq!(shown, "NOTE            B\na\\u{1b}[2Jb\\nc  1");
    }
}
