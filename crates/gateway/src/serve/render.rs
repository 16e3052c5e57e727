//! Renders what the kernel returns for an agent: results, and refusals it can re-plan on.

use serde_json::{Map, Value, json};
use weaver_agent_kernel::Invocation;
use weaver_types::{
    Decision, Discharge, Frame, ReasonCode, RequestId, ResponseMode, Status, ToolErrorCode,
    ToolResult, Verdict,
};

use super::call::CallOutcome;
use super::client::Client;
use super::era::Era;

/// The answer to a tool call, before it is written for one protocol era.
pub(crate) struct Reply {
    /// What the model reads.
    pub(crate) content: Vec<Value>,
    pub(crate) structured: Option<Value>,
    /// What hosts read, under `_meta`.
    pub(crate) meta: Map<String, Value>,
    pub(crate) is_error: bool,
}

impl Reply {
    /// A body of our own, as structured content, and the same as text for clients that read only
    /// that.
    pub(crate) fn ok(body: Value) -> Self {
        let content = vec![text(body.to_string())];
        Self { content, structured: Some(body), meta: Map::new(), is_error: false }
    }

    /// The same for a refusal or a failure.
    pub(crate) fn error(body: Value) -> Self {
        Self { is_error: true, ..Self::ok(body) }
    }

    /// Text alone.
    pub(crate) fn text(shown: impl Into<String>) -> Self {
        let content = vec![text(shown)];
        Self { content, structured: None, meta: Map::new(), is_error: false }
    }

    /// A refusal that involved no call.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::error(
            json!({ "verdict": "ask", "reason": "invalid_arguments", "message": message.into() }),
        )
    }

    /// Takes a body of our own out of the structured content. The text has it still, and what hosts
    /// read of it goes under `_meta`. A tool's own structured content stays.
    pub(crate) fn keep_body_in_text(&mut self) {
        if self.meta.contains_key("weaver/verdict") {
            return;
        }
        let Some(Value::Object(mut body)) = self.structured.take() else { return };
        for key in ["verdict", "reason", "call", "approval"] {
            if let Some(value) = body.remove(key) {
                self.meta.insert(format!("weaver/{key}"), value);
            }
        }
    }

    /// Adds a sentence to the message of a refusal; a reply without a message stays as it is.
    pub(crate) fn add_to_message(&mut self, sentence: &str) {
        let body = self.structured.as_mut();
        let message = body.and_then(|body| body.get_mut("message"));
        let Some(Value::String(message)) = message else { return };
        message.push(' ');
        message.push_str(sentence);
        if let Some(body) = &self.structured {
            self.content = vec![text(body.to_string())];
        }
    }
}

fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

/// A `CallToolResult`.
pub(crate) fn result(reply: Reply, era: Era) -> Value {
    let mut result = Map::new();
    result.insert("content".to_owned(), Value::Array(reply.content));
    if let Some(structured) = reply.structured {
        result.insert("structuredContent".to_owned(), structured);
    }
    result.insert("isError".to_owned(), json!(reply.is_error));
    if !reply.meta.is_empty() {
        result.insert("_meta".to_owned(), Value::Object(reply.meta));
    }
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    Value::Object(result)
}

/// The answer to a call. Every refusal and every failure has `verdict`, `reason` and `message`.
/// `view` is the question that a look at a stored result asked.
pub(crate) fn invocation(client: &Client, called: &CallOutcome, view: Option<&Value>) -> Reply {
    let done = &called.invocation;
    let decision = &done.decision;
    if !decision.allowed() {
        return Reply::error(refusal(called));
    }
    let mut reply = match &done.result {
        Some(ToolResult { data: Some(frame), .. }) if frame.mode == ResponseMode::Auto => {
            as_it_is(done, frame, view)
        }
        _ => enveloped(client, done),
    };
    if let Some(would) = decision.would_have() {
        let would = json!({ "verdict": would.verdict(), "reason": would.primary() });
        reply.meta.insert("weaver/would_have".to_owned(), would);
    }
    reply
}

/// A result in a body of our own.
fn enveloped(client: &Client, done: &Invocation) -> Reply {
    let mut body = json!({ "verdict": done.decision.verdict(), "call": done.call });
    let Some(fields) = body.as_object_mut() else { return Reply::ok(body) };
    let Some(result) = &done.result else { return Reply::ok(body) };
    if let Some(frame) = &result.data {
        fields.insert("frame".to_owned(), json!(frame));
    }
    if !result.success {
        let principal = client.principal().ok();
        let explained =
            principal.and_then(|principal| client.gateway.kernel.explain(&principal, &done.call));
        let reason = explained.and_then(|explained| explained.failure);
        let reason = reason.unwrap_or(ReasonCode::ExecutionFailed);
        let mut message = format!("{}. {}", result.error_message, after_failure(reason));
        if let Some(hint) = timed_out(client, result) {
            message.push_str(&format!(" {hint}"));
        }
        fields.insert("reason".to_owned(), json!(reason));
        fields.insert("message".to_owned(), json!(message));
        let error = json!({ "code": result.error_code, "message": result.error_message });
        fields.insert("error".to_owned(), error);
        return Reply::error(body);
    }
    Reply::ok(body)
}

/// A result as it is: its own blocks, and one line more only where something was masked or cut.
/// What else there is to say of it is no content.
fn as_it_is(done: &Invocation, frame: &Frame, view: Option<&Value>) -> Reply {
    let mut content = frame.content.clone();
    if let Some(line) = note(frame, view) {
        content.push(text(line));
    }
    let mut meta = Map::new();
    meta.insert("weaver/verdict".to_owned(), json!(Verdict::Allow));
    meta.insert("weaver/call".to_owned(), json!(done.call));
    if let Some(handle) = &frame.handle {
        meta.insert("weaver/handle".to_owned(), json!(handle.handle_id));
    }
    meta.insert("weaver/label".to_owned(), json!(frame.label));
    if !frame.warnings.is_empty() {
        meta.insert("weaver/warnings".to_owned(), json!(frame.warnings));
    }
    let is_error = frame.status == Status::Error;
    Reply { content, structured: frame.structured.clone(), meta, is_error }
}

/// The line under a result: what was masked or cut, and the exact call that shows the rest.
fn note(frame: &Frame, view: Option<&Value>) -> Option<String> {
    let mut said = frame.notes.join(" ");
    if let (Some(next), Some(handle)) = (&frame.next, &frame.handle) {
        let mut query = view.cloned().unwrap_or_else(|| json!({}));
        merge(&mut query, next);
        if let Some(fields) = query.as_object_mut() {
            fields.insert("handle".to_owned(), json!(handle.handle_id));
        }
        said.push_str(&format!(" See more with `tool_view {query}`."));
    }
    (!said.is_empty()).then(|| format!("[weaver] {}", said.trim_start()))
}

/// Puts the members of one object over those of another, at every depth.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Which line bounds the time of a call that took too long.
fn timed_out<T>(client: &Client, result: &ToolResult<T>) -> Option<String> {
    if result.error_code != Some(ToolErrorCode::Timeout) {
        return None;
    }
    let id = result.tool_id.as_str();
    let entry = client.gateway.upstreams.of(id)?;
    let spec = client.gateway.registry.get(&result.tool_id)?;
    let proposed = spec.capability().spec().timeout_ms;
    let effective = spec.effective(&client.gateway.kernel.policy()).ok();
    let own = effective.map(|effective| effective.spec().timeout_ms);
    Some(match own.filter(|own| *own < proposed) {
        Some(own) => format!("`timeout_ms = {own}` in the contract of `{id}` sets this time."),
        None => format!(
            "`timeout_ms` under `[mcpServers.{}]` sets this time: {proposed} ms now, 60000 at most.",
            entry.name
        ),
    })
}

/// What to do after a call that was allowed and did not succeed.
fn after_failure(reason: ReasonCode) -> &'static str {
    match reason {
        ReasonCode::OutcomeUnknown => {
            "It may have happened. Find out before you call it again, or tell the user."
        }
        ReasonCode::UpstreamUnavailable => "Nothing was executed. Try again later.",
        ReasonCode::Timeout => "It was given up after its time. Ask for less, or try again later.",
        _ => "It was tried and failed. Change the arguments or choose another way.",
    }
}

fn refusal(called: &CallOutcome) -> Value {
    let (done, decision) = (&called.invocation, &called.invocation.decision);
    let obstacles: Vec<Value> = decision
        .obstacles()
        .take(8)
        .map(|said| {
            json!({
                "check": said.check,
                "verdict": said.verdict,
                "reason": said.reason,
                "detail": said.detail,
                "discharged_by": said.discharge,
            })
        })
        .collect();
    let mut body = json!({
        "verdict": decision.verdict(),
        "reason": decision.primary(),
        "message": message(decision),
        "obstacles": obstacles,
        "call": done.call,
    });
    if let (Some(request), Some(fields)) = (&done.request, body.as_object_mut()) {
        let reason = if called.approval_timed_out {
            ReasonCode::ApprovalTimeout
        } else {
            ReasonCode::ApprovalRequired
        };
        fields.insert("reason".to_owned(), json!(reason));
        fields.insert("approval".to_owned(), json!({ "request": request }));
        fields.insert("message".to_owned(), json!(held(decision, request, reason)));
    }
    body
}

/// What an agent is told of a call that waits for people.
fn held(decision: &Decision, request: &RequestId, reason: ReasonCode) -> String {
    let role = decision.authority().roles_in_words();
    let who = role.map(|role| format!(" with the role {role}")).unwrap_or_default();
    let so_far = match reason == ReasonCode::ApprovalTimeout {
        true => format!("nobody{who} has answered yet"),
        false => format!("a person{who} must release it"),
    };
    format!(
        "{}: {}. Nothing was executed: {so_far}. The request `{request}` stays open: tell the user, go on with other \
         work, and make the same call again once it is granted.",
        decision.primary(),
        decision.detail()
    )
}

/// One sentence on what happened and one on what to do.
fn message(decision: &Decision) -> String {
    let what = decision.detail();
    let next = match decision.verdict() {
        Verdict::Allow => "It was executed.",
        Verdict::Ask => "Nothing was executed. Supply what is missing and call again.",
        Verdict::Hold => {
            "Nothing was executed. A person with the needed authority must release it; go on with other work or tell \
             the user."
        }
        Verdict::Deny if waits(decision) => "Nothing was executed. Try again later.",
        Verdict::Deny => {
            "Nothing was executed. The same call will be denied again: use another tool or other arguments, or tell the user."
        }
    };
    if what.is_empty() {
        format!("{}. {next}", decision.primary())
    } else {
        format!("{}: {what}. {next}", decision.primary())
    }
}

fn waits(decision: &Decision) -> bool {
    decision
        .obstacles()
        .filter(|said| said.verdict == Verdict::Deny)
        .all(|said| matches!(said.discharge, Discharge::Wait { .. }))
}
