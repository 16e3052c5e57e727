//! Test cases of a policy: requests in a file with the decisions that are expected.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_types::{ReasonCode, Timestamp, Verdict};

use crate::diff::VerdictWithReason;
use crate::evaluation::Evaluator;
use crate::request::{RecordedRequest, RequestError};

/// The most cases in a file.
const MAX_CASES: usize = 20_000;
/// The largest file, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Why a file of cases cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct CaseError {
    /// Where: a line, or the number of a case from 1 with its name.
    pub place: String,
    /// What is wrong.
    pub message: String,
    code: &'static str,
}

impl CaseError {
    fn new(place: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), code }
    }

    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }
}

/// What a case expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason, where the case says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReasonCode>,
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What is asked; its id is the name of the case.
    pub request: RecordedRequest,
    /// What should be answered.
    pub expect: Expectation,
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    /// The name of the case.
    pub name: String,
    /// Whether it is as expected.
    pub passed: bool,
    /// What was expected.
    pub expected: Expectation,
    /// What was decided, or why nothing was.
    pub found: Result<VerdictWithReason, RequestError>,
}

/// The cases of a file.
///
/// ```
/// use weaver_policy_analysis::Cases;
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::Timestamp;
///
/// let cases = Cases::parse(r#"
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
pub struct Cases {
    all: Vec<Case>,
}

impl Cases {
    /// Reads a file of cases: `[[cases]]` tables, each with a `name`, the fields of a request
    /// without its `id`, and `expect = { verdict, reason }`. `now` is the time of a case that
    /// names none.
    ///
    /// # Errors
    /// [`CaseError`] with the first thing that is wrong.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, CaseError> {
        if text.len() > MAX_BYTES {
            let message = format!("the file has more than {MAX_BYTES} bytes");
            return Err(CaseError::new("file", "cases.too_large", message));
        }
        let mut root: toml::Table = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        let cases = match root.remove("cases") {
            Some(toml::Value::Array(cases)) if root.is_empty() => cases,
            _ => {
                let key = root.keys().next().map_or("nothing", String::as_str);
                let message = format!("a file of cases holds `[[cases]]` alone; found `{key}`");
                return Err(CaseError::new("file", "cases.form", message));
            }
        };
        if cases.len() > MAX_CASES {
            let message = format!("the file has more than {MAX_CASES} cases");
            return Err(CaseError::new("file", "cases.too_many", message));
        }
        let all = cases.into_iter().zip(1_usize..).map(|(case, n)| one(case, n, now));
        Ok(Self { all: all.collect::<Result<_, _>>()? })
    }

    /// The cases, in the order of the file.
    #[must_use]
    pub fn all(&self) -> &[Case] {
        &self.all
    }

    /// Runs every case on its own, as if no call had been made before.
    #[must_use]
    pub fn run(&self, set: &PolicySet) -> Vec<CaseResult> {
        self.all.iter().map(|case| case.run(set)).collect()
    }
}

impl Case {
    fn run(&self, set: &PolicySet) -> CaseResult {
        let evaluation = Evaluator::new(set).evaluate(&self.request);
        let found = evaluation.as_ref().map(VerdictWithReason::from).map_err(Clone::clone);
        let passed = found.as_ref().is_ok_and(|found| {
            let same_reason = self.expect.reason.is_none_or(|reason| reason == found.reason);
            found.verdict == self.expect.verdict && same_reason
        });
        let (name, expected) = (self.request.id.clone(), self.expect.clone());
        CaseResult { name, passed, expected, found }
    }
}

fn syntax(text: &str, error: &toml::de::Error) -> CaseError {
    let line = error
        .span()
        .map_or(1, |span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
    CaseError::new(format!("line {line}"), "cases.syntax", error.message())
}

fn one(case: toml::Value, n: usize, now: Timestamp) -> Result<Case, CaseError> {
    let plain = || format!("case {n}");
    let toml::Value::Table(mut case) = case else {
        return Err(CaseError::new(plain(), "cases.form", "it is no table"));
    };
    let Some(toml::Value::String(name)) = case.remove("name") else {
        return Err(CaseError::new(plain(), "cases.form", "it needs a `name`, a text"));
    };
    let shown: String = weaver_text::escape::line(&name).chars().take(80).collect();
    let place = format!("case {n} `{shown}`");
    let wrong = |message: String| CaseError::new(place.clone(), "cases.form", message);
    let expect = case.remove("expect").ok_or_else(|| {
        wrong("it needs `expect = { verdict = \"…\", reason = \"…\" }`".to_owned())
    })?;
    let expect = Expectation::deserialize(json(expect))
        .map_err(|error| wrong(format!("`expect`: {error}")))?;
    if case.contains_key("id") {
        return Err(wrong("`id` is not for cases; the `name` is enough".to_owned()));
    }
    let mut request = json(toml::Value::Table(case));
    if let Some(request) = request.as_object_mut() {
        request.insert("id".to_owned(), Value::String(name));
    }
    let request =
        RecordedRequest::from_value(request, now).map_err(|error| wrong(error.to_string()))?;
    Ok(Case { request, expect })
}

/// The same as JSON; a date is its text.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(members) => {
            Value::Object(members.into_iter().map(|(name, one)| (name, json(one))).collect())
        }
    }
}
