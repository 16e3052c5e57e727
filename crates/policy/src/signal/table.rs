//! The rungs from which a signal of each severity holds or denies.

use weaver_types::{Operation, Rung, Verdict};

use super::{Severity, Signal, SignalKind, Subject};

/// The rungs from which on something is held and denied; `None` is never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeverityThresholds {
    /// From this rung on it is held.
    pub hold_from: Option<Rung>,
    /// From this rung on it is denied.
    pub deny_from: Option<Rung>,
}

impl SeverityThresholds {
    fn verdict(self, rung: Rung) -> Verdict {
        let reached = |from: Option<Rung>| from.is_some_and(|from| rung >= from);
        if reached(self.deny_from) {
            Verdict::Deny
        } else if reached(self.hold_from) {
            Verdict::Hold
        } else {
            Verdict::Allow
        }
    }
}

/// The severity table of a policy.
///
/// By default nothing here denies: a signal that misfires, or a source that fails, costs somebody's
/// look at the call and not the call. A signed policy may deny instead.
///
/// A graver signal does at least what a milder one does, whatever the table says. A call that rests
/// on a weak belief has a line of its own and no severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalTable {
    /// For [`Severity::Info`]; by default never.
    pub info: SeverityThresholds,
    /// For [`Severity::Warning`]; by default held from L2 on.
    pub warning: SeverityThresholds,
    /// For [`Severity::Critical`]; by default held from L1 on.
    pub critical: SeverityThresholds,
    /// For [`SignalKind::LowConfidenceBelief`]; by default held from L3 on.
    pub low_confidence: SeverityThresholds,
    /// For a source that could not answer; by default held from L2 on.
    pub unavailable: SeverityThresholds,
}

impl Default for SignalTable {
    fn default() -> Self {
        let held = |rung| SeverityThresholds { hold_from: Some(rung), deny_from: None };
        Self {
            info: SeverityThresholds::default(),
            warning: held(Rung::L2),
            critical: held(Rung::L1),
            low_confidence: held(Rung::L3),
            unavailable: held(Rung::L2),
        }
    }
}

impl SignalTable {
    /// What this signal does to a call on this rung. A view counts as L0, because looking at a
    /// result that is there has no effect.
    #[must_use]
    pub fn verdict(&self, signal: &Signal, rung: Rung, operation: Operation) -> Verdict {
        if matches!(signal.subject, Subject::Action(_)) {
            return Verdict::Allow;
        }
        let rung = looked_at(rung, operation);
        match signal.kind {
            SignalKind::LowConfidenceBelief => self.low_confidence.verdict(rung),
            SignalKind::SentinelAlert | SignalKind::CalibrationFlag => {
                self.by_severity(signal.severity, rung)
            }
        }
    }

    /// What a source that could not answer does to a call on this rung.
    #[must_use]
    pub fn without_answer(&self, rung: Rung, operation: Operation) -> Verdict {
        self.unavailable.verdict(looked_at(rung, operation))
    }

    fn by_severity(&self, severity: Severity, rung: Rung) -> Verdict {
        let info = self.info.verdict(rung);
        let warning = info.max(self.warning.verdict(rung));
        match severity {
            Severity::Info => info,
            Severity::Warning => warning,
            Severity::Critical => warning.max(self.critical.verdict(rung)),
        }
    }
}

/// The rung on which a call counts.
fn looked_at(rung: Rung, operation: Operation) -> Rung {
    match operation {
        Operation::Invoke => rung,
        Operation::View => Rung::L0,
    }
}
