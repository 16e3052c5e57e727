//! Signals as one check of the decision.

use weaver_text::escape;
use weaver_types::{Check, Contribution, Discharge, Operation, ReasonCode, Rung, Verdict};

use super::report::SignalReport;
use super::table::SignalTable;
use super::{Signal, Subject};

/// How many signals or failures of one verdict are named one by one; the rest speak together.
const MAX_NAMED: usize = 16;

/// What the report says about a call on this rung: holds that an approval for this call
/// discharges, and denials where the table says so. Nothing in it can loosen a decision. A source
/// that failed speaks by [`SignalTable::unavailable`]: by default it holds what writes, and reads go
/// on.
#[must_use]
pub fn contributions(
    report: &SignalReport,
    table: &SignalTable,
    rung: Rung,
    operation: Operation,
) -> Vec<Contribution> {
    let mut out = Vec::new();
    if report.signals().is_empty() && report.failed().is_empty() {
        return out;
    }
    let failed: Vec<_> = report
        .failed()
        .iter()
        .map(|f| {
            format!("the source `{}` failed: {}", escape::line(&f.source), escape::line(&f.message))
        })
        .collect();
    let verdict = table.without_answer(rung, operation);
    if verdict > Verdict::Allow {
        spoken(&mut out, &failed, verdict, ReasonCode::SignalUnavailable);
    }
    for verdict in [Verdict::Deny, Verdict::Hold] {
        let says = |signal: &&Signal| table.verdict(signal, rung, operation) == verdict;
        let raised: Vec<_> = report.signals().iter().filter(says).map(words).collect();
        spoken(&mut out, &raised, verdict, ReasonCode::SignalRaised);
    }
    out
}

fn spoken(out: &mut Vec<Contribution>, details: &[String], verdict: Verdict, reason: ReasonCode) {
    let discharge = match verdict {
        Verdict::Hold => Discharge::Approval,
        Verdict::Allow | Verdict::Ask | Verdict::Deny => Discharge::Nothing,
    };
    let says = |detail: &str| {
        Contribution::new(Check::Signal, verdict, reason, detail).discharged_by(discharge.clone())
    };
    out.extend(details.iter().take(MAX_NAMED).map(|detail| says(detail)));
    if let Some(rest) = details.get(MAX_NAMED..).filter(|rest| !rest.is_empty()) {
        out.push(says(&format!("{} more of this sort", rest.len())));
    }
}

fn words(signal: &Signal) -> String {
    let about = match &signal.subject {
        Subject::Belief(id) => format!("belief `{id}`"),
        Subject::Decision(id) => format!("decision `{id}`"),
        Subject::ToolSequence => "the sequence of calls".to_owned(),
        Subject::Action(id) => format!("call `{id}`"),
    };
    let (source, detail) = (escape::line(&signal.source), escape::line(&signal.detail));
    let (severity, kind) = (signal.severity.as_str(), signal.kind.as_str());
    format!("{severity} {kind} of `{source}` about {about}: {detail}")
}
