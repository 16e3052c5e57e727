//! The floor that no rule can weaken, and the restrictions of the run mode.

use weaver_types::{
    CheckKind, CheckResult, Constraints, Operation, ReasonCode, Remedy, ResponseMode, Rung,
    SafetyClass, SafetyMode, Verdict,
};

use super::allow_with_constraints;
use crate::query::PolicyQuery;

/// Denies L5. Holds L4, except for viewing a stored result, which has no effect.
pub(super) fn check_rung(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    match (query.capability.rung(), query.operation) {
        (Rung::L5, _) => out.push(CheckResult::new(
            CheckKind::Prohibited,
            Verdict::Deny,
            ReasonCode::Prohibited,
            "the contract of the tool prohibits its calls",
        )),
        (Rung::L4, Operation::Invoke) => out.push(
            CheckResult::new(
                CheckKind::Floor,
                Verdict::Hold,
                ReasonCode::FloorHold,
                "what reaches outside this machine or cannot be undone waits for a person, whatever the rules say",
            )
            .with_remedy(Remedy::Approval),
        ),
        (Rung::L4, Operation::View) | (Rung::L0 | Rung::L1 | Rung::L2 | Rung::L3, _) => {}
    }
}

/// SAFE and STRICT allow only local reads. STRICT also limits what is shown to handles, and to
/// summaries when a handle is viewed.
pub(super) fn check_mode(query: &PolicyQuery<'_>, out: &mut Vec<CheckResult>) {
    let word = match query.mode {
        SafetyMode::Normal => return,
        SafetyMode::Safe => "SAFE",
        SafetyMode::Strict => "STRICT",
    };
    let capability = query.capability;
    if capability.class() != SafetyClass::ReadOnly || capability.rung() != Rung::L0 {
        let detail = format!("run mode {word} allows only tools that read on this machine");
        let reason = ReasonCode::ModeForbids;
        out.push(CheckResult::new(CheckKind::Mode, Verdict::Deny, reason, detail));
    }
    if query.mode == SafetyMode::Strict {
        let shown = match query.operation {
            Operation::Invoke => ResponseMode::HandleOnly,
            Operation::View => ResponseMode::Summary,
        };
        let constraints = Constraints { mode: Some(shown), ..Constraints::default() };
        out.push(allow_with_constraints(
            CheckKind::Mode,
            "run mode STRICT limits what is shown",
            constraints,
        ));
    }
}
