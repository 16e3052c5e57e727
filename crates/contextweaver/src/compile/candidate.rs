//! Which items are looked at: those of the phase's kinds.

use crate::compile::stats::DropReason;
use crate::compile::{ContextLog, ItemKind, PhaseSpec};

/// How far an item has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is no candidate.
    Absent,
    /// Nothing has spoken against it.
    Kept,
    /// It was left out.
    Dropped(DropReason),
}

/// The kinds of a phase, as bits.
pub(super) fn kinds(phase: &PhaseSpec) -> u16 {
    ItemKind::ALL.into_iter().filter(|kind| phase.takes(*kind)).fold(0, |bits, k| bits | k.bit())
}

/// A fate for every place of the log.
pub(super) fn candidates(log: &ContextLog, phase: &PhaseSpec) -> Vec<Fate> {
    let kinds = kinds(phase);
    let fate = |kind: ItemKind| if kinds & kind.bit() == 0 { Fate::Absent } else { Fate::Kept };
    log.analyses().iter().map(|analysis| fate(analysis.kind)).collect()
}
