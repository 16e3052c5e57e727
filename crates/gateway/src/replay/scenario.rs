//! Recorded steps, as a line of a file tells them.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest line, in bytes.
pub const MAX_LINE: usize = 64 << 20;
/// The most steps of one scenario.
const MAX_STEPS: usize = 10_000;

/// One task, recorded. Fields that are not named here are somebody else's and are passed over.
#[derive(Debug, Deserialize)]
pub struct Scenario {
    /// Its name, given back with each step.
    pub id: Value,
    /// What the user said.
    #[serde(default)]
    pub prompt: String,
    /// What was called, in this order.
    pub steps: Vec<Step>,
}

/// One call with what came of it.
#[derive(Debug, Deserialize)]
pub struct Step {
    /// The capability.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
    /// What it answered: a text, or JSON.
    #[serde(default)]
    pub output: Value,
    /// What the tool said instead, where it failed.
    #[serde(default)]
    pub error: Option<Value>,
    /// Whether somebody would release it if it were held; the user's own steps are.
    #[serde(default = "yes")]
    pub release: bool,
    /// Whether its output holds what others wrote. Serves scoring; the gate never sees it.
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "read so that its form is checked; taint comes from the contracts"
    )]
    untrusted: bool,
}

fn yes() -> bool {
    true
}

/// Why a line is no scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The line is longer than a scenario may be.
    #[error("the line has more than {MAX_LINE} bytes")]
    TooLong,
    /// It has more steps than a scenario may have.
    #[error("it has more than {MAX_STEPS} steps")]
    TooManySteps,
    /// It does not have the form of one.
    #[error(
        "{problem}; write {{\"id\", \"prompt\", \"steps\": [{{\"tool\", \"args\", \"output\"}}]}}"
    )]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
}

impl Scenario {
    /// Reads a line.
    ///
    /// # Errors
    /// [`ScenarioError`]; its text repeats nothing of the line.
    pub fn parse(line: &[u8]) -> Result<Self, ScenarioError> {
        if line.len() > MAX_LINE {
            return Err(ScenarioError::TooLong);
        }
        let scenario: Self = serde_json::from_slice(line).map_err(|error| {
            let problem = match error.classify() {
                serde_json::error::Category::Data => error.to_string(),
                _ => format!("it is no JSON object (column {})", error.column()),
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
        let line = br#"{"id":"a","prompt":"p","suite":"x","steps":[{"tool":"t","args":{"a":1},"output":"o","untrusted":true}]}"#;
        let scenario = Scenario::parse(line).unwrap();
        assert_eq!((scenario.steps.len(), scenario.steps[0].release), (1, true));
        for (line, problem) in [
            (r#"{"id":1}"#, "missing field `steps`"),
            (r#"{"id":1,"steps":[{}]}"#, "missing field `tool`"),
            (r#"{"id":1,"steps":[{"tool":"t","args":[]}]}"#, "expected a map"),
            ("[", "no JSON object"),
        ] {
            let said = Scenario::parse(line.as_bytes()).unwrap_err().to_string();
            assert!(said.contains(problem), "{said}");
        }
    }
}
