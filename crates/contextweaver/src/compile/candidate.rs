//! Selects the candidates: the items of the kinds that the phase takes.

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::{ContextLog, ItemKind, PhaseSpec};

/// The kinds of a phase, as bits.
pub(super) fn kinds(phase: &PhaseSpec) -> u16 {
    ItemKind::ALL.into_iter().filter(|kind| phase.takes(*kind)).fold(0, |bits, k| bits | k.bit())
}

/// A outcome for every place of the log.
pub(super) fn candidates(log: &ContextLog, phase: &PhaseSpec) -> Vec<ItemOutcome> {
    let kinds = kinds(phase);
    let outcome = |kind: ItemKind| {
        if kinds & kind.bit() == 0 { ItemOutcome::Absent } else { ItemOutcome::Kept }
    };
    log.analyses().iter().map(|analysis| outcome(analysis.kind)).collect()
}
