//! `weaver policy test`.

use serde_json::json;
use weaver_policy::analysis::{Cases, Outcome};
use weaver_text::escape;
use weaver_types::{Clock as _, ReasonCode, SystemClock, Verdict};

use super::args::Test;
use super::documents;
use crate::{Exit, Failure, output};

/// The largest file of cases, in bytes.
const MAX_CASES: usize = 4 * 1024 * 1024;

pub(super) fn run(args: &Test) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let loaded = documents::load(&args.documents, now)?;
    let text = documents::read(&args.cases, MAX_CASES)?;
    let cases = Cases::parse(&text, now).map_err(|error| {
        let message = format!("{}: {error}", args.cases.display());
        Failure::new(Exit::Invalid, error.code(), message)
            .next("`weaver policy test --help` shows the form")
    })?;
    let outcomes = cases.run(&loaded.set);
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    if args.output.json {
        let cases: Vec<_> = outcomes.iter().map(as_json).collect();
        let origin = documents::origin(&loaded.set);
        output::json(&json!({ "ok": failed == 0, "cases": cases, "origin": origin }))?;
    } else {
        let mut out: String = outcomes.iter().map(in_words).collect();
        out.push_str(&format!("{} passed, {failed} failed\n", outcomes.len() - failed));
        output::text(&out)?;
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

fn as_json(outcome: &Outcome) -> serde_json::Value {
    let found = match &outcome.found {
        Ok((verdict, reason)) => json!({ "verdict": verdict, "reason": reason }),
        Err(error) => json!({ "error": error }),
    };
    json!({
        "name": outcome.name,
        "passed": outcome.passed,
        "expected": outcome.expected,
        "found": found,
    })
}

fn in_words(outcome: &Outcome) -> String {
    let name = escape::line(&outcome.name);
    if outcome.passed {
        return format!("{} {name}\n", output::verdict(true, "ok"));
    }
    let answer = |verdict: Verdict, reason: Option<ReasonCode>| match reason {
        Some(reason) => format!("{verdict} ({})", reason.as_str()),
        None => verdict.to_string(),
    };
    let expected = answer(outcome.expected.verdict, outcome.expected.reason);
    let found = match &outcome.found {
        Ok((verdict, reason)) => answer(*verdict, Some(*reason)),
        Err(error) => escape::line(error).into_owned(),
    };
    format!("{} {name}: expected {expected}, found {found}\n", output::verdict(false, "failed"))
}
