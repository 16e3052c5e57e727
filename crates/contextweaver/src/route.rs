//! Finds the few items that fit a request.

mod accumulator;
mod added_postings;
mod analyser;
mod answer;
mod answering;
mod argument_type;
mod associated_terms;
mod association;
mod clause;
mod common_words;
mod confidence;
mod corrections;
mod coverage;
mod document;
mod feedback;
mod fusion;
mod hashing;
mod hooks;
mod index;
mod intent;
mod item_vectors;
mod lessons;
mod live_router;
mod pool;
mod postings;
mod query;
mod query_scorer;
mod query_scores;
mod query_term;
mod ranker;
mod request;
mod retriever;
mod score_explanation;
mod selection;
mod semantic_index;
mod similarity;
mod slot_index;
mod spelling;
mod table;
mod term_key;
mod thesaurus;
mod top_k;
mod trace;
mod translation;

use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::CapabilityId;

use crate::card::ChoiceCard;
use crate::catalog::{Catalog, CatalogChange, SelectableItem};
use crate::error::CatalogError;

pub use answer::{Hit, RouteAnswer};
pub use confidence::RankingFeatures;
pub use hooks::{Identity, QueryTransform, Reranker, WithoutPleasantries};
pub use lessons::{Lesson, LessonBounds, LessonError, Lessons};
pub use live_router::LiveRouter;
pub use request::RouteRequest;
pub use retriever::Retriever;
pub use selection::Selection;
pub use table::{TableError, TokenTable};
pub use thesaurus::Thesaurus;
pub use trace::{Candidate, RouteTrace, TermShare};

use index::Index;
use pool::Pools;
use semantic_index::SemanticIndex;

/// The most items in one ranking: all that a catalog can hold.
pub const MAX_K: usize = crate::catalog::MAX_ITEMS;

/// A catalog with its search index.
///
/// A ranking depends only on the items and the query: not on the order in which items were added, on
/// items that were removed again, or on the machine. It is advice, not permission.
///
/// A router is immutable. [`Router::with_item`] and [`Router::without_item`] return another one that
/// shares nearly everything with it; a [`LiveRouter`] holds the newest for many readers.
#[derive(Debug, Clone)]
pub struct Router {
    index: Index,
    pools: Arc<Pools>,
    thesaurus: Arc<Thesaurus>,
    semantic_index: Option<SemanticIndex>,
    /// All items. It shares unchanged parts with the catalog of the index.
    catalog: Catalog,
}

impl Router {
    /// Indexes a catalog, and checks that a query for its own name finds each item.
    ///
    /// # Errors
    /// [`CatalogError::Unreachable`] with an item that no query could find.
    pub fn new(catalog: Catalog) -> Result<Self, CatalogError> {
        let (index, pools) = (Index::build(catalog.clone())?, Arc::new(Pools::default()));
        let thesaurus = Thesaurus::built_in();
        Ok(Self { index, pools, thesaurus, semantic_index: None, catalog })
    }

    /// Replaces the thesaurus; an empty [`Thesaurus`] turns synonyms off.
    #[must_use]
    pub fn with_thesaurus(mut self, thesaurus: Arc<Thesaurus>) -> Self {
        self.thesaurus = thesaurus;
        self
    }

    /// Adds semantic ranking by a table of word vectors: the best items by words are reordered by how
    /// similar they are to the query in meaning. If hardly any item shares a word with the query, all
    /// items are compared.
    #[must_use]
    pub fn with_table(mut self, table: Arc<TokenTable>) -> Self {
        self.semantic_index = Some(SemanticIndex::build(table, &self.index));
        self
    }

    /// A router with this item added, or replacing the one with its id. The cost grows with the number
    /// of changes since the last full build; [`Router::merged`] resets it.
    ///
    /// # Errors
    /// As [`Router::new`] and [`Catalog::insert`].
    pub fn with_item(&self, item: SelectableItem) -> Result<Self, CatalogError> {
        if self.index.is_full() {
            return self.merged()?.with_item(item);
        }
        let mut catalog = self.catalog.clone();
        catalog.apply([match catalog.get(&item.id) {
            Some(_) => CatalogChange::Change(item.clone()),
            None => CatalogChange::Add(item.clone()),
        }])?;
        let index = self.index.with(item)?;
        let semantic_index =
            self.semantic_index.as_ref().map(|semantic| semantic.with_last_added(&index));
        Ok(self.with_parts(index, semantic_index, catalog))
    }

    /// A router without the item with this id; `None` if there is no such item.
    #[must_use]
    pub fn without_item(&self, id: &CapabilityId) -> Option<Self> {
        let index = self.index.without(id)?;
        let mut catalog = self.catalog.clone();
        catalog.apply([CatalogChange::Remove(id.clone())]).ok()?;
        Some(self.with_parts(index, self.semantic_index.clone(), catalog))
    }

    /// A router with a freshly built index, which gives the same answers. It takes long, so it belongs
    /// on a background thread.
    ///
    /// # Errors
    /// As [`Router::new`].
    pub fn merged(&self) -> Result<Self, CatalogError> {
        let index = Index::build(self.catalog.clone())?;
        let semantic_index =
            self.semantic_index.as_ref().map(|m| SemanticIndex::build(m.table(), &index));
        Ok(self.with_parts(index, semantic_index, self.catalog.clone()))
    }

    /// How many changes were made since the base segment was built.
    #[must_use]
    pub fn change_count(&self) -> usize {
        self.index.changes()
    }

    fn with_parts(
        &self,
        index: Index,
        semantic_index: Option<SemanticIndex>,
        catalog: Catalog,
    ) -> Self {
        let (pools, thesaurus) = (Arc::clone(&self.pools), Arc::clone(&self.thesaurus));
        Self { index, pools, thesaurus, semantic_index, catalog }
    }

    /// The items that are ranked.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The item with this id.
    #[must_use]
    pub fn item(&self, id: &CapabilityId) -> Option<&SelectableItem> {
        self.catalog.get(id)
    }

    /// The bytes of the index without its items: of terms and postings, and of item vectors (without
    /// the table itself).
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        (self.index.bytes(), self.semantic_index.as_ref().map_or(0, SemanticIndex::bytes))
    }

    /// The `k` best items, at most [`MAX_K`]. There may be fewer, because items that share no word with
    /// the query, and no synonym of one, are left out.
    ///
    /// Higher scores come first; ties are broken by the shorter name, then by the lower id. Near
    /// duplicates of a ranked item follow after all others. Only the first 256 words of a query count.
    #[must_use]
    pub fn route(&self, query: &str, k: usize) -> Vec<Hit> {
        self.answer(&RouteRequest::new(query, k)).hits
    }

    /// As [`Router::route`], over the items for which `visible` is true. The others have no influence:
    /// the answer is that of a catalog without them.
    #[must_use]
    pub fn route_where(
        &self,
        query: &str,
        k: usize,
        visible: impl Fn(&CapabilityId) -> bool,
    ) -> Vec<Hit> {
        self.route_among(&self.select(visible), query, k)
    }

    /// The selection of items for which `visible` is true, for use in several queries.
    #[must_use]
    pub fn select(&self, visible: impl Fn(&CapabilityId) -> bool) -> Selection {
        self.index.select(|item| visible(&item.id))
    }

    /// As [`Router::select`], with the complete item as the argument.
    #[must_use]
    pub fn select_items(&self, visible: impl Fn(&SelectableItem) -> bool) -> Selection {
        self.index.select(visible)
    }

    /// As [`Router::route_where`], with a selection that this router made.
    #[must_use]
    pub fn route_among(&self, selection: &Selection, query: &str, k: usize) -> Vec<Hit> {
        self.answer(&RouteRequest::new(query, k).with_selection(selection)).hits
    }

    /// Cards for ranked items, in order, each within [`MAX_CARD_TOKENS`](crate::card::MAX_CARD_TOKENS).
    #[must_use]
    pub fn cards(&self, hits: &[Hit], counter: &dyn TokenCounter) -> Vec<ChoiceCard> {
        hits.iter()
            .filter_map(|hit| Some(ChoiceCard::new(self.item(&hit.id)?, hit.score, counter)))
            .collect()
    }
}
