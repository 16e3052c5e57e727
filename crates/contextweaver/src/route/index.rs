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
use crate::route::additions::Additions;
use crate::route::analyser::Analyser;
use crate::route::document::{Document, Weight};
use crate::route::hashing::KeySet;
use crate::route::key::{self, Key};
use crate::route::postings::{DocId, MAX_DOCS, Postings, PostingsBuilder, PostingsList};
use crate::route::query::Terms;
use crate::route::selection::{Bits, Selection, Stamp};
use crate::route::spelling::{self, Spelling};

/// What the router searches. Copies share the base.
#[derive(Debug, Clone)]
pub(super) struct Index {
    base: Arc<BaseSegment>,
    added: Vec<Arc<AddedDoc>>,
    single: Additions,
    pairs: Additions,
    gone: Deletions,
    /// Which documents hold an item still; `None`: all of them.
    live: Option<Arc<Bits>>,
    stamp: Stamp,
}

/// What was taken away from the base.
#[derive(Debug, Clone, Default)]
struct Deletions {
    docs: Vec<DocId>,
    single: Additions,
    pairs: Additions,
}

/// What was built in one go.
#[derive(Debug)]
struct BaseSegment {
    catalog: Catalog,
    /// The items in the order of their ids, which is that of the documents.
    items: Vec<Arc<SelectableItem>>,
    marks: Vec<DocSignature>,
    single: Postings,
    pairs: Postings,
    spelling: Spelling,
}

/// An item that came later.
#[derive(Debug)]
struct AddedDoc {
    item: SelectableItem,
    mark: DocSignature,
    /// Of the words that the base does not have.
    spelling: Spelling,
}

/// What is kept of an item to put a ranking in order.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocSignature {
    /// What the item says: equal for near copies.
    pub(super) gist: Key,
    /// The words of its name and description in their order.
    pub(super) sequence: Key,
    /// The length of its name, in bytes.
    pub(super) length: u32,
    /// Whether another item of the base says the same.
    twin: bool,
}

impl DocSignature {
    fn of(item: &SelectableItem, document: &Document) -> Self {
        let length = u32::try_from(item.display_name().len()).unwrap_or(u32::MAX);
        Self { gist: document.gist, sequence: document.sequence, length, twin: false }
    }
}

impl Index {
    pub(super) fn build(catalog: Catalog) -> Result<Self, CatalogError> {
        let base = Arc::new(BaseSegment::build(catalog)?);
        let (single, pairs) = (Additions::default(), Additions::default());
        let (gone, stamp) = (Deletions::default(), Stamp::default());
        Ok(Self { base, added: Vec::new(), single, pairs, gone, live: None, stamp })
    }

    /// The same with this item, in the place of one with its id if there is one.
    pub(super) fn with(&self, item: SelectableItem) -> Result<Self, CatalogError> {
        let mut new = self.without(&item.id).unwrap_or_else(|| self.clone());
        let mut analyser = Analyser::default();
        let document = Document::of(&item, &mut analyser);
        let mark = DocSignature::of(&item, &document);
        let stems = analyser.new_stems().filter(|stem| !self.base.spelling.has(stem));
        let spelling = Spelling::of(stems);
        let doc = DocId::try_from(self.doc_count()).unwrap_or(DocId::MAX);
        let (single, pairs) = (sorted(document.single), sorted(document.pairs));
        new.single = new.single.with(doc, &single);
        new.pairs = new.pairs.with(doc, &pairs);
        if !findable(&item, |key| new.single(key).at(doc).is_some()) {
            return Err(CatalogError::Unreachable { id: shown(item.id.as_str()) });
        }
        if let Some(live) = &mut new.live {
            Arc::make_mut(live).set(doc);
        }
        new.added.push(Arc::new(AddedDoc { item, mark, spelling }));
        new.stamp = Stamp::default();
        Ok(new)
    }

    /// The same without the item of this id; nothing where there is none.
    pub(super) fn without(&self, id: &CapabilityId) -> Option<Self> {
        let doc = self.doc(id)?;
        let mut new = self.clone();
        let all = || Arc::new(Bits::of((0..self.doc_count()).map(|_| true)));
        Arc::make_mut(new.live.get_or_insert_with(all)).clear(doc);
        if doc as usize >= self.base.items.len() {
            new.single = new.single.without(doc);
            new.pairs = new.pairs.without(doc);
        } else if let Some(item) = self.base.items.get(doc as usize) {
            let document = Document::of(item, &mut Analyser::default());
            new.gone.docs.push(doc);
            new.gone.single = new.gone.single.with(doc, &sorted(document.single));
            new.gone.pairs = new.gone.pairs.with(doc, &sorted(document.pairs));
        }
        new.stamp = Stamp::default();
        Some(new)
    }

    /// How many items were added or taken away since the base was built, at the most.
    pub(super) fn changes(&self) -> usize {
        self.added.len() + self.doc_count().saturating_sub(self.len())
    }

    /// How many items there are.
    fn len(&self) -> usize {
        let count = |live: &Arc<Bits>| usize::try_from(live.count()).unwrap_or(usize::MAX);
        self.live.as_ref().map_or(self.doc_count(), count)
    }

    /// The items that hold the term.
    pub(super) fn single(&self, key: Key) -> PostingsList<'_> {
        let gone = self.gone.single.run(key).len();
        PostingsList { base: self.base.single.run(key), added: self.single.run(key), gone }
    }

    /// The items that hold the term as two neighbouring words.
    pub(super) fn pairs(&self, key: Key) -> PostingsList<'_> {
        let gone = self.gone.pairs.run(key).len();
        PostingsList { base: self.base.pairs.run(key), added: self.pairs.run(key), gone }
    }

    /// The documents of the base whose items were taken away.
    pub(super) fn gone(&self) -> &[DocId] {
        &self.gone.docs
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

    /// How many documents there are, those without an item among them.
    pub(super) fn doc_count(&self) -> usize {
        self.base.items.len() + self.added.len()
    }

    /// Whether there is no room for one more, until it is built anew.
    pub(super) fn is_full(&self) -> bool {
        self.doc_count() >= MAX_DOCS
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
        let seen = items.map(|(doc, item)| selection.sees(doc) && visible(item));
        Selection::of(Arc::new(Bits::of(seen)), self.stamp.clone())
    }

    /// Whether a selection has the item of this id.
    pub(super) fn is_in(&self, selection: &Selection, id: &CapabilityId) -> bool {
        self.doc(id).is_some_and(|doc| selection.sees(doc))
    }

    fn holds(&self, doc: DocId) -> bool {
        self.live.as_ref().is_none_or(|live| live.get(doc))
    }

    /// Where the item of this id stands.
    pub(super) fn doc(&self, id: &CapabilityId) -> Option<DocId> {
        let base = self.base.items.binary_search_by(|item| item.id.cmp(id)).ok();
        let later = || self.added.iter().rposition(|added| added.item.id == *id);
        let live = |at: &usize| DocId::try_from(*at).is_ok_and(|doc| self.holds(doc));
        let doc = base
            .filter(live)
            .or_else(|| later().map(|at| at + self.base.items.len()).filter(live))?;
        DocId::try_from(doc).ok()
    }

    pub(super) fn id(&self, doc: DocId) -> Option<&CapabilityId> {
        self.item(doc).map(|item| &item.id)
    }

    /// The item with this id.
    pub(super) fn item(&self, doc: DocId) -> Option<&SelectableItem> {
        let doc = doc as usize;
        let later = || self.added.get(doc.checked_sub(self.base.items.len())?);
        let base = self.base.items.get(doc).map(AsRef::as_ref);
        base.or_else(|| later().map(|added| &added.item))
    }

    /// Which of two ids is the lower one.
    pub(super) fn compare_ids(&self, a: DocId, b: DocId) -> Ordering {
        // Those of the base stand in the order of their ids.
        let both_of_base = (a.max(b) as usize) < self.base.items.len();
        if both_of_base { a.cmp(&b) } else { self.id(a).cmp(&self.id(b)) }
    }

    pub(super) fn mark(&self, doc: DocId) -> Option<DocSignature> {
        let doc = doc as usize;
        let later = || self.added.get(doc.checked_sub(self.base.items.len())?);
        self.base.marks.get(doc).copied().or_else(|| later().map(|added| added.mark))
    }

    /// What the item says, where another may say the same.
    pub(super) fn shared_gist(&self, mark: DocSignature) -> Option<Key> {
        (mark.twin || !self.added.is_empty()).then_some(mark.gist)
    }

    /// The catalog of the base.
    pub(super) fn base(&self) -> &Catalog {
        &self.base.catalog
    }

    /// The items that were added since, by their documents from the end of the base on.
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

impl BaseSegment {
    fn build(catalog: Catalog) -> Result<Self, CatalogError> {
        let (mut single, mut pairs) = (PostingsBuilder::default(), PostingsBuilder::default());
        let mut analyser = Analyser::default();
        let (mut marks, mut stems) = (Vec::with_capacity(catalog.len()), BTreeSet::new());
        for (doc, item) in (0..).zip(catalog.iter()) {
            let document = Document::of(item, &mut analyser);
            marks.push(DocSignature::of(item, &document));
            document.single.weights(|key, weight| single.note(key, doc, weight));
            document.pairs.weights(|key, weight| pairs.note(key, doc, weight));
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
        for (doc, item) in (0..).zip(self.catalog.iter()) {
            let here = |key| PostingsList { base: self.single.run(key), ..PostingsList::default() };
            if !findable(item, |key| here(key).at(doc).is_some()) {
                return Err(CatalogError::Unreachable { id: shown(item.id.as_str()) });
            }
        }
        Ok(())
    }
}

/// Marks what says the same as another.
fn find_twins(marks: &mut [DocSignature]) {
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
