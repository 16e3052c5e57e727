//! Encodes arbitrary ids of other systems as capability ids.

use std::fmt::Write as _;

use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{CapabilityId, IdError};

/// The longest source id that is accepted, in bytes.
pub(super) const MAX_SOURCE_ID_BYTES: usize = 4096;
/// The longest capability id, in bytes.
const MAX_ID_BYTES: usize = 512;
/// How many bytes of an encoded id that is too long are kept before its digest.
const READABLE_PREFIX: usize = 440;

/// The capability id for a source id, and whether the two differ. Distinct source ids get distinct
/// capability ids.
///
/// A valid capability id without `%` stays as it is. Otherwise each byte outside visible ASCII, and
/// each percent sign, becomes `%XX`; if the result is too long, its end is replaced by `%~` and a
/// digest. Encoded ids contain `%` and unencoded ones do not, so the two can never collide.
pub(super) fn encode_id(source: &str) -> Result<(CapabilityId, bool), IdError> {
    if !source.contains('%')
        && let Ok(id) = CapabilityId::parse(source)
    {
        return Ok((id, false));
    }
    if source.is_empty() || source.len() > MAX_SOURCE_ID_BYTES {
        // Rejects the id as the source wrote it, so that the error names the rule it breaks.
        return CapabilityId::parse(source).map(|id| (id, false));
    }
    let mut encoded = percent_encode(source);
    if encoded.len() > MAX_ID_BYTES {
        let mut end = READABLE_PREFIX;
        while encoded.get(end.saturating_sub(2)..end).is_some_and(|tail| tail.contains('%')) {
            end -= 1;
        }
        encoded.truncate(end);
        let digest = Digest::of_parts(DomainTag::EXPOSED, &[source.as_bytes()]).to_hex();
        encoded.push_str("%~");
        encoded.push_str(&digest);
    }
    CapabilityId::parse(encoded).map(|id| (id, true))
}

fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_graphic() && byte != b'%' {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn spelling_keeps_ids_apart() {
        let long = "ü".repeat(500);
        let sources = [
            "a b",
            "a%20b",
            "a\u{200b}b",
            "ab",
            "日本",
            &"x".repeat(600),
            &"x".repeat(601),
            &format!("{long}1"),
            &format!("{long}2"),
            &"%".repeat(170),
            &"% ".repeat(200),
        ]
        .map(str::to_owned);
        let ids: BTreeSet<CapabilityId> =
            sources.iter().map(|source| encode_id(source).unwrap().0).collect();
        assert_eq!(ids.len(), sources.len());
        // An encoded id is never accepted as it is; it is encoded again.
        for id in &ids {
            if id.as_str().contains('%') {
                assert_ne!(encode_id(id.as_str()).unwrap().0, *id);
            }
        }
        assert_eq!(encode_id("日本").unwrap().0.as_str(), "日本");
        assert!(encode_id("").is_err());
        assert!(encode_id(&"x".repeat(MAX_SOURCE_ID_BYTES + 1)).is_err());
    }
}
