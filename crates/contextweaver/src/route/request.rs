//! The request to a router.

use weaver_types::Timestamp;

use super::port::{QueryTransform, Reranker};
use super::retriever::Retriever;
use super::{Lessons, Selection};
use crate::filter::Filter;

/// A request for a shortlist.
#[derive(Clone, Copy)]
pub struct RouteRequest<'a> {
    pub(super) query: &'a str,
    pub(super) k: usize,
    pub(super) selection: Option<&'a Selection>,
    pub(super) filter: Option<&'a Filter>,
    pub(super) traced: bool,
    pub(super) transform: Option<&'a dyn QueryTransform>,
    pub(super) retriever: Option<&'a dyn Retriever>,
    pub(super) reranker: Option<&'a dyn Reranker>,
    pub(super) taught: Option<(&'a Lessons, Timestamp)>,
}

impl<'a> RouteRequest<'a> {
    /// The `k` items that fit a query best, of all items.
    #[must_use]
    pub fn new(query: &'a str, k: usize) -> Self {
        Self {
            query,
            k,
            selection: None,
            filter: None,
            traced: false,
            transform: None,
            retriever: None,
            reranker: None,
            taught: None,
        }
    }

    /// The same over the items of a selection that the router made.
    #[must_use]
    pub fn among(mut self, selection: &'a Selection) -> Self {
        self.selection = Some(selection);
        self
    }

    /// The same over the items that a filter lets through, arranged as it says. With a selection,
    /// an item needs both.
    #[must_use]
    pub fn filtered(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// The same with a trace of how the answer came to be.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.traced = true;
        self
    }

    /// The same with a query that is changed first.
    #[must_use]
    pub fn transformed(mut self, transform: &'a dyn QueryTransform) -> Self {
        self.transform = Some(transform);
        self
    }

    /// The same with what the host's own retriever finds, in the place of the table.
    #[must_use]
    pub fn retrieved(mut self, retriever: &'a dyn Retriever) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// The same with the first items put in order by the host.
    #[must_use]
    pub fn reranked(mut self, reranker: &'a dyn Reranker) -> Self {
        self.reranker = Some(reranker);
        self
    }

    /// The same with what was learned from accepted routes, as it is at this time.
    #[must_use]
    pub fn taught(mut self, lessons: &'a Lessons, now: Timestamp) -> Self {
        self.taught = Some((lessons, now));
        self
    }
}
