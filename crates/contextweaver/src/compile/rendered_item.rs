//! One item as the model sees it, and its position in the rendering.

use std::sync::Arc;

use weaver_types::{Confidentiality, Integrity};

use crate::compile::{ContextItemKind, ContextLog};

/// The sort key of a rendering: policy, plan and memory come first, then the conversation, each oldest
/// first. It packs one bit and the index of the item into an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RenderKey(u64);

impl RenderKey {
    /// Set for items that do not belong to the head.
    const AFTER_HEAD_BIT: u64 = 1 << 63;

    /// The key of an item whose group has a head of this kind.
    pub(super) fn of(kind: ContextItemKind, index: usize) -> Self {
        let index = index as u64;
        Self(if kind.is_head() { index } else { index | Self::AFTER_HEAD_BIT })
    }

    /// The index of the item in the log.
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0 & !Self::AFTER_HEAD_BIT).unwrap_or(usize::MAX)
    }
}

/// One item as it is rendered for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedItem {
    /// The id of the item.
    pub id: Arc<str>,
    /// The kind of the item.
    pub kind: ContextItemKind,
    /// The block of the item, heading and empty line included.
    pub text: Arc<str>,
    pub(super) index: usize,
    /// The tokens of the block, counted by itself.
    pub(super) tokens: u32,
    pub(super) rendition: Rendition,
    /// Confidentiality and integrity of the item's label. Its taints are not copied; `is_tainted`
    /// says whether there are any.
    pub(super) confidentiality: Confidentiality,
    pub(super) integrity: Integrity,
    pub(super) is_tainted: bool,
}

/// How the text of an item relates to the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rendition {
    /// The item's own text.
    Original,
    Redacted,
    Shortened,
}

/// A block that replaces the item's own.
#[derive(Debug, Clone)]
pub(super) struct ReplacementBlock {
    pub(super) text: Arc<str>,
    pub(super) tokens: u32,
    pub(super) rendition: Rendition,
}

impl RenderedItem {
    /// Renders an item with its own block or with a replacement.
    pub(super) fn render(
        log: &ContextLog,
        index: usize,
        replacement: Option<&ReplacementBlock>,
    ) -> Option<Self> {
        let (item, analysis) = (log.item_at(index)?, log.analysis(index)?);
        let (text, tokens, rendition) = match replacement {
            Some(ReplacementBlock { text, tokens, rendition }) => {
                (Arc::clone(text), *tokens, *rendition)
            }
            None => (log.block(index)?, analysis.tokens, Rendition::Original),
        };
        Some(Self {
            id: item.shared_id(),
            kind: analysis.kind,
            text,
            index,
            tokens,
            rendition,
            confidentiality: analysis.confidentiality,
            integrity: analysis.integrity,
            is_tainted: analysis.is_tainted,
        })
    }

    pub(super) fn render_key(&self) -> RenderKey {
        RenderKey::of(self.kind, self.index)
    }
}
