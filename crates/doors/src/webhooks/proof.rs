//! The two proofs: a signature over what was sent, or the secret itself. Right and wrong ones take the same time: every
//! secret is tried on every signature, and compared to its last byte.

use super::Refused;
use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flow::registry::webhook::{Algorithm, Encoding, IdFrom, Layout, Proof, Signature, Signed, Webhook};
use hmac::{Hmac, KeyInit, Mac};
use kernel::names::clip;
use kernel::time::Time;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use subtle::{Choice, ConstantTimeEq};

/// Signatures of one request that are looked at: senders send two while a secret is exchanged.
const SIGNATURES_MAX: usize = 16;

const WRONG: &str = "put the same secret at the sender and in the variable that the registry names; nothing on the way may \
                     change the body";
const MISSING: &str = "set this webhook's secret at its sender, so that it signs what it sends";

pub struct Proven<'h> {
    /// When it was signed, as it was signed.
    pub stamp: Option<&'h str>,
}

/// The header that a proof stands in.
pub fn header(webhook: &Webhook) -> &str {
    match &webhook.proof {
        Proof::Signature(signature) => signature.header.as_str(),
        Proof::Shared { header, .. } => header.as_str(),
    }
}

pub fn check<'h>(
    webhook: &Webhook,
    keys: &[Box<[u8]>],
    headers: &'h HeaderMap,
    body: &[u8],
    now: Time,
) -> Result<Proven<'h>, Refused> {
    match &webhook.proof {
        Proof::Signature(signature) => signed(webhook, signature, keys, headers, body, now),
        Proof::Shared { header, prefix } => {
            let value = headers.get(header.as_str()).ok_or_else(|| missing(header.as_str()))?;
            let given = value.as_bytes().strip_prefix(prefix.as_bytes());
            let right = given.map_or(Choice::from(0), |given| any(keys.iter().map(|key| key.ct_eq(given))));
            if !bool::from(right) {
                let message = format!("header {} does not hold this webhook's secret", header.as_str());
                return Err(Refused::unproven(
                    message,
                    "put the same secret at the sender and in the variable that the registry names",
                ));
            }
            Ok(Proven { stamp: None })
        }
    }
}

fn signed<'h>(
    webhook: &Webhook,
    signature: &Signature,
    keys: &[Box<[u8]>],
    headers: &'h HeaderMap,
    body: &[u8],
    now: Time,
) -> Result<Proven<'h>, Refused> {
    let written = text(headers, signature.header.as_str())?;
    let Found { tags, stamp: beside } = found(signature, written);
    if tags.is_empty() {
        let message = format!("header {} holds no signature of the form that this webhook takes", signature.header.as_str());
        return Err(Refused::unproven(message, "look at what its sender documents, and at header, header_prefix and encoding"));
    }
    let stamp = match &signature.stamp {
        None => None,
        Some(stamp) => Some(match &stamp.header {
            Some(header) => text(headers, header.as_str())?,
            None => beside.ok_or_else(|| Refused::unproven("the signature does not say when it was made", MISSING))?,
        }),
    };
    let id = match &webhook.id {
        Some(IdFrom::Header(header)) if signature.signed.contains(&Signed::Id) => text(headers, header.as_str())?,
        _ => "",
    };
    let parts: Vec<&[u8]> = signature
        .signed
        .iter()
        .map(|part| match part {
            Signed::Text(text) => text.as_bytes(),
            Signed::Timestamp => stamp.unwrap_or_default().as_bytes(),
            Signed::Id => id.as_bytes(),
            Signed::Body => body,
        })
        .collect();
    let right = any(keys.iter().map(|key| {
        let ours = tag(signature.algorithm, key, &parts);
        any(tags.iter().map(|theirs| ours.ct_eq(theirs)))
    }));
    if !bool::from(right) {
        return Err(Refused::unproven("the signature does not fit what was sent", WRONG));
    }
    // Only who knows the secret is told about clocks.
    if let (Some(text), Some(stamp)) = (stamp, &signature.stamp) {
        fresh(text, stamp.tolerance_ms, now)?;
    }
    Ok(Proven { stamp })
}

/// Looks at all of them, whatever the first says.
fn any(choices: impl Iterator<Item = Choice>) -> Choice {
    choices.fold(Choice::from(0), |before, choice| before | choice)
}

fn missing(header: &str) -> Refused {
    Refused::unproven(format!("header {header} is missing"), MISSING)
}

fn text<'h>(headers: &'h HeaderMap, header: &str) -> Result<&'h str, Refused> {
    let value = headers.get(header).ok_or_else(|| missing(header))?;
    value.to_str().map_err(|_| Refused::unproven(format!("header {header} is not plain text"), MISSING))
}

/// What a header of signatures holds.
struct Found<'h> {
    tags: Vec<Vec<u8>>,
    stamp: Option<&'h str>,
}

fn found<'h>(signature: &Signature, written: &'h str) -> Found<'h> {
    let decoded = |text: &str| match signature.encoding {
        Encoding::Hex => unhex(text),
        Encoding::Base64 => base64(text),
    };
    match &signature.layout {
        Layout::Words { prefix } => {
            let words = written.split_ascii_whitespace().filter_map(|word| word.strip_prefix(&**prefix));
            Found { tags: words.filter_map(decoded).take(SIGNATURES_MAX).collect(), stamp: None }
        }
        Layout::Pairs => {
            let pairs = || written.split(',').filter_map(|pair| pair.trim().split_once('='));
            let tags = pairs().filter(|(name, _)| *name == "v1").filter_map(|(_, text)| decoded(text));
            let stamp = pairs().find(|(name, _)| *name == "t").map(|(_, text)| text);
            Found { tags: tags.take(SIGNATURES_MAX).collect(), stamp }
        }
    }
}

fn tag(algorithm: Algorithm, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    match algorithm {
        Algorithm::Sha1 => mac::<Hmac<Sha1>>(key, parts),
        Algorithm::Sha256 => mac::<Hmac<Sha256>>(key, parts),
        Algorithm::Sha512 => mac::<Hmac<Sha512>>(key, parts),
    }
}

fn mac<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("a key of any length will do");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

/// Seconds since the Unix epoch, close enough to now.
fn fresh(stamp: &str, tolerance_ms: u64, now: Time) -> Result<(), Refused> {
    let digits = !stamp.is_empty() && stamp.bytes().all(|byte| byte.is_ascii_digit());
    let Some(seconds) = stamp.parse::<u64>().ok().filter(|_| digits) else {
        let message = format!("`{}` is not an instant in seconds since 1970", clip(stamp, 40));
        return Err(Refused::unproven(message, "look at what its sender documents, and at timestamp_header"));
    };
    let apart_ms = (i128::from(now.us()) / 1_000 - i128::from(seconds) * 1_000).unsigned_abs();
    if apart_ms > u128::from(tolerance_ms) {
        let message = format!("it was signed {apart_ms} ms from now, and {tolerance_ms} ms are allowed");
        return Err(Refused::unproven(message, "set the clocks of both sides; what was sent long ago has to be signed anew"));
    }
    Ok(())
}

pub fn base64(text: &str) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const USUAL: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, CONFIG);
    USUAL.decode(text).ok().filter(|bytes| !bytes.is_empty())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    bytes.collect::<Option<Vec<u8>>>().filter(|bytes| rest.is_empty() && !bytes.is_empty())
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
