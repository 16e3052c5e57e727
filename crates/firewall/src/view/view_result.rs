//! The result of a view.

use super::text::TextParts;
use crate::content::Content;

/// The result of a view.
pub(crate) struct ViewResult<'a> {
    pub(crate) content: Content<'a>,
    /// True if it contains only visible data, so that the allowed fields no longer apply.
    pub(crate) is_unrestricted: bool,
    /// True if it was made from redacted content, so that the masks in it are our own.
    pub(crate) is_redacted: bool,
    /// The lines or characters of a text that the content has as rows.
    pub(crate) text: Option<TextParts<'a>>,
    /// The path of the one value that it shows, if it shows that value as it is stored.
    pub(crate) path: Option<String>,
    /// True if facts about it are to be shown instead of its rows.
    pub(crate) is_summary: bool,
    /// What it omits, by kind.
    pub(crate) omitted: Vec<(&'static str, usize)>,
}

impl<'a> ViewResult<'a> {
    pub(super) fn unrestricted(content: Content<'a>) -> Self {
        Self {
            content,
            is_unrestricted: true,
            is_redacted: false,
            text: None,
            path: None,
            is_summary: false,
            omitted: Vec::new(),
        }
    }

    pub(super) fn redacted(content: Content<'a>) -> Self {
        Self { is_redacted: true, ..Self::unrestricted(content) }
    }

    /// Parts of a redacted text, each with its position, and the same parts as rows.
    pub(super) fn of_text(rows: Content<'a>, parts: TextParts<'a>) -> Self {
        Self { text: Some(parts), ..Self::redacted(rows) }
    }

    pub(super) fn summary(content: Content<'a>) -> Self {
        Self { is_summary: true, ..Self::unrestricted(content) }
    }
}
