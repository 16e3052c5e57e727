//! Recognises stored content by its declared media type and its first bytes.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;
use weaver_types::RawContent;

use super::{binary, csv, json, text};
use crate::content::{Content, media_type};
use crate::tabular::{HEAD, delimiter, text_of};

/// The kinds of content that have built-in views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    /// A table in text, with what stands between its cells.
    Csv(u8),
    Text,
    Binary,
}

impl Kind {
    /// The names of its views, sorted. A table in text has some of those that other text has.
    pub(super) fn views(self) -> &'static [Cow<'static, str>] {
        match self {
            Self::Json => json::NAMES,
            Self::Csv(_) => csv::ALL_NAMES,
            Self::Text => text::NAMES,
            Self::Binary => binary::NAMES,
        }
    }
}

/// What content is: its media type for patterns, and its kind.
pub(super) struct DetectedKind<'a> {
    pub(super) media_type: Cow<'a, str>,
    pub(super) kind: Kind,
}

impl<'a> DetectedKind<'a> {
    pub(super) fn of(raw: &'a RawContent) -> Self {
        match raw {
            RawContent::Json(Value::String(text)) => Self::text(text),
            RawContent::Json(_) | RawContent::Rows(_) => {
                Self { media_type: "application/json".into(), kind: Kind::Json }
            }
            RawContent::Text(text) => match Content::read(raw) {
                Content::Json(_) => {
                    Self { media_type: "application/json".into(), kind: Kind::Json }
                }
                _ => Self::text(text),
            },
            RawContent::Binary { media_type: declared, bytes } => {
                Self::bytes(media_type(declared), bytes)
            }
        }
    }

    fn text(text: &str) -> Self {
        match delimiter(text) {
            Some(b'\t') => {
                Self { media_type: "text/tab-separated-values".into(), kind: Kind::Csv(b'\t') }
            }
            Some(delimiter) => Self { media_type: "text/csv".into(), kind: Kind::Csv(delimiter) },
            None => Self { media_type: "text/plain".into(), kind: Kind::Text },
        }
    }

    /// Bytes are read as text only where they are declared so, or declared as nothing.
    fn bytes(declared: String, bytes: &[u8]) -> Self {
        let essence = essence(&declared).to_ascii_lowercase();
        let undeclared = essence == "application/octet-stream";
        let json = essence == "application/json" || essence.ends_with("+json");
        let wordy = json || undeclared || essence.starts_with("text/") || essence.ends_with("/csv");
        let text = wordy.then(|| text_of(bytes)).flatten();
        let Some(text) = text else {
            let media_type =
                if undeclared { binary::media_type(bytes).into() } else { Cow::Owned(declared) };
            return Self { media_type, kind: Kind::Binary };
        };
        let kind = match (essence.as_str(), delimiter(text)) {
            _ if json || undeclared && is_json(text) => Kind::Json,
            ("text/tab-separated-values", _) => Kind::Csv(b'\t'),
            ("text/csv", found) => Kind::Csv(found.unwrap_or(b',')),
            (_, Some(found)) if undeclared || essence == "text/plain" => Kind::Csv(found),
            _ => Kind::Text,
        };
        let media_type = match kind {
            Kind::Json if undeclared => "application/json".into(),
            _ if undeclared => "text/plain".into(),
            _ => Cow::Owned(declared),
        };
        Self { media_type, kind }
    }
}

/// Whether a text is a whole JSON object or array. A number alone or a word in quotes is a text.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The media type without its parameters.
pub(super) fn essence(media_type: &str) -> &str {
    media_type.split_once(';').map_or(media_type, |(essence, _)| essence).trim()
}

/// The first bytes of content, for generators that look at them.
pub(super) fn head(raw: &RawContent) -> &[u8] {
    let bytes = match raw {
        RawContent::Json(Value::String(text)) | RawContent::Text(text) => text.as_bytes(),
        RawContent::Json(_) | RawContent::Rows(_) => &[],
        RawContent::Binary { bytes, .. } => bytes.as_slice(),
    };
    bytes.get(..bytes.len().min(HEAD)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        DetectedKind::of(&RawContent::Text(text.to_owned())).kind
    }

    #[test]
    fn the_names_of_views_are_sorted() {
        for kind in [Kind::Json, Kind::Csv(b','), Kind::Text, Kind::Binary] {
            assert!(kind.views().is_sorted_by(|a, b| a < b), "{kind:?}");
        }
        let (own, lines): (Vec<_>, Vec<_>) =
            csv::ALL_NAMES.iter().cloned().partition(|name| csv::NAMES.contains(name));
        assert_eq!(own, csv::NAMES);
        assert_eq!(lines, ["chars", "lines", "search"]);
    }

    #[test]
    fn tables_are_told_from_prose() {
        assert_eq!(kind("id,name\n1,a\n2,b\n"), Kind::Csv(b','));
        assert_eq!(kind("id\tname\n1\ta"), Kind::Csv(b'\t'));
        assert_eq!(kind("id;name\n1;\"a;b\""), Kind::Csv(b';'));
        assert_eq!(kind("Dear Ann, hello.\nI am well, thanks."), Kind::Text);
        assert_eq!(kind("id,name\n1,a,x\n"), Kind::Text);
        assert_eq!(kind("1,2\n3,4"), Kind::Text);
        assert_eq!(kind("id,name"), Kind::Text);
        assert_eq!(kind("[1]"), Kind::Json);
        assert_eq!(kind(""), Kind::Text);
    }

    #[test]
    fn a_long_table_is_known_by_its_head() {
        let text = "id,nämé\n".to_owned() + &"1,öäü\n".repeat(5_000);
        assert_eq!(kind(&text), Kind::Csv(b','));
    }

    #[test]
    fn bytes_are_what_they_are_declared_as_and_show_themselves_to_be() {
        let known = |media_type: &str, bytes: &[u8]| {
            let raw = RawContent::Binary { media_type: media_type.into(), bytes: bytes.to_vec() };
            let known = DetectedKind::of(&raw);
            (known.media_type.into_owned(), known.kind)
        };
        let text = b"a,b\n1,2\n";
        assert_eq!(known("text/csv; charset=utf-8", text).1, Kind::Csv(b','));
        assert_eq!(known("application/octet-stream", text).1, Kind::Csv(b','));
        assert_eq!(known("application/vnd.x+json", b"{}").1, Kind::Json);
        assert_eq!(known("text/html", b"<p>x</p>").1, Kind::Text);
        assert_eq!(known("image/png", b"text").1, Kind::Binary);
        assert_eq!(known("application/json", b"\xff\xfe").1, Kind::Binary);
        for (declared, bytes, media_type, kind) in [
            ("application/octet-stream", &b"some words"[..], "text/plain", Kind::Text),
            ("application/octet-stream", b"a;b\n1;2\n", "text/plain", Kind::Csv(b';')),
            ("application/octet-stream", b"[1]", "application/json", Kind::Json),
            ("text/csv", b"a;b\n1;2\n", "text/csv", Kind::Csv(b';')),
            ("text/csv", b"one line", "text/csv", Kind::Csv(b',')),
            ("text/plain", b"a,b\n1,2\n", "text/plain", Kind::Csv(b',')),
            ("text/plain", b"[1]", "text/plain", Kind::Text),
            ("text/html", b"a,b\n1,2\n", "text/html", Kind::Text),
            ("text/tab-separated-values", b"words", "text/tab-separated-values", Kind::Csv(b'\t')),
            ("application/csv", b"words", "application/csv", Kind::Text),
            ("application/json", b"words", "application/json", Kind::Json),
            ("application/zip", b"words", "application/zip", Kind::Binary),
        ] {
            assert_eq!(known(declared, bytes), (media_type.to_owned(), kind), "{declared}");
        }
        let (media_type, kind) = known("", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        assert_eq!((media_type.as_str(), kind), ("image/png", Kind::Binary));
    }
}
