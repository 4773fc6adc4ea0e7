//! Regular expressions for `matches`: unanchored, as RE2 in CEL, with `\w \d \s \b` meaning ASCII. Time is linear in the
//! text and in the pattern's compiled size; the size is bounded, and a byte of text costs more the larger it is.

use super::budget::Budget;
use super::error::Stop;
use super::limits::*;
use regex::{Error, Regex, RegexBuilder};

#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    units_per_byte: u64,
}

/// Compiled size → units per byte of text. A size is told only by the smallest bound the pattern stays within; the units
/// are for the worst text, where every state is alive at every byte.
const SIZES: [(usize, u64); 4] = [(1_024, 2), (4 * 1_024, 8), (16 * 1_024, 32), (PATTERN_COMPILED_BYTES_MAX, 128)];

impl Pattern {
    pub fn compile(source: &str) -> Result<Pattern, String> {
        if source.len() > PATTERN_BYTES_MAX {
            return Err(format!("a pattern may be {PATTERN_BYTES_MAX} bytes long; this one has {}", source.len()));
        }
        let ascii = ascii_classes(source);
        for (size, units_per_byte) in SIZES {
            let mut builder = RegexBuilder::new(&ascii);
            builder.size_limit(size).dfa_size_limit(PATTERN_CACHE_BYTES_MAX).nest_limit(PATTERN_NESTED_MAX);
            match builder.build() {
                Ok(regex) => return Ok(Pattern { regex, units_per_byte }),
                Err(Error::CompiledTooBig(_)) => {}
                Err(Error::Syntax(why)) => {
                    // The last line says what is wrong; those before it draw an arrow.
                    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    return Err(format!("the pattern is not a regular expression: {why}"));
                }
                Err(_) => return Err("the pattern is not a regular expression".into()),
            }
        }
        Err("the pattern is too large when compiled: shorten its repetitions".into())
    }

    pub fn matches(&self, text: &str, budget: &mut Budget) -> Result<bool, Box<Stop<'static>>> {
        budget.pay((text.len() as u64).saturating_mul(self.units_per_byte))?;
        Ok(self.regex.is_match(text))
    }
}

/// The classes as RE2 has them. In the regex crate they are Unicode's, and a hundred times as large.
fn ascii_classes(source: &str) -> String {
    let mut ascii = String::with_capacity(2 * source.len());
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            ascii.push(c);
            continue;
        }
        match chars.next() {
            // A class may stand within brackets, too: they nest.
            Some('w') => ascii.push_str("[0-9A-Za-z_]"),
            Some('W') => ascii.push_str("[^0-9A-Za-z_]"),
            Some('d') => ascii.push_str("[0-9]"),
            Some('D') => ascii.push_str("[^0-9]"),
            Some('s') => ascii.push_str(r"[\t\n\x0c\r ]"),
            Some('S') => ascii.push_str(r"[^\t\n\x0c\r ]"),
            Some('b') => ascii.push_str(r"(?-u:\b)"),
            Some(other) => ascii.extend(['\\', other]),
            None => ascii.push('\\'),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_re2() {
        for (pattern, text, matches) in [
            (r"^\w+@[\w.-]+\.\w{2,}$", "jo.e@x.test", false),
            (r"^[\w.]+@[\w.-]+\.\w{2,}$", "jo.e@x.test", true),
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^\D$", "ü", true),
            (r"^.$", "ü", true),
            (r"^[^a]$", "ü", true),
            (r"\bcat\b", "a cat.", true),
            (r"\bcat\b", "concat", false),
            (r"^\S+\s\S+$", "a b", true),
            (r"\\w", "\\w", true),
            (r"(?i)^ZOË$", "zoë", true),
            ("b", "abc", true),
        ] {
            let mut budget = Budget::default();
            let found = Pattern::compile(pattern).unwrap().matches(text, &mut budget).unwrap();
            assert_eq!(found, matches, "{pattern} on {text}");
        }
        for pattern in ["(", "a{2,1}", "[z-a]", "\\", "(?<", "a{1000}{1000}", &"(".repeat(500), &"a".repeat(513)] {
            assert!(Pattern::compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn plain_patterns_are_cheap() {
        for (pattern, units) in [("^[a-z]+$", 2), ("abc", 2), (r"^\w+@\w+\.\w+$", 2), (r"^\d{4}-\d{2}-\d{2}T", 2), ("a{200}", 32)]
        {
            assert_eq!(Pattern::compile(pattern).unwrap().units_per_byte, units, "{pattern}");
        }
    }
}
