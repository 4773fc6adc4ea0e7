//! RFC 6901: where a value stands in a document, as `/nodes/pay/with/url`. In a key `~1` is a slash and `~0` a tilde.

use super::json::Json;
use std::fmt;

/// The way down, key by key; none is the whole document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pointer(pub Vec<String>);

impl Pointer {
    pub fn parse(text: &str) -> Result<Pointer, String> {
        let Some(steps) = text.strip_prefix('/') else {
            let wrong = format!("a pointer begins with `/`, unlike `{}`", crate::source::short(text));
            return if text.is_empty() { Ok(Pointer::default()) } else { Err(wrong) };
        };
        steps.split('/').map(unescaped).collect::<Result<_, _>>().map(Pointer)
    }

    pub fn of<'a>(steps: impl IntoIterator<Item = &'a str>) -> Pointer {
        Pointer(steps.into_iter().map(str::to_owned).collect())
    }

    pub fn child(&self, step: impl Into<String>) -> Pointer {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Pointer(steps)
    }

    /// Whether it leads to something inside of what `outer` leads to.
    pub fn is_inside(&self, outer: &Pointer) -> bool {
        self.0.len() > outer.0.len() && self.0.starts_with(&outer.0)
    }

    /// What it leads to.
    pub fn find<'a>(&self, document: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(document, |here, step| match here {
            Json::List(values) => values.get(index(step).ok()?),
            here => here.get(step),
        })
    }
}

fn unescaped(step: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(step.len());
    let mut rest = step.chars();
    while let Some(c) = rest.next() {
        plain.push(match (c, c == '~') {
            (_, true) => match rest.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return Err(format!("after `~` in a pointer stands 0 or 1, unlike in `{}`", crate::source::short(step))),
            },
            (c, false) => c,
        });
    }
    Ok(plain)
}

/// A place in a list: digits, and no zero before them.
pub fn index(step: &str) -> Result<usize, String> {
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    let lawful = digits && (step == "0" || !step.starts_with('0'));
    // What does not fit leads beyond every list.
    if lawful {
        Ok(step.parse().unwrap_or(usize::MAX))
    } else {
        Err(format!("`{}` is no place in a list", crate::source::short(step)))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}
