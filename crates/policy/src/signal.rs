//! Runtime signals: what the run's watchers say.

use weaver_types::{Contribution, Operation, Rung};

/// What the sources of signals say about one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalReport {
    sealed: (),
}

impl SignalReport {
    /// A report without any signal.
    #[must_use]
    pub const fn none() -> Self {
        Self { sealed: () }
    }
}

/// The rungs from which on something is held and denied; `None` is never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// From this rung on it is held.
    pub hold_from: Option<Rung>,
    /// From this rung on it is denied.
    pub deny_from: Option<Rung>,
}

/// The severity table of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalTable {
    /// For signals that only inform; by default never.
    pub info: Reach,
    /// For warnings; by default held from L2 on.
    pub warning: Reach,
    /// For critical signals; by default held from L1 and denied from L2 on.
    pub critical: Reach,
    /// For calls that rest on a weak belief; by default held from L3 on.
    pub low_confidence: Reach,
}

impl Default for SignalTable {
    fn default() -> Self {
        let held = |rung| Reach { hold_from: Some(rung), deny_from: None };
        Self {
            info: Reach::default(),
            warning: held(Rung::L2),
            critical: Reach { hold_from: Some(Rung::L1), deny_from: Some(Rung::L2) },
            low_confidence: held(Rung::L3),
        }
    }
}

/// What the report says about a call on this rung.
#[must_use]
pub fn contributions(
    _report: &SignalReport,
    _table: &SignalTable,
    _rung: Rung,
    _operation: Operation,
) -> Vec<Contribution> {
    Vec::new()
}
