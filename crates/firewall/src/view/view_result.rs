//! The result of a view.

use crate::content::Content;

/// What a view gives.
pub(crate) struct ViewResult<'a> {
    pub(crate) content: Content<'a>,
    /// True when it was made of what may be seen: the restriction on fields is done with.
    pub(crate) free: bool,
    /// True when facts about it are meant, not its rows.
    pub(crate) summary: bool,
    /// What was left out of it, by kind.
    pub(crate) omitted: Vec<(&'static str, usize)>,
}

impl<'a> ViewResult<'a> {
    pub(super) fn free(content: Content<'a>) -> Self {
        Self { content, free: true, summary: false, omitted: Vec::new() }
    }

    pub(super) fn summary(content: Content<'a>) -> Self {
        Self { summary: true, ..Self::free(content) }
    }
}
