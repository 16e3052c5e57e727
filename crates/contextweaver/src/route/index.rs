//! The index: for each term, the items that hold it and how much it weighs there.

use crate::catalog::{Catalog, shown};
use crate::error::CatalogError;
use crate::route::analyse::Terms;
use crate::route::analyser::Analyser;
use crate::route::document::Document;
use crate::route::key::{self, Key};
use crate::route::postings::{Collector, List, Place, Postings};

/// What the router searches.
#[derive(Debug, Default)]
pub(super) struct Index {
    single: Postings,
    pairs: Postings,
    /// For each item, what it says: equal for near copies.
    pub(super) gists: Vec<Key>,
}

impl Index {
    pub(super) fn build(catalog: &Catalog) -> Result<Self, CatalogError> {
        let (mut single, mut pairs) = (Collector::default(), Collector::default());
        let mut analyser = Analyser::default();
        let mut gists = Vec::with_capacity(catalog.len());
        for (place, item) in (0..).zip(catalog.iter()) {
            let document = Document::of(item, &mut analyser);
            document.single.weights(|key, weight| single.note(key, place, weight));
            document.pairs.weights(|key, weight| pairs.note(key, place, weight));
            gists.push(document.gist);
        }
        let this = Self { single: single.finish(), pairs: pairs.finish(), gists };
        this.check(catalog)?;
        Ok(this)
    }

    /// Every item must be found by a query of its own name.
    fn check(&self, catalog: &Catalog) -> Result<(), CatalogError> {
        for (place, item) in (0..).zip(catalog.iter()) {
            let query = Terms::of_name(item.display_name());
            if !query.single.iter().any(|term| self.holds(key::of(term), place)) {
                return Err(CatalogError::Unreachable { id: shown(item.id.as_str()) });
            }
        }
        Ok(())
    }

    fn holds(&self, key: Key, place: Place) -> bool {
        self.single(key).at(place).is_some()
    }

    /// The items that hold the term, in the order of their places.
    pub(super) fn single(&self, key: Key) -> List<'_> {
        self.single.list(key)
    }

    /// The items that hold the term as two neighbouring words.
    pub(super) fn pairs(&self, key: Key) -> List<'_> {
        self.pairs.list(key)
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.gists.len()
    }
}
