//! Blobs in a bucket of S3, or of what speaks like it. The blob `sha256-abcdef…` is the object `<prefix>/ab/cdef…`, written at
//! once or not at all, and when it was changed is when it was put last. `<prefix>/owner` says whose they are: two servers in one
//! place would remove each other's blobs.
//!
//! The client is asynchronous and lives on a thread of its own; whoever asks waits here. It is far away, so the engine's writer
//! never asks it anything: see `BlobStore::is_near`.

mod connector;

use super::{BlobId, BlobStore, Hold, Holds, Kept, damaged};
use crate::store::StoreError;
use connector::{Connector, Patience, Refusal};
use futures_util::StreamExt;
use kernel::time::Time;
use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::path::Path;
use object_store::{BackoffConfig, Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig};
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Where the bucket is and who asks for it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct S3Options {
    /// `s3://BUCKET` or `s3://BUCKET/PREFIX`.
    pub url: String,
    /// Of what speaks like S3; without, Amazon's own in the region.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    /// Names the data that the blobs belong to, and no other.
    pub owner: String,
}

/// While it cannot be reached, it is asked so often, by one at a time; all others hear at once that it cannot.
const ASK_EVERY: Duration = Duration::from_secs(1);
const BACKOFF: BackoffConfig =
    BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(2), base: 2. };
const RETRIES_MAX: usize = 4;
/// A put that was refused because the object is there, though it is not, is tried again so often.
const PUTS_MAX: usize = 4;

/// Blobs in a bucket.
pub struct S3Blobs {
    bucket: Arc<dyn ObjectStore>,
    prefix: Path,
    url: String,
    owner: String,
    holds: Holds,
    client: Handle,
    patience: Patience,
    /// The thread ends when this goes.
    _end: oneshot::Sender<()>,
    reach: Mutex<Reach>,
    /// The place is known to be ours.
    owned: Mutex<bool>,
}

/// Whether it can be reached.
#[derive(Default)]
struct Reach {
    trouble: Option<String>,
    /// When that was found, and whether somebody is finding out anew.
    found_at: Option<Instant>,
    asking: bool,
}

fn refused(why: impl Into<String>) -> StoreError {
    StoreError::Failed(why.into())
}

impl S3Blobs {
    /// Refuses what can never work. Whether the place can be reached is another matter: see `trouble`.
    pub fn open(options: S3Options) -> Result<S3Blobs, StoreError> {
        S3Blobs::open_with(options, Patience::USUAL)
    }

    fn open_with(options: S3Options, patience: Patience) -> Result<S3Blobs, StoreError> {
        let S3Options { url, endpoint, region, access_key_id, secret_access_key, session_token, owner } = options;
        let (bucket, prefix) = url
            .strip_prefix("s3://")
            .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
            .filter(|(bucket, _)| !bucket.is_empty())
            .ok_or_else(|| refused(format!("`{url}` is not a place for blobs such as s3://BUCKET/PREFIX")))?;
        let prefix = Path::parse(prefix.trim_end_matches('/'))
            .map_err(|error| refused(format!("`{url}` is not a place for blobs such as s3://BUCKET/PREFIX: {error}")))?;
        let (Some(key), Some(secret)) = (access_key_id, secret_access_key) else {
            return Err(refused(format!(
                "{url} wants credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name their files in [blobs]"
            )));
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(region.unwrap_or_else(|| "us-east-1".into()))
            .with_access_key_id(key)
            .with_secret_access_key(secret)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_retry(RetryConfig { backoff: BACKOFF, max_retries: RETRIES_MAX, retry_timeout: patience.answer })
            .with_http_connector(Connector(patience));
        if let Some(token) = session_token {
            builder = builder.with_token(token);
        }
        if let Some(endpoint) = endpoint {
            let address = endpoint.parse::<hyper::Uri>().ok().filter(|uri| uri.host().is_some());
            if !address.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https"))) {
                return Err(refused(format!("`{endpoint}` is no endpoint: write it as https://HOST or http://HOST:PORT")));
            }
            builder = builder.with_allow_http(endpoint.starts_with("http://")).with_endpoint(endpoint);
        }
        let bucket = builder.build().map_err(|error| refused(format!("{url} cannot be used: {}", reason(&error))))?;
        let (client, end) = start()?;
        let blobs = S3Blobs {
            bucket: Arc::new(bucket),
            prefix,
            url,
            owner,
            holds: Holds::default(),
            client,
            patience,
            _end: end,
            reach: Mutex::default(),
            owned: Mutex::default(),
        };
        match blobs.claim() {
            // It is not there now, and may be later.
            Err(StoreError::Unreached(_)) | Ok(()) => Ok(blobs),
            Err(error) => Err(error),
        }
    }

    fn path(&self, id: &BlobId) -> Path {
        let hex = id.hex();
        self.prefix.clone().join(&hex[..2]).join(&hex[2..])
    }

    /// Waits for what the client does.
    fn wait<T: Send + 'static>(
        &self,
        asked: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<Result<T, Error>, StoreError> {
        self.may_ask()?;
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let time_max = self.patience.whole();
        self.client.spawn(async move {
            _ = tell.send(tokio::time::timeout(time_max, asked).await);
        });
        let answered = match told.recv() {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => return Err(self.failed(&format!("no answer within {} s", time_max.as_secs()))),
            Err(_) => return Err(self.failed("its client has ended")),
        };
        match answered {
            Err(error @ (Error::NotFound { .. } | Error::AlreadyExists { .. } | Error::Precondition { .. }))
                if !is_bucket(&error) =>
            {
                self.note(None);
                Ok(Err(error))
            }
            Err(error) if refusal(&error).is_some() => {
                self.note(None);
                Ok(Err(error))
            }
            Err(error) => Err(self.failed(&reason(&error))),
            Ok(value) => {
                self.note(None);
                Ok(Ok(value))
            }
        }
    }

    /// Whoever waits for a place that does not answer keeps something else waiting: one is enough.
    fn may_ask(&self) -> Result<(), StoreError> {
        let mut reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(trouble) = &reach.trouble else { return Ok(()) };
        if reach.asking || reach.found_at.is_some_and(|at| at.elapsed() < ASK_EVERY) {
            return Err(StoreError::Unreached(trouble.clone()));
        }
        reach.asking = true;
        Ok(())
    }

    fn note(&self, trouble: Option<String>) {
        let found_at = trouble.is_some().then(Instant::now);
        *self.reach.lock().unwrap_or_else(PoisonError::into_inner) = Reach { trouble, found_at, asking: false };
    }

    fn failed(&self, why: &str) -> StoreError {
        let sentence = format!("the blobs in {} cannot be reached: {why}", self.url);
        self.note(Some(sentence.clone()));
        StoreError::Unreached(sentence)
    }

    /// Why these bytes were not put.
    fn not_put(&self, error: &Error, bytes: &[u8]) -> StoreError {
        match refusal(error) {
            Some(refusal) => {
                StoreError::Refused(format!("{} does not take a blob of {} bytes: {refusal}", self.url, bytes.len()))
            }
            None => self.failed(&reason(error)),
        }
    }

    fn owner_path(&self) -> Path {
        self.prefix.clone().join("owner")
    }

    /// Makes the place ours, or finds that it is.
    fn claim(&self) -> Result<(), StoreError> {
        if *self.owned.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(());
        }
        let (bucket, path, owner) = (self.bucket.clone(), self.owner_path(), self.owner.clone());
        let found = self.wait(async move {
            match bucket.put_opts(&path, PutPayload::from(owner), PutMode::Create.into()).await {
                Ok(_) | Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => bucket.get(&path).await?.bytes().await,
                Err(error) => Err(error),
            }
        })?;
        let found = found.map_err(|error| self.failed(&reason(&error)))?;
        if found != self.owner.as_bytes() {
            return Err(StoreError::Taken(format!(
                "{} holds the blobs of other data ({}): give each server a prefix of its own in [blobs] url",
                self.url,
                String::from_utf8_lossy(&found[..found.len().min(64)])
            )));
        }
        *self.owned.lock().unwrap_or_else(PoisonError::into_inner) = true;
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8], mode: PutMode) -> Result<Result<(), Error>, StoreError> {
        let (bucket, path, payload) = (self.bucket.clone(), path.clone(), PutPayload::from(bytes.to_vec()));
        let owner = self.owner_path();
        self.wait(async move {
            let put = bucket.put_opts(&path, payload, mode.into()).await.map(drop);
            let refused = put.as_ref().err().and_then(refusal).map(ToString::to_string);
            match refused {
                // A wrong region or a token that has expired is refused in the same way, whatever is asked for: then it is not for the
                // sake of what was put.
                Some(refused) if bucket.head(&owner).await.is_err() => {
                    Err(Error::Generic { store: "S3", source: refused.into() })
                }
                _ => put,
            }
        })
    }
}

/// A thread with a client on it, until the other end is dropped.
fn start() -> Result<(Handle, oneshot::Sender<()>), StoreError> {
    let failed = |error: std::io::Error| refused(format!("cannot start the thread of the blobs: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("blobs".into());
    thread.spawn(move || _ = runtime.block_on(ended)).map_err(failed)?;
    Ok((handle, end))
}

/// The bucket itself is missing, not an object in it.
fn is_bucket(error: &Error) -> bool {
    error.to_string().contains("NoSuchBucket")
}

/// What was put is not taken: that is told by the innermost cause.
fn refusal(error: &Error) -> Option<&Refusal> {
    innermost(error).downcast_ref()
}

fn innermost(error: &Error) -> &(dyn StdError + 'static) {
    let mut innermost: &(dyn StdError + 'static) = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost
}

/// The innermost cause says most, and says it once.
fn reason(error: &Error) -> String {
    if is_bucket(error) {
        return "there is no such bucket".into();
    }
    let innermost = innermost(error);
    match error {
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => format!("the credentials are refused: {innermost}"),
        _ => innermost.to_string(),
    }
}

fn kept(id: BlobId, meta: &ObjectMeta) -> Kept {
    Kept { id, size: meta.size, put_at: Time::from_us(meta.last_modified.timestamp_micros()) }
}

impl BlobStore for S3Blobs {
    fn put(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.claim()?;
        let hold = self.holds.hold(BlobId::of(bytes));
        let path = self.path(&hold.id());
        let mut mode = PutMode::Create;
        for _ in 0..PUTS_MAX {
            let error = match self.write(&path, bytes, mode.clone())? {
                Ok(()) => return Ok(hold),
                Err(error) => error,
            };
            if !matches!(error, Error::AlreadyExists { .. } | Error::Precondition { .. }) {
                return Err(self.not_put(&error, bytes));
            }
            // It may be refused while somebody else's is being written, which need not come to anything.
            match self.look(&hold.id())? {
                Some(kept) if kept.size == bytes.len() as u64 => return Ok(hold),
                Some(_) => mode = PutMode::Overwrite,
                None => {}
            }
        }
        Err(self.failed("puts are refused because the object is there, and it is not"))
    }

    fn put_anew(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.claim()?;
        let hold = self.holds.hold(BlobId::of(bytes));
        match self.write(&self.path(&hold.id()), bytes, PutMode::Overwrite)? {
            Ok(()) => Ok(hold),
            Err(error) => Err(self.not_put(&error, bytes)),
        }
    }

    fn get(&self, id: &BlobId) -> Result<Option<Vec<u8>>, StoreError> {
        let (bucket, path) = (self.bucket.clone(), self.path(id));
        let bytes = match self.wait(async move { bucket.get(&path).await?.bytes().await })? {
            Ok(bytes) => bytes,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed(&reason(&error))),
        };
        let content = BlobId::of(&bytes);
        if content == *id { Ok(Some(bytes.into())) } else { Err(damaged(format!("{}/{}", self.url, id), &content)) }
    }

    fn look(&self, id: &BlobId) -> Result<Option<Kept>, StoreError> {
        let (bucket, path) = (self.bucket.clone(), self.path(id));
        match self.wait(async move { bucket.head(&path).await })? {
            Ok(meta) => Ok(Some(kept(*id, &meta))),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&reason(&error))),
        }
    }

    fn list(&self, after: Option<&BlobId>, limit: usize) -> Result<Vec<Kept>, StoreError> {
        let (bucket, prefix, skip) = (self.bucket.clone(), self.prefix.clone(), self.prefix.parts().count());
        let after = after.map(|after| self.path(after));
        let listed = self.wait(async move {
            let mut objects = match &after {
                Some(after) => bucket.list_with_offset(Some(&prefix), after),
                None => bucket.list(Some(&prefix)),
            };
            let mut all = Vec::new();
            while all.len() < limit
                && let Some(meta) = objects.next().await
            {
                let meta = meta?;
                let name: String = meta.location.parts().skip(skip).map(|part| part.as_ref().to_owned()).collect();
                // What is called otherwise is somebody else's.
                all.extend(BlobId::parse(&format!("sha256-{name}")).map(|id| kept(id, &meta)));
            }
            Ok(all)
        })?;
        listed.map_err(|error| self.failed(&reason(&error)))
    }

    fn remove(&self, id: &BlobId) -> Result<(), StoreError> {
        // Never in a place that is somebody else's, or may be.
        self.claim()?;
        let (bucket, path) = (self.bucket.clone(), self.path(id));
        match self.wait(async move { bucket.delete(&path).await })? {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(&reason(&error))),
        }
    }

    fn holds(&self) -> &Holds {
        &self.holds
    }

    fn place(&self) -> String {
        self.url.clone()
    }

    fn is_near(&self) -> bool {
        false
    }

    fn trouble(&self) -> Option<String> {
        self.reach.lock().unwrap_or_else(PoisonError::into_inner).trouble.clone()
    }
}

#[cfg(test)]
mod tests;
