//! What is asked of a router.

use super::Selection;

/// A request for a shortlist.
#[derive(Clone, Copy)]
pub struct RouteRequest<'a> {
    pub(super) query: &'a str,
    pub(super) k: usize,
    pub(super) selection: Option<&'a Selection>,
}

impl<'a> RouteRequest<'a> {
    /// The `k` items that fit a query best, of all items.
    #[must_use]
    pub fn new(query: &'a str, k: usize) -> Self {
        Self { query, k, selection: None }
    }

    /// The same over the items of a selection that the router made.
    #[must_use]
    pub fn among(mut self, selection: &'a Selection) -> Self {
        self.selection = Some(selection);
        self
    }
}
