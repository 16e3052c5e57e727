//! Converts signals to check results of a decision.

use weaver_text::escape;
use weaver_types::{CheckKind, CheckResult, Operation, ReasonCode, Remedy, Rung, Verdict};

use super::signal_report::SignalReport;
use super::signal_table::SignalTable;
use super::{Signal, SignalSubject};
use crate::unlisted_results::describe_unlisted;

/// How many signals or failures of one verdict get a result each; the others share one.
const MAX_NAMED: usize = 16;

/// The results of a report for a call on this rung: holds, which an approval can release, and
/// denials if the table demands them. No result can loosen a decision. A failed source is treated
/// according to [`SignalTable::unavailable`]: by default it holds writes, and reads go on.
#[must_use]
pub fn check_results(
    report: &SignalReport,
    table: &SignalTable,
    rung: Rung,
    operation: Operation,
) -> Vec<CheckResult> {
    let mut out = Vec::new();
    if report.signals().is_empty() && report.failures().is_empty() {
        return out;
    }
    let failed: Vec<_> = report
        .failures()
        .iter()
        .map(|f| {
            format!("the source `{}` failed: {}", escape::line(&f.source), escape::line(&f.message))
        })
        .collect();
    let verdict = table.unavailable_verdict(rung, operation);
    if verdict > Verdict::Allow {
        add_results(&mut out, &failed, verdict, ReasonCode::SignalUnavailable);
    }
    for verdict in [Verdict::Deny, Verdict::Hold] {
        let says = |signal: &&Signal| table.verdict(signal, rung, operation) == verdict;
        let raised: Vec<_> = report.signals().iter().filter(says).map(describe_signal).collect();
        add_results(&mut out, &raised, verdict, ReasonCode::SignalRaised);
    }
    out
}

fn add_results(
    out: &mut Vec<CheckResult>,
    details: &[String],
    verdict: Verdict,
    reason: ReasonCode,
) {
    let remedy = match verdict {
        Verdict::Hold => Remedy::Approval,
        Verdict::Allow | Verdict::Ask | Verdict::Deny => Remedy::Nothing,
    };
    let says = |detail: &str| {
        CheckResult::new(CheckKind::Signal, verdict, reason, detail).with_remedy(remedy.clone())
    };
    out.extend(details.iter().take(MAX_NAMED).map(|detail| says(detail)));
    if let Some(rest) = details.get(MAX_NAMED..).filter(|rest| !rest.is_empty()) {
        let rest = rest.iter().map(String::as_str);
        out.push(says(&describe_unlisted("of this sort", rest)));
    }
}

fn describe_signal(signal: &Signal) -> String {
    let about = match &signal.subject {
        SignalSubject::Belief(id) => format!("belief `{id}`"),
        SignalSubject::Decision(id) => format!("decision `{id}`"),
        SignalSubject::ToolSequence => "the sequence of calls".to_owned(),
        SignalSubject::Action(id) => format!("call `{id}`"),
    };
    let (source, detail) = (escape::line(&signal.source), escape::line(&signal.detail));
    let (severity, kind) = (signal.severity.as_str(), signal.kind.as_str());
    format!("{severity} {kind} of `{source}` about {about}: {detail}")
}
