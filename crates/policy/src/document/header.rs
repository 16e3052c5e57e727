//! The keys that every document begins with: `kind`, `format`, `id`, `version`, `expires`.

use weaver_types::Timestamp;
use weaver_types::signature::Kind;

use super::newest_format;
use super::node::Section;
use super::reader::{DocumentReader, shown};

/// What a header says.
pub(super) struct Header {
    /// The form; `None` where it could not be read.
    pub(super) format: Option<u64>,
    pub(super) id: String,
    pub(super) version: u64,
    pub(super) expires: Option<Timestamp>,
}

/// The kind that a document says it is.
pub(super) fn kind(reader: &mut DocumentReader<'_>) -> Option<Kind> {
    let root = reader.root();
    let all = root.entries(reader);
    let Some((_, node)) = all.into_iter().find(|(name, _)| *name == "kind") else {
        root.wrong(
            reader,
            "policy.missing_key",
            "`kind` is missing",
            "begin with `kind = \"policy\"`, `\"contracts\"` or `\"keys\"`",
        );
        return None;
    };
    match node.text(reader)? {
        "policy" => Some(Kind::Policy),
        "contracts" => Some(Kind::Contracts),
        "keys" => Some(Kind::Keys),
        other => {
            let message = format!("unknown kind `{}`", shown(other));
            node.wrong(reader, "policy.word", message, "write policy, contracts or keys");
            None
        }
    }
}

/// Whether the document is of the kind that is wanted and of a form that this build reads.
pub(super) fn is_kind(reader: &mut DocumentReader<'_>, wanted: Kind) -> bool {
    let Some(found) = kind(reader) else { return false };
    if found != wanted {
        let message = format!("this is a {found} document where {wanted} is wanted");
        reader.root().wrong(reader, "policy.wrong_kind", message, "swap the files");
        return false;
    }
    true
}

/// Reads the header of a document of this kind. `now` is `None` where a document may have expired.
pub(super) fn read(
    reader: &mut DocumentReader<'_>,
    root: &Section<'_>,
    kind: Kind,
    now: Option<Timestamp>,
) -> Header {
    let newest = newest_format(kind);
    let mut format = None;
    if let Some(node) = root.need(reader, "format") {
        format = node.number(reader, 1..=u64::from(u32::MAX));
        if let Some(found) = format.filter(|found| *found > newest) {
            let message = format!("form {found} is newer than {newest}");
            let remedy = format!("use a release that reads form {found}");
            node.wrong(reader, "policy.newer_format", message, remedy);
        }
    }
    let id = root.need(reader, "id").and_then(|node| node.text(reader)).unwrap_or_default();
    let version = root.need(reader, "version").and_then(|node| node.number(reader, 1..=1 << 53));
    let expires = root.get("expires");
    let expires = expires.and_then(|node| {
        let at = node.time(reader)?;
        if now.is_some_and(|now| at <= now) {
            let message = format!("the document expired at {at}");
            node.wrong(
                reader,
                "policy.expired",
                message,
                "renew it: set `expires` later, raise `version`, sign again",
            );
        }
        Some(at)
    });
    Header { format, id: id.to_owned(), version: version.unwrap_or(0), expires }
}
