//! The rungs from which signals hold or deny calls, by severity and kind.

use weaver_types::{Operation, Rung, Verdict};

use super::{Severity, Signal, SignalKind, SignalSubject};

/// The rungs from which calls are held or denied; `None` means never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RungThresholds {
    /// Calls are held from this rung on.
    pub hold_from: Option<Rung>,
    /// Calls are denied from this rung on.
    pub deny_from: Option<Rung>,
}

impl RungThresholds {
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

/// The signal table of a policy: from which rung on a signal holds or denies calls.
///
/// By default nothing is denied: a false alarm or a failed source then costs a person's review and
/// not the call. A signed policy may deny instead.
///
/// A more severe signal has at least the effect of a milder one, whatever the table says. Weak
/// beliefs have an entry of their own and no severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalTable {
    /// For [`Severity::Info`]; by default, never.
    pub info: RungThresholds,
    /// For [`Severity::Warning`]; by default, held from L2 on.
    pub warning: RungThresholds,
    /// For [`Severity::Critical`]; by default held from L1 on.
    pub critical: RungThresholds,
    /// For [`SignalKind::LowConfidenceBelief`]; by default held from L3 on.
    pub low_confidence: RungThresholds,
    /// For a source that could not answer; by default held from L2 on.
    pub unavailable: RungThresholds,
}

impl Default for SignalTable {
    fn default() -> Self {
        let held = |rung| RungThresholds { hold_from: Some(rung), deny_from: None };
        Self {
            info: RungThresholds::default(),
            warning: held(Rung::L2),
            critical: held(Rung::L1),
            low_confidence: held(Rung::L3),
            unavailable: held(Rung::L2),
        }
    }
}

impl SignalTable {
    /// The verdict of this signal for a call on this rung. A view counts as L0, because viewing a
    /// stored result has no effect.
    #[must_use]
    pub fn verdict(&self, signal: &Signal, rung: Rung, operation: Operation) -> Verdict {
        if matches!(signal.subject, SignalSubject::Action(_)) {
            return Verdict::Allow;
        }
        let rung = effective_rung(rung, operation);
        match signal.kind {
            SignalKind::LowConfidenceBelief => self.low_confidence.verdict(rung),
            SignalKind::SentinelAlert | SignalKind::CalibrationFlag => {
                self.by_severity(signal.severity, rung)
            }
        }
    }

    /// The verdict of a failed source for a call on this rung.
    #[must_use]
    pub fn unavailable_verdict(&self, rung: Rung, operation: Operation) -> Verdict {
        self.unavailable.verdict(effective_rung(rung, operation))
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

/// The rung that a call counts as.
fn effective_rung(rung: Rung, operation: Operation) -> Rung {
    match operation {
        Operation::Invoke => rung,
        Operation::View => Rung::L0,
    }
}
