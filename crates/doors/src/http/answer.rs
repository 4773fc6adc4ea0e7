//! From the engine's answers to HTTP: every "no" becomes a problem with its status, and a yes becomes JSON.

use super::Door;
use crate::wire::{ErrorBody, Problem};
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use engine::{Answer, Engine, Refused, Request};
use kernel::command::{Command, Reply};
use kernel::rejection::Rejection;
use kernel::row::BadRow;
use serde::Serialize;
use store::{Reader, StoreError};

/// An answer that is not a success.
#[derive(Debug)]
pub struct No(pub Problem);

impl From<Problem> for No {
    fn from(problem: Problem) -> No {
        No(problem)
    }
}

impl From<Rejection> for No {
    fn from(rejection: Rejection) -> No {
        No(Problem::from(&rejection))
    }
}

impl From<Refused> for No {
    fn from(refused: Refused) -> No {
        No(match refused {
            Refused::Full { retry_after_ms } => {
                let message = "more work is coming in than can be written down";
                Problem::new("limited", message, "send it again after retry_after_ms").retry_after_ms(retry_after_ms)
            }
            Refused::Down => {
                Problem::new("unavailable", "the engine has stopped", "start the server again, or look into its log")
            }
        })
    }
}

impl From<StoreError> for No {
    fn from(error: StoreError) -> No {
        No(match &error {
            StoreError::Slow(why) => Problem::new("limited", why.clone(), "narrow the filter or ask for fewer"),
            StoreError::Refused(why) => {
                Problem::new("blob_refused", why.clone(), "put less at once, or change what the bucket takes")
            }
            StoreError::Unreached(why) => {
                Problem::new("unavailable", why.clone(), "send it again when `signaller status` is well")
            }
            _ => Problem::new("unavailable", error.to_string(), "look into the server's log; run `signaller verify`"),
        })
    }
}

impl From<BadRow> for No {
    fn from(bad: BadRow) -> No {
        No::from(StoreError::from(bad))
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response<Body> {
        let status = StatusCode::from_u16(self.0.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after_s = self.0.retry_after_ms.map(|ms| ms.div_ceil(1_000).max(1));
        let mut response = (status, Json(ErrorBody { error: self.0 })).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// JSON out. A failure to serialize would be ours, and says so.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response<Body> {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
            Err(error) => {
                let body = format!("{{\"error\":{{\"code\":\"internal\",\"message\":\"{error}\"}}}}");
                (StatusCode::INTERNAL_SERVER_ERROR, body).into_response()
            }
        }
    }
}

pub fn no_such_path() -> Problem {
    Problem::new("not_found", "there is nothing at this path", "see /openapi.json for what there is")
}

pub fn no_such_method() -> Problem {
    Problem::new("method_not_allowed", "this path does not take this method", "see /openapi.json for what it takes")
}

impl Door {
    pub async fn ask(&self, request: Request) -> Result<Answer, No> {
        checked(self.engine.ask(request).await?)
    }

    pub async fn command(&self, command: Command) -> Result<Reply, No> {
        match self.ask(Request::Command(command)).await? {
            Answer::Reply(reply) => Ok(reply?),
            other => Err(unexpected(&other)),
        }
    }

    /// A query on a read-only connection, off the async threads.
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, No> {
        let engine = self.engine.clone();
        off_thread(move || engine.read(query)).await
    }

    /// The same for what a worker waits for.
    pub async fn read_first<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, No> {
        let engine = self.engine.clone();
        off_thread(move || engine.read_first(query)).await
    }
}

impl Door {
    /// Anything that reads or thinks for long, off the async threads.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, No> {
        let engine = self.engine.clone();
        off_thread(move || work(&engine)).await
    }
}

pub async fn off_thread<T: Send + 'static>(query: impl FnOnce() -> Result<T, StoreError> + Send + 'static) -> Result<T, No> {
    match tokio::task::spawn_blocking(query).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(No(Problem::new("internal", "the query failed unexpectedly", "look into the server's log"))),
    }
}

/// Answers that are a "no" of the engine itself.
pub fn checked(answer: Answer) -> Result<Answer, No> {
    match answer {
        Answer::UnknownOutcome => {
            let message = "the store failed while this was written: it may or may not have happened";
            Err(No(Problem::new(
                "unknown_outcome",
                message,
                "look whether it happened, or send it again with the same idempotency_key",
            )))
        }
        Answer::Stopping => Err(No(Problem::new(
            "stopping",
            "the server is shutting down and takes no new work",
            "send it again when it is back",
        )
        .retry_after_ms(1_000))),
        answer => Ok(answer),
    }
}

pub fn unexpected(answer: &Answer) -> No {
    let message = format!("the engine gave an answer that does not fit: {answer:?}");
    No(Problem::new("internal", message, "this is a bug; please report it"))
}
