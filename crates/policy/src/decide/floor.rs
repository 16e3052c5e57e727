//! The floor that no rule can weaken, and the run mode.

use weaver_types::{
    Check, Constraints, Contribution, Discharge, Operation, ReasonCode, ResponseMode, Rung,
    SafetyClass, SafetyMode, Verdict,
};

use super::limit;
use crate::query::Query;

/// L5 is denied. L4 is held, unless a result is only looked at, which has no effect.
pub(super) fn rung(query: &Query<'_>, out: &mut Vec<Contribution>) {
    match (query.capability.rung(), query.operation) {
        (Rung::L5, _) => out.push(Contribution::new(
            Check::Prohibited,
            Verdict::Deny,
            ReasonCode::Prohibited,
            "the capability is on rung L5",
        )),
        (Rung::L4, Operation::Invoke) => out.push(
            Contribution::new(
                Check::Floor,
                Verdict::Hold,
                ReasonCode::FloorHold,
                "the capability is on rung L4: external or irreversible",
            )
            .discharged_by(Discharge::Approval),
        ),
        (Rung::L4, Operation::View) | (Rung::L0 | Rung::L1 | Rung::L2 | Rung::L3, _) => {}
    }
}

/// SAFE and STRICT allow local reads only; STRICT shows handles, and summaries of them.
pub(super) fn mode(query: &Query<'_>, out: &mut Vec<Contribution>) {
    let word = match query.mode {
        SafetyMode::Normal => return,
        SafetyMode::Safe => "SAFE",
        SafetyMode::Strict => "STRICT",
    };
    let capability = query.capability;
    if capability.class() != SafetyClass::ReadOnly || capability.rung() != Rung::L0 {
        let detail = format!("run mode {word} allows only local reads on rung L0");
        let reason = ReasonCode::ModeForbids;
        out.push(Contribution::new(Check::Mode, Verdict::Deny, reason, detail));
    }
    if query.mode == SafetyMode::Strict {
        let shown = match query.operation {
            Operation::Invoke => ResponseMode::HandleOnly,
            Operation::View => ResponseMode::Summary,
        };
        let constraints = Constraints { mode: Some(shown), ..Constraints::default() };
        out.push(limit(Check::Mode, "run mode STRICT limits what is shown", constraints));
    }
}
