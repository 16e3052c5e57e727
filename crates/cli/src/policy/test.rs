//! `weaver policy test`.

use serde_json::json;
use weaver_policy_analysis::{TestCaseResult, TestCases};
use weaver_text::escape;
use weaver_types::{Clock as _, ReasonCode, SystemClock, Verdict};

use super::args::Test;
use super::documents;
use crate::{Exit, Failure, output};

/// The largest file of cases, in bytes.
const MAX_CASES_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn run(args: &Test) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let loaded = documents::load(&args.documents, now)?;
    let text = documents::read_file(&args.cases, MAX_CASES_BYTES)?;
    let cases = TestCases::parse(&text, now).map_err(|error| {
        let message = format!("{}: {error}", args.cases.display());
        Failure::new(Exit::Invalid, error.code(), message)
            .with_next_step("`weaver policy test --help` shows the form")
    })?;
    let results = cases.run(&loaded.set);
    let failed = results.iter().filter(|result| !result.passed).count();
    if args.output.json {
        let cases: Vec<_> = results.iter().map(case_json).collect();
        let origin = documents::origin_name(&loaded.set);
        output::json(&json!({ "ok": failed == 0, "cases": cases, "origin": origin }))?;
    } else {
        let mut out: String = results.iter().map(case_text).collect();
        out.push_str(&format!("{} passed, {failed} failed\n", results.len() - failed));
        output::text(&out)?;
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

fn case_json(result: &TestCaseResult) -> serde_json::Value {
    let found = match &result.found {
        Ok(found) => json!({ "verdict": found.verdict, "reason": found.reason }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    json!({
        "name": result.name,
        "passed": result.passed,
        "expected": result.expected,
        "found": found,
    })
}

fn case_text(result: &TestCaseResult) -> String {
    let name = escape::line(&result.name);
    if result.passed {
        return format!("{} {name}\n", output::good("ok"));
    }
    let answer = |verdict: Verdict, reason: Option<ReasonCode>| match reason {
        Some(reason) => format!("{verdict} ({})", reason.as_str()),
        None => verdict.to_string(),
    };
    let expected = answer(result.expected.verdict, result.expected.reason);
    let found = match &result.found {
        Ok(found) => answer(found.verdict, Some(found.reason)),
        Err(error) => escape::line(&error.to_string()).into_owned(),
    };
    format!("{} {name}: expected {expected}, found {found}\n", output::bad("failed"))
}
