//! Scenarios: recorded tasks, one per line of a JSONL file.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest line, in bytes.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// The most steps of one scenario.
const MAX_STEPS: usize = 10_000;

/// A recorded task. Unknown fields belong to other programs and are ignored.
#[derive(Debug, Deserialize)]
pub struct Scenario {
    /// The name of the scenario, repeated in the output of each step.
    pub id: Value,
    /// The user's prompt.
    #[serde(default)]
    pub prompt: String,
    /// The recorded calls, in order.
    pub steps: Vec<Step>,
}

/// A recorded call with its result.
#[derive(Debug, Deserialize)]
pub struct Step {
    /// The capability.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
    /// The result: text or JSON.
    #[serde(default)]
    pub output: Value,
    /// The error that the tool returned instead, if it failed.
    #[serde(default)]
    pub error: Option<Value>,
    /// Whether an approver would release the step if it were held. True for steps that the user
    /// wanted.
    #[serde(default = "yes")]
    pub release: bool,
}

fn yes() -> bool {
    true
}

/// Why a line is not a valid scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The line is longer than a scenario may be.
    #[error("the line has more than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// It has more steps than a scenario may have.
    #[error("it has more than {MAX_STEPS} steps")]
    TooManySteps,
    /// The line does not have the form of a scenario.
    #[error(
        "{problem}; write {{\"id\", \"prompt\", \"steps\": [{{\"tool\", \"args\", \"output\"}}]}}"
    )]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
}

impl Scenario {
    /// Parses a line.
    ///
    /// # Errors
    /// [`ScenarioError`]; its text quotes nothing of the line.
    pub fn parse(line: &[u8]) -> Result<Self, ScenarioError> {
        if line.len() > MAX_LINE_BYTES {
            return Err(ScenarioError::TooLong);
        }
        let scenario: Self = serde_json::from_slice(line).map_err(|error| {
            let problem = match error.classify() {
                serde_json::error::Category::Data => error.to_string(),
                _ => format!("it is not a JSON object (column {})", error.column()),
            };
            ScenarioError::Malformed { problem }
        })?;
        if scenario.steps.len() > MAX_STEPS {
            return Err(ScenarioError::TooManySteps);
        }
        Ok(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_passed_over_and_what_is_missing_is_said() {
        let line = br#"{"id":"a","prompt":"p","suite":"x","steps":[{"tool":"t","args":{"a":1},"output":"o","other":true}]}"#;
        let scenario = Scenario::parse(line).unwrap();
        assert_eq!((scenario.steps.len(), scenario.steps[0].release), (1, true));
        for (line, problem) in [
            (r#"{"id":1}"#, "missing field `steps`"),
            (r#"{"id":1,"steps":[{}]}"#, "missing field `tool`"),
            (r#"{"id":1,"steps":[{"tool":"t","args":[]}]}"#, "expected a map"),
            ("[", "not a JSON object"),
        ] {
            let said = Scenario::parse(line.as_bytes()).unwrap_err().to_string();
            assert!(said.contains(problem), "{said}");
        }
    }
}
