//! Where a text mentions blobs: wherever it says `blob:sha256-` and 64 digits. The payload that stands for a blob does so, and so
//! may any value of a worker's.

use super::BlobId;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What every mention begins with, and how long it is.
const MARK: &str = "blob:sha256-";
const BYTES: usize = MARK.len() + 64;

static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(MARK));

/// The blobs that a text mentions, each once.
pub fn mentions(text: &str) -> Vec<BlobId> {
    let mut found = Vec::new();
    if text.len() < BYTES {
        return found;
    }
    for at in FINDER.find_iter(text.as_bytes()) {
        let id = text.get(at + "blob:".len()..at + BYTES).and_then(BlobId::parse);
        found.extend(id.filter(|id| !found.contains(id)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_mentions_what_it_names_in_full() {
        let (a, b) = (BlobId::of(b"a"), BlobId::of(b"b"));
        for (text, ids) in [
            (String::new(), vec![]),
            ("blob:sha256-".into(), vec![]),
            (format!("blob:{a}"), vec![a]),
            (format!("{{\"file\":\"blob:{a}\",\"n\":[\"blob:{b}\",\"blob:{a}\"]}}"), vec![a, b]),
            (format!("\"see blob:{a}.\""), vec![a]),
            (format!("\"{a}\""), vec![]),
            (format!("blob:{a}")[..75].to_owned(), vec![]),
            (format!("blob:sha256-ü{a}blob:sha256-blob:{b}"), vec![b]),
            (format!("blob:{}", a.to_string().to_uppercase()), vec![]),
        ] {
            assert_eq!(mentions(&text), ids, "{text}");
        }
    }
}
