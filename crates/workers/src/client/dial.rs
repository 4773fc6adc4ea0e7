//! Connections out: a name is looked up once, and of what was found only what the gate lets through is connected to. Several
//! addresses are tried one beside the other, each a moment after the one before it.

use super::gate::Gate;
use http::Uri;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
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

/// As the system looks names up.
pub fn system() -> Lookup {
    Arc::new(|host, port| Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }))
}

/// None of its addresses may be connected to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{host} is {address}, which is not public: allow it under [workers] in signaller.toml if it is meant")]
pub struct Refused {
    pub host: String,
    pub address: SocketAddr,
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
