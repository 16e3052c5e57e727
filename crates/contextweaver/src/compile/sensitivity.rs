//! What is too confidential is left out or redacted, and so is what hangs on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_types::Confidentiality;

use crate::compile::candidate::Fate;
use crate::compile::render::Form;
use crate::compile::stats::DropReason;
use crate::compile::{ContextItem, ContextLog, Request, SensitivityAction, render};

/// Says what stands in place of an item that is too confidential.
pub trait RedactionHook: Sync {
    /// The text that is shown. The level is that of the item or of what it hangs on, whichever is
    /// stricter.
    fn redact(&self, item: &ContextItem, level: Confidentiality) -> String;
}

/// `[REDACTED: level]`, and nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct MaskRedactionHook;

impl RedactionHook for MaskRedactionHook {
    fn redact(&self, _: &ContextItem, level: Confidentiality) -> String {
        format!("[REDACTED: {}]", word(level))
    }
}

/// The word for a level.
pub(super) fn word(level: Confidentiality) -> &'static str {
    match level {
        Confidentiality::Public => "public",
        Confidentiality::Internal => "internal",
        Confidentiality::Confidential => "confidential",
        Confidentiality::Restricted => "restricted",
    }
}

/// A block in place of the item's own.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) text: Arc<str>,
    pub(super) tokens: u32,
    pub(super) form: Form,
}

/// How confidential each candidate is, with all it hangs on.
pub(super) fn levels(log: &ContextLog, fates: &[Fate]) -> Vec<Option<Confidentiality>> {
    let mut levels: Vec<Option<Confidentiality>> = vec![None; fates.len()];
    let mut chain = Vec::new();
    for place in 0..fates.len() {
        if fates.get(place) == Some(&Fate::Absent) {
            continue;
        }
        let mut next = Some(place);
        let mut level = Confidentiality::Public;
        while let Some(at) = next {
            if let Some(known) = levels.get(at).copied().flatten() {
                level = known;
                break;
            }
            chain.push(at);
            next = log.links().parent(at);
        }
        while let Some(at) = chain.pop() {
            level = log.analysis(at).map_or(level, |analysis| analysis.level.max(level));
            if let Some(entry) = levels.get_mut(at) {
                *entry = Some(level);
            }
        }
    }
    levels
}

/// What becomes of one item of this level.
pub(super) fn judge(
    log: &ContextLog,
    place: usize,
    level: Confidentiality,
    request: &Request<'_>,
) -> (Fate, Option<Block>) {
    if level < request.floor {
        return (Fate::Kept, None);
    }
    match request.action {
        SensitivityAction::Drop => (Fate::Dropped(DropReason::Sensitivity), None),
        SensitivityAction::Redact(hook) => {
            let Some(item) = log.at(place) else { return (Fate::Absent, None) };
            (Fate::Kept, Some(block(log, item, &hook.redact(item, level))))
        }
    }
}

/// The block of an item with another text, without its handle.
fn block(log: &ContextLog, item: &ContextItem, text: &str) -> Block {
    let bare = item.clone().behind(None);
    let text = render::block_of(&bare, text);
    let tokens = log.counter().count(&text).tokens().and_then(|n| u32::try_from(n).ok());
    Block { tokens: tokens.unwrap_or(u32::MAX), text: text.into(), form: Form::Redacted }
}

/// Drops or redacts the candidates at or above the floor; what stands in place of the latter.
pub(super) fn apply(
    log: &ContextLog,
    fates: &mut [Fate],
    levels: &[Option<Confidentiality>],
    request: &Request<'_>,
) -> BTreeMap<usize, Block> {
    let mut blocks = BTreeMap::new();
    for (place, (fate, level)) in fates.iter_mut().zip(levels).enumerate() {
        let (Fate::Kept, Some(level)) = (*fate, level) else { continue };
        let (judged, block) = judge(log, place, *level, request);
        *fate = judged;
        blocks.extend(block.map(|block| (place, block)));
    }
    blocks
}
