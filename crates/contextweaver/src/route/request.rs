//! The request to a router.

use weaver_types::Timestamp;

use super::hooks::{QueryTransform, Reranker};
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
    pub(super) lessons: Option<(&'a Lessons, Timestamp)>,
}

impl<'a> RouteRequest<'a> {
    /// A request for the best `k` of all items.
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
            lessons: None,
        }
    }

    /// Restricts the request to a selection that the router made.
    #[must_use]
    pub fn with_selection(mut self, selection: &'a Selection) -> Self {
        self.selection = Some(selection);
        self
    }

    /// Restricts the request to the items that a filter admits, and arranges the hits by it. If there
    /// is also a selection, an item has to be in both.
    #[must_use]
    pub fn with_filter(mut self, filter: &'a Filter) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Requests a trace of how the answer was computed.
    #[must_use]
    pub fn with_trace(mut self) -> Self {
        self.traced = true;
        self
    }

    /// Transforms the query first.
    #[must_use]
    pub fn with_transform(mut self, transform: &'a dyn QueryTransform) -> Self {
        self.transform = Some(transform);
        self
    }

    /// Uses the similarities of the host's retriever instead of the token table.
    #[must_use]
    pub fn with_retriever(mut self, retriever: &'a dyn Retriever) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// Has the first items sorted by the host's reranker.
    #[must_use]
    pub fn with_reranker(mut self, reranker: &'a dyn Reranker) -> Self {
        self.reranker = Some(reranker);
        self
    }

    /// Boosts items by lessons from accepted routes, with their strength at this time.
    #[must_use]
    pub fn with_lessons(mut self, lessons: &'a Lessons, now: Timestamp) -> Self {
        self.lessons = Some((lessons, now));
        self
    }
}
