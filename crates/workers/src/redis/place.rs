//! Where a token is: what Redis knows of it, for whoever asks why nothing has come back.

use super::held::Lease;
use super::line::Line;
use super::token::id_of;
use kernel::time::span;
use redis::{RedisError, Value, from_redis_value};
use std::collections::HashMap;
use std::fmt;

/// Groups of one stream that are told of.
const GROUPS_MAX: usize = 8;

pub struct Place {
    stream: String,
    /// It may have been deleted by who read it.
    is_there: bool,
    groups: Vec<Group>,
    groups_more: usize,
}

struct Group {
    name: String,
    stand: Stand,
}

/// How far a group of consumers is with one token.
enum Stand {
    /// There are so many consumers.
    NotYet(u64),
    Taken {
        consumer: String,
        idle_ms: u64,
        deliveries: u64,
    },
    Acknowledged,
}

impl Line {
    /// None: Redis knows of no such token.
    pub async fn place(&mut self, lease: Lease) -> Result<Option<Place>, RedisError> {
        let known: Option<String> = redis::cmd("HGET").arg(self.out()).arg(id_of(lease)).query_async(self.quick()).await?;
        let Some((entry, stream)) = known.as_deref().and_then(|known| known.split_once(' ')) else { return Ok(None) };
        // The reference of a mirrored input follows it.
        let entry = entry.split_once(':').map_or(entry, |(entry, _)| entry);
        let there: Vec<Value> = redis::cmd("XRANGE").arg(stream).arg(entry).arg(entry).query_async(self.quick()).await?;
        let found: Result<Vec<HashMap<String, Value>>, _> =
            redis::cmd("XINFO").arg("GROUPS").arg(stream).query_async(self.quick()).await;
        // The stream itself goes when somebody deletes it.
        let found = found.unwrap_or_default();
        let groups_more = found.len().saturating_sub(GROUPS_MAX);
        let mut groups = Vec::new();
        for mut group in found.into_iter().take(GROUPS_MAX) {
            let mut field = |name: &str| group.remove(name).unwrap_or(Value::Nil);
            let (name, last) =
                (from_redis_value::<String>(field("name"))?, from_redis_value::<String>(field("last-delivered-id"))?);
            let consumers = from_redis_value(field("consumers"))?;
            let stand =
                if order(&last) < order(entry) { Stand::NotYet(consumers) } else { self.pending(stream, &name, entry).await? };
            groups.push(Group { name, stand });
        }
        Ok(Some(Place { stream: stream.to_owned(), is_there: !there.is_empty(), groups, groups_more }))
    }

    async fn pending(&mut self, stream: &str, group: &str, entry: &str) -> Result<Stand, RedisError> {
        let mut ask = redis::cmd("XPENDING");
        let mut pending: Vec<(String, String, u64, u64)> =
            ask.arg(stream).arg(group).arg(entry).arg(entry).arg(1).query_async(self.quick()).await?;
        Ok(match pending.pop() {
            Some((_, consumer, idle_ms, deliveries)) => Stand::Taken { consumer, idle_ms, deliveries },
            None => Stand::Acknowledged,
        })
    }
}

/// `1700000000000-3`: by time, then by number.
fn order(entry: &str) -> (u64, u64) {
    let (ms, number) = entry.split_once('-').unwrap_or((entry, "0"));
    (ms.parse().unwrap_or_default(), number.parse().unwrap_or_default())
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = &self.stream;
        match (self.is_there, &self.groups[..]) {
            (true, []) => write!(
                f,
                "token stands on the Redis stream `{stream}`, which no consumer group reads; whether a plain XREAD has read it, Redis \
                 does not know"
            )?,
            (false, []) => {
                write!(f, "token is no longer on the Redis stream `{stream}`: who took it off has not told how it went")?
            }
            (true, _) => write!(f, "token stands on the Redis stream `{stream}`")?,
            (false, _) => write!(f, "token was taken off the Redis stream `{stream}`")?,
        }
        for Group { name, stand } in &self.groups {
            match stand {
                Stand::NotYet(0) => write!(f, "; group `{name}` has not come to it, and has no consumers")?,
                Stand::NotYet(_) => write!(f, "; group `{name}` has not come to it")?,
                Stand::Taken { consumer, idle_ms, deliveries } => {
                    let again = if *deliveries > 1 { format!(" ({deliveries} times given out)") } else { String::new() };
                    write!(f, "; consumer `{consumer}` of group `{name}` took it {} ago{again}", span(*idle_ms))?;
                }
                Stand::Acknowledged => write!(f, "; group `{name}` has acknowledged it, and no signal has counted")?,
            }
        }
        if self.groups_more > 0 {
            write!(f, "; and there are {} more groups", self.groups_more)?;
        }
        Ok(())
    }
}
