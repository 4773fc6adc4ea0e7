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
    let Some(options) = options(data_dir, named, env)? else { return Ok(None) };
    let opened = S3Blobs::open(options).map_err(|error| refused(&error))?;
    if let Some(trouble) = opened.trouble() {
        tracing::warn!("{trouble}; what lies there is waited for");
    }
    Ok(Some(Arc::new(opened)))
}

/// What the file says comes before what the environment does.
fn options(data_dir: &Path, named: &Named, env: Env<'_>) -> Result<Option<S3Options>, Failure> {
    let Some(url) = named.url.clone() else { return Ok(None) };
    Ok(Some(S3Options {
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
    }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_says_more_than_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("id"), "id-of-file\n").unwrap();
        std::fs::write(path("key"), " key-of-file\n").unwrap();
        let all = |name: &str| Some(format!("{} of env", name.trim_start_matches("AWS_").to_ascii_lowercase()));
        let other = |name: &str| all(name).filter(|_| ["AWS_ENDPOINT_URL", "AWS_DEFAULT_REGION"].contains(&name));
        let [all, other, none]: [Env<'_>; 3] = [&all, &other, &|_| None];
        let files = "access_key_id_file = \"DIR/id\"\nsecret_access_key_file = \"DIR/key\"";
        for (text, env, told) in [
            ("", all, Ok("endpoint_url_s3 of env, region of env, access_key_id of env, secret_access_key of env")),
            ("", other, Ok("endpoint_url of env, default_region of env, -, -")),
            ("", none, Ok("-, -, -, -")),
            ("region = \"eu-1\"\nendpoint = \"http://b.test\"", other, Ok("http://b.test, eu-1, -, -")),
            (files, all, Ok("endpoint_url_s3 of env, region of env, id-of-file, key-of-file")),
            (
                "access_key_id_file = \"DIR/id\"",
                all,
                Ok("endpoint_url_s3 of env, region of env, id-of-file, secret_access_key of env"),
            ),
            // A file that is named and cannot be read is not made up for.
            ("access_key_id_file = \"DIR/no\"", all, Err("blobs.access_key_id_file DIR/no: No such file")),
            ("secret_access_key_file = \"DIR\"", all, Err("blobs.secret_access_key_file DIR: Is a directory")),
        ] {
            let here = |text: &str| text.replace("DIR", folder.path().to_str().unwrap());
            let named: Named = toml::from_str(&here(&format!("url = \"s3://box/here\"\n{text}"))).unwrap();
            match (options(folder.path(), &named, env), told) {
                (Ok(Some(found)), Ok(told)) => {
                    let all = [found.endpoint, found.region, found.access_key_id, found.secret_access_key];
                    assert_eq!(all.map(|value| value.unwrap_or_else(|| "-".into())).join(", "), told, "{text}");
                }
                (Err(failure), Err(told)) => {
                    assert!(failure.message.starts_with(&here(told)) && failure.fix.is_some(), "{text}: {}", failure.message)
                }
                (found, _) => panic!("{text}: {:?}", found.map(|_| ()).map_err(|failure| failure.message)),
            }
        }
        assert!(options(folder.path(), &Named::default(), all).is_ok_and(|found| found.is_none()), "in the folder");
    }
}
