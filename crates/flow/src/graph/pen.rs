//! What every SVG of ours is written with: text that cannot break out of it, measured and cut to its room; numbers; colours for
//! light and dark. No scripts, no fonts from elsewhere: a picture is one file that shows the same everywhere.

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

/// About how long, rounded: `420 ms`, `3.2 s`, `5 min`, `2 h 5 min`, `3 d`.
pub fn lasted(ms: u64) -> String {
    let rounded = |unit_ms: u64| (ms.saturating_add(unit_ms / 2)) / unit_ms;
    let (tenths, seconds, minutes, hours, days) =
        (rounded(100), rounded(1_000), rounded(60_000), rounded(3_600_000), rounded(86_400_000));
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..9_950 => format!("{}.{} s", tenths / 10, tenths % 10),
        9_950..59_500 => format!("{seconds} s"),
        59_500..3_570_000 => format!("{minutes} min"),
        3_570_000..36_000_000 if minutes % 60 > 0 => format!("{} h {} min", minutes / 60, minutes % 60),
        3_570_000..84_600_000 => format!("{hours} h"),
        _ => format!("{days} d"),
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
    let _ = writeln!(out, "<style>\n{COLOURS}{style}</style>");
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
    Done,
    Failed,
    Skipped,
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 9] = [
        Status::Waiting,
        Status::Queued,
        Status::Running,
        Status::Asking,
        Status::Sleeping,
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
<symbol id=\"done\" viewBox=\"0 0 16 16\"><path d=\"M2.8 8.6l3.5 3.6 6.9-8.4\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.4\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/></symbol>
<symbol id=\"failed\" viewBox=\"0 0 16 16\"><path d=\"M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4\" stroke=\"currentColor\" stroke-width=\"2.4\" stroke-linecap=\"round\"/></symbol>
<symbol id=\"skipped\" viewBox=\"0 0 16 16\"><path d=\"M3 8h10\" stroke=\"currentColor\" stroke-width=\"2.2\" stroke-linecap=\"round\" stroke-dasharray=\"2.6 3.6\"/></symbol>
<symbol id=\"cancelled\" viewBox=\"0 0 16 16\"><circle cx=\"8\" cy=\"8\" r=\"5.5\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.8\"/><path d=\"M4.2 11.8l7.6-7.6\" stroke=\"currentColor\" stroke-width=\"1.8\"/></symbol>
</defs>
";

const COLOURS: &str = "svg{--ground:#fff;--card:#fff;--ink:#1b1f24;--dim:#5f6873;--faint:#d5dae0;--line:#8a93a0;--strong:#2f5fd0;--tint:#f5f7fa;
--waiting:#6b7480;--queued:#7a5cc4;--running:#1d62d6;--asking:#a55f00;--sleeping:#3f6f8f;--done:#1a7f46;--failed:#c62828;--skipped:#808893;--cancelled:#7d5a4f;
--waiting-t:#fff;--queued-t:#f3effc;--running-t:#e8f0fe;--asking-t:#fff3dc;--sleeping-t:#e8f2f7;--done-t:#e9f7ef;--failed-t:#fdeaea;--skipped-t:#fafafa;--cancelled-t:#f6efec}
@media (prefers-color-scheme:dark){svg{--ground:#14171c;--card:#1d2128;--ink:#e6e9ee;--dim:#9aa4b1;--faint:#353c47;--line:#6c7685;--strong:#7aa5ff;--tint:#191d23;
--waiting:#97a1ae;--queued:#b59cf5;--running:#79a9ff;--asking:#f0b04f;--sleeping:#86bfdf;--done:#5fd08f;--failed:#ff8080;--skipped:#79828e;--cancelled:#cfa193;
--waiting-t:#1d2128;--queued-t:#262036;--running-t:#1a2740;--asking-t:#33270f;--sleeping-t:#182a34;--done-t:#15291e;--failed-t:#3a1b1d;--skipped-t:#181b20;--cancelled-t:#2a211e}}
.ground{fill:var(--ground)}
text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:var(--dim)}
.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;font-size:10.5px}
.id{font:600 13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;fill:var(--ink)}
.head{font-size:17px;font-weight:600;fill:var(--ink)}
.mid{text-anchor:middle}.end{text-anchor:end}
.s-waiting{color:var(--waiting)}.s-queued{color:var(--queued)}.s-running{color:var(--running)}.s-asking{color:var(--asking)}.s-sleeping{color:var(--sleeping)}
.s-done{color:var(--done)}.s-failed{color:var(--failed)}.s-skipped{color:var(--skipped)}.s-cancelled{color:var(--cancelled)}
text.s-waiting,text.s-queued,text.s-running,text.s-asking,text.s-sleeping,text.s-done,text.s-failed,text.s-skipped,text.s-cancelled{fill:currentColor}
";
