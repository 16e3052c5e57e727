//! `weaver policy diff`.

use serde_json::{Value, json};
use weaver_policy::analysis::{Change, Comparison, Flip};
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::args::Diff;
use super::{documents, lines};
use crate::{Exit, Failure, output};

pub(super) fn run(args: &Diff) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let before = documents::either(&args.a, args.contracts.as_ref(), now)?;
    let after = documents::either(&args.b, args.contracts.as_ref(), now)?;
    let mut comparison = Comparison::new(&before, &after);
    let mut wrong = Vec::new();
    let mut errors: u64 = 0;
    if let Some(path) = &args.replay {
        let mut requests = lines::Lines::open(path)?;
        while let Some(line) = requests.next()? {
            if let Err(error) = line.request.and_then(|request| comparison.replay(&request)) {
                errors += 1;
                if wrong.len() < 100 {
                    wrong.push(lines::error(line.number, &error));
                }
            }
        }
    }
    if args.output.json {
        output::json(&as_json(&comparison, &wrong))?;
    } else {
        output::text(&in_words(&comparison, &wrong))?;
    }
    if errors > 0 {
        return Err(lines::invalid(errors));
    }
    let same = comparison.changes().is_empty() && comparison.counts().is_empty();
    Ok(if args.exit_code && !same { Exit::Failed } else { Exit::Ok })
}

fn as_json(comparison: &Comparison<'_>, wrong: &[Value]) -> Value {
    let answer = |(verdict, reason)| json!({ "verdict": verdict, "reason": reason });
    let flip = |flip: &Flip| {
        json!({
            "id": flip.id,
            "kind": flip.kind(),
            "before": answer(flip.before),
            "after": answer(flip.after),
        })
    };
    json!({
        "changes": comparison.changes(),
        "requests": comparison.seen(),
        "counts": comparison.counts(),
        "flips": comparison.flips().iter().map(flip).collect::<Vec<_>>(),
        "errors": wrong,
    })
}

fn in_words(comparison: &Comparison<'_>, wrong: &[Value]) -> String {
    let mut out = String::new();
    for (place, change) in comparison.changes() {
        let sign = match change {
            Change::Added => "+",
            Change::Removed => "-",
            Change::Changed => "~",
        };
        out.push_str(&format!("{sign} {}\n", escape::line(place)));
    }
    if comparison.changes().is_empty() {
        out.push_str("the documents say the same\n");
    }
    for flip in comparison.flips() {
        let ((before, why), (after, now)) = (flip.before, flip.after);
        let (why, now) = (why.as_str(), now.as_str());
        let id = escape::line(&flip.id);
        out.push_str(&format!("{id}: {before} ({why}) → {after} ({now})\n"));
    }
    for (kind, count) in comparison.counts() {
        out.push_str(&format!("{count} {kind}\n"));
    }
    for one in wrong {
        out.push_str(&format!("{}\n", escape::line(&one.to_string())));
    }
    if comparison.seen() > 0 {
        let flipped: usize = comparison.counts().values().sum();
        out.push_str(&format!("{flipped} of {} requests flip\n", comparison.seen()));
    }
    out
}
