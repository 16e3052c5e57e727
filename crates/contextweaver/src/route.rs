//! Finding the few items that fit a request.

mod accumulator;
mod additions;
mod analyser;
mod answer;
mod answering;
mod argument_type;
mod clause;
mod common_words;
mod confidence;
mod corrections;
mod coverage;
mod document;
mod feedback;
mod fusion;
mod hashing;
mod index;
mod intent;
mod key;
mod lessons;
mod lexicon;
mod live_router;
mod pool;
mod port;
mod postings;
mod query;
mod query_scorer;
mod query_scores;
mod query_term;
mod ranker;
mod request;
mod retriever;
mod selection;
mod semantic_index;
mod similarity;
mod slots;
mod spelling;
mod table;
mod thesaurus;
mod top_k;
mod trace;
mod vectors;

use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::CapabilityId;

use crate::card::ChoiceCard;
use crate::catalog::{Catalog, CatalogChange, SelectableItem};
use crate::error::CatalogError;

pub use answer::{Hit, RouteAnswer};
pub use confidence::Evidence;
pub use lessons::{Lesson, LessonBounds, LessonError, Lessons};
pub use live_router::LiveRouter;
pub use port::{Identity, QueryTransform, Reranker, WithoutPleasantries};
pub use request::RouteRequest;
pub use retriever::Retriever;
pub use selection::Selection;
pub use table::{TableError, TokenTable};
pub use thesaurus::Thesaurus;
pub use trace::{Candidate, RouteTrace, TermShare};

use index::Index;
use pool::Pools;
use semantic_index::SemanticIndex;

/// Most items in one ranking: all that a catalog can hold.
pub const MAX_K: usize = crate::catalog::MAX_ITEMS;

/// A catalog with its index.
///
/// A ranking depends on the items and the query alone: not on the order in which items were
/// added, not on what was taken away again, and not on the machine. It is advice, not permission.
///
/// A router never changes. [`Router::with`] and [`Router::without`] give another one that shares
/// nearly all with it; [`LiveRouter`] keeps the newest for many readers.
#[derive(Debug, Clone)]
pub struct Router {
    index: Index,
    pools: Arc<Pools>,
    thesaurus: Arc<Thesaurus>,
    meaning: Option<SemanticIndex>,
    /// All items. It shares what did not change with that of the index.
    catalog: Catalog,
}

impl Router {
    /// Indexes a catalog, and checks that each item is found by a query of its own name.
    ///
    /// # Errors
    /// [`CatalogError::Unreachable`], naming an item that no query could find.
    pub fn new(catalog: Catalog) -> Result<Self, CatalogError> {
        let (index, pools) = (Index::build(catalog.clone())?, Arc::new(Pools::default()));
        let thesaurus = Thesaurus::built_in();
        Ok(Self { index, pools, thesaurus, meaning: None, catalog })
    }

    /// The same with other words that stand for each other; an empty [`Thesaurus`] for none.
    #[must_use]
    pub fn with_thesaurus(mut self, thesaurus: Arc<Thesaurus>) -> Self {
        self.thesaurus = thesaurus;
        self
    }

    /// The same, looking at the meaning of words too: of the items that fit best by their words,
    /// those come first that also mean what the query does. Where hardly any share a word with it,
    /// all are looked at.
    #[must_use]
    pub fn with_table(mut self, table: Arc<TokenTable>) -> Self {
        self.meaning = Some(SemanticIndex::of(table, &self.index));
        self
    }

    /// The router of a catalog with this item too, in the place of one with its id. It takes as
    /// long as there were changes before; [`Router::merged`] makes an end of that.
    ///
    /// # Errors
    /// As [`Router::new`] and [`Catalog::insert`].
    pub fn with(&self, item: SelectableItem) -> Result<Self, CatalogError> {
        if self.index.is_full() {
            return self.merged()?.with(item);
        }
        let mut catalog = self.catalog.clone();
        catalog.apply([match catalog.get(&item.id) {
            Some(_) => CatalogChange::Change(item.clone()),
            None => CatalogChange::Add(item.clone()),
        }])?;
        let index = self.index.with(item)?;
        let meaning = self.meaning.as_ref().map(|meaning| meaning.with_last(&index));
        Ok(self.on(index, meaning, catalog))
    }

    /// The router of a catalog without this item; nothing where there is none.
    #[must_use]
    pub fn without(&self, id: &CapabilityId) -> Option<Self> {
        let index = self.index.without(id)?;
        let mut catalog = self.catalog.clone();
        catalog.apply([CatalogChange::Remove(id.clone())]).ok()?;
        Some(self.on(index, self.meaning.clone(), catalog))
    }

    /// The same, built anew: what it answers does not change. It takes long, so it is for a thread
    /// that nobody waits for.
    ///
    /// # Errors
    /// As [`Router::new`].
    pub fn merged(&self) -> Result<Self, CatalogError> {
        let index = Index::build(self.catalog.clone())?;
        let meaning = self.meaning.as_ref().map(|m| SemanticIndex::of(m.table(), &index));
        Ok(self.on(index, meaning, self.catalog.clone()))
    }

    /// How many changes lie beside the part that was built in one go.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.index.changes()
    }

    fn on(&self, index: Index, meaning: Option<SemanticIndex>, catalog: Catalog) -> Self {
        let (pools, thesaurus) = (Arc::clone(&self.pools), Arc::clone(&self.thesaurus));
        Self { index, pools, thesaurus, meaning, catalog }
    }

    /// The items it ranks.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The item with this id.
    #[must_use]
    pub fn item(&self, id: &CapabilityId) -> Option<&SelectableItem> {
        self.catalog.get(id)
    }

    /// The bytes that the index takes beside its items: terms and lists, and the vectors of a
    /// table, without the table.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        (self.index.bytes(), self.meaning.as_ref().map_or(0, SemanticIndex::bytes))
    }

    /// The `k` items that fit best, at most [`MAX_K`]. Items that share no word with the query, and
    /// have none that stands for one, are not among them, so there may be fewer.
    ///
    /// Higher scores come first; among equals the shorter name, then the lower id. Near copies of
    /// a ranked item follow after all others. Only the first 256 words of a query count.
    #[must_use]
    pub fn route(&self, query: &str, k: usize) -> Vec<Hit> {
        self.answer(&RouteRequest::new(query, k)).hits
    }

    /// As [`Router::route`], over the items that `visible` lets through. The others leave no
    /// trace: the answer is the one of a catalog without them.
    #[must_use]
    pub fn route_where(
        &self,
        query: &str,
        k: usize,
        visible: impl Fn(&CapabilityId) -> bool,
    ) -> Vec<Hit> {
        self.route_among(&self.select(visible), query, k)
    }

    /// The items that `visible` lets through, to be used for several queries.
    #[must_use]
    pub fn select(&self, visible: impl Fn(&CapabilityId) -> bool) -> Selection {
        self.index.select(|item| visible(&item.id))
    }

    /// As [`Router::select`], by the whole item.
    #[must_use]
    pub fn select_items(&self, visible: impl Fn(&SelectableItem) -> bool) -> Selection {
        self.index.select(visible)
    }

    /// As [`Router::route_where`], with a selection made by this router.
    #[must_use]
    pub fn route_among(&self, selection: &Selection, query: &str, k: usize) -> Vec<Hit> {
        self.answer(&RouteRequest::new(query, k).among(selection)).hits
    }

    /// Cards for ranked items, in their order, each within [`MAX_CARD_TOKENS`](crate::card::MAX_CARD_TOKENS).
    #[must_use]
    pub fn cards(&self, hits: &[Hit], counter: &dyn TokenCounter) -> Vec<ChoiceCard> {
        hits.iter()
            .filter_map(|hit| Some(ChoiceCard::new(self.item(&hit.id)?, hit.score, counter)))
            .collect()
    }
}
