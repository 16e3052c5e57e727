//! Finding the few items that fit a request.

mod analyse;
mod analyser;
mod board;
mod card;
mod document;
mod index;
mod key;
mod postings;
mod score;
mod thesaurus;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::CapabilityId;

use crate::catalog::Catalog;
use crate::error::CatalogError;

pub use card::{ChoiceCard, MAX_CARD_TOKENS, Notice, render_cards};
pub use score::Selection;
pub use thesaurus::Thesaurus;

use analyse::Query;
pub(crate) use analyse::stems;
use board::Boards;
use index::Index;
use postings::{Place, Scored};
use score::Scorer;

/// Most items in one ranking.
pub const MAX_K: usize = 1000;

/// One ranked item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The capability.
    pub id: CapabilityId,
    /// How well it fits, in units of 1/65,536. Comparable within one ranking only.
    pub score: u64,
    /// Whether a near copy of it stands higher: same namespace, same words, other version.
    pub copy: bool,
}

impl Hit {
    /// The score as a number for people.
    #[must_use]
    pub fn points(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
        let score = self.score as f64;
        score / 65_536.0
    }
}

/// A catalog with its index.
///
/// A ranking depends on the items and the query alone: not on the order in which items were
/// added, and not on the machine. It is advice, not permission.
#[derive(Debug)]
pub struct Router {
    catalog: Catalog,
    index: Index,
    boards: Boards,
    thesaurus: Arc<Thesaurus>,
    ids: Vec<CapabilityId>,
    /// The lengths of the names, in bytes.
    lengths: Vec<usize>,
}

impl Router {
    /// Indexes a catalog, and checks that each item is found by a query of its own name.
    ///
    /// # Errors
    /// [`CatalogError::Unreachable`], naming an item that no query could find.
    pub fn new(catalog: Catalog) -> Result<Self, CatalogError> {
        let index = Index::build(&catalog)?;
        let ids = catalog.iter().map(|item| item.id.clone()).collect();
        let lengths = catalog.iter().map(|item| item.display_name().len()).collect();
        let (boards, thesaurus) = (Boards::default(), Thesaurus::built_in());
        Ok(Self { catalog, index, boards, thesaurus, ids, lengths })
    }

    /// The same with other words that stand for each other; an empty [`Thesaurus`] for none.
    #[must_use]
    pub fn with_thesaurus(mut self, thesaurus: Arc<Thesaurus>) -> Self {
        self.thesaurus = thesaurus;
        self
    }

    /// The items it ranks.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The `k` items that fit best, at most [`MAX_K`]. Items that share no word with the query, and
    /// have none that stands for one, are not among them, so there may be fewer.
    ///
    /// Higher scores come first; among equals the shorter name, then the lower id. Near copies of
    /// a ranked item follow after all others. Only the first 256 words of a query count.
    #[must_use]
    pub fn route(&self, query: &str, k: usize) -> Vec<Hit> {
        self.route_among(&Selection::all(self.ids.len()), query, k)
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
        Selection::of(self.ids.iter().map(visible).collect())
    }

    /// As [`Router::route_where`], with a selection made by this router.
    #[must_use]
    pub fn route_among(&self, selection: &Selection, query: &str, k: usize) -> Vec<Hit> {
        let k = k.min(MAX_K);
        let query = Query::of(query);
        let (index, boards) = (&self.index, &self.boards);
        let scorer = Scorer { index, boards, selection, thesaurus: &self.thesaurus };
        // Copies of the first few may fill many places: look further than k, but not at all.
        let most = (k * 16).max(256);
        let mut depth = k * 2;
        loop {
            let mut scored = scorer.best(&query, depth);
            let all = scored.len() < depth;
            scored.sort_unstable_by_key(|hit| self.order(*hit));
            scored.truncate(depth);
            let (first, copies) = self.apart(scored);
            if first.len() >= k || all || depth >= most {
                let marked = first.into_iter().map(|hit| (hit, false));
                let marked = marked.chain(copies.into_iter().map(|hit| (hit, true))).take(k);
                return marked.filter_map(|((p, score), copy)| self.hit(p, score, copy)).collect();
            }
            depth = (depth * 4).min(most);
        }
    }

    /// What stands first among its near copies, and the copies.
    fn apart(&self, ranked: Vec<Scored>) -> (Vec<Scored>, Vec<Scored>) {
        let mut gists = HashSet::with_capacity(ranked.len());
        let gist = |place: Place| self.index.gists.get(place as usize);
        ranked.into_iter().partition(|(place, _)| gist(*place).is_none_or(|g| gists.insert(*g)))
    }

    /// Cards for ranked items, in their order, each within [`MAX_CARD_TOKENS`].
    #[must_use]
    pub fn cards(&self, hits: &[Hit], counter: &dyn TokenCounter) -> Vec<ChoiceCard> {
        hits.iter()
            .filter_map(|hit| Some(ChoiceCard::new(self.catalog.get(&hit.id)?, hit.score, counter)))
            .collect()
    }

    fn hit(&self, place: Place, score: u32, copy: bool) -> Option<Hit> {
        Some(Hit { id: self.ids.get(place as usize)?.clone(), score: score.into(), copy })
    }

    /// Places are in the order of ids, so the last part breaks every tie.
    fn order(&self, (place, score): Scored) -> (Reverse<u32>, usize, Place) {
        (Reverse(score), self.lengths.get(place as usize).copied().unwrap_or(0), place)
    }
}
