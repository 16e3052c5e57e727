//! The hooks by which a host changes queries and rankings.

use std::borrow::Cow;

use super::Hit;
use crate::catalog::SelectableItem;

/// Changes a query before it is routed.
pub trait QueryTransform {
    /// The query to route instead.
    fn transform<'q>(&self, query: &'q str) -> Cow<'q, str>;
}

/// Leaves a query unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Identity;

impl QueryTransform for Identity {
    fn transform<'q>(&self, query: &'q str) -> Cow<'q, str> {
        Cow::Borrowed(query)
    }
}

/// Removes sentences that consist only of stop words, such as greetings and thanks. If nothing would
/// be left, the query is unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct WithoutPleasantries;

impl QueryTransform for WithoutPleasantries {
    fn transform<'q>(&self, query: &'q str) -> Cow<'q, str> {
        let says = |text: &&str| !crate::stems::stems(text).is_empty();
        let kept: String = query.split_inclusive(['.', '!', '?', '\n']).filter(says).collect();
        if kept.is_empty() || kept == query { Cow::Borrowed(query) } else { Cow::Owned(kept) }
    }
}

/// A reranker of the host, for example a cross-encoder, which reads query and item together.
pub trait Reranker {
    /// New scores for the first items, in the given order. Missing values count as 0. The items are
    /// then sorted by these scores; equal ones keep their order.
    fn scores(&self, query: &str, items: &[(&Hit, &SelectableItem)]) -> Vec<u64>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pleasantries_go_and_a_request_stays() {
        let strip = |text| WithoutPleasantries.transform(text).into_owned();
        assert_eq!(strip("Hello! Delete the file. Thank you!"), " Delete the file.");
        assert_eq!(strip("please help me"), "please help me");
        assert_eq!(Identity.transform("as it is"), "as it is");
    }
}
