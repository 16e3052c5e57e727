//! Ids of other people's catalogs, written so that they can be capability ids.

use std::fmt::Write as _;

use weaver_types::digest::{Digest, Tag};
use weaver_types::{CapabilityId, IdError};

/// The longest id that is read, in bytes.
pub(super) const MAX_SOURCE_ID: usize = 4096;
/// The longest capability id, in bytes.
const MAX_ID: usize = 512;
/// How much of an id that is too long stays readable, in bytes.
const READABLE: usize = 440;

/// The capability id for an id as its source writes it, and whether the two differ. Two ids of a
/// source never become one.
///
/// What is a capability id stays as it is. Otherwise each byte outside visible ASCII, and each
/// percent sign, becomes `%XX`; and where that is too long, the end gives way to `%~` and a digest.
pub(super) fn capability_id(source: &str) -> Result<(CapabilityId, bool), IdError> {
    if !source.contains('%')
        && let Ok(id) = CapabilityId::parse(source)
    {
        return Ok((id, false));
    }
    if source.is_empty() || source.len() > MAX_SOURCE_ID {
        // Refused with the rule, not with our spelling of it.
        return CapabilityId::parse(source).map(|id| (id, false));
    }
    let mut spelled = encoded(source);
    if spelled.len() > MAX_ID {
        let mut end = READABLE;
        while spelled.get(end.saturating_sub(2)..end).is_some_and(|tail| tail.contains('%')) {
            end -= 1;
        }
        spelled.truncate(end);
        let digest = Digest::of_parts(Tag::EXPOSED, &[source.as_bytes()]).to_hex();
        spelled.push_str("%~");
        spelled.push_str(&digest);
    }
    CapabilityId::parse(spelled).map(|id| (id, true))
}

fn encoded(text: &str) -> String {
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
            sources.iter().map(|source| capability_id(source).unwrap().0).collect();
        assert_eq!(ids.len(), sources.len());
        // What was spelled once cannot be an id of a source as it stands.
        for id in &ids {
            if id.as_str().contains('%') {
                assert_ne!(capability_id(id.as_str()).unwrap().0, *id);
            }
        }
        assert_eq!(capability_id("日本").unwrap().0.as_str(), "日本");
        assert!(capability_id("").is_err());
        assert!(capability_id(&"x".repeat(MAX_SOURCE_ID + 1)).is_err());
    }
}
