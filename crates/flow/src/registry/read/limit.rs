//! How many at once and how many in a while: `concurrency`, `rate` and `drop_rate`, in all the forms they are written in.

use super::expression::event_expr;
use crate::define::fields::Fields;
use crate::define::scalars::{duration, int, parse_duration_ms, wrong};
use crate::problem::{At, Problem, Problems};
use crate::registry::event::EventExpr;
use crate::registry::handler::Limit;
use crate::source::{Data, Entry, Value};
use kernel::limits::*;
use kernel::names::{HandlerName, KeyName};
use kernel::rate::Rate;
use std::sync::Arc;

/// The limits of one handler, put together of what it says in several places: the same key is counted once.
pub struct Limits<'a> {
    handler: &'a HandlerName,
    found: Vec<Limit>,
}

impl<'a> Limits<'a> {
    pub fn new(handler: &'a HandlerName) -> Limits<'a> {
        Limits { handler, found: Vec::new() }
    }

    /// By name, totals first.
    pub fn finish(self, at: &At, problems: &mut Problems) -> Vec<Limit> {
        if self.found.len() > TASK_KEYS_MAX {
            let told = format!("handler `{}` counts by {} keys; it may by {TASK_KEYS_MAX}", self.handler, self.found.len());
            problems.say(at, told);
        }
        self.found
    }

    /// The limit for a key, made if it is not there yet.
    fn of(&mut self, key: Option<EventExpr>) -> &mut Limit {
        let same = |limit: &Limit| limit.key.as_ref().map(|key| key.source()) == key.as_ref().map(|key| key.source());
        let at = self.found.iter().position(same).unwrap_or_else(|| {
            let name = self.name(key.as_ref());
            self.found.push(Limit { name, key: key.map(Arc::new), concurrency: None, rate: None });
            self.found.len() - 1
        });
        &mut self.found[at]
    }

    /// `mail` for all of its tasks, `mail.tenant` by `event.data.tenant`, `mail.2` by what has no such name.
    fn name(&self, key: Option<&EventExpr>) -> KeyName {
        let handler = self.handler;
        let Some(key) = key else { return KeyName::parse(handler.as_str()).expect("a handler's name is a key's") };
        let path = key.source().chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        let word = key.source().rsplit('.').next().filter(|word| path && !word.is_empty() && word.len() <= 40);
        let number = (self.found.len() + 1).to_string();
        let names = [word.map(str::to_owned), word.map(|word| format!("{word}.{number}")), Some(number)];
        let mut names = names.into_iter().flatten().filter_map(|word| KeyName::parse(&format!("{handler}.{word}")).ok());
        names.find(|name| self.found.iter().all(|limit| limit.name != *name)).expect("its number is its own")
    }

    /// `5`, `{total: 5, key: …, per_key: 2}`, or a list of the latter.
    pub fn concurrency(&mut self, entry: &Entry, problems: &mut Problems) {
        match &entry.value.data {
            Data::List(values) => values.iter().for_each(|value| self.one_concurrency(value, problems)),
            _ => self.one_concurrency(&entry.value, problems),
        }
    }

    fn one_concurrency(&mut self, value: &Value, problems: &mut Problems) {
        if let Data::Map(_) = &value.data {
            let Some(mut fields) = Fields::of(value, "`concurrency`", problems) else { return };
            let before = problems.count();
            let total = fields.take("total").and_then(|entry| slots(&entry.value, problems));
            let (key, per_key) = (fields.take("key"), fields.take("per_key"));
            match (key, per_key) {
                (Some(key), Some(per_key)) => {
                    let (key, slots) = (event_expr(&key.value, problems), slots(&per_key.value, problems));
                    if let (Some(key), Some(slots)) = (key, slots) {
                        let limit = self.of(Some(key));
                        say_once(&mut limit.concurrency, slots, "concurrency of this key", &value.at, problems);
                    }
                }
                (Some(key), None) => problems.say(&key.key_at, "`key` needs `per_key`: how many at once of each value"),
                (None, Some(per_key)) => problems.say(&per_key.key_at, "`per_key` needs `key`: what is counted by"),
                (None, None) if total.is_none() && problems.count() == before => {
                    problems.say(&value.at, "`concurrency` needs `total`, or `key` and `per_key`");
                }
                (None, None) => {}
            }
            fields.finish(problems);
            if let Some(total) = total {
                say_once(&mut self.of(None).concurrency, total, "concurrency", &value.at, problems);
            }
        } else if let Some(total) = slots(value, problems) {
            say_once(&mut self.of(None).concurrency, total, "concurrency", &value.at, problems);
        }
    }

    /// `10/s`, `{count: 10, per: 1s, burst: 5, key: …}`, or a list of these.
    pub fn rate(&mut self, entry: &Entry, problems: &mut Problems) {
        let values = if let Data::List(values) = &entry.value.data { &values[..] } else { std::slice::from_ref(&entry.value) };
        for value in values {
            let Some((rate, key)) = keyed_rate(value, "`rate`", problems) else { continue };
            let of = if key.is_some() { "rate of this key" } else { "rate" };
            say_once(&mut self.of(key).rate, rate, of, &value.at, problems);
        }
    }
}

fn say_once<T>(place: &mut Option<T>, value: T, what: &str, at: &At, problems: &mut Problems) {
    if place.replace(value).is_some() {
        problems.say(at, format!("the {what} is stated twice: leave one of them out"));
    }
}

pub fn slots(value: &Value, problems: &mut Problems) -> Option<u32> {
    int(value, 1, i64::from(CONCURRENCY_MAX), problems).map(|slots| slots as u32)
}

/// A rate, and what it is counted by.
pub fn keyed_rate(value: &Value, what: &str, problems: &mut Problems) -> Option<(Rate, Option<EventExpr>)> {
    rate_of(value, what, true, problems)
}

/// A rate of all alike.
pub fn plain_rate(value: &Value, problems: &mut Problems) -> Option<Rate> {
    rate_of(value, "`rate`", false, problems).map(|(rate, _)| rate)
}

fn rate_of(value: &Value, what: &str, keyed: bool, problems: &mut Problems) -> Option<(Rate, Option<EventExpr>)> {
    let (rate, key) = match &value.data {
        Data::Text(text) => match parse_rate(&text.text) {
            Some(rate) => (rate, None),
            None => {
                wrong(value, "a rate such as 10/s, 100/5m or 100/1h burst 5", problems);
                return None;
            }
        },
        Data::Map(_) => {
            let mut fields = Fields::of(value, what, problems)?;
            let before = problems.count();
            let count = fields.require("count", problems).and_then(|entry| natural(&entry.value, RATE_COUNT_MAX, problems));
            let per_ms = fields.require("per", problems).and_then(|entry| duration(&entry.value, problems));
            let burst = fields.take("burst").and_then(|entry| natural(&entry.value, RATE_BURST_MAX, problems));
            let key = if keyed { fields.take("key").and_then(|entry| event_expr(&entry.value, problems)) } else { None };
            fields.finish(problems);
            if problems.count() > before {
                return None;
            }
            (Rate { count: count?, per_ms: per_ms?, burst: burst.unwrap_or(1) }, key)
        }
        Data::Int(number) => {
            let problem = Problem::new(&value.at, format!("`{number}` is a number without a time"));
            problems.add(problem.suggest(format!("write `{number}/s` or `{number}/m`")));
            return None;
        }
        _ => {
            wrong(value, "a rate such as 10/s, or a map with `count` and `per`", problems);
            return None;
        }
    };
    if let Err(why) = rate.check() {
        problems.say(&value.at, why);
        return None;
    }
    Some((rate, key))
}

fn natural(value: &Value, most: u32, problems: &mut Problems) -> Option<u32> {
    int(value, 1, i64::from(most), problems).map(|number| number as u32)
}

/// `10/s`, `100/5m`, `100/1h burst 5`.
fn parse_rate(text: &str) -> Option<Rate> {
    let (rate, burst) = match text.split_once("burst") {
        Some((rate, burst)) => (rate, burst.trim().parse().ok()?),
        None => (text, 1),
    };
    let (count, per) = rate.split_once('/')?;
    let per = per.trim();
    let per_ms = if per.starts_with(|c: char| c.is_ascii_digit()) {
        parse_duration_ms(per)
    } else {
        parse_duration_ms(&format!("1{per}"))
    };
    Some(Rate { count: count.trim().parse().ok()?, per_ms: per_ms?, burst })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, expected) in [
            ("10/s", Some((10, 1_000, 1))),
            ("100/5m", Some((100, 300_000, 1))),
            ("100 / 1h burst 5", Some((100, 3_600_000, 5))),
            ("1/d", Some((1, 86_400_000, 1))),
            ("10", None),
            ("/s", None),
            ("10/", None),
            ("10/fortnight", None),
            ("10/s burst", None),
            ("-1/s", None),
            ("10/s burst 5 burst 6", None),
            ("", None),
        ] {
            let found = parse_rate(text).map(|rate| (rate.count, rate.per_ms, rate.burst));
            assert_eq!(found, expected, "{text}");
        }
    }
}
