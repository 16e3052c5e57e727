//! The result of a view.

use std::borrow::Cow;

use serde_json::Value;

use crate::content::Content;

/// The result of a view.
pub(crate) struct ViewResult<'a> {
    pub(crate) content: Content<'a>,
    /// True if it contains only visible data, so that the allowed fields no longer apply.
    pub(crate) is_unrestricted: bool,
    /// True if it was made from redacted content, so that the masks in it are our own.
    pub(crate) is_redacted: bool,
    /// True for numbered lines or characters of a text.
    pub(crate) is_text: bool,
    /// True if facts about it are to be shown instead of its rows.
    pub(crate) is_summary: bool,
    /// What it omits, by kind.
    pub(crate) omitted: Vec<(&'static str, usize)>,
}

impl<'a> ViewResult<'a> {
    pub(super) fn unrestricted(content: Content<'a>) -> Self {
        let (is_redacted, is_text, is_summary) = (false, false, false);
        Self {
            content,
            is_unrestricted: true,
            is_redacted,
            is_text,
            is_summary,
            omitted: Vec::new(),
        }
    }

    pub(super) fn redacted(content: Content<'a>) -> Self {
        Self { is_redacted: true, ..Self::unrestricted(content) }
    }

    /// Parts of a redacted text, each with its position.
    pub(super) fn of_text(parts: Vec<Value>) -> Self {
        let content = Content::Json(Cow::Owned(Value::Array(parts)));
        Self { is_text: true, ..Self::redacted(content) }
    }

    pub(super) fn summary(content: Content<'a>) -> Self {
        Self { is_summary: true, ..Self::unrestricted(content) }
    }
}
