//! What Weaver answers to a tool call, read from the result as a client gets it.

use serde_json::Value;
use weaver_types::Verdict;

/// An answer of Weaver.
#[derive(Debug)]
pub(super) struct Answer {
    /// What was decided.
    pub(super) verdict: Verdict,
    /// The codes of the reasons, the primary one first; empty when allowed.
    pub(super) reasons: Vec<String>,
    /// The structured result.
    pub(super) body: Value,
}

impl Answer {
    /// Reads the result of a tool call. `None` when it is none of Weaver's.
    pub(super) fn read(result: &Value) -> Option<Self> {
        let body = result.get("structuredContent")?.clone();
        let refused = result.get("isError") == Some(&Value::Bool(true));
        let verdict = match body.get("verdict") {
            Some(word) => serde_json::from_value(word.clone()).ok()?,
            None if refused => return None,
            None => Verdict::Allow,
        };
        if refused != (verdict != Verdict::Allow) {
            return None;
        }
        let reasons = if refused { reasons(&body) } else { Vec::new() };
        Some(Self { verdict, reasons, body })
    }

    /// The primary reason.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reasons.first().map(String::as_str)
    }

    /// Whether this is one of the reasons.
    pub(super) fn has(&self, reason: &str) -> bool {
        self.reasons.iter().any(|found| found == reason)
    }

    /// The request for an approval that a held call opened; empty without one.
    pub(super) fn request(&self) -> &str {
        self.body.pointer("/approval/request").and_then(Value::as_str).unwrap_or_default()
    }

    /// The frame of a successful call.
    pub(super) fn frame(&self) -> &Value {
        self.body.get("frame").unwrap_or(&Value::Null)
    }

    /// The rows of the frame.
    pub(super) fn rows(&self) -> &[Value] {
        self.frame().get("table").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The id of the handle behind the frame, and how many rows it holds.
    pub(super) fn handle(&self) -> Option<(&str, u64)> {
        let handle = self.frame().get("handle")?;
        let rows = handle.get("total_rows").and_then(Value::as_u64).unwrap_or(0);
        Some((handle.get("handle_id")?.as_str()?, rows))
    }
}

/// The primary reason, then those of the obstacles, each once.
fn reasons(body: &Value) -> Vec<String> {
    let obstacles = body.get("obstacles").and_then(Value::as_array).into_iter().flatten();
    let codes = body.get("reason").into_iter().chain(obstacles.filter_map(|o| o.get("reason")));
    let mut out: Vec<String> = Vec::new();
    for code in codes.filter_map(Value::as_str) {
        if !out.iter().any(|known| known == code) {
            out.push(code.to_owned());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_gives_every_reason_once_and_the_primary_first() {
        let body = json!({
            "verdict": "hold",
            "reason": "floor_hold",
            "obstacles": [{ "reason": "untrusted_influence" }, { "reason": "floor_hold" }],
        });
        let answer = Answer::read(&json!({ "structuredContent": body, "isError": true })).unwrap();
        assert_eq!(answer.verdict, Verdict::Hold);
        assert_eq!(answer.reasons, ["floor_hold", "untrusted_influence"]);
    }

    #[test]
    fn an_answer_that_contradicts_itself_is_none() {
        for result in [
            json!({}),
            json!({ "structuredContent": { "verdict": "allow" }, "isError": true }),
            json!({ "structuredContent": { "verdict": "deny" } }),
            json!({ "structuredContent": { "verdict": "perhaps" } }),
            json!({ "structuredContent": {}, "isError": true }),
        ] {
            assert!(Answer::read(&result).is_none(), "{result}");
        }
    }
}
