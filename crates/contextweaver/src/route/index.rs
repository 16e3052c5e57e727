//! The index: for each term, the items that hold it and how much it weighs there.
//!
//! A base that was built in one go, and what was added and taken away since. What a term weighs in
//! an item depends on that item alone, and how rare a term is gets counted when a query comes, so
//! the answers are those of an index that was built anew.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_types::CapabilityId;

use crate::catalog::{Catalog, SelectableItem, shown};
use crate::error::CatalogError;
use crate::route::analyse::Terms;
use crate::route::analyser::Analyser;
use crate::route::delta::Additions;
use crate::route::document::{Document, Weight};
use crate::route::key::{self, Key};
use crate::route::postings::{Collector, List, MAX_PLACES, Place, Postings};
use crate::route::seeded::KeySet;
use crate::route::selection::{Bits, Selection, Stamp};
use crate::route::spelling::{self, Spelling};

/// What the router searches. Copies share the base.
#[derive(Debug, Clone)]
pub(super) struct Index {
    base: Arc<Base>,
    added: Vec<Arc<Added>>,
    single: Additions,
    pairs: Additions,
    gone: Gone,
    /// Which places hold an item still; `None`: all of them.
    live: Option<Arc<Bits>>,
    stamp: Stamp,
}

/// What was taken away from the base.
#[derive(Debug, Clone, Default)]
struct Gone {
    places: Vec<Place>,
    single: Additions,
    pairs: Additions,
}

/// What was built in one go.
#[derive(Debug)]
struct Base {
    catalog: Catalog,
    /// The items in the order of their ids: those of the places.
    items: Vec<Arc<SelectableItem>>,
    marks: Vec<Mark>,
    single: Postings,
    pairs: Postings,
    spelling: Spelling,
}

/// An item that came later.
#[derive(Debug)]
struct Added {
    item: SelectableItem,
    mark: Mark,
    /// Of the words that the base does not have.
    spelling: Spelling,
}

/// What is kept of an item to put a ranking in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    /// What the item says: equal for near copies.
    pub(super) gist: Key,
    /// The words of its name and description in their order.
    pub(super) sequence: Key,
    /// The length of its name, in bytes.
    pub(super) length: u32,
    /// Whether another item of the base says the same.
    twin: bool,
}

impl Mark {
    fn of(item: &SelectableItem, document: &Document) -> Self {
        let length = u32::try_from(item.display_name().len()).unwrap_or(u32::MAX);
        Self { gist: document.gist, sequence: document.sequence, length, twin: false }
    }
}

impl Index {
    pub(super) fn build(catalog: Catalog) -> Result<Self, CatalogError> {
        let base = Arc::new(Base::build(catalog)?);
        let (single, pairs) = (Additions::default(), Additions::default());
        let (gone, stamp) = (Gone::default(), Stamp::default());
        Ok(Self { base, added: Vec::new(), single, pairs, gone, live: None, stamp })
    }

    /// The same with this item, in the place of one with its id if there is one.
    pub(super) fn with(&self, item: SelectableItem) -> Result<Self, CatalogError> {
        let mut new = self.without(&item.id).unwrap_or_else(|| self.clone());
        let mut analyser = Analyser::default();
        let document = Document::of(&item, &mut analyser);
        let mark = Mark::of(&item, &document);
        let stems = analyser.new_stems().filter(|stem| !self.base.spelling.has(stem));
        let spelling = Spelling::of(stems);
        let place = Place::try_from(self.places()).unwrap_or(Place::MAX);
        let (single, pairs) = (sorted(document.single), sorted(document.pairs));
        new.single = new.single.with(place, &single);
        new.pairs = new.pairs.with(place, &pairs);
        if !findable(&item, |key| new.single(key).at(place).is_some()) {
            return Err(CatalogError::Unreachable { id: shown(item.id.as_str()) });
        }
        if let Some(live) = &mut new.live {
            Arc::make_mut(live).set(place);
        }
        new.added.push(Arc::new(Added { item, mark, spelling }));
        new.stamp = Stamp::default();
        Ok(new)
    }

    /// The same without the item of this id; nothing where there is none.
    pub(super) fn without(&self, id: &CapabilityId) -> Option<Self> {
        let place = self.place(id)?;
        let mut new = self.clone();
        let all = || Arc::new(Bits::of((0..self.places()).map(|_| true)));
        Arc::make_mut(new.live.get_or_insert_with(all)).clear(place);
        if place as usize >= self.base.items.len() {
            new.single = new.single.without(place);
            new.pairs = new.pairs.without(place);
        } else if let Some(item) = self.base.items.get(place as usize) {
            let document = Document::of(item, &mut Analyser::default());
            new.gone.places.push(place);
            new.gone.single = new.gone.single.with(place, &sorted(document.single));
            new.gone.pairs = new.gone.pairs.with(place, &sorted(document.pairs));
        }
        new.stamp = Stamp::default();
        Some(new)
    }

    /// How many items were added or taken away since the base was built, at the most.
    pub(super) fn changes(&self) -> usize {
        self.added.len() + self.places().saturating_sub(self.len())
    }

    /// How many items there are.
    fn len(&self) -> usize {
        let count = |live: &Arc<Bits>| usize::try_from(live.count()).unwrap_or(usize::MAX);
        self.live.as_ref().map_or(self.places(), count)
    }

    /// The items that hold the term.
    pub(super) fn single(&self, key: Key) -> List<'_> {
        let gone = self.gone.single.run(key).len();
        List { base: self.base.single.run(key), added: self.single.run(key), gone }
    }

    /// The items that hold the term as two neighbouring words.
    pub(super) fn pairs(&self, key: Key) -> List<'_> {
        let gone = self.gone.pairs.run(key).len();
        List { base: self.base.pairs.run(key), added: self.pairs.run(key), gone }
    }

    /// The places of the base whose items were taken away.
    pub(super) fn gone(&self) -> &[Place] {
        &self.gone.places
    }

    /// Words that a stem may mean which is misspelt, nearest first; of those alone that are seen.
    pub(super) fn spelt_like<'a>(
        &'a self,
        stem: &str,
        seen: impl Fn(&str) -> bool,
    ) -> Vec<&'a str> {
        let added = self.added.iter().map(|added| &added.spelling);
        let found = spelling::near(std::iter::once(&self.base.spelling).chain(added), stem, seen);
        found.into_iter().map(|(_, word)| word).collect()
    }

    /// How many places there are, those without an item among them.
    pub(super) fn places(&self) -> usize {
        self.base.items.len() + self.added.len()
    }

    /// Whether there is no place for one more, until it is built anew.
    pub(super) fn is_full(&self) -> bool {
        self.places() >= MAX_PLACES
    }

    pub(super) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// All items.
    pub(super) fn all(&self) -> Selection {
        Selection::all(self.len() as u64, self.live.clone(), self.stamp.clone())
    }

    /// The items that are let through.
    pub(super) fn select(&self, visible: impl FnMut(&SelectableItem) -> bool) -> Selection {
        self.select_among(&self.all(), visible)
    }

    /// Those of a selection that are let through; the others are not asked for.
    pub(super) fn select_among(
        &self,
        selection: &Selection,
        mut visible: impl FnMut(&SelectableItem) -> bool,
    ) -> Selection {
        let base = self.base.catalog.iter();
        let items = (0..).zip(base.chain(self.added.iter().map(|added| &added.item)));
        let seen = items.map(|(place, item)| selection.sees(place) && visible(item));
        Selection::of(Arc::new(Bits::of(seen)), self.stamp.clone())
    }

    /// Whether a selection has the item of this id.
    pub(super) fn is_in(&self, selection: &Selection, id: &CapabilityId) -> bool {
        self.place(id).is_some_and(|place| selection.sees(place))
    }

    fn holds(&self, place: Place) -> bool {
        self.live.as_ref().is_none_or(|live| live.get(place))
    }

    /// Where the item of this id stands.
    pub(super) fn place(&self, id: &CapabilityId) -> Option<Place> {
        let base = self.base.items.binary_search_by(|item| item.id.cmp(id)).ok();
        let later = || self.added.iter().rposition(|added| added.item.id == *id);
        let live = |at: &usize| Place::try_from(*at).is_ok_and(|place| self.holds(place));
        let place = base
            .filter(live)
            .or_else(|| later().map(|at| at + self.base.items.len()).filter(live))?;
        Place::try_from(place).ok()
    }

    pub(super) fn id(&self, place: Place) -> Option<&CapabilityId> {
        self.item(place).map(|item| &item.id)
    }

    /// The item at this place.
    pub(super) fn item(&self, place: Place) -> Option<&SelectableItem> {
        let place = place as usize;
        let later = || self.added.get(place.checked_sub(self.base.items.len())?);
        let base = self.base.items.get(place).map(AsRef::as_ref);
        base.or_else(|| later().map(|added| &added.item))
    }

    /// Which of two ids is the lower one.
    pub(super) fn compare_ids(&self, a: Place, b: Place) -> Ordering {
        // Those of the base stand in the order of their ids.
        let both_of_base = (a.max(b) as usize) < self.base.items.len();
        if both_of_base { a.cmp(&b) } else { self.id(a).cmp(&self.id(b)) }
    }

    pub(super) fn mark(&self, place: Place) -> Option<Mark> {
        let place = place as usize;
        let later = || self.added.get(place.checked_sub(self.base.items.len())?);
        self.base.marks.get(place).copied().or_else(|| later().map(|added| added.mark))
    }

    /// What the item says, where another may say the same.
    pub(super) fn shared_gist(&self, mark: Mark) -> Option<Key> {
        (mark.twin || !self.added.is_empty()).then_some(mark.gist)
    }

    /// The catalog of the base.
    pub(super) fn base(&self) -> &Catalog {
        &self.base.catalog
    }

    /// The items that were added since, by their places from the end of the base on.
    pub(super) fn later(&self) -> impl Iterator<Item = &SelectableItem> {
        self.added.iter().map(|added| &added.item)
    }

    /// The bytes that the base takes beside its catalog.
    pub(super) fn bytes(&self) -> usize {
        let base = &self.base;
        base.single.bytes()
            + base.pairs.bytes()
            + size_of_val(base.items.as_slice())
            + size_of_val(base.marks.as_slice())
            + base.spelling.bytes()
    }
}

impl Base {
    fn build(catalog: Catalog) -> Result<Self, CatalogError> {
        let (mut single, mut pairs) = (Collector::default(), Collector::default());
        let mut analyser = Analyser::default();
        let (mut marks, mut stems) = (Vec::with_capacity(catalog.len()), BTreeSet::new());
        for (place, item) in (0..).zip(catalog.iter()) {
            let document = Document::of(item, &mut analyser);
            marks.push(Mark::of(item, &document));
            document.single.weights(|key, weight| single.note(key, place, weight));
            document.pairs.weights(|key, weight| pairs.note(key, place, weight));
            stems.extend(analyser.new_stems().map(Box::<str>::from));
        }
        find_twins(&mut marks);
        let items = catalog.shared().cloned().collect();
        let (single, pairs) = (single.finish(), pairs.finish());
        let spelling = Spelling::of(stems.iter().map(AsRef::as_ref));
        let this = Self { catalog, items, marks, single, pairs, spelling };
        this.check()?;
        Ok(this)
    }

    /// Every item must be found by a query of its own name.
    fn check(&self) -> Result<(), CatalogError> {
        for (place, item) in (0..).zip(self.catalog.iter()) {
            let here = |key| List { base: self.single.run(key), ..List::default() };
            if !findable(item, |key| here(key).at(place).is_some()) {
                return Err(CatalogError::Unreachable { id: shown(item.id.as_str()) });
            }
        }
        Ok(())
    }
}

/// Marks what says the same as another.
fn find_twins(marks: &mut [Mark]) {
    let mut gists: Vec<Key> = marks.iter().map(|mark| mark.gist).collect();
    gists.sort_unstable();
    let several = gists.chunk_by(|a, b| a == b).filter(|same| same.len() > 1);
    let several: KeySet = several.filter_map(|same| same.first().copied()).collect();
    for mark in marks {
        mark.twin = several.contains(&mark.gist);
    }
}

/// Whether a query of the item's own name meets it.
fn findable(item: &SelectableItem, holds: impl Fn(Key) -> bool) -> bool {
    Terms::of_name(item.display_name()).single.iter().any(|term| holds(key::of(term)))
}

fn sorted(occurrences: super::document::Occurrences) -> Vec<(Key, Weight)> {
    let mut terms = Vec::new();
    occurrences.weights(|key, weight| terms.push((key, weight)));
    terms.sort_unstable();
    terms
}
