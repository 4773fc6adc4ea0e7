//! The line to Redis: one connection that answers at once, and one that may wait.

use super::held::Lease;
use super::scripts::{DROP, MARK, SEND, TAKE};
use super::send::Going;
use super::token::{id_of, lease_of};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, TlsCertificates, make_extension_error};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;
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
/// What goes to Redis or comes from it at a time, beyond what is first.
pub const BYTES_MAX: usize = 4 << 20;
/// Names in the hash that are read at a time.
const SCAN_COUNT: usize = 1_000;

#[derive(Debug, Error)]
pub enum BadAddress {
    #[error("`{address}` is no address of a Redis server: {why}; it is written redis://host:port/database")]
    Url { address: String, why: String },
    #[error("the certificates in {path} cannot be used: {why}; name a PEM file with one or more certificates")]
    Roots { path: String, why: String },
    #[error("{0} is not reached over TLS; write rediss:// before the host, or leave the certificates out")]
    Plain(String),
}

/// Where a Redis server is, and what it is trusted by: over TLS the public roots, unless others are named.
#[derive(Clone, Debug)]
pub struct Address {
    client: Client,
    shown: String,
}

impl Address {
    pub fn parse(url: &str) -> Result<Address, BadAddress> {
        let shown = shown(url);
        match Client::open(url) {
            Ok(client) => Ok(Address { client, shown }),
            Err(error) => Err(BadAddress::Url { address: shown, why: error.to_string() }),
        }
    }

    /// The same server, trusted by the certificates in this file and by no others.
    pub fn trusting(self, roots: &Path) -> Result<Address, BadAddress> {
        let unread = |why: String| BadAddress::Roots { path: roots.display().to_string(), why };
        let info = self.client.get_connection_info();
        if !matches!(info.addr(), redis::ConnectionAddr::TcpTls { .. }) {
            return Err(BadAddress::Plain(self.shown));
        }
        let pem = std::fs::read(roots).map_err(|error| unread(error.to_string()))?;
        if CertificateDer::pem_slice_iter(&pem).next().is_none() {
            return Err(unread("there is none in it".into()));
        }
        let trusted = TlsCertificates { client_tls: None, root_cert: Some(pem) };
        let client = Client::build_with_tls(info.clone(), trusted).map_err(|error| unread(error.to_string()))?;
        Ok(Address { client, shown: self.shown })
    }

    /// Without its password.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// An address without its password.
fn shown(url: &str) -> String {
    match url.split_once("://") {
        // What follows the path of a socket may be its password.
        Some((scheme @ ("unix" | "redis+unix" | "valkey+unix"), path)) => {
            format!("{scheme}://{}", path.split_once('?').map_or(path, |(path, _)| path))
        }
        Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host)),
        None => url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned(),
    }
}

/// Whether the server refused what it was asked because of a key, or of what this user may do with it, while it could do other things.
fn is_about_key(error: &RedisError) -> bool {
    !error.is_io_error() && error.code().is_some_and(|code| !UNABLE.contains(&code))
}

/// Answers of a server that can do nothing of the kind now, for anyone.
const UNABLE: [&str; 13] = [
    "OOM",
    "READONLY",
    "MISCONF",
    "LOADING",
    "MASTERDOWN",
    "NOREPLICAS",
    "BUSY",
    "TRYAGAIN",
    "CLUSTERDOWN",
    "MOVED",
    "ASK",
    "NOAUTH",
    "NOSCRIPT",
];

/// Whether there is no line any more.
pub fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_timeout()
}

/// Signals as they stand in their list.
pub struct Taken {
    pub texts: Vec<Vec<u8>>,
    /// They stand where workers put them: Redis had no memory to move them.
    in_place: bool,
}

/// One signal that is kept under another text from now on.
pub struct Mark<'a> {
    pub at: usize,
    pub was: &'a [u8],
    pub text: &'a str,
}

#[derive(Clone)]
pub struct Line {
    quick: MultiplexedConnection,
    signals: String,
    /// Signals that are being heard.
    hearing: String,
    /// Which token is where.
    out: String,
    /// A set for each mirrored input, of the tokens that have it, is called by this and its reference.
    mirror: String,
}

/// For whoever waits.
pub struct Ear {
    patient: MultiplexedConnection,
    /// The server is older than `BLMOVE`, or does not let us.
    old: bool,
}

/// The keys beside a list of signals: what is being heard, which token is where, and how those of mirrors begin.
pub fn own_keys(signals: &str) -> [String; 3] {
    ["hearing", "out", "mirror:"].map(|name| format!("{signals}:{name}"))
}

impl Line {
    pub async fn open(address: &Address, signals: &str) -> Result<Line, RedisError> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(ANSWER_MAX)).set_response_timeout(Some(ANSWER_MAX));
        let quick = address.client.get_multiplexed_async_connection_with_config(&config).await?;
        let [hearing, out, mirror] = own_keys(signals);
        Ok(Line { quick, signals: signals.to_owned(), hearing, out, mirror })
    }

    pub fn quick(&mut self) -> &mut MultiplexedConnection {
        &mut self.quick
    }

    /// The hash that says which token is where.
    pub fn out(&self) -> &str {
        &self.out
    }

    /// Those that could not go out, and what Redis said of them. What is out already does not go out again.
    pub async fn send(&mut self, tokens: &[Going]) -> Result<Vec<(Lease, String)>, RedisError> {
        let (mut refused, mut rest) = (Vec::new(), tokens);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest.iter().map(Going::bytes)));
            rest = later;
            let mut call = SEND.key(&self.out);
            call.key(&self.mirror);
            for Going { lease, sent, text } in now {
                call.arg(id_of(*lease)).arg(&sent.stream).arg(&sent.token).arg(&sent.run).arg(&sent.node);
                match sent.mirror.as_ref().zip(text.as_ref()) {
                    Some((mirror, text)) => call.arg(mirror.blob.to_string()).arg(text.text()).arg(mirror.ttl_ms),
                    None => call.arg("").arg("").arg(0),
                };
            }
            let told: Vec<(String, String)> = call.invoke_async(&mut self.quick).await?;
            for (id, why) in told {
                // Older servers put the place in the script before it.
                if let Some(code) = why.split(' ').map(|word| word.trim_start_matches('-')).find(|word| UNABLE.contains(word)) {
                    return Err(make_extension_error(code.to_owned(), Some(why)));
                }
                refused.extend(lease_of(&id).map(|lease| (lease, why)));
            }
        }
        Ok(refused)
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
    pub async fn take(&mut self) -> Result<Taken, RedisError> {
        let mut call = TAKE.key(&self.signals);
        call.key(&self.hearing).arg(SIGNALS_MAX).arg(BYTES_MAX);
        let (in_place, texts) = call.invoke_async(&mut self.quick).await?;
        Ok(Taken { texts, in_place })
    }

    /// These of the signals that were taken are kept under other texts. Where Redis has no memory for that, they are not.
    pub async fn mark(&mut self, taken: &Taken, marks: &[Mark<'_>]) -> Result<(), RedisError> {
        if marks.is_empty() || taken.in_place {
            return Ok(());
        }
        let mut call = MARK.key(&self.hearing);
        marks.iter().for_each(|mark| _ = call.arg(mark.at).arg(mark.was).arg(mark.text));
        call.invoke_async(&mut self.quick).await
    }

    /// What was taken was heard, but for those to be heard again, and these tokens are out no more.
    pub async fn let_go(&mut self, taken: &Taken, again: &[&[u8]], leases: &[Lease]) -> Result<(), RedisError> {
        if !taken.in_place {
            return self.drop(leases, taken.texts.len(), again).await;
        }
        self.drop(leases, 0, &[]).await?;
        // Somebody may have put another before them since: they are told by what they say.
        let mut pipe = redis::pipe();
        for text in taken.texts.iter().filter(|text| !again.contains(&text.as_slice())) {
            pipe.lrem(&self.signals, 1, text).ignore();
        }
        pipe.query_async(&mut self.quick).await
    }

    /// These tokens are out no more.
    pub async fn drop_tokens(&mut self, leases: &[Lease]) -> Result<(), RedisError> {
        self.drop(leases, 0, &[]).await
    }

    async fn drop(&mut self, leases: &[Lease], heard: usize, again: &[&[u8]]) -> Result<(), RedisError> {
        let mut call = DROP.key(&self.out);
        call.key(&self.hearing).key(&self.mirror).arg(heard).arg(again.len());
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

    /// A value that a worker left, or what Redis says against it.
    pub async fn value(&mut self, reference: &str) -> Result<Result<Option<Vec<u8>>, String>, RedisError> {
        let name = if reference.starts_with("cas:") { reference.to_owned() } else { format!("cas:{reference}") };
        match redis::cmd("GET").arg(name).query_async(&mut self.quick).await {
            Ok(value) => Ok(Ok(value)),
            Err(error) if is_about_key(&error) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// How many of them go together; one at least.
fn fitting(bytes: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0;
    let fits = bytes.take_while(|bytes| {
        sum += bytes;
        sum <= BYTES_MAX
    });
    fits.count().max(1)
}

impl Ear {
    pub async fn open(address: &Address) -> Result<Ear, RedisError> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(ANSWER_MAX));
        // A line may break without a word: then there is no answer at all.
        let config = config.set_response_timeout(Some(Duration::from_secs_f64(WAIT_S) + ANSWER_MAX));
        let patient = address.client.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Ear { patient, old: false })
    }

    /// Until there is a signal, which goes to the list beside; or for a while.
    pub async fn wait(&mut self, line: &Line) -> Result<(), RedisError> {
        if !self.old {
            let mut wait = redis::cmd("BLMOVE");
            wait.arg(&line.signals).arg(&line.hearing).arg("LEFT").arg("RIGHT").arg(WAIT_S);
            match wait.query_async::<Option<Vec<u8>>>(&mut self.patient).await {
                // Whoever takes hears what else is the matter.
                Err(error) if error.code().is_some() => self.old = is_about_key(&error),
                answer => return answer.map(drop),
            }
        }
        sleep(ASK_EVERY).await;
        Ok(())
    }
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
            ("unix:///run/r.sock?db=1&pass=se@cret", "unix:///run/r.sock"),
        ] {
            assert_eq!(shown(url), seen);
        }
        assert!(Address::parse("redis://127.0.0.1:6379").is_ok());
        let told = Address::parse("http://:secret@x").unwrap_err().to_string();
        assert!(!told.contains("secret") && told.contains("redis://host:port/database"), "{told}");
    }

    #[test]
    fn much_goes_in_several_parts() {
        for (bytes, count) in [(&[BYTES_MAX + 1, 1][..], 1), (&[1, 2, BYTES_MAX - 3, 1], 3), (&[5, 5], 2)] {
            assert_eq!(fitting(bytes.iter().copied()), count);
        }
    }
}
