//! Queries about events as SQL: what follows the `SELECT`, and the parameters in order.

use super::cold::limited;
use crate::store::EventQuery;
use kernel::ids::EventId;
use kernel::names::Pattern;
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
    if query.outcome.is_some() || query.handler.is_some() {
        sql.push_str(" AND EXISTS (SELECT 1 FROM json_each(handled) AS h WHERE 1");
        if let Some(outcome) = &query.outcome {
            sql.push_str(" AND h.value ->> 'outcome' = ?");
            parameters.push(outcome.into());
        }
        if let Some(handler) = &query.handler {
            sql.push_str(" AND h.value ->> 'handler' = ?");
            parameters.push(handler.shared().into());
        }
        sql.push(')');
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

/// Tasks of the families that a pattern covers, by the names of the events that made them. Names hold nothing that a glob
/// takes for more than itself.
pub(super) fn of_families(pattern: &Pattern, sql: &mut String, parameters: &mut Vec<Value>) {
    let name = r#""trigger" ->> 'name'"#;
    let stem = pattern.as_str().strip_suffix('*');
    if stem == Some("") {
        return sql.push_str(r#" AND "trigger" IS NOT NULL"#);
    }
    // The one family without what is below it: one part more, or itself if it has no more than one.
    let family = stem.map_or(pattern.as_str(), |stem| &stem[..stem.len() - 1]);
    sql.push_str(&format!(" AND (({name} GLOB ? AND {name} NOT GLOB ?)"));
    parameters.extend([format!("{family}[/.]*").as_str().into(), format!("{family}[/.]*[/.]*").as_str().into()]);
    if !family.contains(['/', '.']) {
        sql.push_str(&format!(" OR {name} = ?"));
        parameters.push(family.into());
    }
    if let Some(stem) = stem {
        sql.push_str(&format!(" OR {name} GLOB ?"));
        parameters.push(format!("{stem}*").as_str().into());
    }
    sql.push(')');
}
