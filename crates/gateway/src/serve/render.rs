//! From what the kernel says to what an agent reads: results, and refusals it can re-plan on.

use serde_json::{Map, Value, json};
use weaver_types::{Decision, Discharge, ReasonCode, RequestId, Verdict};

use super::call::Called;
use super::dispatch::Era;
use super::gateway::Gateway;

/// The answer of a tool call before it takes its era's form.
pub(crate) struct Reply {
    pub(crate) body: Value,
    pub(crate) is_error: bool,
}

impl Reply {
    pub(crate) fn ok(body: Value) -> Self {
        Self { body, is_error: false }
    }

    /// A refusal that involved no call.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let body =
            json!({ "verdict": "ask", "reason": "invalid_arguments", "message": message.into() });
        Self { body, is_error: true }
    }
}

/// A `CallToolResult`: the body as structured content, and the same as text for clients that read
/// only that.
pub(crate) fn result(reply: Reply, era: Era) -> Value {
    let mut result = Map::new();
    result
        .insert("content".to_owned(), json!([{ "type": "text", "text": reply.body.to_string() }]));
    result.insert("structuredContent".to_owned(), reply.body);
    result.insert("isError".to_owned(), json!(reply.is_error));
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    Value::Object(result)
}

/// The answer to a call. Every refusal and every failure has `verdict`, `reason` and `message`.
pub(crate) fn invocation(gateway: &Gateway, called: &Called) -> Reply {
    let done = &called.done;
    let decision = &done.decision;
    if !decision.allowed() {
        return Reply { body: refusal(called), is_error: true };
    }
    let mut body = json!({ "verdict": decision.verdict(), "call": done.call });
    let Some(fields) = body.as_object_mut() else { return Reply::ok(body) };
    let Some(result) = &done.result else { return Reply::ok(body) };
    if let Some(frame) = &result.data {
        fields.insert("frame".to_owned(), json!(frame));
    }
    if !result.success {
        let explained = gateway.kernel.explain(&gateway.principal(), &done.call);
        let reason = explained.and_then(|explained| explained.failure);
        let reason = reason.unwrap_or(ReasonCode::ExecutionFailed);
        let message = format!("{}. {}", result.error_message, after_failure(reason));
        fields.insert("reason".to_owned(), json!(reason));
        fields.insert("message".to_owned(), json!(message));
        let error = json!({ "code": result.error_code, "message": result.error_message });
        fields.insert("error".to_owned(), error);
    }
    Reply { body, is_error: !result.success }
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

fn refusal(called: &Called) -> Value {
    let (done, decision) = (&called.done, &called.done.decision);
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
        let reason =
            if called.waited { ReasonCode::ApprovalTimeout } else { ReasonCode::ApprovalRequired };
        fields.insert("reason".to_owned(), json!(reason));
        fields.insert("approval".to_owned(), json!({ "request": request }));
        fields.insert("message".to_owned(), json!(held(decision, request, called.waited)));
    }
    body
}

/// What an agent is told of a call that waits for people.
fn held(decision: &Decision, request: &RequestId, waited: bool) -> String {
    let so_far = if waited { "nobody has answered yet" } else { "a person must release it" };
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
        Verdict::Deny => "Nothing was executed. Do not call it again as it is; choose another way.",
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
