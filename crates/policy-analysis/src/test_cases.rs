//! Test cases for a policy: requests in a file, with the expected decisions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_types::{ReasonCode, Timestamp, Verdict};

use crate::evaluation::Evaluator;
use crate::policy_diff::VerdictWithReason;
use crate::recorded_request::{RecordedRequest, RequestError};

/// The maximum number of cases in a file.
const MAX_CASES: usize = 20_000;
/// The maximum size of a file, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why a file of test cases cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct TestCaseError {
    /// The position: a line, or the number of a case (from 1) with its name.
    pub place: String,
    /// What is wrong.
    pub message: String,
    code: &'static str,
}

impl TestCaseError {
    fn new(place: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), code }
    }

    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }
}

/// The expected decision of a test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason, if the case states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReasonCode>,
}

/// One test case.
#[derive(Debug, Clone, PartialEq)]
pub struct TestCase {
    /// The request; its id is the name of the case.
    pub request: RecordedRequest,
    /// The expected decision.
    pub expect: Expectation,
}

/// The result of a test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCaseResult {
    /// The name of the case.
    pub name: String,
    /// Whether the decision is as expected.
    pub passed: bool,
    /// The expected decision.
    pub expected: Expectation,
    /// The actual decision, or why there is none.
    pub found: Result<VerdictWithReason, RequestError>,
}

/// The test cases of a file.
///
/// ```
/// use weaver_policy_analysis::TestCases;
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::Timestamp;
///
/// let cases = TestCases::parse(r#"
///     [[cases]]
///     name = "nobody calls what nobody described"
///     capability = "unheard.of"
///     principal = { id = "ana" }
///     expect = { verdict = "deny", reason = "missing_role" }
/// "#, Timestamp::default())?;
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// assert!(cases.run(&set).iter().all(|result| result.passed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TestCases {
    cases: Vec<TestCase>,
}

impl TestCases {
    /// Parses a file of `[[cases]]` tables, each with a `name`, the fields of a request except
    /// `id`, and `expect = { verdict, reason }`. `now` is the default for the time of a case.
    ///
    /// # Errors
    /// [`TestCaseError`], the first problem.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, TestCaseError> {
        if text.len() > MAX_BYTES {
            let message = format!("the file has more than {MAX_BYTES} bytes");
            return Err(TestCaseError::new("file", "cases.too_large", message));
        }
        let mut root: toml::Table =
            toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
        let cases = match root.remove("cases") {
            Some(toml::Value::Array(cases)) if root.is_empty() => cases,
            _ => {
                let key = root.keys().next().map_or("nothing", String::as_str);
                let message = format!("a file of cases holds `[[cases]]` alone; found `{key}`");
                return Err(TestCaseError::new("file", "cases.form", message));
            }
        };
        if cases.len() > MAX_CASES {
            let message = format!("the file has more than {MAX_CASES} cases");
            return Err(TestCaseError::new("file", "cases.too_many", message));
        }
        let parsed = cases.into_iter().zip(1_usize..).map(|(case, n)| parse_case(case, n, now));
        Ok(Self { cases: parsed.collect::<Result<_, _>>()? })
    }

    /// The cases, in the order of the file.
    #[must_use]
    pub fn all(&self) -> &[TestCase] {
        &self.cases
    }

    /// Runs every case separately, as if no call had been made before.
    #[must_use]
    pub fn run(&self, set: &PolicySet) -> Vec<TestCaseResult> {
        self.cases.iter().map(|case| case.run(set)).collect()
    }
}

impl TestCase {
    fn run(&self, set: &PolicySet) -> TestCaseResult {
        let evaluation = Evaluator::new(set).evaluate(&self.request);
        let found = evaluation.as_ref().map(VerdictWithReason::from).map_err(Clone::clone);
        let passed = found.as_ref().is_ok_and(|found| {
            let same_reason = self.expect.reason.is_none_or(|reason| reason == found.reason);
            found.verdict == self.expect.verdict && same_reason
        });
        let (name, expected) = (self.request.id.clone(), self.expect.clone());
        TestCaseResult { name, passed, expected, found }
    }
}

fn syntax_error(text: &str, error: &toml::de::Error) -> TestCaseError {
    let line = error
        .span()
        .map_or(1, |span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
    TestCaseError::new(format!("line {line}"), "cases.syntax", error.message())
}

fn parse_case(case: toml::Value, n: usize, now: Timestamp) -> Result<TestCase, TestCaseError> {
    let plain = || format!("case {n}");
    let toml::Value::Table(mut case) = case else {
        return Err(TestCaseError::new(plain(), "cases.form", "it is not a table"));
    };
    let Some(toml::Value::String(name)) = case.remove("name") else {
        return Err(TestCaseError::new(plain(), "cases.form", "it needs a `name`, a text"));
    };
    let shown: String = weaver_text::escape::line(&name).chars().take(80).collect();
    let place = format!("case {n} `{shown}`");
    let invalid = |message: String| TestCaseError::new(place.clone(), "cases.form", message);
    let expect = case.remove("expect").ok_or_else(|| {
        invalid("it needs `expect = { verdict = \"…\", reason = \"…\" }`".to_owned())
    })?;
    let expect = Expectation::deserialize(toml_to_json(expect))
        .map_err(|error| invalid(format!("`expect`: {error}")))?;
    if case.contains_key("id") {
        return Err(invalid("`id` is not for cases; the `name` is enough".to_owned()));
    }
    let mut request = toml_to_json(toml::Value::Table(case));
    if let Some(request) = request.as_object_mut() {
        request.insert("id".to_owned(), Value::String(name));
    }
    let request =
        RecordedRequest::from_value(request, now).map_err(|error| invalid(error.to_string()))?;
    Ok(TestCase { request, expect })
}

/// Converts a TOML value to JSON; a date becomes its text.
fn toml_to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => items.into_iter().map(toml_to_json).collect(),
        toml::Value::Table(members) => Value::Object(
            members.into_iter().map(|(name, one)| (name, toml_to_json(one))).collect(),
        ),
    }
}
