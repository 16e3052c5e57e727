//! The meaning of all items of an index.

use std::sync::Arc;

use super::index::Index;
use super::postings::DocId;
use super::query::MAX_QUERY_TERMS;
use super::table::{TokenTable, Vector};
use super::vectors::Vectors;

/// What the items of an index mean, by a table.
#[derive(Debug, Clone)]
pub(super) struct SemanticIndex {
    table: Arc<TokenTable>,
    base: Arc<Vectors>,
    /// How many documents the base has.
    docs: usize,
    /// Of each item that was added since.
    added: Vec<Arc<Vectors>>,
}

impl SemanticIndex {
    pub(super) fn of(table: Arc<TokenTable>, index: &Index) -> Self {
        let base = Arc::new(Vectors::of(&table, index.base().iter()));
        let later = index.later().map(|item| Arc::new(Vectors::of(&table, [item])));
        Self { docs: index.base().len(), added: later.collect(), base, table }
    }

    /// The same with the item that was added to the index last.
    pub(super) fn with_last(&self, index: &Index) -> Self {
        let mut new = self.clone();
        let last = index.later().last();
        new.added.extend(last.map(|item| Arc::new(Vectors::of(&self.table, [item]))));
        new
    }

    pub(super) fn table(&self) -> Arc<TokenTable> {
        Arc::clone(&self.table)
    }

    /// The vector of the words of a query, which count by what they are worth; nothing where the
    /// table knows none of them.
    pub(super) fn query_vector<'w>(
        &self,
        words: impl Iterator<Item = (&'w str, u64)>,
    ) -> Option<Vector> {
        let vector = self.table.sum_kept(words.take(MAX_QUERY_TERMS));
        vector.has_direction().then_some(vector)
    }

    /// How near the item is, in units of 1/65,536.
    pub(super) fn similarity(&self, query: &Vector, doc: DocId) -> i64 {
        let doc = doc as usize;
        let near = match doc.checked_sub(self.docs) {
            None => self.base.near(query, doc),
            Some(later) => self.added.get(later).and_then(|vectors| vectors.near(query, 0)),
        };
        near.unwrap_or(0)
    }

    pub(super) fn bytes(&self) -> usize {
        self.base.bytes()
    }
}
