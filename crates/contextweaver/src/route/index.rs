//! The inverted index: for each term, the items that hold it and how much it weighs there.

use std::collections::HashMap;

use crate::catalog::{Catalog, shown};
use crate::error::CatalogError;
use crate::route::analyse::Terms;
use crate::route::document::Document;

/// An item as its position in the order of ids.
pub(super) type Place = u32;

/// One item under a term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) place: Place,
    pub(super) weight: u32,
}

/// Postings by term. Only looked up, never walked, so its order does not matter.
type Postings = HashMap<Box<str>, Vec<Posting>>;

/// What the router searches.
#[derive(Debug, Default)]
pub(super) struct Index {
    single: Postings,
    pairs: Postings,
    /// For each item, the group of near copies it belongs to.
    pub(super) groups: Vec<u32>,
}

impl Index {
    pub(super) fn build(catalog: &Catalog) -> Result<Self, CatalogError> {
        let mut this = Self::default();
        let mut groups: HashMap<Vec<String>, u32> = HashMap::new();
        for (place, item) in (0u32..).zip(catalog.iter()) {
            let document = Document::of(item);
            add(&mut this.single, place, document.single.weights());
            add(&mut this.pairs, place, document.pairs.weights());
            let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
            this.groups.push(*groups.entry(document.gist).or_insert(next));
        }
        this.check(catalog)?;
        Ok(this)
    }

    /// Every item must be found by a query of its own name.
    fn check(&self, catalog: &Catalog) -> Result<(), CatalogError> {
        for (place, item) in (0u32..).zip(catalog.iter()) {
            let query = Terms::of_name(item.display_name());
            let found = query.single.iter().any(|term| {
                self.single(term).binary_search_by_key(&place, |posting| posting.place).is_ok()
            });
            if !found {
                return Err(CatalogError::Unreachable { id: shown(item.id.as_str()) });
            }
        }
        Ok(())
    }

    /// The items that hold the term, in the order of their places.
    pub(super) fn single(&self, term: &str) -> &[Posting] {
        self.single.get(term).map_or(&[], Vec::as_slice)
    }

    /// The items that hold the term as two neighbouring words.
    pub(super) fn pairs(&self, term: &str) -> &[Posting] {
        self.pairs.get(term).map_or(&[], Vec::as_slice)
    }
}

fn add(postings: &mut Postings, place: Place, weights: impl Iterator<Item = (String, u64)>) {
    for (term, weight) in weights {
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        let posting = Posting { place, weight };
        match postings.get_mut(term.as_str()) {
            Some(list) => list.push(posting),
            None => {
                postings.insert(term.into_boxed_str(), vec![posting]);
            }
        }
    }
}
