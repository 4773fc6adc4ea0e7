//! How requests of the S3 client reach the network: HTTP/1.1 over rustls with ring, no proxy, bounded in time.

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// To the first byte of the answer; and with the sending of what may be a large blob.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
const PUT_TIME_MAX: Duration = Duration::from_secs(60);
/// Kept shorter than what servers commonly keep.
const IDLE_TIME_MAX: Duration = Duration::from_secs(20);

type Pool = Client<HttpsConnector<connect::HttpConnector>, HttpRequestBody>;

#[derive(Debug)]
pub struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |source| object_store::Error::Generic { store: "S3", source };
        let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.into()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = connect::HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME_MAX));
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        let pool =
            Client::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIME_MAX).pool_timer(TokioTimer::new()).build(connector);
        Ok(HttpClient::new(Network(pool)))
    }
}

#[derive(Debug)]
struct Network(Pool);

#[async_trait]
impl HttpService for Network {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let time_max = if request.method() == "PUT" { PUT_TIME_MAX } else { ANSWER_TIME_MAX };
        let answered = tokio::time::timeout(time_max, self.0.request(request)).await;
        let response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => return Err(HttpError::new(HttpErrorKind::Connect, error)),
            Ok(Err(error)) => return Err(HttpError::new(HttpErrorKind::Interrupted, error)),
            Err(late) => return Err(HttpError::new(HttpErrorKind::Timeout, late)),
        };
        let (parts, body) = response.into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}
