//! The result of a view.

use crate::content::Content;

/// What a view gives.
pub(crate) struct ViewResult<'a> {
    pub(crate) content: Content<'a>,
    /// True when it was made of what may be seen: the restriction on fields is done with.
    pub(crate) free: bool,
    /// True when it was made of redacted content: the masks in it are ours.
    pub(crate) is_redacted: bool,
    /// True when facts about it are meant, not its rows.
    pub(crate) summary: bool,
    /// What was left out of it, by kind.
    pub(crate) omitted: Vec<(&'static str, usize)>,
}

impl<'a> ViewResult<'a> {
    pub(super) fn free(content: Content<'a>) -> Self {
        let (is_redacted, summary) = (false, false);
        Self { content, free: true, is_redacted, summary, omitted: Vec::new() }
    }

    pub(super) fn redacted(content: Content<'a>) -> Self {
        Self { is_redacted: true, ..Self::free(content) }
    }

    pub(super) fn summary(content: Content<'a>) -> Self {
        Self { summary: true, ..Self::free(content) }
    }
}
