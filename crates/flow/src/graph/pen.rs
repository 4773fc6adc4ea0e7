//! What every SVG of ours is written with: text that cannot break out of it, measured and cut to its room; numbers; colours for
//! light and dark. No scripts, no fonts from elsewhere: a picture is one file that shows the same everywhere.

use kernel::time::span;
use std::borrow::Cow;
use std::fmt::Write;

/// How a text is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Face {
    /// Names and expressions: every sign is as wide as the other.
    Mono,
    Plain,
}

const MONO_EM: f64 = 0.61;

/// About how wide a text is, rather too much than too little: which font it will be is not known.
pub fn width(text: &str, size: f64, face: Face) -> f64 {
    text.chars().map(|c| em(c, face)).sum::<f64>() * size
}

fn em(c: char, face: Face) -> f64 {
    match (c, face) {
        // East Asian signs and pictures fill a square, in every face.
        ('\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}', _) => 1.05,
        ('\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f000}'..='\u{3fffd}', _) => 1.3,
        (_, Face::Mono) => MONO_EM,
        ('i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '[' | ']' | '/', _) => {
            0.38
        }
        ('m' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '→' | '≤' | '×', _) => 0.95,
        ('A'..='Z', _) => 0.74,
        _ => 0.61,
    }
}

/// The text, or as much of its beginning as there is room for, with an ellipsis.
pub fn clipped(text: &str, room: f64, size: f64, face: Face) -> Cow<'_, str> {
    if width(text, size, face) <= room {
        return Cow::Borrowed(text);
    }
    let mut left = room - em('…', face) * size;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        left -= em(c, face) * size;
        if left < 0.0 {
            break;
        }
        end = at + c.len_utf8();
    }
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

/// Text as it stands in an element or an attribute. What XML cannot hold, and what would turn the reading order around, is a
/// sign of its own.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A number as short as it may be: one digit after the point.
pub struct N(pub f64);

impl std::fmt::Display for N {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        let (sign, tenths) = if tenths < 0 { ("-", tenths.unsigned_abs()) } else { ("", tenths.unsigned_abs()) };
        match tenths % 10 {
            0 => write!(f, "{sign}{}", tenths / 10),
            rest => write!(f, "{sign}{}.{rest}", tenths / 10),
        }
    }
}

/// A step that reads well, so that there are no more marks on an axis than this.
pub fn step_ms(all_ms: u64, marks_max: u64) -> u64 {
    const STEPS_MS: [u64; 26] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
        900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
    ];
    let marks_max = marks_max.max(1);
    let mut step = STEPS_MS.into_iter().find(|step| all_ms / step <= marks_max).unwrap_or(86_400_000);
    while all_ms / step > marks_max {
        step *= 2;
    }
    step
}

/// A time on an axis: `90 s` would be `2 min` if it were rounded.
pub fn marked(ms: u64) -> String {
    match ms {
        0 => "0".to_owned(),
        60_000.. if !ms.is_multiple_of(60_000) && ms < 3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        86_400_000.. if !ms.is_multiple_of(86_400_000) => format!("{} h", ms / 3_600_000),
        _ => span(ms),
    }
}

/// One text in a picture.
pub struct Text<'a> {
    pub x: f64,
    pub y: f64,
    pub class: &'a str,
    pub text: &'a str,
}

pub fn text(out: &mut String, text: &Text<'_>) {
    let Text { x, y, class, text } = text;
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>", N(*x), N(*y), escaped(text));
}

/// What a mouse that rests on an element is told.
pub fn title(out: &mut String, text: &str) {
    let _ = writeln!(out, "<title>{}</title>", escaped(text));
}

/// The beginning of a picture: its size, its colours, its ground, and the signs it uses. `about` is for those who do not see it.
pub fn begin(out: &mut String, (width, height): (f64, f64), about: &str, style: &str) {
    let (width, height) = (N(width.ceil()), N(height.ceil()));
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">"
    );
    title(out, about);
    let rules = format!("{RULES}{style}");
    let _ = writeln!(out, "<style>\n{}@media (prefers-color-scheme:dark){{\n{}}}\n</style>", by_day(&rules), by_night(&rules));
    out.push_str(SIGNS);
    let _ = writeln!(out, "<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>");
}

/// How something stands. Colour never says it alone: each has a sign of its own, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    Waiting,
    Queued,
    Running,
    Asking,
    Sleeping,
    Awaiting,
    Done,
    Failed,
    Skipped,
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 10] = [
        Status::Waiting,
        Status::Queued,
        Status::Running,
        Status::Asking,
        Status::Sleeping,
        Status::Awaiting,
        Status::Done,
        Status::Failed,
        Status::Skipped,
        Status::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Asking => "asking",
            Status::Sleeping => "sleeping",
            Status::Awaiting => "awaiting",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Cancelled => "cancelled",
        }
    }
}

/// The sign of a status, in a square with this left upper corner.
pub fn sign(out: &mut String, status: Status, x: f64, y: f64, size: f64) {
    let name = status.as_str();
    let _ = writeln!(
        out,
        "<use class=\"sign s-{name}\" href=\"#{name}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        N(x),
        N(y),
        N(size),
        N(size)
    );
}

/// Each on a square of 16.
const SIGNS: &str = "<defs>
<symbol id=\"waiting\" viewBox=\"0 0 16 16\"><circle cx=\"8\" cy=\"8\" r=\"5.5\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\"/></symbol>
<symbol id=\"queued\" viewBox=\"0 0 16 16\"><circle cx=\"8\" cy=\"8\" r=\"5.5\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\"/><path d=\"M8 5v3.2l2.2 1.6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\" stroke-linecap=\"round\"/></symbol>
<symbol id=\"running\" viewBox=\"0 0 16 16\"><path d=\"M4 2.5v11l9.5-5.5z\" fill=\"currentColor\"/></symbol>
<symbol id=\"asking\" viewBox=\"0 0 16 16\"><path d=\"M5 5.6c0-4 6.2-3.8 6.2 0c0 2.3-3.1 2.3-3.1 4.6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" stroke-linecap=\"round\"/><circle cx=\"8.1\" cy=\"13.3\" r=\"1.3\" fill=\"currentColor\"/></symbol>
<symbol id=\"sleeping\" viewBox=\"0 0 16 16\"><path d=\"M12.9 10.2a5.8 5.8 0 1 1-5.1-8 4.6 4.6 0 0 0 5.1 8z\" fill=\"currentColor\"/></symbol>
<symbol id=\"awaiting\" viewBox=\"0 0 16 16\"><path d=\"M8 12.8v-5M4.9 9.2a4.4 4.4 0 1 1 6.2 0M2.7 11.4a7.4 7.4 0 1 1 10.6 0\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\" stroke-linecap=\"round\"/></symbol>
<symbol id=\"done\" viewBox=\"0 0 16 16\"><path d=\"M2.8 8.6l3.5 3.6 6.9-8.4\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.4\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/></symbol>
<symbol id=\"failed\" viewBox=\"0 0 16 16\"><path d=\"M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4\" stroke=\"currentColor\" stroke-width=\"2.4\" stroke-linecap=\"round\"/></symbol>
<symbol id=\"skipped\" viewBox=\"0 0 16 16\"><path d=\"M3 8h10\" stroke=\"currentColor\" stroke-width=\"2.2\" stroke-linecap=\"round\" stroke-dasharray=\"2.6 3.6\"/></symbol>
<symbol id=\"cancelled\" viewBox=\"0 0 16 16\"><circle cx=\"8\" cy=\"8\" r=\"5.5\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"/><path d=\"M4.2 11.8l7.6-7.6\" stroke=\"currentColor\" stroke-width=\"1.8\"/></symbol>
</defs>
";

/// Names for colours: by day and by night.
const PALETTE: [(&str, &str, &str); 28] = [
    ("ground", "#fff", "#14171c"),
    ("card", "#fff", "#1d2128"),
    ("ink", "#1b1f24", "#e6e9ee"),
    ("dim", "#5f6873", "#9aa4b1"),
    ("faint", "#d5dae0", "#353c47"),
    ("line", "#8a93a0", "#6c7685"),
    ("strong", "#2f5fd0", "#7aa5ff"),
    ("tint", "#f5f7fa", "#191d23"),
    ("waiting", "#68717d", "#97a1ae"),
    ("queued", "#7556c0", "#b59cf5"),
    ("running", "#1d62d6", "#79a9ff"),
    ("asking", "#a55f00", "#f0b04f"),
    ("sleeping", "#3f6f8f", "#86bfdf"),
    ("awaiting", "#8a3f86", "#e29ade"),
    ("done", "#1a7f46", "#5fd08f"),
    ("failed", "#c62828", "#ff8080"),
    ("skipped", "#69727d", "#98a2ae"),
    ("cancelled", "#7d5a4f", "#cfa193"),
    ("waiting-t", "#fff", "#1d2128"),
    ("queued-t", "#f3effc", "#262036"),
    ("running-t", "#e8f0fe", "#1a2740"),
    ("asking-t", "#fff3dc", "#33270f"),
    ("sleeping-t", "#e8f2f7", "#182a34"),
    ("awaiting-t", "#f8ecf7", "#301d2f"),
    ("done-t", "#e9f7ef", "#15291e"),
    ("failed-t", "#fdeaea", "#3a1b1d"),
    ("skipped-t", "#fafafa", "#181b20"),
    ("cancelled-t", "#f6efec", "#2a211e"),
];

/// Rules with each `var(--name)` as its colour. A browser could look them up by itself; what else shows pictures often cannot, and
/// would draw all of them black.
fn by_day(rules: &str) -> String {
    PALETTE.iter().fold(rules.to_owned(), |rules, (name, day, _)| rules.replace(&format!("var(--{name})"), day))
}

/// The same for a screen that is dark, colours alone: the rest holds as it is.
fn by_night(rules: &str) -> String {
    let mut night = String::new();
    for (selector, said) in rules.split('}').filter_map(|rule| rule.trim().split_once('{')) {
        let colours: Vec<&str> = said.split(';').filter(|said| said.contains("var(")).collect();
        if !colours.is_empty() {
            let _ = writeln!(night, "{selector}{{{}}}", colours.join(";"));
        }
    }
    PALETTE.iter().fold(night, |rules, (name, _, night)| rules.replace(&format!("var(--{name})"), night))
}

const RULES: &str = ".ground{fill:var(--ground)}
text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:var(--dim)}
.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;font-size:10.5px}
.id{font:600 13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;fill:var(--ink)}
.head{font-size:17px;font-weight:600;fill:var(--ink)}
.mid{text-anchor:middle}.end{text-anchor:end}
.s-waiting{color:var(--waiting)}.s-queued{color:var(--queued)}.s-running{color:var(--running)}.s-asking{color:var(--asking)}.s-sleeping{color:var(--sleeping)}.s-awaiting{color:var(--awaiting)}
.s-done{color:var(--done)}.s-failed{color:var(--failed)}.s-skipped{color:var(--skipped)}.s-cancelled{color:var(--cancelled)}
text.s-waiting,text.s-queued,text.s-running,text.s-asking,text.s-sleeping,text.s-awaiting,text.s-done,text.s-failed,text.s-skipped,text.s-cancelled{fill:currentColor}
";

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: &str) -> f64 {
        let digits = colour.trim_start_matches('#');
        let wide: String = if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits.to_owned() };
        let part = |at: usize| {
            let share = f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()) / 255.0;
            if share <= 0.03928 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
    }

    /// As the guidelines for accessible pages measure it.
    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn what_is_written_can_be_read_by_day_and_by_night() {
        let of = |name: &str| PALETTE.iter().find(|(known, ..)| *known == name).copied().unwrap();
        let grounds = |status: Status| ["ground".to_owned(), "tint".to_owned(), format!("{}-t", status.as_str())];
        for status in Status::ALL {
            for (text, ground) in ["dim", status.as_str()].iter().flat_map(|text| grounds(status).map(|ground| (*text, ground))) {
                let ((_, day, night), (_, day_ground, night_ground)) = (of(text), of(&ground));
                assert!(contrast(day, day_ground) >= 4.5, "{text} on {ground} by day: {}", contrast(day, day_ground));
                assert!(contrast(night, night_ground) >= 4.5, "{text} on {ground} by night: {}", contrast(night, night_ground));
            }
        }
    }

    #[test]
    fn colours_need_no_browser() {
        let mut out = String::new();
        begin(&mut out, (1.0, 1.0), "x", ".own{fill:none;stroke:var(--line)}\n.plain{opacity:.5}\n");
        let (day, night) = out.split_once("@media (prefers-color-scheme:dark){").unwrap();
        assert!(!out.contains("var("), "{out}");
        assert!(day.contains(".own{fill:none;stroke:#8a93a0}") && day.contains(".ground{fill:#fff}"), "{day}");
        assert!(night.contains("\n.own{stroke:#6c7685}\n") && night.contains("\n.ground{fill:#14171c}\n"), "{night}");
        assert!(!night.contains(".plain"), "{night}");
    }

    #[test]
    fn marks_on_an_axis_say_what_they_are() {
        for (ms, shown) in [(0, "0"), (90_000, "1 min 30 s"), (60_000, "1 min"), (5_400_000, "1 h 30 min"), (2_000, "2.0 s")] {
            assert_eq!(marked(ms), shown, "{ms}");
        }
        for (ms, shown) in [(129_600_000, "36 h"), (86_400_000, "1 d"), (172_800_000, "2 d")] {
            assert_eq!(marked(ms), shown, "{ms}");
        }
    }
}
