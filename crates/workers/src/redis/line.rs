//! The line to Redis: one connection that answers at once, and one that may wait. Whatever changes more than one key there does
//! so in a script, so that it happens wholly or not at all.

use super::held::{Lease, Sent};
use super::token::{id_of, lease_of};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, RedisError, Script};
use std::sync::LazyLock;
use std::time::Duration;
use thiserror::Error;
use tokio::time::sleep;

/// Beyond this Redis does not answer any more.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long it is waited for a signal in one go.
const WAIT_S: f64 = 5.0;
/// How often a server that cannot wait is asked.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Signals that are taken at a time.
pub const SIGNALS_MAX: usize = 500;
/// How long a mirrored input stays.
const MIRROR_S: u64 = 24 * 3_600;
/// Names in the hash that are read at a time.
const SCAN_COUNT: usize = 1_000;

#[derive(Debug, Error)]
#[error("`{address}` is no address of a Redis server: {why}; it is written redis://host:port/database")]
pub struct BadAddress {
    address: String,
    why: String,
}

/// Whether a server may be found there.
pub fn address(url: &str) -> Result<(), BadAddress> {
    let bad = |error: RedisError| BadAddress { address: shown(url), why: error.to_string() };
    url.into_connection_info().map(|_| ()).map_err(bad)
}

/// An address without its password.
pub fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host)),
        None => "redis".into(),
    }
}

/// A token goes out, and the hash says where it is; unless it says so already.
static SEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 1, #ARGV, 5 do
           if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then
             local at = redis.call('XADD', ARGV[i + 1], '*', 'token', ARGV[i + 2], 'run_id', ARGV[i + 3], 'to_node', ARGV[i + 4])
             redis.call('HSET', KEYS[1], ARGV[i], at .. ' ' .. ARGV[i + 1])
           end
         end",
    )
});

/// The first signals go to the list beside theirs. What is answered are the first of that list, whoever put them there: a line that
/// broke may have moved one and never told.
static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local taken = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
         if #taken > 0 then
           redis.call('RPUSH', KEYS[2], unpack(taken))
           redis.call('LTRIM', KEYS[1], #taken, -1)
         end
         return redis.call('LRANGE', KEYS[2], 0, ARGV[1] - 1)",
    )
});

/// The first so many signals were heard, but for those that are put to the end to be heard again; and these tokens are out no more.
static DROP: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 3, 2 + ARGV[2] do
           redis.call('RPUSH', KEYS[2], ARGV[i])
         end
         for i = 3 + ARGV[2], #ARGV do
           local at = redis.call('HGET', KEYS[1], ARGV[i])
           if at then
             local space = string.find(at, ' ', 1, true)
             redis.call('XDEL', string.sub(at, space + 1), string.sub(at, 1, space - 1))
             redis.call('HDEL', KEYS[1], ARGV[i])
           end
         end
         redis.call('LTRIM', KEYS[2], ARGV[1], -1)",
    )
});

pub struct Line {
    quick: MultiplexedConnection,
    signals: String,
    /// Signals that are being heard.
    hearing: String,
    /// Which token is where.
    out: String,
}

/// For whoever waits.
pub struct Ear {
    patient: MultiplexedConnection,
    /// The server is older than `BLMOVE`.
    old: bool,
}

impl Line {
    pub async fn open(url: &str, signals: &str) -> Result<Line, RedisError> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(ANSWER_MAX)).set_response_timeout(Some(ANSWER_MAX));
        let quick = Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Line { quick, signals: signals.to_owned(), hearing: format!("{signals}:hearing"), out: format!("{signals}:out") })
    }

    pub fn quick(&mut self) -> &mut MultiplexedConnection {
        &mut self.quick
    }

    /// The hash that says which token is where.
    pub fn out(&self) -> &str {
        &self.out
    }

    pub async fn send(&mut self, tokens: &[(Lease, &Sent)]) -> Result<(), RedisError> {
        let mut mirrors = redis::pipe();
        for (reference, text) in tokens.iter().filter_map(|(_, sent)| sent.mirrored.as_ref()) {
            mirrors.set_ex(format!("cas:{reference}"), text, MIRROR_S).ignore();
        }
        if mirrors.cmd_iter().next().is_some() {
            let () = mirrors.query_async(&mut self.quick).await?;
        }
        let mut call = SEND.key(&self.out);
        for (lease, sent) in tokens {
            call.arg(id_of(*lease)).arg(&sent.stream).arg(&sent.token).arg(&sent.run).arg(&sent.node);
        }
        call.invoke_async(&mut self.quick).await
    }

    /// Which of these are out, as far as Redis knows.
    pub async fn is_out(&mut self, leases: &[Lease]) -> Result<Vec<bool>, RedisError> {
        let mut pipe = redis::pipe();
        leases.iter().for_each(|lease| _ = pipe.hexists(&self.out, id_of(*lease)));
        if leases.is_empty() { Ok(Vec::new()) } else { pipe.query_async(&mut self.quick).await }
    }

    /// All that are out, as far as Redis knows.
    pub async fn all_out(&mut self) -> Result<Vec<Lease>, RedisError> {
        let (mut found, mut cursor) = (Vec::new(), 0u64);
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(&self.out).arg(cursor).arg("COUNT").arg(SCAN_COUNT);
            let (next, pairs): (u64, Vec<(String, String)>) = scan.query_async(&mut self.quick).await?;
            found.extend(pairs.iter().filter_map(|(id, _)| lease_of(id)));
            if next == 0 {
                return Ok(found);
            }
            cursor = next;
        }
    }

    pub async fn count_out(&mut self) -> Result<usize, RedisError> {
        redis::cmd("HLEN").arg(&self.out).query_async(&mut self.quick).await
    }

    /// The first of those that are there, and before them what was taken and not let go.
    pub async fn take(&mut self) -> Result<Vec<Vec<u8>>, RedisError> {
        TAKE.key(&self.signals).key(&self.hearing).arg(SIGNALS_MAX).invoke_async(&mut self.quick).await
    }

    /// These tokens are out no more, and the first so many signals were heard, but for those to be heard again.
    pub async fn drop(&mut self, leases: &[Lease], heard: usize, again: &[&[u8]]) -> Result<(), RedisError> {
        let mut call = DROP.key(&self.out);
        call.key(&self.hearing).arg(heard).arg(again.len());
        again.iter().for_each(|text| _ = call.arg(*text));
        leases.iter().for_each(|lease| _ = call.arg(id_of(*lease)));
        call.invoke_async(&mut self.quick).await
    }

    /// Whoever does these may stop.
    pub async fn call_off(&mut self, channel: &str, leases: &[Lease]) -> Result<(), RedisError> {
        let mut pipe = redis::pipe();
        leases.iter().for_each(|lease| _ = pipe.publish(channel, id_of(*lease)).ignore());
        pipe.query_async(&mut self.quick).await
    }

    /// A value that a worker left.
    pub async fn value(&mut self, reference: &str) -> Result<Option<Vec<u8>>, RedisError> {
        let name = if reference.starts_with("cas:") { reference.to_owned() } else { format!("cas:{reference}") };
        redis::cmd("GET").arg(name).query_async(&mut self.quick).await
    }
}

impl Ear {
    pub async fn open(url: &str) -> Result<Ear, RedisError> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(ANSWER_MAX));
        // A line may break without a word: then there is no answer at all.
        let config = config.set_response_timeout(Some(Duration::from_secs_f64(WAIT_S) + ANSWER_MAX));
        let patient = Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Ear { patient, old: false })
    }

    /// Until there is a signal, which goes to the list beside; or for a while.
    pub async fn wait(&mut self, line: &Line) -> Result<(), RedisError> {
        if !self.old {
            let mut wait = redis::cmd("BLMOVE");
            wait.arg(&line.signals).arg(&line.hearing).arg("LEFT").arg("RIGHT").arg(WAIT_S);
            match wait.query_async::<Option<Vec<u8>>>(&mut self.patient).await {
                Err(error) if is_unknown_command(&error) => self.old = true,
                answer => return answer.map(drop),
            }
        }
        sleep(ASK_EVERY).await;
        Ok(())
    }
}

fn is_unknown_command(error: &RedisError) -> bool {
    error.to_string().to_ascii_lowercase().contains("unknown command")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_checked_and_shown_without_its_password() {
        for (url, seen) in [
            ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
            ("redis://:secret@cache:1", "redis://cache:1"),
            ("rediss://me:p@ss@cache:1/2", "rediss://cache:1/2"),
        ] {
            assert_eq!(shown(url), seen);
        }
        assert!(address("redis://127.0.0.1:6379").is_ok());
        let told = address("http://:secret@x").unwrap_err().to_string();
        assert!(!told.contains("secret") && told.contains("redis://host:port/database"), "{told}");
    }
}
