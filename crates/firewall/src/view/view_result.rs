//! The result of a view.

use std::borrow::Cow;

use serde_json::Value;

use crate::content::Content;

/// What a view gives.
pub(crate) struct ViewResult<'a> {
    pub(crate) content: Content<'a>,
    /// True when it was made of what may be seen: the restriction on fields is done with.
    pub(crate) free: bool,
    /// True when it was made of redacted content: the masks in it are ours.
    pub(crate) is_redacted: bool,
    /// True for lines of a text, or characters: places, and what stands there.
    pub(crate) is_text: bool,
    /// True when facts about it are meant, not its rows.
    pub(crate) summary: bool,
    /// What was left out of it, by kind.
    pub(crate) omitted: Vec<(&'static str, usize)>,
}

impl<'a> ViewResult<'a> {
    pub(super) fn free(content: Content<'a>) -> Self {
        let (is_redacted, is_text, summary) = (false, false, false);
        Self { content, free: true, is_redacted, is_text, summary, omitted: Vec::new() }
    }

    pub(super) fn redacted(content: Content<'a>) -> Self {
        Self { is_redacted: true, ..Self::free(content) }
    }

    /// Parts of a redacted text, each with its place.
    pub(super) fn of_text(parts: Vec<Value>) -> Self {
        let content = Content::Json(Cow::Owned(Value::Array(parts)));
        Self { is_text: true, ..Self::redacted(content) }
    }

    pub(super) fn summary(content: Content<'a>) -> Self {
        Self { summary: true, ..Self::free(content) }
    }
}
