//! `weaver policy diff`.

use serde_json::{Value, json};
use weaver_policy_analysis::{ChangedDecision, DocumentChange, PolicyDiff, VerdictWithReason};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::args::Diff;
use super::{documents, lines};
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Diff) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let before = documents::either(&args.a, args.contracts.as_ref(), now)?;
    let after = documents::either(&args.b, args.contracts.as_ref(), now)?;
    let mut diff = PolicyDiff::new(&before, &after);
    let mut wrong = Vec::new();
    let mut errors: u64 = 0;
    if let Some(path) = &args.replay {
        let mut requests = lines::Lines::open(path)?;
        while let Some(line) = requests.next()? {
            if let Err(error) = line.request.and_then(|request| diff.replay(&request)) {
                errors += 1;
                if wrong.len() < 100 {
                    wrong.push(lines::error(line.number, &error));
                }
            }
        }
    }
    if args.output.json {
        output::json(&as_json(&diff, &wrong))?;
    } else {
        output::text(&in_words(&diff, &wrong))?;
    }
    if errors > 0 {
        return Err(lines::invalid(errors));
    }
    let same = diff.document_changes().is_empty() && diff.counts().is_empty();
    Ok(if args.exit_code && !same { Exit::Failed } else { Exit::Ok })
}

fn as_json(diff: &PolicyDiff<'_>, wrong: &[Value]) -> Value {
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
        "requests": diff.replayed(),
        "counts": diff.counts(),
        "flips": diff.changed_decisions().iter().map(changed).collect::<Vec<_>>(),
        "errors": wrong,
    })
}

fn in_words(diff: &PolicyDiff<'_>, wrong: &[Value]) -> String {
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
    let in_words = |one: VerdictWithReason| format!("{} ({})", one.verdict, one.reason.as_str());
    for changed in diff.changed_decisions() {
        let (before, after) = (in_words(changed.before), in_words(changed.after));
        out.push_str(&format!("{}: {before} → {after}\n", escape::line(&changed.id)));
    }
    for (kind, count) in diff.counts() {
        out.push_str(&format!("{count} {kind}\n"));
    }
    for one in wrong {
        out.push_str(&format!("{}\n", escape::line(&one.to_string())));
    }
    if diff.replayed() > 0 {
        let flipped: usize = diff.counts().values().sum();
        out.push_str(&format!("{flipped} of {} requests flip\n", diff.replayed()));
    }
    out
}
