//! What is wrong with a definition, and where: many at once, each with a way out if there is one.

use crate::limits::PROBLEMS_MAX;
use std::fmt;
use std::sync::Arc;

/// Where something stands in its file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct At {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    pub path: Path,
}

/// The way to a value through maps and lists: `nodes.route.rules[0].to`. Shared, since every value has one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path(Option<Arc<Step>>);

#[derive(PartialEq, Eq, Debug)]
struct Step {
    parent: Path,
    name: Name,
}

#[derive(PartialEq, Eq, Debug)]
enum Name {
    Key(Arc<str>),
    Index(usize),
}

impl Path {
    pub fn key(&self, key: &Arc<str>) -> Path {
        Path(Some(Arc::new(Step { parent: self.clone(), name: Name::Key(key.clone()) })))
    }

    pub fn index(&self, index: usize) -> Path {
        Path(Some(Arc::new(Step { parent: self.clone(), name: Name::Index(index) })))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(step) = &self.0 else { return Ok(()) };
        fmt::Display::fmt(&step.parent, f)?;
        match &step.name {
            Name::Key(key) if step.parent.0.is_none() => write!(f, "{key}"),
            Name::Key(key) => write!(f, ".{key}"),
            Name::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
    /// What to do about it, if that can be guessed.
    pub suggestion: Option<String>,
    /// It stands for so many others that are not told.
    pub more: Option<More>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum More {
    Exactly(usize),
    /// Not all was looked at.
    AtLeast(usize),
}

/// How many problems there are in all, in words: `3 problems`, `at least 100 problems`.
pub fn counted<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> String {
    let (mut count, mut at_least) = (0, "");
    for problem in problems {
        count += match problem.more {
            None => 1,
            Some(More::Exactly(more)) => more,
            Some(More::AtLeast(more)) => {
                at_least = "at least ";
                more
            }
        };
    }
    format!("{at_least}{count} problem{}", if count == 1 { "" } else { "s" })
}

impl Problem {
    pub fn new(at: &At, message: impl Into<String>) -> Problem {
        Problem {
            path: at.path.to_string(),
            line: at.line,
            column: at.column,
            message: message.into(),
            suggestion: None,
            more: None,
        }
    }

    pub fn suggest(mut self, suggestion: impl Into<String>) -> Problem {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// As a compiler would say it: `file:line:column: message`, and the suggestion on a line of its own.
    pub fn shown(&self, file: &str) -> String {
        format!("{file}:{self}")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "\n  {suggestion}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// Those found so far: bounded, what is beyond the bound is counted.
#[derive(Default, Debug)]
pub struct Problems {
    found: Vec<Problem>,
    beyond: usize,
    /// Something was not looked at, since there were enough.
    passed_over: bool,
    /// What is right and yet may not be what was meant.
    warned: Vec<Problem>,
}

impl Problems {
    pub fn add(&mut self, problem: Problem) {
        if self.found.len() >= PROBLEMS_MAX {
            self.beyond += 1;
        } else if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// Those of another part of the file.
    pub fn merge(&mut self, other: Problems) {
        self.beyond += other.beyond;
        self.passed_over |= other.passed_over;
        other.found.into_iter().for_each(|problem| self.add(problem));
    }

    /// There are enough: what comes now is not looked at.
    pub fn pass_over(&mut self) {
        self.passed_over = true;
    }

    pub fn say(&mut self, at: &At, message: impl Into<String>) {
        self.add(Problem::new(at, message));
    }

    pub fn warn(&mut self, problem: Problem) {
        if self.warned.len() < PROBLEMS_MAX {
            self.warned.push(problem);
        }
    }

    /// In the order of the file.
    pub fn take_warnings(&mut self) -> Vec<Problem> {
        let mut warned = std::mem::take(&mut self.warned);
        warned.sort_by_key(|problem| (problem.line, problem.column));
        warned
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn count(&self) -> usize {
        self.found.len() + self.beyond
    }

    /// More would only be counted: no need to think hard about them.
    pub fn is_full(&self) -> bool {
        self.found.len() >= PROBLEMS_MAX
    }

    /// In the order of the file.
    pub fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.found;
        found.sort_by_key(|problem| (problem.line, problem.column));
        let (more, message) = match (self.beyond, self.passed_over) {
            (0, false) => return found,
            (0, true) => (More::AtLeast(0), "what comes after these was not looked at: there may be more problems".to_owned()),
            (1, false) => (More::Exactly(1), "and 1 more problem".to_owned()),
            (beyond, false) => (More::Exactly(beyond), format!("and {beyond} more problems")),
            (beyond, true) => (More::AtLeast(beyond), format!("and at least {beyond} more; not all was looked at")),
        };
        if let Some(last) = found.last().cloned() {
            found.push(Problem { path: String::new(), message, suggestion: None, more: Some(more), ..last });
        }
        found
    }
}

/// "did you mean `classify`?", if one of those known is close enough to be what was meant.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(written, known).map(|name| format!("did you mean `{name}`?"))
}

/// Longer names are told as they are, without a guess.
const GUESSED_BYTES_MAX: usize = 64;

/// The known name closest to what was written, the first of several; none if all are far. A definition may have thousands
/// of names and a hundred mistakes: this allocates nothing.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.len() > GUESSED_BYTES_MAX {
        return None;
    }
    // To a letter every other is close.
    let mut bound = if written.len() < 2 { 0 } else { (written.len() / 3).max(1) };
    let mut best = None;
    for name in known {
        if let Some(distance) = edits(written.as_bytes(), name.as_bytes(), bound) {
            best = Some(name);
            if distance == 0 {
                break;
            }
            bound = distance - 1;
        }
    }
    best.filter(|name| *name != written)
}

/// Insertions, deletions, substitutions and swaps of neighbours between two words, in any case; none if there are more than
/// `bound`.
fn edits(a: &[u8], b: &[u8], bound: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > bound || b.len() > GUESSED_BYTES_MAX {
        return None;
    }
    let mut rows = [[0usize; GUESSED_BYTES_MAX + 1]; 3];
    (0..=b.len()).for_each(|j| rows[0][j] = j);
    for i in 1..=a.len() {
        let (row, above, before) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        rows[row][0] = i;
        let mut least = i;
        for j in 1..=b.len() {
            let same = a[i - 1].eq_ignore_ascii_case(&b[j - 1]);
            let mut cost = (rows[above][j - 1] + usize::from(!same)).min(rows[above][j] + 1).min(rows[row][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1].eq_ignore_ascii_case(&b[j - 2]) && a[i - 2].eq_ignore_ascii_case(&b[j - 1]) {
                cost = cost.min(rows[before][j - 2] + 1);
            }
            rows[row][j] = cost;
            least = least.min(cost);
        }
        if least > bound {
            return None;
        }
    }
    Some(rows[a.len() % 3][b.len()]).filter(|distance| *distance <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = ["classify", "route", "deny", "ask", "max_iterations"];
        for (written, expected) in [
            ("clasify", Some("classify")),
            ("Classify", Some("classify")),
            ("rotue", Some("route")),
            ("max_iteration", Some("max_iterations")),
            ("dny", Some("deny")),
            ("pay", None),
            ("b", None),
            ("as", Some("ask")),
            ("", None),
            ("zzzzzz", None),
        ] {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn a_problem_reads_like_a_compilers() {
        let path = Path::default().key(&"nodes".into()).key(&"route".into()).key(&"rules".into()).index(0);
        let at = At { line: 3, column: 7, path };
        let problem = Problem::new(&at, "no node `clasify`").suggest("did you mean `classify`?");
        assert_eq!(problem.shown("refund.yaml"), "refund.yaml:3:7: no node `clasify`\n  did you mean `classify`?");
        assert_eq!(problem.path, "nodes.route.rules[0]");
    }

    #[test]
    fn problems_are_bounded_and_the_rest_is_counted() {
        let mut problems = Problems::default();
        for line in 0..PROBLEMS_MAX as u32 + 5 {
            problems.say(&At { line, column: 1, path: Path::default() }, format!("wrong {line}"));
        }
        let told = problems.into_sorted();
        assert_eq!(told.len(), PROBLEMS_MAX + 1);
        assert_eq!(told[PROBLEMS_MAX].message, "and 5 more problems");
        assert_eq!(counted(&told), "105 problems");
    }

    #[test]
    fn what_was_not_looked_at_is_not_counted_and_said() {
        let many = |count: u32| {
            let mut problems = Problems::default();
            (0..count).for_each(|line| problems.say(&At { line, column: 1, path: Path::default() }, "wrong"));
            problems
        };
        let mut all = many(60);
        all.merge(many(9_000));
        all.pass_over();
        let told = all.into_sorted();
        assert_eq!(told.last().map(|last| last.message.as_str()), Some("and at least 8900 more; not all was looked at"));
        assert_eq!(counted(&told), "at least 9000 problems");
        let mut full = many(100);
        full.pass_over();
        assert_eq!(counted(&full.into_sorted()), "at least 100 problems");
        assert_eq!(counted(&many(1).into_sorted()), "1 problem");
    }
}
