//! Connections out: a name is looked up once, and of what was found only what the gate lets through is connected to. Several
//! addresses are tried one beside the other, each a moment after the one before it.

use super::gate::Gate;
use http::Uri;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower_service::Service;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// So long an address has before the next is tried beside it.
const NEXT_AFTER: Duration = Duration::from_millis(300);
const ADDRESSES_MAX: usize = 8;

/// Who knows the addresses of a name.
pub type Lookup = Arc<dyn Fn(String, u16) -> Found + Send + Sync>;
pub type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Names that are looked up at once. One that is being looked up has a thread, which all that may wait shares; it cannot be ended, and
/// a resolver that does not answer keeps it long after nobody waits for it any more.
const LOOKUPS_MAX: usize = 64;
static LOOKUPS: Semaphore = Semaphore::const_new(LOOKUPS_MAX);

/// As the system looks names up.
pub fn system() -> Lookup {
    let resolve = |host: &str, port| Ok((host, port).to_socket_addrs()?.collect());
    Arc::new(move |host, port| Box::pin(looked_up(&LOOKUPS, resolve, host, port)))
}

async fn looked_up(
    places: &'static Semaphore,
    resolve: impl FnOnce(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + 'static,
    host: String,
    port: u16,
) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let place = places.acquire().await.map_err(io::Error::other)?;
    let looked_up = tokio::task::spawn_blocking(move || {
        let found = resolve(&host, port);
        drop(place);
        found
    });
    looked_up.await.map_err(io::Error::other)?
}

/// None of its addresses may be connected to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} is not public: if it is meant, allow it with --allow, or under [workers] in signaller.toml", self.place())]
pub struct Refused {
    pub host: String,
    pub address: SocketAddr,
}

impl Refused {
    /// A name and what it means, or the address alone.
    fn place(&self) -> String {
        let Refused { host, address } = self;
        if *host == address.ip().to_string() { address.to_string() } else { format!("{host} is {address}, which") }
    }
}

#[derive(Clone)]
pub struct Dialer {
    pub lookup: Lookup,
    /// None lets everything through.
    pub gate: Option<Arc<Gate>>,
}

impl Dialer {
    async fn dial(self, uri: Uri) -> io::Result<TokioIo<TcpStream>> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let found = (self.lookup)(host.clone(), port).await?;
        let Some(first) = found.first().copied() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address")));
        };
        let lets = |address: &SocketAddr| self.gate.as_ref().is_none_or(|gate| gate.lets(*address));
        let addresses: Vec<SocketAddr> = found.into_iter().filter(lets).take(ADDRESSES_MAX).collect();
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, Refused { host, address: first }));
        }
        let stream = timeout(CONNECT_TIME_MAX, race(addresses)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        stream.set_nodelay(true)?;
        Ok(TokioIo::new(stream))
    }
}

/// The first connection that stands; all have failed when the last has.
async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut tries = JoinSet::new();
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    loop {
        let next = waiting.next();
        let more = next.is_some();
        if let Some(address) = next {
            tries.spawn(TcpStream::connect(address));
        }
        tokio::select! {
            tried = tries.join_next() => match tried {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => failed = error,
                Some(Err(_)) => {}
                None => return Err(failed),
            },
            () = sleep(NEXT_AFTER), if more => {}
        }
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().dial(uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn a_resolver_that_does_not_answer_takes_no_thread_from_others() {
        static PLACES: Semaphore = Semaphore::const_new(2);
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(3).build().unwrap();
        let (answer, answers) = mpsc::channel::<()>();
        let answers = Arc::new(std::sync::Mutex::new(answers));
        runtime.block_on(async {
            let look_up = |host: &str| {
                let answers = answers.clone();
                let resolve = move |_: &str, port| {
                    ASKED.fetch_add(1, Ordering::SeqCst);
                    _ = answers.lock().unwrap().recv();
                    Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
                };
                looked_up(&PLACES, resolve, host.to_owned(), 80)
            };
            for _ in 0..10 {
                let given_up = timeout(Duration::from_millis(10), look_up("gone.test")).await;
                assert!(given_up.is_err());
            }
            let other = tokio::task::spawn_blocking(|| "done");
            assert_eq!(timeout(Duration::from_secs(30), other).await.expect("a thread is left for it").unwrap(), "done");
            assert_eq!((ASKED.load(Ordering::SeqCst), PLACES.available_permits()), (2, 0));
            let literal = timeout(Duration::from_secs(30), look_up("::1")).await.expect("an address is not looked up");
            assert_eq!(literal.unwrap(), [SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 80))]);
            drop(answer);
            let found = timeout(Duration::from_secs(30), look_up("back.test")).await.expect("the places come back");
            assert_eq!(found.unwrap(), [SocketAddr::from(([127, 0, 0, 1], 80))]);
        });
    }
}
