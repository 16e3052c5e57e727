//! What a replay says: a line for each step, and in the end how it went.

use serde::Serialize;
use serde_json::{Value, json};
use weaver_types::{ReasonCode, SinkKind, Verdict};

/// What was decided about one step.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    /// The scenario.
    pub id: &'a Value,
    /// The step, from 0 on.
    pub step: usize,
    /// The capability.
    pub tool: &'a str,
    /// The verdict before anybody was asked.
    pub verdict: Verdict,
    /// Its primary reason.
    pub reason: ReasonCode,
    /// That reason in words.
    pub detail: String,
    /// Everything that stands in the way, the primary reason included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Value>,
    /// The sink that the step is; the strictest for a tool that nobody declares.
    pub sink: SinkKind,
    /// The call, as the reasons of later steps name it.
    pub call: String,
    /// What let it go on: a standing approval by its file, or the people of the replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_by: Option<Value>,
    /// Processor time of the decision in microseconds, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

/// How a replay went.
#[derive(Debug, Default)]
pub struct Summary {
    /// How many scenarios were played.
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

    /// For scripts.
    pub fn json(&mut self, origin: &str) -> Value {
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

    /// For people.
    pub fn words(&mut self, origin: &str) -> String {
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
