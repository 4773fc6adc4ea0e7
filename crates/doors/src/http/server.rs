//! Listening: bounded in connections, patient with nobody, and it ends when it is told to.

use super::peer::{Peer, Watched};
use super::{Door, router};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Connections at once; the next ones wait in the listener's own queue.
const CONNECTIONS_MAX: usize = 10_000;
/// Those among them that only look on. The rest is there for whoever works: nobody who waits for an end may stand in its way.
pub(super) const ONLOOKERS_MAX: usize = CONNECTIONS_MAX / 2;
/// A peer that takes longer for its headers is cut off.
const HEADERS_WITHIN: Duration = Duration::from_secs(15);
/// After the end was announced, open connections get this long to take their answers.
const GOODBYE_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Error)]
pub enum ServeError {
    #[error("listening on {0}, which is not loopback, needs a token: set one with --token or SIGNALLER_TOKEN")]
    NeedsToken(IpAddr),
    #[error("the token is empty")]
    EmptyToken,
}

/// Everyone on the network could command a server that listens beyond loopback without a token: refused.
pub fn check_listen(listen: SocketAddr, token: Option<&str>) -> Result<(), ServeError> {
    match token {
        Some("") => Err(ServeError::EmptyToken),
        Some(_) => Ok(()),
        None if listen.ip().is_loopback() => Ok(()),
        None => Err(ServeError::NeedsToken(listen.ip())),
    }
}

/// Serves until `end` resolves, then lets open requests take their answers.
pub async fn serve(listener: TcpListener, door: Door, end: impl Future<Output = ()>) {
    let service = TowerToHyperService::new(router(door));
    let mut http = http1::Builder::new();
    // Not `pipeline_flush`: with it the answer to a head that does not parse stays in the buffer for ever.
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let (close, closing) = watch::channel(());
    tokio::pin!(end);
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await.expect("the semaphore is never closed");
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            next = next => next,
            () = &mut end => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: a short rest lets some be given back.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        _ = stream.set_nodelay(true);
        let peer = Arc::new(Peer::new(closing.clone()));
        let io = TokioIo::new(Watched::new(stream, peer.clone()));
        let service = service.clone();
        let known = service_fn(move |mut request: Request<Incoming>| {
            let attending = peer.attend();
            request.extensions_mut().insert(peer.clone());
            let answering = service.call(request);
            async move {
                let answer = answering.await;
                drop(attending);
                answer
            }
        });
        let connection = graceful.watch(http.serve_connection(io, known));
        tokio::spawn(async move {
            _ = connection.await;
            drop(place);
        });
    }
    drop((listener, close));
    _ = tokio::time::timeout(GOODBYE_WITHIN, graceful.shutdown()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_may_do_without_a_token() {
        for (listen, token, ok) in [
            ("127.0.0.1:7400", None, true),
            ("[::1]:7400", None, true),
            ("0.0.0.0:7400", None, false),
            ("[::]:7400", None, false),
            ("192.168.1.2:7400", None, false),
            ("0.0.0.0:7400", Some("secret"), true),
            ("127.0.0.1:7400", Some(""), false),
        ] {
            assert_eq!(check_listen(listen.parse().unwrap(), token).is_ok(), ok, "{listen} {token:?}");
        }
    }
}
