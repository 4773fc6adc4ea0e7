//! Where blobs are kept: in a folder of the data, or in a bucket that signaller.toml names.

use crate::output::{Exit, Failure};
use crate::place::Blobs as Named;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use store::blobs::s3::{S3Blobs, S3Options};
use store::{BlobStore, Blobs, StoreError};

const FOLDER: &str = "blobs";
/// Names these data, so that no other server takes a bucket's blobs for its own.
const OWNER: &str = "blobs.owner";

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// For the server of these data.
pub fn open(data_dir: &Path, named: &Named, env: impl Fn(&str) -> Option<String>) -> Result<Arc<dyn BlobStore>, Failure> {
    match bucket(data_dir, named, &env)? {
        Some(blobs) => Ok(blobs),
        None => Ok(Arc::new(Blobs::open(&data_dir.join(FOLDER)).map_err(|error| {
            Failure::new(Exit::Unavailable, "store_failed", error.to_string())
                .fix("check that the folder can be written and the disk is not full")
        })?)),
    }
}

/// For one who only looks, while the server may run.
pub fn peek(data_dir: &Path, named: &Named, env: impl Fn(&str) -> Option<String>) -> Result<Arc<dyn BlobStore>, Failure> {
    Ok(bucket(data_dir, named, &env)?.unwrap_or_else(|| Arc::new(Blobs::peek(&data_dir.join(FOLDER)))))
}

fn bucket(data_dir: &Path, named: &Named, env: Env<'_>) -> Result<Option<Arc<dyn BlobStore>>, Failure> {
    let Some(url) = named.url.clone() else { return Ok(None) };
    let options = S3Options {
        url,
        endpoint: named.endpoint.clone().or_else(|| env("AWS_ENDPOINT_URL_S3")).or_else(|| env("AWS_ENDPOINT_URL")),
        region: named.region.clone().or_else(|| env("AWS_REGION")).or_else(|| env("AWS_DEFAULT_REGION")),
        access_key_id: secret("access_key_id_file", named.access_key_id_file.as_deref(), "AWS_ACCESS_KEY_ID", env)?,
        secret_access_key: secret(
            "secret_access_key_file",
            named.secret_access_key_file.as_deref(),
            "AWS_SECRET_ACCESS_KEY",
            env,
        )?,
        session_token: env("AWS_SESSION_TOKEN"),
        owner: owner(data_dir)?,
    };
    let opened = S3Blobs::open(options).map_err(|error| refused(&error))?;
    if let Some(trouble) = opened.trouble() {
        tracing::warn!("{trouble}; what lies there is waited for");
    }
    Ok(Some(Arc::new(opened)))
}

fn refused(error: &StoreError) -> Failure {
    match error {
        StoreError::Taken(why) => Failure::new(Exit::Conflict, "blobs_taken", why)
            .fix("name a prefix that no other server uses; a copy of data wants a copy of its blobs"),
        StoreError::Failed(why) => Failure::new(Exit::Usage, "config", format!("blobs: {why}"))
            .fix("look at [blobs] in signaller.toml; `signaller serve --help` shows one"),
        _ => Failure::new(Exit::Usage, "config", format!("blobs: {error}"))
            .fix("look at [blobs] in signaller.toml; `signaller serve --help` shows one"),
    }
}

fn secret(name: &str, file: Option<&Path>, variable: &str, env: Env<'_>) -> Result<Option<String>, Failure> {
    let Some(path) = file else { return Ok(env(variable)) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(Exit::Usage, "config", format!("blobs.{name} {}: {error}", path.display()))
            .fix(format!("write it into that file, where this user can read it, or set {variable} instead"))
    })?;
    Ok(Some(text.trim().to_owned()))
}

/// Made up once and kept with the data.
fn owner(data_dir: &Path) -> Result<String, Failure> {
    let path = data_dir.join(OWNER);
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Unavailable, "store_failed", format!("{} cannot be used: {error}", path.display()))
            .fix("check that the folder can be written and the disk is not full")
    };
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // Each asks the system for chance of its own.
    let [one, two] = [RandomState::new(), RandomState::new()].map(|state| state.hash_one(std::process::id()));
    let owner = format!("signaller-{one:016x}{two:016x}");
    std::fs::write(&path, &owner).and_then(|()| std::fs::File::open(&path)?.sync_all()).map_err(failed)?;
    Ok(owner)
}
