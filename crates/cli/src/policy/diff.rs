//! `weaver policy diff`.

use serde_json::{Value, json};
use weaver_policy_analysis::{ChangedDecision, DocumentChange, PolicyDiff, VerdictWithReason};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::args::Diff;
use super::{documents, request_lines};
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Diff) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let before = documents::load_folder_or_policy(&args.a, args.contracts.as_ref(), now)?;
    let after = documents::load_folder_or_policy(&args.b, args.contracts.as_ref(), now)?;
    let mut diff = PolicyDiff::new(&before, &after);
    let mut wrong = Vec::new();
    let mut errors: u64 = 0;
    if let Some(path) = &args.replay {
        let mut requests = request_lines::RequestReader::open(path)?;
        while let Some(line) = requests.read_next()? {
            if let Err(error) = line.request.and_then(|request| diff.compare_request(&request)) {
                errors += 1;
                if wrong.len() < 100 {
                    wrong.push(request_lines::error_json(line.number, &error));
                }
            }
        }
    }
    if args.output.json {
        output::json(&diff_json(&diff, &wrong))?;
    } else {
        output::text(&diff_text(&diff, &wrong))?;
    }
    if errors > 0 {
        return Err(request_lines::invalid_lines_failure(errors));
    }
    let same = diff.document_changes().is_empty() && diff.counts().is_empty();
    Ok(if args.exit_code && !same { Exit::Failed } else { Exit::Ok })
}

fn diff_json(diff: &PolicyDiff<'_>, wrong: &[Value]) -> Value {
    let decision = |one: VerdictWithReason| json!({ "verdict": one.verdict, "reason": one.reason });
    let changed = |one: &ChangedDecision| {
        json!({
            "id": one.id,
            "kind": one.kind(),
            "before": decision(one.before),
            "after": decision(one.after),
        })
    };
    json!({
        "changes": diff.document_changes(),
        "requests": diff.compared_count(),
        "counts": diff.counts(),
        "flips": diff.changed_decisions().iter().map(changed).collect::<Vec<_>>(),
        "errors": wrong,
    })
}

/// What two policies say differently.
pub(crate) fn diff_text(diff: &PolicyDiff<'_>, wrong: &[Value]) -> String {
    let mut out = String::new();
    for (place, change) in diff.document_changes() {
        let sign = match change {
            DocumentChange::Added => "+",
            DocumentChange::Removed => "-",
            DocumentChange::Changed => "~",
        };
        out.push_str(&format!("{sign} {}\n", escape::line(place)));
    }
    if diff.document_changes().is_empty() {
        out.push_str("the documents say the same\n");
    }
    let decision_text =
        |one: VerdictWithReason| format!("{} ({})", one.verdict, one.reason.as_str());
    for changed in diff.changed_decisions() {
        let (before, after) = (decision_text(changed.before), decision_text(changed.after));
        out.push_str(&format!("{}: {before} → {after}\n", escape::line(&changed.id)));
    }
    for (kind, count) in diff.counts() {
        out.push_str(&format!("{count} {kind}\n"));
    }
    for one in wrong {
        out.push_str(&format!("{}\n", escape::line(&one.to_string())));
    }
    if diff.compared_count() > 0 {
        let flipped: usize = diff.counts().values().sum();
        out.push_str(&format!("{flipped} of {} requests flip\n", diff.compared_count()));
    }
    out
}
