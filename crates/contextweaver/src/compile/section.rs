//! A section: one item as the model sees it, and its place.

use std::sync::Arc;

use weaver_types::{Confidentiality, Integrity};

use crate::compile::{ContextLog, ItemKind};

/// Where an item stands in a rendering: policy, plan and memory come first, then the conversation,
/// each oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RenderKey(u64);

impl RenderKey {
    /// Set for what does not stand at the head.
    const REST: u64 = 1 << 63;

    /// The order of an item of this kind, or of one that goes with such an item.
    pub(super) fn of(kind: ItemKind, place: usize) -> Self {
        let place = place as u64;
        Self(if kind.is_head() { place } else { place | Self::REST })
    }

    /// The place in the log.
    pub(super) fn place(self) -> usize {
        usize::try_from(self.0 & !Self::REST).unwrap_or(usize::MAX)
    }
}

/// What the model gets of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The id of the item.
    pub id: Arc<str>,
    /// Its kind.
    pub kind: ItemKind,
    /// Its block, heading and empty line included.
    pub text: Arc<str>,
    pub(super) place: usize,
    /// Its tokens, as counted by themselves.
    pub(super) tokens: u32,
    pub(super) form: Form,
    /// The label of the item, but for the calls that it names, if it does.
    pub(super) level: Confidentiality,
    pub(super) integrity: Integrity,
    pub(super) is_tainted: bool,
}

/// In which form an item is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Own,
    Redacted,
    Shortened,
}

/// A block in place of the item's own.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) text: Arc<str>,
    pub(super) tokens: u32,
    pub(super) form: Form,
}

impl Section {
    /// An item with its own block, or with another one in its place.
    pub(super) fn of(log: &ContextLog, place: usize, other: Option<&Block>) -> Option<Self> {
        let (item, analysis) = (log.at(place)?, log.analysis(place)?);
        let (text, tokens, form) = match other {
            Some(Block { text, tokens, form }) => (Arc::clone(text), *tokens, *form),
            None => (log.block(place)?, analysis.tokens, Form::Own),
        };
        Some(Self {
            id: item.shared_id(),
            kind: analysis.kind,
            text,
            place,
            tokens,
            form,
            level: analysis.level,
            integrity: analysis.integrity,
            is_tainted: analysis.is_tainted,
        })
    }

    pub(super) fn order(&self) -> RenderKey {
        RenderKey::of(self.kind, self.place)
    }
}
