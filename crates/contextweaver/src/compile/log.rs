//! The items of a conversation, in the order in which they came.

use std::collections::HashMap;
use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::{Confidentiality, Integrity};

use crate::catalog::shown;
use crate::compile::links::{Links, ParentLink};
use crate::compile::meter::Meter;
use crate::compile::vocabulary::{Stem, Vocabulary};
use crate::compile::{ContextItem, ItemKind, block, text_equivalence};
use crate::error::LogError;

/// Most items in one log.
pub const MAX_LOG_ITEMS: usize = 1 << 20;
/// Most bytes of one item.
pub const MAX_ITEM_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes of all items.
pub const MAX_BYTES: usize = 256 * 1024 * 1024;

/// What is worked out of an item when it comes, and never again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Analysis {
    pub(super) kind: ItemKind,
    pub(super) level: Confidentiality,
    pub(super) integrity: Integrity,
    /// Whether its label names calls.
    pub(super) is_tainted: bool,
    pub(super) is_pinned: bool,
    /// The tokens of its block, as rendered in a text.
    pub(super) tokens: u32,
    /// Where its stems end in the list of all; those of the one before end where they begin.
    stems_end: usize,
}

/// An append-only list of items, each analysed once: token count, stems, what it is the same as.
///
/// An item may hang on one that comes later. What it names and what never comes counts as nothing,
/// but for a result: that of a call that is not there is never shown.
#[derive(Debug, Clone)]
pub struct ContextLog {
    items: Vec<ContextItem>,
    analyses: Vec<Analysis>,
    links: Links,
    places: HashMap<Arc<str>, usize>,
    /// The latest item of this kind and level with these words.
    latest: HashMap<(ItemKind, Levels, u64), usize>,
    stems: Vec<Stem>,
    vocabulary: Vocabulary,
    meter: Meter,
    /// The block of the newest item, which the next build is likely to show.
    newest: Option<Arc<str>>,
    bytes: usize,
    id: LogId,
}

impl ContextLog {
    /// A log without items. Tokens are counted by this counter, that of the model.
    #[must_use]
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self {
            items: Vec::new(),
            analyses: Vec::new(),
            links: Links::default(),
            places: HashMap::new(),
            latest: HashMap::new(),
            stems: Vec::new(),
            vocabulary: Vocabulary::default(),
            meter: Meter::new(counter),
            newest: None,
            bytes: 0,
            id: LogId::default(),
        }
    }

    /// Adds an item at the end.
    ///
    /// # Errors
    /// [`LogError`], when the id is taken, the item would hang on itself, or a bound is reached.
    /// The log is then as it was.
    pub fn push(&mut self, item: ContextItem) -> Result<(), LogError> {
        let bytes = self.admit(&item)?;
        let place = self.items.len();
        let id = item.shared_id();
        let parent = self.parent_link(&item);
        if !self.links.push(place, &id, parent) {
            return Err(LogError::Cycle { id: shown(&id) });
        }
        let block = block::block(&item);
        self.stems.extend(self.vocabulary.read(item.text()));
        if !item.tags().is_empty() {
            self.stems.extend(self.vocabulary.read(&item.tags().join(" ")));
        }
        self.analyses.push(Analysis {
            kind: item.kind(),
            level: item.label().confidentiality,
            integrity: item.label().integrity,
            is_tainted: !item.label().taints.is_empty(),
            is_pinned: item.is_pinned(),
            tokens: self.meter.count(&block),
            stems_end: self.stems.len(),
        });
        self.newest = Some(block.into());
        self.find_same(&item, place);
        self.bytes += bytes;
        self.places.insert(id, place);
        self.items.push(item);
        Ok(())
    }

    fn parent_link<'i>(&self, item: &'i ContextItem) -> Option<ParentLink<'i>> {
        item.parent().map(|id| ParentLink { id, place: self.places.get(id).copied() })
    }

    /// Whether [`push`](Self::push) would take an item.
    pub(super) fn would_take(&mut self, item: &ContextItem) -> Result<(), LogError> {
        self.admit(item)?;
        let parent = self.parent_link(item);
        match self.links.is_ring(item.id(), parent) {
            true => Err(LogError::Cycle { id: shown(item.id()) }),
            false => Ok(()),
        }
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ContextItem> {
        self.places.get(id).and_then(|place| self.at(*place))
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ContextItem> {
        self.items.iter()
    }

    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The counter of tokens.
    #[must_use]
    pub fn counter(&self) -> &dyn TokenCounter {
        self.meter.counter()
    }

    /// The tokens of an item as rendered in a text, heading and separator included, as counted when
    /// it came. `None` for an id that is not there, and for a text that cannot be counted.
    #[must_use]
    pub fn tokens(&self, id: &str) -> Option<usize> {
        let place = self.places.get(id)?;
        self.analyses.get(*place).filter(|a| a.tokens != u32::MAX).map(|a| a.tokens as usize)
    }

    pub(super) fn id(&self) -> LogId {
        self.id.same()
    }

    pub(super) fn at(&self, place: usize) -> Option<&ContextItem> {
        self.items.get(place)
    }

    /// The block of an item, as it is rendered in a text.
    pub(super) fn block(&self, place: usize) -> Option<Arc<str>> {
        match &self.newest {
            Some(newest) if place + 1 == self.items.len() => Some(Arc::clone(newest)),
            _ => Some(block::block(self.at(place)?).into()),
        }
    }

    pub(super) fn analyses(&self) -> &[Analysis] {
        &self.analyses
    }

    pub(super) fn analysis(&self, place: usize) -> Option<&Analysis> {
        self.analyses.get(place)
    }

    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub(super) fn stems_of(&self, place: usize) -> &[Stem] {
        let end = |place: usize| self.analyses.get(place).map_or(0, |a| a.stems_end);
        let start = place.checked_sub(1).map_or(0, end);
        self.stems.get(start..end(place)).unwrap_or_default()
    }

    fn admit(&self, item: &ContextItem) -> Result<usize, LogError> {
        let id = || shown(item.id());
        if self.places.contains_key(item.id()) {
            return Err(LogError::Duplicate { id: id() });
        }
        if self.items.len() >= MAX_LOG_ITEMS {
            return Err(LogError::Full { max: MAX_LOG_ITEMS, unit: "items" });
        }
        let bytes = item.bytes();
        if bytes > MAX_ITEM_BYTES {
            return Err(LogError::TooLarge { id: id(), size: bytes, max: MAX_ITEM_BYTES });
        }
        if self.bytes + bytes > MAX_BYTES {
            return Err(LogError::Full { max: MAX_BYTES, unit: "bytes" });
        }
        Ok(bytes)
    }

    /// Links the latest item that says the same to this one.
    fn find_same(&mut self, item: &ContextItem, place: usize) {
        let Some(print) = item.fingerprint() else { return };
        let before = self.latest.insert((item.kind(), levels(item), print), place);
        let before = before.and_then(|place| Some((place, self.items.get(place)?)));
        if let Some((older, found)) = before
            && found.dedup_key() == item.dedup_key()
            && text_equivalence::is_same(found.text(), item.text())
        {
            self.links.say_same(older, place);
        }
    }
}

/// How confidential and how trustworthy an item is.
type Levels = (Confidentiality, Integrity);

fn levels(item: &ContextItem) -> Levels {
    (item.label().confidentiality, item.label().integrity)
}

/// One log; a copy of it is another one.
#[derive(Debug, Default)]
pub(super) struct LogId(Arc<()>);

impl LogId {
    pub(super) fn same(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl Clone for LogId {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LogId {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LogId {}
