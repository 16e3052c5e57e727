//! The semantic index: the vectors of all items.

use std::sync::Arc;

use super::index::Index;
use super::item_vectors::ItemVectors;
use super::postings::DocId;
use super::query::MAX_QUERY_TERMS;
use super::table::{TokenTable, Vector};

/// The vectors of the items of an index, by a token table.
#[derive(Debug, Clone)]
pub(super) struct SemanticIndex {
    table: Arc<TokenTable>,
    base: Arc<ItemVectors>,
    /// The number of documents in the base segment.
    docs: usize,
    /// The vectors of items that were added since.
    added: Vec<Arc<ItemVectors>>,
}

impl SemanticIndex {
    pub(super) fn build(table: Arc<TokenTable>, index: &Index) -> Self {
        let base = Arc::new(ItemVectors::of(&table, index.base().iter()));
        let later = index.added_items().map(|item| Arc::new(ItemVectors::of(&table, [item])));
        Self { docs: index.base().len(), added: later.collect(), base, table }
    }

    /// A copy with the item that was added to the index last.
    pub(super) fn with_last_added(&self, index: &Index) -> Self {
        let mut new = self.clone();
        let last = index.added_items().last();
        new.added.extend(last.map(|item| Arc::new(ItemVectors::of(&self.table, [item]))));
        new
    }

    pub(super) fn table(&self) -> Arc<TokenTable> {
        Arc::clone(&self.table)
    }

    /// The vector of the weighted words of a query, in their order, and of the words that it implies;
    /// `None` if the table knows none of them.
    pub(super) fn query_vector<'w>(
        &self,
        own: impl Iterator<Item = (&'w str, u64)> + Clone,
        implied: impl Iterator<Item = (&'w str, u64)>,
    ) -> Option<Vector> {
        let (own, implied) = (own.take(MAX_QUERY_TERMS), implied.take(MAX_QUERY_TERMS));
        let vector = self.table.query_sum_cached(own, implied);
        vector.has_direction().then_some(vector)
    }

    /// The cosine similarity of the query and an item, in units of 1/65,536.
    pub(super) fn similarity(&self, query: &Vector, doc: DocId) -> i64 {
        let doc = doc as usize;
        let near = match doc.checked_sub(self.docs) {
            None => self.base.similarity(query, doc),
            Some(later) => self.added.get(later).and_then(|vectors| vectors.similarity(query, 0)),
        };
        near.unwrap_or(0)
    }

    pub(super) fn bytes(&self) -> usize {
        self.base.bytes()
    }
}
