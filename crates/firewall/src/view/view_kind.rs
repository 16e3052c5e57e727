//! Detects the kind of stored content from its declared media type and its first bytes.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;
use weaver_types::RawContent;

use super::{binary, csv, json, text};
use crate::content::{Content, media_type};
use crate::tabular::{HEAD_BYTES, detect_delimiter, printable_text};

/// The kinds of content with built-in views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViewKind {
    Json,
    /// A text table with its delimiter.
    Csv(u8),
    Text,
    Binary,
}

impl ViewKind {
    /// The names of its views, sorted. A text table also has some of the text views.
    pub(super) fn views(self) -> &'static [Cow<'static, str>] {
        match self {
            Self::Json => json::NAMES,
            Self::Csv(_) => csv::ALL_NAMES,
            Self::Text => text::NAMES,
            Self::Binary => binary::NAMES,
        }
    }
}

/// Detected content: its media type, for matching generators, and its kind.
pub(super) struct DetectedKind<'a> {
    pub(super) media_type: Cow<'a, str>,
    pub(super) kind: ViewKind,
}

impl<'a> DetectedKind<'a> {
    pub(super) fn detect(raw: &'a RawContent) -> Self {
        match raw {
            RawContent::Json(Value::String(text)) => Self::detect_text(text),
            RawContent::Json(_) | RawContent::Rows(_) => {
                Self { media_type: "application/json".into(), kind: ViewKind::Json }
            }
            RawContent::Text(text) => match Content::read(raw) {
                Content::Json(_) => {
                    Self { media_type: "application/json".into(), kind: ViewKind::Json }
                }
                _ => Self::detect_text(text),
            },
            RawContent::Binary { media_type: declared, bytes } => {
                Self::detect_bytes(media_type(declared), bytes)
            }
        }
    }

    fn detect_text(text: &str) -> Self {
        match detect_delimiter(text) {
            Some(b'\t') => {
                Self { media_type: "text/tab-separated-values".into(), kind: ViewKind::Csv(b'\t') }
            }
            Some(delimiter) => {
                Self { media_type: "text/csv".into(), kind: ViewKind::Csv(delimiter) }
            }
            None => Self { media_type: "text/plain".into(), kind: ViewKind::Text },
        }
    }

    /// Bytes are read as text only if they are declared as text or have no declared type.
    fn detect_bytes(declared: String, bytes: &[u8]) -> Self {
        let essence = media_type_essence(&declared).to_ascii_lowercase();
        let undeclared = essence == "application/octet-stream";
        let json = essence == "application/json" || essence.ends_with("+json");
        let wordy = json || undeclared || essence.starts_with("text/") || essence.ends_with("/csv");
        let text = wordy.then(|| printable_text(bytes)).flatten();
        let Some(text) = text else {
            let media_type =
                if undeclared { binary::media_type(bytes).into() } else { Cow::Owned(declared) };
            return Self { media_type, kind: ViewKind::Binary };
        };
        let kind = match (essence.as_str(), detect_delimiter(text)) {
            _ if json || undeclared && is_json(text) => ViewKind::Json,
            ("text/tab-separated-values", _) => ViewKind::Csv(b'\t'),
            ("text/csv", found) => ViewKind::Csv(found.unwrap_or(b',')),
            (_, Some(found)) if undeclared || essence == "text/plain" => ViewKind::Csv(found),
            _ => ViewKind::Text,
        };
        let media_type = match kind {
            ViewKind::Json if undeclared => "application/json".into(),
            _ if undeclared => "text/plain".into(),
            _ => Cow::Owned(declared),
        };
        Self { media_type, kind }
    }
}

/// True if the built-in views of some content are those of JSON.
pub(crate) fn has_json_views(raw: &RawContent) -> bool {
    DetectedKind::detect(raw).kind == ViewKind::Json
}

/// True for a whole JSON object or array; a lone number or string counts as text.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The media type without parameters.
pub(super) fn media_type_essence(media_type: &str) -> &str {
    media_type.split_once(';').map_or(media_type, |(essence, _)| essence).trim()
}

/// The first bytes of the content, for generators.
pub(super) fn leading_bytes(raw: &RawContent) -> &[u8] {
    let bytes = match raw {
        RawContent::Json(Value::String(text)) | RawContent::Text(text) => text.as_bytes(),
        RawContent::Json(_) | RawContent::Rows(_) => &[],
        RawContent::Binary { bytes, .. } => bytes.as_slice(),
    };
    bytes.get(..bytes.len().min(HEAD_BYTES)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> ViewKind {
        DetectedKind::detect(&RawContent::Text(text.to_owned())).kind
    }

    #[test]
    fn the_names_of_views_are_sorted() {
        for kind in [ViewKind::Json, ViewKind::Csv(b','), ViewKind::Text, ViewKind::Binary] {
            assert!(kind.views().is_sorted_by(|a, b| a < b), "{kind:?}");
        }
        let (own, lines): (Vec<_>, Vec<_>) =
            csv::ALL_NAMES.iter().cloned().partition(|name| csv::NAMES.contains(name));
        assert_eq!(own, csv::NAMES);
        assert_eq!(lines, ["chars", "lines", "search"]);
    }

    #[test]
    fn tables_are_told_from_prose() {
        assert_eq!(kind("id,name\n1,a\n2,b\n"), ViewKind::Csv(b','));
        assert_eq!(kind("id\tname\n1\ta"), ViewKind::Csv(b'\t'));
        assert_eq!(kind("id;name\n1;\"a;b\""), ViewKind::Csv(b';'));
        assert_eq!(kind("Dear Ann, hello.\nI am well, thanks."), ViewKind::Text);
        assert_eq!(kind("id,name\n1,a,x\n"), ViewKind::Text);
        assert_eq!(kind("1,2\n3,4"), ViewKind::Text);
        assert_eq!(kind("id,name"), ViewKind::Text);
        assert_eq!(kind("[1]"), ViewKind::Json);
        assert_eq!(kind(""), ViewKind::Text);
    }

    #[test]
    fn a_long_table_is_known_by_its_head() {
        let text = "id,nämé\n".to_owned() + &"1,öäü\n".repeat(5_000);
        assert_eq!(kind(&text), ViewKind::Csv(b','));
    }

    #[test]
    fn bytes_are_what_they_are_declared_as_and_show_themselves_to_be() {
        let known = |media_type: &str, bytes: &[u8]| {
            let raw = RawContent::Binary { media_type: media_type.into(), bytes: bytes.to_vec() };
            let known = DetectedKind::detect(&raw);
            (known.media_type.into_owned(), known.kind)
        };
        let text = b"a,b\n1,2\n";
        assert_eq!(known("text/csv; charset=utf-8", text).1, ViewKind::Csv(b','));
        assert_eq!(known("application/octet-stream", text).1, ViewKind::Csv(b','));
        assert_eq!(known("application/vnd.x+json", b"{}").1, ViewKind::Json);
        assert_eq!(known("text/html", b"<p>x</p>").1, ViewKind::Text);
        assert_eq!(known("image/png", b"text").1, ViewKind::Binary);
        assert_eq!(known("application/json", b"\xff\xfe").1, ViewKind::Binary);
        for (declared, bytes, media_type, kind) in [
            ("application/octet-stream", &b"some words"[..], "text/plain", ViewKind::Text),
            ("application/octet-stream", b"a;b\n1;2\n", "text/plain", ViewKind::Csv(b';')),
            ("application/octet-stream", b"[1]", "application/json", ViewKind::Json),
            ("text/csv", b"a;b\n1;2\n", "text/csv", ViewKind::Csv(b';')),
            ("text/csv", b"one line", "text/csv", ViewKind::Csv(b',')),
            ("text/plain", b"a,b\n1,2\n", "text/plain", ViewKind::Csv(b',')),
            ("text/plain", b"[1]", "text/plain", ViewKind::Text),
            ("text/html", b"a,b\n1,2\n", "text/html", ViewKind::Text),
            (
                "text/tab-separated-values",
                b"words",
                "text/tab-separated-values",
                ViewKind::Csv(b'\t'),
            ),
            ("application/csv", b"words", "application/csv", ViewKind::Text),
            ("application/json", b"words", "application/json", ViewKind::Json),
            ("application/zip", b"words", "application/zip", ViewKind::Binary),
        ] {
            assert_eq!(known(declared, bytes), (media_type.to_owned(), kind), "{declared}");
        }
        let (media_type, kind) = known("", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        assert_eq!((media_type.as_str(), kind), ("image/png", ViewKind::Binary));
    }

    #[test]
    fn bytes_keep_the_media_type_that_is_declared() {
        for (declared, bytes, media_type, kind) in [
            ("text/csv", &b"a,b\n1,2\n"[..], "text/csv", ViewKind::Csv(b',')),
            ("text/html", b"<p>", "text/html", ViewKind::Text),
            ("application/octet-stream", b"a b", "text/plain", ViewKind::Text),
            ("application/octet-stream", b"{}", "application/json", ViewKind::Json),
            ("application/ld+json", b"{}", "application/ld+json", ViewKind::Json),
            ("image/png", b"a b", "image/png", ViewKind::Binary),
        ] {
            let found = DetectedKind::detect_bytes(declared.to_owned(), bytes);
            assert_eq!((&*found.media_type, found.kind), (media_type, kind), "{declared}");
        }
    }
}
