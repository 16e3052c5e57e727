//! The similarity in meaning between items and a query.

use weaver_types::CapabilityId;

use super::index::Index;
use super::postings::DocId;
use super::query::Query;
use super::retriever::Retriever;
use super::semantic_index::SemanticIndex;
use super::table::Vector;
use crate::fixed_point::ONE;

/// What says how near items are to a query and to each part of it.
pub(super) enum Similarity<'a> {
    /// A table: the vectors of the query and of each part, where it knows any word of them.
    Table { meaning: &'a SemanticIndex, asked: Vec<Option<Vector>> },
    /// The host.
    Host { retriever: &'a dyn Retriever, query: &'a Query<'a>, index: &'a Index },
}

impl Similarity<'_> {
    /// For each of these items, in units of 1/65,536: to the whole query at 0, to its parts from 1
    /// on. There may be fewer than there are items; what is missing counts as 0.
    pub(super) fn of(&self, at: usize, docs: &[DocId]) -> Vec<i64> {
        match self {
            Self::Table { meaning, asked } => match asked.get(at) {
                Some(Some(asked)) => {
                    docs.iter().map(|doc| meaning.similarity(asked, *doc)).collect()
                }
                _ => Vec::new(),
            },
            Self::Host { retriever, query, index } => {
                let part = at.checked_sub(1).and_then(|at| query.parts.get(at));
                let text = part.map_or(query.text, |part| part.text);
                let ids: Vec<&CapabilityId> =
                    docs.iter().filter_map(|doc| index.id(*doc)).collect();
                let one = i64::try_from(ONE).unwrap_or(i64::MAX);
                let near = retriever.near(text, &ids).into_iter();
                near.take(ids.len()).map(|near| near.clamp(-one, one)).collect()
            }
        }
    }

    /// Whether it is the table: as many items may be compared as there are.
    pub(super) fn is_table(&self) -> bool {
        matches!(self, Self::Table { .. })
    }

    /// Whether items are to be given best first: a host may look at the first ones only.
    pub(super) fn wants_order(&self) -> bool {
        matches!(self, Self::Host { .. })
    }
}
