//! Reads Weaver's answer to a tool call from the result as a client gets it.

use serde_json::Value;
use weaver_types::Verdict;

/// An answer of Weaver.
#[derive(Debug)]
pub(super) struct ToolAnswer {
    /// What was decided.
    pub(super) verdict: Verdict,
    /// The reason codes, the primary one first; empty when allowed.
    pub(super) reasons: Vec<String>,
    /// The body of Weaver's own answer, or the structured value of a delivered result.
    pub(super) body: Value,
    /// The texts of the content, as a model reads them.
    pub(super) text: String,
    /// The id of the handle behind a delivered result.
    pub(super) handle: Option<String>,
    /// The ids of the tools that a browse lists.
    pub(super) tools: Vec<String>,
}

impl ToolAnswer {
    /// Reads the result of a tool call. `None` if it is no answer of Weaver's.
    pub(super) fn read(result: &Value) -> Option<Self> {
        if let Some(word) = result.pointer("/_meta/weaver~1verdict") {
            return Self::read_delivered(result, word);
        }
        if let Some(ids) = result.pointer("/_meta/weaver~1tools").and_then(Value::as_array) {
            let tools = ids.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let (verdict, text) = (Verdict::Allow, content_text(result));
            let (reasons, body, handle) = (Vec::new(), Value::Null, None);
            return Some(Self { verdict, reasons, body, text, handle, tools });
        }
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
        Some(Self {
            verdict,
            reasons,
            body,
            text: content_text(result),
            handle: None,
            tools: Vec::new(),
        })
    }

    /// Reads a server's result, with Weaver's decision in its metadata.
    fn read_delivered(result: &Value, word: &Value) -> Option<Self> {
        let verdict = serde_json::from_value(word.clone()).ok()?;
        if verdict != Verdict::Allow {
            return None;
        }
        let handle = result.pointer("/_meta/weaver~1handle").and_then(Value::as_str);
        let body = result.get("structuredContent").cloned().unwrap_or(Value::Null);
        let (text, handle) = (content_text(result), handle.map(str::to_owned));
        Some(Self { verdict, reasons: Vec::new(), body, text, handle, tools: Vec::new() })
    }

    /// The primary reason.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reasons.first().map(String::as_str)
    }

    /// Whether the answer has this reason.
    pub(super) fn has_reason(&self, reason: &str) -> bool {
        self.reasons.iter().any(|found| found == reason)
    }

    /// The id of the approval request that a held call opened; empty without one.
    pub(super) fn request(&self) -> &str {
        self.body.pointer("/approval/request").and_then(Value::as_str).unwrap_or_default()
    }

    /// The line below a result that says what was masked or cut.
    pub(super) fn note(&self) -> Option<&str> {
        self.text.lines().rev().find(|line| line.starts_with("[weaver] "))
    }
}

/// The texts of the content, joined by line breaks.
fn content_text(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = blocks.filter_map(|block| block.get("text").and_then(Value::as_str));
    texts.collect::<Vec<_>>().join("\n")
}

/// The primary reason, then those of the obstacles, without duplicates.
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
        let answer =
            ToolAnswer::read(&json!({ "structuredContent": body, "isError": true })).unwrap();
        assert_eq!(answer.verdict, Verdict::Hold);
        assert_eq!(answer.reasons, ["floor_hold", "untrusted_influence"]);
    }

    #[test]
    fn a_delivered_result_gives_its_text_its_handle_and_the_line_under_it() {
        let result = json!({
            "content": [{ "type": "text", "text": "a,b" }, { "type": "text", "text": "[weaver] Cut." }],
            "isError": false,
            "_meta": { "weaver/verdict": "allow", "weaver/handle": "h_1" },
        });
        let answer = ToolAnswer::read(&result).unwrap();
        assert_eq!((answer.verdict, answer.handle.as_deref()), (Verdict::Allow, Some("h_1")));
        assert_eq!(
            (answer.text.as_str(), answer.note()),
            ("a,b\n[weaver] Cut.", Some("[weaver] Cut."))
        );
    }

    #[test]
    fn an_answer_that_contradicts_itself_is_none() {
        for result in [
            json!({}),
            json!({ "structuredContent": { "verdict": "allow" }, "isError": true }),
            json!({ "structuredContent": { "verdict": "deny" } }),
            json!({ "structuredContent": { "verdict": "perhaps" } }),
            json!({ "structuredContent": {}, "isError": true }),
            json!({ "content": [], "_meta": { "weaver/verdict": "deny" } }),
        ] {
            assert!(ToolAnswer::read(&result).is_none(), "{result}");
        }
    }
}
