//! The inverted index: for each term, the items that contain it and its weight in each.
//!
//! It consists of a base segment that was built in one go, and of additions and deletions since. The
//! weight of a term in an item depends on that item alone, and document frequencies are counted at
//! query time, so the answers are the same as those of a freshly built index.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use weaver_types::CapabilityId;

use crate::catalog::{Catalog, SelectableItem, printable};
use crate::error::CatalogError;
use crate::route::added_postings::AddedPostings;
use crate::route::analyser::Analyser;
use crate::route::association::Associations;
use crate::route::document::{Document, Weight};
use crate::route::hashing::KeySet;
use crate::route::postings::{DocId, MAX_DOCS, Postings, PostingsBuilder, PostingsList};
use crate::route::query::Terms;
use crate::route::selection::{DocBitSet, IndexVersion, Selection};
use crate::route::spelling::{self, DeletionIndex};
use crate::route::term_key::{self, TermKey};

/// The index that a router searches. Clones share the base segment.
#[derive(Debug, Clone)]
pub(super) struct Index {
    base: Arc<BaseSegment>,
    added: Vec<Arc<AddedDoc>>,
    unigrams: AddedPostings,
    bigrams: AddedPostings,
    deletions: Deletions,
    /// The documents that are not deleted; `None` if all are live.
    live_docs: Option<Arc<DocBitSet>>,
    version: IndexVersion,
}

/// The deleted documents of the base segment, with their postings.
#[derive(Debug, Clone, Default)]
struct Deletions {
    docs: Vec<DocId>,
    unigrams: AddedPostings,
    bigrams: AddedPostings,
}

/// The part of the index that was built in one go.
#[derive(Debug)]
struct BaseSegment {
    catalog: Catalog,
    /// The items in order of id, which is also the order of document ids.
    items: Vec<Arc<SelectableItem>>,
    signatures: Vec<DocSignature>,
    unigrams: Postings,
    bigrams: Postings,
    /// The numbers of the words of associations that items have, in order, with the places of their lists.
    associated: OnceLock<Vec<(u16, u32)>>,
    spelling: DeletionIndex,
}

/// An item that was added after the base segment was built.
#[derive(Debug)]
struct AddedDoc {
    item: SelectableItem,
    signature: DocSignature,
    /// The words that the base segment does not have.
    spelling: DeletionIndex,
}

/// The properties of an item that a ranking needs besides its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocSignature {
    /// The digest of the item's words: equal for near duplicates.
    pub(super) near_duplicate_digest: TermKey,
    /// The digest of the word sequence of name and description.
    pub(super) word_sequence: TermKey,
    /// The length of the name in bytes.
    pub(super) name_length: u32,
    /// Whether another item of the base segment has the same digest.
    has_near_duplicate: bool,
}

impl DocSignature {
    fn of(item: &SelectableItem, document: &Document) -> Self {
        let name_length = u32::try_from(item.display_name().len()).unwrap_or(u32::MAX);
        Self {
            near_duplicate_digest: document.near_duplicate_digest,
            word_sequence: document.word_sequence,
            name_length,
            has_near_duplicate: false,
        }
    }
}

impl Index {
    pub(super) fn build(catalog: Catalog) -> Result<Self, CatalogError> {
        let base = Arc::new(BaseSegment::build(catalog)?);
        let (unigrams, bigrams) = (AddedPostings::default(), AddedPostings::default());
        let (deletions, version) = (Deletions::default(), IndexVersion::default());
        Ok(Self { base, added: Vec::new(), unigrams, bigrams, deletions, live_docs: None, version })
    }

    /// An index with this item added, or replacing the one with its id.
    pub(super) fn with(&self, item: SelectableItem) -> Result<Self, CatalogError> {
        let mut new = self.without(&item.id).unwrap_or_else(|| self.clone());
        let mut analyser = Analyser::default();
        let document = Document::from_item(&item, &mut analyser);
        let signature = DocSignature::of(&item, &document);
        let stems = analyser.new_stems().filter(|stem| !self.base.spelling.has(stem));
        let spelling = DeletionIndex::of(stems);
        let doc = DocId::try_from(self.doc_count()).unwrap_or(DocId::MAX);
        let (unigrams, bigrams) =
            (sorted_weights(document.unigrams), sorted_weights(document.bigrams));
        new.unigrams = new.unigrams.with(doc, &unigrams);
        new.bigrams = new.bigrams.with(doc, &bigrams);
        if !is_findable(&item, |key| new.unigrams(key).weight_in(doc).is_some()) {
            return Err(CatalogError::Unreachable { id: printable(item.id.as_str()) });
        }
        if let Some(live_docs) = &mut new.live_docs {
            Arc::make_mut(live_docs).set(doc);
        }
        new.added.push(Arc::new(AddedDoc { item, signature, spelling }));
        new.version = IndexVersion::default();
        Ok(new)
    }

    /// An index without the item with this id; `None` if there is no such item.
    pub(super) fn without(&self, id: &CapabilityId) -> Option<Self> {
        let doc = self.doc(id)?;
        let mut new = self.clone();
        let all = || Arc::new(DocBitSet::from_bools((0..self.doc_count()).map(|_| true)));
        Arc::make_mut(new.live_docs.get_or_insert_with(all)).clear(doc);
        if doc as usize >= self.base.items.len() {
            new.unigrams = new.unigrams.without(doc);
            new.bigrams = new.bigrams.without(doc);
        } else if let Some(item) = self.base.items.get(doc as usize) {
            let document = Document::from_item(item, &mut Analyser::default());
            new.deletions.docs.push(doc);
            new.deletions.unigrams =
                new.deletions.unigrams.with(doc, &sorted_weights(document.unigrams));
            new.deletions.bigrams =
                new.deletions.bigrams.with(doc, &sorted_weights(document.bigrams));
        }
        new.version = IndexVersion::default();
        Some(new)
    }

    /// An upper bound on the number of items added or deleted since the base segment was built.
    pub(super) fn changes(&self) -> usize {
        self.added.len() + self.doc_count().saturating_sub(self.len())
    }

    /// The number of live items.
    fn len(&self) -> usize {
        let count =
            |live_docs: &Arc<DocBitSet>| usize::try_from(live_docs.count()).unwrap_or(usize::MAX);
        self.live_docs.as_ref().map_or(self.doc_count(), count)
    }

    /// The postings of a term as a unigram.
    pub(super) fn unigrams(&self, key: TermKey) -> PostingsList<'_> {
        let deleted_count = self.deletions.unigrams.get(key).len();
        PostingsList {
            base: self.base.unigrams.get(key),
            added: self.unigrams.get(key),
            deleted_count,
        }
    }

    /// The postings of a term as a bigram.
    pub(super) fn bigrams(&self, key: TermKey) -> PostingsList<'_> {
        let deleted_count = self.deletions.bigrams.get(key).len();
        PostingsList {
            base: self.base.bigrams.get(key),
            added: self.bigrams.get(key),
            deleted_count,
        }
    }

    /// Calls `each` with the words of tools that have a strength, by their numbers in [`Associations`], and
    /// with their postings.
    pub(super) fn each_associated<'a>(
        &'a self,
        strengths: &[u8],
        mut each: impl FnMut(TermKey, u8, PostingsList<'a>),
    ) {
        let all = Associations::built_in().words();
        if self.changes() > 0 {
            for (key, strength) in all.iter().zip(strengths).filter(|(_, strength)| **strength > 0)
            {
                each(*key, *strength, self.unigrams(*key));
            }
            return;
        }
        for (number, place) in self.base.associated.get_or_init(|| self.base.places_of(all)) {
            let number = usize::from(*number);
            let Some(strength) = strengths.get(number).filter(|strength| **strength > 0) else {
                continue;
            };
            if let Some(key) = all.get(number) {
                let base = self.base.unigrams.at(*place);
                each(*key, *strength, PostingsList { base, ..PostingsList::default() });
            }
        }
    }

    /// The deleted documents of the base segment.
    pub(super) fn deleted_docs(&self) -> &[DocId] {
        &self.deletions.docs
    }

    /// The visible stems that a misspelt stem may stand for, nearest first.
    pub(super) fn similar_stems<'a>(
        &'a self,
        stem: &str,
        seen: impl Fn(&str) -> bool,
    ) -> Vec<&'a str> {
        let added = self.added.iter().map(|added| &added.spelling);
        let found =
            spelling::find_similar(std::iter::once(&self.base.spelling).chain(added), stem, seen);
        found.into_iter().map(|(_, word)| word).collect()
    }

    /// The number of documents, deleted ones included.
    pub(super) fn doc_count(&self) -> usize {
        self.base.items.len() + self.added.len()
    }

    /// Whether no document can be added until the index is rebuilt.
    pub(super) fn is_full(&self) -> bool {
        self.doc_count() >= MAX_DOCS
    }

    pub(super) fn version(&self) -> &IndexVersion {
        &self.version
    }

    /// The selection of all items.
    pub(super) fn all(&self) -> Selection {
        Selection::all(self.len() as u64, self.live_docs.clone(), self.version.clone())
    }

    /// The selection of the items for which `visible` is true.
    pub(super) fn select(&self, visible: impl FnMut(&SelectableItem) -> bool) -> Selection {
        self.select_among(&self.all(), visible)
    }

    /// The items of a selection for which `visible` is true. It is not called for other items.
    pub(super) fn select_among(
        &self,
        selection: &Selection,
        mut visible: impl FnMut(&SelectableItem) -> bool,
    ) -> Selection {
        let base = self.base.catalog.iter();
        let items = (0..).zip(base.chain(self.added.iter().map(|added| &added.item)));
        let seen = items.map(|(doc, item)| selection.contains(doc) && visible(item));
        Selection::from_docs(Arc::new(DocBitSet::from_bools(seen)), self.version.clone())
    }

    /// Whether a selection contains the item with this id.
    pub(super) fn contains(&self, selection: &Selection, id: &CapabilityId) -> bool {
        self.doc(id).is_some_and(|doc| selection.contains(doc))
    }

    fn is_live(&self, doc: DocId) -> bool {
        self.live_docs.as_ref().is_none_or(|live_docs| live_docs.get(doc))
    }

    /// The document of the item with this id.
    pub(super) fn doc(&self, id: &CapabilityId) -> Option<DocId> {
        let base = self.base.items.binary_search_by(|item| item.id.cmp(id)).ok();
        let later = || self.added.iter().rposition(|added| added.item.id == *id);
        let live_docs = |at: &usize| DocId::try_from(*at).is_ok_and(|doc| self.is_live(doc));
        let doc = base
            .filter(live_docs)
            .or_else(|| later().map(|at| at + self.base.items.len()).filter(live_docs))?;
        DocId::try_from(doc).ok()
    }

    pub(super) fn id(&self, doc: DocId) -> Option<&CapabilityId> {
        self.item(doc).map(|item| &item.id)
    }

    /// The item of a document.
    pub(super) fn item(&self, doc: DocId) -> Option<&SelectableItem> {
        let doc = doc as usize;
        let later = || self.added.get(doc.checked_sub(self.base.items.len())?);
        let base = self.base.items.get(doc).map(AsRef::as_ref);
        base.or_else(|| later().map(|added| &added.item))
    }

    /// Compares the item ids of two documents.
    pub(super) fn compare_ids(&self, a: DocId, b: DocId) -> Ordering {
        // Documents of the base segment are in order of item id.
        let both_of_base = (a.max(b) as usize) < self.base.items.len();
        if both_of_base { a.cmp(&b) } else { self.id(a).cmp(&self.id(b)) }
    }

    pub(super) fn signature(&self, doc: DocId) -> Option<DocSignature> {
        let doc = doc as usize;
        let later = || self.added.get(doc.checked_sub(self.base.items.len())?);
        self.base.signatures.get(doc).copied().or_else(|| later().map(|added| added.signature))
    }

    /// The near-duplicate digest of an item, if another item may share it.
    pub(super) fn near_duplicate_group(&self, signature: DocSignature) -> Option<TermKey> {
        (signature.has_near_duplicate || !self.added.is_empty())
            .then_some(signature.near_duplicate_digest)
    }

    /// The catalog of the base segment.
    pub(super) fn base(&self) -> &Catalog {
        &self.base.catalog
    }

    /// The items that were added since, in order of document.
    pub(super) fn added_items(&self) -> impl Iterator<Item = &SelectableItem> {
        self.added.iter().map(|added| &added.item)
    }

    /// The bytes of the base segment without its catalog.
    pub(super) fn bytes(&self) -> usize {
        let base = &self.base;
        base.unigrams.bytes()
            + base.bigrams.bytes()
            + size_of_val(base.items.as_slice())
            + size_of_val(base.signatures.as_slice())
            + base.associated.get().map_or(0, |places| size_of_val(places.as_slice()))
            + base.spelling.bytes()
    }
}

impl BaseSegment {
    fn build(catalog: Catalog) -> Result<Self, CatalogError> {
        let (mut unigrams, mut bigrams) = (PostingsBuilder::default(), PostingsBuilder::default());
        let mut analyser = Analyser::default();
        let (mut signatures, mut stems) = (Vec::with_capacity(catalog.len()), BTreeSet::new());
        for (doc, item) in (0..).zip(catalog.iter()) {
            let document = Document::from_item(item, &mut analyser);
            signatures.push(DocSignature::of(item, &document));
            document.unigrams.for_each_weight(|key, weight| unigrams.add(key, doc, weight));
            document.bigrams.for_each_weight(|key, weight| bigrams.add(key, doc, weight));
            stems.extend(analyser.new_stems().map(Box::<str>::from));
        }
        mark_near_duplicates(&mut signatures);
        let items = catalog.iter_arcs().cloned().collect();
        let (unigrams, bigrams) = (unigrams.finish(), bigrams.finish());
        let spelling = DeletionIndex::of(stems.iter().map(AsRef::as_ref));
        let associated = OnceLock::new();
        let this = Self { catalog, items, signatures, unigrams, bigrams, associated, spelling };
        this.check()?;
        Ok(this)
    }

    /// The numbers of the words that items have, with the places of their lists.
    fn places_of(&self, words: &[TermKey]) -> Vec<(u16, u32)> {
        (0..).zip(words).filter_map(|(at, key)| Some((at, self.unigrams.place(*key)?))).collect()
    }

    /// Checks that a query for its own name finds every item.
    fn check(&self) -> Result<(), CatalogError> {
        for (doc, item) in (0..).zip(self.catalog.iter()) {
            let here =
                |key| PostingsList { base: self.unigrams.get(key), ..PostingsList::default() };
            if !is_findable(item, |key| here(key).weight_in(doc).is_some()) {
                return Err(CatalogError::Unreachable { id: printable(item.id.as_str()) });
            }
        }
        Ok(())
    }
}

/// Marks the items that have near duplicates.
fn mark_near_duplicates(signatures: &mut [DocSignature]) {
    let mut digests: Vec<TermKey> =
        signatures.iter().map(|signature| signature.near_duplicate_digest).collect();
    digests.sort_unstable();
    let several = digests.chunk_by(|a, b| a == b).filter(|same| same.len() > 1);
    let several: KeySet = several.filter_map(|same| same.first().copied()).collect();
    for signature in signatures {
        signature.has_near_duplicate = several.contains(&signature.near_duplicate_digest);
    }
}

/// Whether a query for its own name finds the item.
fn is_findable(item: &SelectableItem, holds: impl Fn(TermKey) -> bool) -> bool {
    Terms::of_name(item.display_name()).unigrams.iter().any(|term| holds(term_key::of_term(term)))
}

fn sorted_weights(occurrences: super::document::Occurrences) -> Vec<(TermKey, Weight)> {
    let mut terms = Vec::new();
    occurrences.for_each_weight(|key, weight| terms.push((key, weight)));
    terms.sort_unstable();
    terms
}
