//! Queries about events as SQL: what follows the `SELECT`, and the parameters in order.

use super::cold::limited;
use crate::store::EventQuery;
use kernel::ids::EventId;
use kernel::row::Value;

pub(super) fn events(query: &EventQuery) -> (String, Vec<Value>) {
    let upto = query.before.map_or(i64::MAX, |before| before.number() - 1);
    let after = query.after.map_or(-1, EventId::number);
    let mut sql = String::from("WHERE id <= ? AND id > ?");
    let mut parameters = vec![Value::Int(upto), Value::Int(after)];
    if let Some(pattern) = &query.pattern {
        match pattern.as_str().strip_suffix('*') {
            None => {
                sql.push_str(" AND name = ?");
                parameters.push(pattern.shared().into());
            }
            Some("") => {}
            Some(stem) => {
                // All names that begin so lie between it and the next text of its length.
                let mut end = stem.as_bytes().to_vec();
                *end.last_mut().expect("it is not empty") += 1;
                let end = String::from_utf8(end).expect("a divider and the character after it are ASCII");
                sql.push_str(" AND name >= ? AND name < ?");
                parameters.extend([stem.into(), end.as_str().into()]);
            }
        }
    }
    if query.unhandled {
        sql.push_str(" AND unhandled = 1");
    }
    if let Some(key) = &query.key {
        sql.push_str(" AND key = ?");
        parameters.push(key.shared().into());
    }
    if let Some(since) = query.since {
        sql.push_str(" AND received_at >= ?");
        parameters.push(since.into());
    }
    sql.push_str(if query.oldest_first { " ORDER BY id LIMIT ?" } else { " ORDER BY id DESC LIMIT ?" });
    parameters.push(limited(query.limit));
    (sql, parameters)
}
