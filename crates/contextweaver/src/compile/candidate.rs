//! Selects the candidates: the items of the kinds that the phase includes.

use crate::compile::item_outcome::ItemOutcome;
use crate::compile::{ContextItemKind, ContextLog, PhaseSpec};

/// The kinds that a phase includes, as a bit set.
pub(super) fn kind_bits(phase: &PhaseSpec) -> u16 {
    ContextItemKind::ALL
        .into_iter()
        .filter(|kind| phase.includes(*kind))
        .fold(0, |bits, k| bits | k.bit())
}

/// The initial outcome of every item in the log, by index.
pub(super) fn initial_outcomes(log: &ContextLog, phase: &PhaseSpec) -> Vec<ItemOutcome> {
    let kinds = kind_bits(phase);
    let outcome = |kind: ContextItemKind| {
        if kinds & kind.bit() == 0 { ItemOutcome::Absent } else { ItemOutcome::Kept }
    };
    log.analyses().iter().map(|analysis| outcome(analysis.kind)).collect()
}
