//! The log of a conversation's items, in the order in which they were added.

use std::collections::HashMap;
use std::sync::Arc;

use weaver_text::token::TokenCounter;
use weaver_types::{Confidentiality, Integrity};

use crate::catalog::printable;
use crate::compile::cached_counter::CachedCounter;
use crate::compile::item_forest::{ItemForest, ParentLink};
use crate::compile::vocabulary::{StemId, Vocabulary};
use crate::compile::{ContextItem, ContextItemKind, item_block, text_equivalence};
use crate::error::LogError;

/// The most items in one log.
pub const MAX_LOG_ITEMS: usize = 1 << 20;
/// The most bytes of one item.
pub const MAX_ITEM_BYTES: usize = 4 * 1024 * 1024;
/// The most bytes of all items of a log.
pub const MAX_LOG_BYTES: usize = 256 * 1024 * 1024;

/// What is computed once for each item, when it is added.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemAnalysis {
    pub(super) kind: ContextItemKind,
    pub(super) confidentiality: Confidentiality,
    pub(super) integrity: Integrity,
    /// Whether its label has taints.
    pub(super) is_tainted: bool,
    pub(super) is_pinned: bool,
    /// The tokens of its block in a text.
    pub(super) tokens: u32,
    /// Where its stems end in [`ContextLog::stems`]; they begin where those of the item before end.
    stems_end: usize,
}

/// An append-only list of items, each analysed once: token count, stems, duplicates.
///
/// The parent of an item may be added later. A parent that is never added is ignored, except that a
/// result whose call is missing is never shown.
#[derive(Debug, Clone)]
pub struct ContextLog {
    items: Vec<ContextItem>,
    analyses: Vec<ItemAnalysis>,
    forest: ItemForest,
    index_by_id: HashMap<Arc<str>, usize>,
    /// The latest item with this kind, label and fingerprint.
    latest_by_words: HashMap<(ContextItemKind, Levels, u64), usize>,
    stems: Vec<StemId>,
    vocabulary: Vocabulary,
    counter: CachedCounter,
    /// The block of the newest item; cached because the next build is likely to show it.
    newest_block: Option<Arc<str>>,
    bytes: usize,
    id: LogIdentity,
}

impl ContextLog {
    /// A log without items. Tokens are counted with this counter, which should be the model's.
    #[must_use]
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self {
            items: Vec::new(),
            analyses: Vec::new(),
            forest: ItemForest::default(),
            index_by_id: HashMap::new(),
            latest_by_words: HashMap::new(),
            stems: Vec::new(),
            vocabulary: Vocabulary::default(),
            counter: CachedCounter::new(counter),
            newest_block: None,
            bytes: 0,
            id: LogIdentity::default(),
        }
    }

    /// Appends an item.
    ///
    /// # Errors
    /// [`LogError`] if the id is taken, the item would become its own ancestor, or a bound is
    /// reached. The log is then unchanged.
    pub fn push(&mut self, item: ContextItem) -> Result<(), LogError> {
        let bytes = self.check_bounds(&item)?;
        let index = self.items.len();
        let id = item.shared_id();
        let parent = self.parent_link(&item);
        if !self.forest.push(index, &id, parent) {
            return Err(LogError::Cycle { id: printable(&id) });
        }
        let block = item_block::render_block(&item);
        self.stems.extend(self.vocabulary.stem_ids(item.text()));
        if !item.tags().is_empty() {
            self.stems.extend(self.vocabulary.stem_ids(&item.tags().join(" ")));
        }
        self.analyses.push(ItemAnalysis {
            kind: item.kind(),
            confidentiality: item.label().confidentiality,
            integrity: item.label().integrity,
            is_tainted: !item.label().taints.is_empty(),
            is_pinned: item.is_pinned(),
            tokens: self.counter.count(&block),
            stems_end: self.stems.len(),
        });
        self.newest_block = Some(block.into());
        self.link_duplicate(&item, index);
        self.bytes += bytes;
        self.index_by_id.insert(id, index);
        self.items.push(item);
        Ok(())
    }

    fn parent_link<'i>(&self, item: &'i ContextItem) -> Option<ParentLink<'i>> {
        item.parent().map(|id| ParentLink { id, index: self.index_by_id.get(id).copied() })
    }

    /// Checks whether [`push`](Self::push) would accept the item.
    pub(super) fn check_push(&mut self, item: &ContextItem) -> Result<(), LogError> {
        self.check_bounds(item)?;
        let parent = self.parent_link(item);
        match self.forest.would_form_cycle(item.id(), parent) {
            true => Err(LogError::Cycle { id: printable(item.id()) }),
            false => Ok(()),
        }
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ContextItem> {
        self.index_by_id.get(id).and_then(|index| self.item_at(*index))
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ContextItem> {
        self.items.iter()
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the log has no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The token counter.
    #[must_use]
    pub fn counter(&self) -> &dyn TokenCounter {
        self.counter.counter()
    }

    /// The tokens of an item in a text, heading and separator included, as counted when it was
    /// added. `None` for an unknown id, and for a text that cannot be counted.
    #[must_use]
    pub fn tokens(&self, id: &str) -> Option<usize> {
        let index = self.index_by_id.get(id)?;
        self.analyses.get(*index).filter(|a| a.tokens != u32::MAX).map(|a| a.tokens as usize)
    }

    pub(super) fn id(&self) -> LogIdentity {
        self.id.share()
    }

    pub(super) fn item_at(&self, index: usize) -> Option<&ContextItem> {
        self.items.get(index)
    }

    /// The block of an item as it appears in a text.
    pub(super) fn block(&self, index: usize) -> Option<Arc<str>> {
        match &self.newest_block {
            Some(newest) if index + 1 == self.items.len() => Some(Arc::clone(newest)),
            _ => Some(item_block::render_block(self.item_at(index)?).into()),
        }
    }

    pub(super) fn analyses(&self) -> &[ItemAnalysis] {
        &self.analyses
    }

    pub(super) fn analysis(&self, index: usize) -> Option<&ItemAnalysis> {
        self.analyses.get(index)
    }

    pub(super) fn forest(&self) -> &ItemForest {
        &self.forest
    }

    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub(super) fn stems_of(&self, index: usize) -> &[StemId] {
        let end = |index: usize| self.analyses.get(index).map_or(0, |a| a.stems_end);
        let start = index.checked_sub(1).map_or(0, end);
        self.stems.get(start..end(index)).unwrap_or_default()
    }

    fn check_bounds(&self, item: &ContextItem) -> Result<usize, LogError> {
        let id = || printable(item.id());
        if self.index_by_id.contains_key(item.id()) {
            return Err(LogError::Duplicate { id: id() });
        }
        if self.items.len() >= MAX_LOG_ITEMS {
            return Err(LogError::Full { max: MAX_LOG_ITEMS, unit: "items" });
        }
        let bytes = item.size_bytes();
        if bytes > MAX_ITEM_BYTES {
            return Err(LogError::TooLarge { id: id(), size: bytes, max: MAX_ITEM_BYTES });
        }
        if self.bytes + bytes > MAX_LOG_BYTES {
            return Err(LogError::Full { max: MAX_LOG_BYTES, unit: "bytes" });
        }
        Ok(bytes)
    }

    /// Links this item to the latest earlier item that it is a duplicate of.
    fn link_duplicate(&mut self, item: &ContextItem, index: usize) {
        let Some(print) = item.fingerprint() else { return };
        let earlier = self.latest_by_words.insert((item.kind(), levels(item), print), index);
        let earlier = earlier.and_then(|index| Some((index, self.items.get(index)?)));
        if let Some((older, earlier_item)) = earlier
            && earlier_item.dedup_key() == item.dedup_key()
            && text_equivalence::are_equivalent(earlier_item.text(), item.text())
        {
            self.forest.link_duplicates(older, index);
        }
    }
}

/// The confidentiality and integrity of an item.
type Levels = (Confidentiality, Integrity);

fn levels(item: &ContextItem) -> Levels {
    (item.label().confidentiality, item.label().integrity)
}

/// The identity of a log in this process. A clone of a log is a different log, so cloning makes a
/// new identity; [`Self::share`] gives the same one.
#[derive(Debug, Default)]
pub(super) struct LogIdentity(Arc<()>);

impl LogIdentity {
    pub(super) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl Clone for LogIdentity {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for LogIdentity {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LogIdentity {}
