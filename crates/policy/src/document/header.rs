//! Reads the keys that every document has: `kind`, `format`, `id`, `version`, `expires`.

use weaver_types::Timestamp;
use weaver_types::signature::DocumentKind;

use super::NEWEST_FORMAT;
use super::node::Section;
use super::reader::{DocumentReader, excerpt};

/// The header of a document.
pub(super) struct Header {
    pub(super) id: String,
    pub(super) version: u64,
    pub(super) expires: Option<Timestamp>,
}

/// Reads the kind that a document declares.
pub(super) fn kind(reader: &mut DocumentReader<'_>) -> Option<DocumentKind> {
    let root = reader.root();
    let all = root.entries(reader);
    let Some((_, node)) = all.into_iter().find(|(name, _)| *name == "kind") else {
        root.report(
            reader,
            "policy.missing_key",
            "`kind` is missing",
            "begin with `kind = \"policy\"`, `\"contracts\"` or `\"keys\"`",
        );
        return None;
    };
    match node.text(reader)? {
        "policy" => Some(DocumentKind::Policy),
        "contracts" => Some(DocumentKind::Contracts),
        "keys" => Some(DocumentKind::Keys),
        other => {
            let message = format!("unknown kind `{}`", excerpt(other));
            node.report(reader, "policy.word", message, "write policy, contracts or keys");
            None
        }
    }
}

/// Whether the document has the expected kind.
pub(super) fn check_kind(reader: &mut DocumentReader<'_>, wanted: DocumentKind) -> bool {
    let Some(found) = kind(reader) else { return false };
    if found != wanted {
        let message = format!("this is a {found} document where {wanted} is wanted");
        reader.root().report(reader, "policy.wrong_kind", message, "swap the files");
        return false;
    }
    true
}

/// Reads the header of a document of this kind. Pass `None` for `now` to accept an expired
/// document.
pub(super) fn read(
    reader: &mut DocumentReader<'_>,
    root: &Section<'_>,
    now: Option<Timestamp>,
) -> Header {
    if let Some(node) = root.required(reader, "format")
        && let Some(found) = node.number(reader, 1..=u64::from(u32::MAX))
        && found > NEWEST_FORMAT
    {
        let message = format!("format {found} is newer than {NEWEST_FORMAT}");
        let remedy = format!("use a release that reads format {found}");
        node.report(reader, "policy.newer_format", message, remedy);
    }
    let id = root.required(reader, "id").and_then(|node| node.text(reader)).unwrap_or_default();
    let version =
        root.required(reader, "version").and_then(|node| node.number(reader, 1..=1 << 53));
    let expires = root.get("expires");
    let expires = expires.and_then(|node| {
        let at = node.timestamp(reader)?;
        if now.is_some_and(|now| at <= now) {
            let message = format!("the document expired at {at}");
            node.report(
                reader,
                "policy.expired",
                message,
                "renew it: set `expires` later, raise `version`, sign again",
            );
        }
        Some(at)
    });
    Header { id: id.to_owned(), version: version.unwrap_or(0), expires }
}
