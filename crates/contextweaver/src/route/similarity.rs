//! The semantic similarity of items and a query.

use weaver_types::CapabilityId;

use super::index::Index;
use super::postings::DocId;
use super::query::Query;
use super::retriever::Retriever;
use super::semantic_index::SemanticIndex;
use super::table::Vector;
use crate::fixed_point::ONE;

/// The source of similarities for a query and for each part of it.
pub(super) enum SimilaritySource<'a> {
    /// A semantic index, with the vectors of the query and of each part that has known words.
    Table { semantic_index: &'a SemanticIndex, query_vectors: Vec<Option<Vector>> },
    /// The host's retriever.
    Host { retriever: &'a dyn Retriever, query: &'a Query<'a>, index: &'a Index },
}

impl SimilaritySource<'_> {
    /// The similarities of these documents, in units of 1/65,536: with the whole query if `at` is 0,
    /// else with its part `at - 1`. Missing values at the end count as 0.
    pub(super) fn similarities(&self, at: usize, docs: &[DocId]) -> Vec<i64> {
        match self {
            Self::Table { semantic_index, query_vectors } => match query_vectors.get(at) {
                Some(Some(asked)) => {
                    docs.iter().map(|doc| semantic_index.similarity(asked, *doc)).collect()
                }
                _ => Vec::new(),
            },
            Self::Host { retriever, query, index } => {
                let part = at.checked_sub(1).and_then(|at| query.parts.get(at));
                let text = part.map_or(query.text, |part| part.text);
                let ids: Vec<&CapabilityId> =
                    docs.iter().filter_map(|doc| index.id(*doc)).collect();
                let one = i64::try_from(ONE).unwrap_or(i64::MAX);
                let near = retriever.similarities(text, &ids).into_iter();
                near.take(ids.len()).map(|near| near.clamp(-one, one)).collect()
            }
        }
    }

    /// Whether it is the semantic index, with which any number of items may be compared.
    pub(super) fn is_table(&self) -> bool {
        matches!(self, Self::Table { .. })
    }

    /// Whether documents have to be passed best first, because a host may look only at the first ones.
    pub(super) fn needs_order(&self) -> bool {
        matches!(self, Self::Host { .. })
    }
}
