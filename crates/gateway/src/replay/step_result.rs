//! The output of a replay: a line of JSON per step, and a summary.

use serde::Serialize;
use serde_json::{Value, json};
use weaver_types::{ReasonCode, SinkKind, Verdict};

/// The decision about one step; one line of output.
#[derive(Debug, Serialize)]
pub struct StepResult<'a> {
    /// The id of the scenario.
    pub id: &'a Value,
    /// The index of the step, from 0.
    pub step: usize,
    /// The capability.
    pub tool: &'a str,
    /// The verdict before any approval.
    pub verdict: Verdict,
    /// The primary reason.
    pub reason: ReasonCode,
    /// The primary reason as text.
    pub detail: String,
    /// Everything that stands in the way of the call, including the primary reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Value>,
    /// The kind of sink of the step; the strictest one for a tool without a contract.
    pub sink: SinkKind,
    /// The id of the call, to which the reasons of later steps refer.
    pub call: String,
    /// What released the call: a standing approval by its file, or the approvers of the replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_by: Option<Value>,
    /// The processor time of the decision in microseconds, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// The totals of a replay.
#[derive(Debug, Default)]
pub struct Summary {
    /// The number of scenarios replayed.
    pub scenarios: u64,
    allowed: u64,
    asked: u64,
    held: u64,
    denied: u64,
    micros: Vec<u64>,
}

impl Summary {
    /// Counts a step.
    pub fn count(&mut self, verdict: Verdict, micros: u64) {
        let counter = match verdict {
            Verdict::Allow => &mut self.allowed,
            Verdict::Ask => &mut self.asked,
            Verdict::Hold => &mut self.held,
            Verdict::Deny => &mut self.denied,
        };
        *counter += 1;
        self.micros.push(micros);
    }

    fn median(&mut self) -> Option<u64> {
        self.micros.sort_unstable();
        self.micros.get(self.micros.len() / 2).copied()
    }

    /// The summary as JSON, for scripts.
    pub fn to_json(&mut self, origin: &str) -> Value {
        json!({
            "scenarios": self.scenarios,
            "steps": self.micros.len(),
            "allow": self.allowed,
            "ask": self.asked,
            "hold": self.held,
            "deny": self.denied,
            "median_decision_micros": self.median(),
            "origin": origin,
        })
    }

    /// The summary as text, for people.
    pub fn to_text(&mut self, origin: &str) -> String {
        let median = self.median().map_or_else(String::new, |us| format!("; {us} µs a decision"));
        format!(
            "{} scenarios, {} steps: {} allowed, {} asked about, {} held, {} denied{median} (documents: {origin})",
            self.scenarios,
            self.micros.len(),
            self.allowed,
            self.asked,
            self.held,
            self.denied,
        )
    }
}
