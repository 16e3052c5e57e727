//! Totals over the rendered items, updated as items are added and removed.

use weaver_types::{Confidentiality, Integrity, Label};

use crate::compile::ContextItemKind;
use crate::compile::rendered_item::{RenderedItem, Rendition};

const LEVELS: [Confidentiality; 4] = [
    Confidentiality::Public,
    Confidentiality::Internal,
    Confidentiality::Confidential,
    Confidentiality::Restricted,
];

/// The number and tokens of items of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct KindTotal {
    count: usize,
    tokens: u64,
}

/// Whether an item is added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    Removed,
}

/// Counts over the rendered items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RenderedTotals {
    kinds: [KindTotal; ContextItemKind::ALL.len()],
    items_by_confidentiality: [usize; LEVELS.len()],
    untrusted: usize,
    tainted: usize,
    redacted: usize,
}

impl RenderedTotals {
    /// Counts an item that is added or removed.
    pub(super) fn record(&mut self, section: &RenderedItem, change: Change) {
        let adjust = |count: &mut usize, applies: bool| match change {
            Change::Added => *count += usize::from(applies),
            Change::Removed => *count -= usize::from(applies),
        };
        if let Some(sum) = self.kinds.get_mut(section.kind as usize) {
            adjust(&mut sum.count, true);
            match change {
                Change::Added => sum.tokens += u64::from(section.tokens),
                Change::Removed => sum.tokens -= u64::from(section.tokens),
            }
        }
        if let Some(count) = self.items_by_confidentiality.get_mut(section.confidentiality as usize)
        {
            adjust(count, true);
        }
        adjust(&mut self.untrusted, section.integrity == Integrity::Untrusted);
        adjust(&mut self.tainted, section.is_tainted);
        adjust(&mut self.redacted, section.rendition == Rendition::Redacted);
    }

    /// How many items belong to the head.
    pub(super) fn head_count(&self) -> usize {
        let kinds = ContextItemKind::ALL.into_iter().zip(&self.kinds);
        kinds.filter(|(kind, _)| kind.is_head()).map(|(_, sum)| sum.count).sum()
    }

    /// The tokens of each kind that has items.
    pub(super) fn tokens_by_kind(&self) -> impl Iterator<Item = (ContextItemKind, usize)> {
        let present =
            ContextItemKind::ALL.into_iter().zip(self.kinds).filter(|(_, sum)| sum.count > 0);
        present.map(|(kind, sum)| (kind, usize::try_from(sum.tokens).unwrap_or(usize::MAX)))
    }

    /// How many items are redacted.
    pub(super) fn redacted_count(&self) -> usize {
        self.redacted
    }

    /// Whether the label of any item has taints.
    pub(super) fn is_tainted(&self) -> bool {
        self.tainted > 0
    }

    /// The join of the labels of all items, without taints.
    pub(super) fn label(&self) -> Label {
        let levels =
            LEVELS.into_iter().zip(self.items_by_confidentiality).filter(|(_, count)| *count > 0);
        let level = levels.map(|(level, _)| level).max().unwrap_or(Confidentiality::Public);
        let is_untrusted = self.untrusted > 0;
        Label::new(level, if is_untrusted { Integrity::Untrusted } else { Integrity::Trusted })
    }
}
