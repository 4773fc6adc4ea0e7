//! Blobs as the wire names them: `blob:sha256-` and 64 digits.

use super::Problem;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use store::BlobId;
use store::blobs::Swept;
use utoipa::ToSchema;

/// The name of a blob. Wherever a value says it, the value mentions that blob.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ToSchema)]
#[schema(value_type = String, example = "blob:sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
pub struct BlobRef(pub BlobId);

impl BlobRef {
    pub fn parse(text: &str) -> Result<BlobRef, Problem> {
        let id = BlobId::parse(text.strip_prefix("blob:").unwrap_or(text));
        let fix = "give it as PUT /v1/blobs answered it: blob:sha256- and 64 digits from 0 to f";
        id.map(BlobRef).ok_or_else(|| Problem::new("invalid", format!("`{text}` is not the name of a blob"), fix))
    }
}

impl fmt::Display for BlobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blob:{}", self.0)
    }
}

impl Serialize for BlobRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BlobRef, D::Error> {
        let text = String::deserialize(deserializer)?;
        BlobRef::parse(&text).map_err(|problem| serde::de::Error::custom(format!("{}: {}", problem.message, problem.fix)))
    }
}

/// What was put.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BlobPut {
    pub r#ref: BlobRef,
    pub size: u64,
    /// It stays so long, counted from now, until something mentions it; longer if something does. Left out: for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepParams {
    /// Only say what would go.
    #[serde(default)]
    pub dry_run: bool,
    /// `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
}

/// What came of a look at some of the blobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BlobsSwept {
    pub seen: u64,
    pub seen_bytes: u64,
    /// Nothing mentions these and their grace period is over: they are gone, or would be.
    pub removed: u64,
    pub removed_bytes: u64,
    /// Nothing mentions these, but their grace period goes on.
    pub young: u64,
    /// Why some of them could not be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Where to go on; left out when these were the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<BlobRef>,
}

impl From<&Swept> for BlobsSwept {
    fn from(swept: &Swept) -> BlobsSwept {
        let Swept { seen, seen_bytes, removed, removed_bytes, young, trouble, next } = swept.clone();
        BlobsSwept { seen, seen_bytes, removed, removed_bytes, young, trouble, next: next.map(BlobRef) }
    }
}

/// Where blobs are kept, and how that goes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BlobsView {
    pub place: String,
    /// Why it cannot be reached, or what nothing mentions cannot be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Removed by the last look at all of them, as far as it has gone.
    pub removed: u64,
}
