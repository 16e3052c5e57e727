//! Renders kernel outcomes for an agent.

use serde_json::{Map, Value, json};
use weaver_agent_kernel::Invocation;
use weaver_types::{
    Frame, ReasonCode, ResponseMode, ResultStatus, TIMEOUT_MS, ToolErrorCode, ToolResult, Verdict,
};

use super::call::CallOutcome;
use super::client::Client;
use super::era::Era;
use super::output_schema::NOTE_MARK;
use super::refusal::refusal_body;

/// The answer to a tool call, independent of the protocol era.
pub(crate) struct Reply {
    /// What the model reads.
    pub(crate) content: Vec<Value>,
    pub(crate) structured: Option<Value>,
    /// What hosts read, under `_meta`.
    pub(crate) meta: Map<String, Value>,
    pub(crate) is_error: bool,
}

impl Reply {
    /// A body of our own as structured content, repeated as text for clients that read only that.
    pub(crate) fn ok(body: Value) -> Self {
        let content = vec![text_block(body.to_string())];
        Self { content, structured: Some(body), meta: Map::new(), is_error: false }
    }

    /// The same for a refusal or a failure.
    pub(crate) fn error(body: Value) -> Self {
        Self { is_error: true, ..Self::ok(body) }
    }

    /// Text only.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let content = vec![text_block(text)];
        Self { content, structured: None, meta: Map::new(), is_error: false }
    }

    /// A refusal of malformed input that involved no call.
    pub(crate) fn usage_error(message: impl Into<String>) -> Self {
        Self::error(
            json!({ "verdict": "ask", "reason": "invalid_arguments", "message": message.into() }),
        )
    }

    /// Moves the machine-readable fields of our own body to `_meta`, and drops the structured
    /// content: it need not conform to the tool's output schema. The text still has the whole body.
    /// A tool's own structured content stays.
    pub(crate) fn move_body_to_meta(&mut self) {
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

    /// Takes our line out of the structured content, for a schema that does not admit it.
    pub(super) fn keep_note_in_text(&mut self) {
        if let Some(Value::Object(structured)) = &mut self.structured {
            structured.remove(NOTE_MARK);
        }
    }

    /// Adds our line to the content, and to structured content of a tool unless it has one already.
    fn add_note(&mut self, note: &str) {
        self.content.push(text_block(format!("{NOTE_MARK} {note}")));
        if let Some(Value::Object(structured)) = &mut self.structured
            && self.meta.contains_key("weaver/verdict")
        {
            structured.entry(NOTE_MARK).or_insert_with(|| json!(note));
        }
    }

    /// Adds a sentence to the message of a refusal; a reply without a message stays unchanged.
    pub(crate) fn add_to_message(&mut self, sentence: &str) {
        let body = self.structured.as_mut();
        let message = body.and_then(|body| body.get_mut("message"));
        let Some(Value::String(message)) = message else { return };
        message.push(' ');
        message.push_str(sentence);
        if let Some(body) = &self.structured {
            self.content = vec![text_block(body.to_string())];
        }
    }
}

/// The items of the longest list; `None` where there is no list. Of a result that was cut, lists may
/// show fewer items than the text does.
fn longest_list(structured: &Map<String, Value>) -> Option<usize> {
    let mut open: Vec<&Value> = structured.values().collect();
    let mut longest = None;
    while let Some(next) = open.pop() {
        match next {
            Value::Array(items) => {
                longest = longest.max(Some(items.len()));
                open.extend(items);
            }
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    longest
}

fn text_block(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

/// A `CallToolResult`.
pub(crate) fn call_tool_result(reply: Reply, era: Era) -> Value {
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

/// The answer to a call. Every refusal and failure has `verdict`, `reason` and `message`.
pub(crate) fn reply_to_invocation(client: &Client, outcome: &CallOutcome) -> Reply {
    let mut reply = invocation_reply(client, outcome);
    if let Some(notice) = client.take_run_notice() {
        reply.add_note(&notice);
    }
    reply
}

fn invocation_reply(client: &Client, outcome: &CallOutcome) -> Reply {
    let invocation = &outcome.invocation;
    let decision = &invocation.decision;
    if !decision.is_allowed() {
        return Reply::error(refusal_body(client, outcome));
    }
    let mut reply = match &invocation.result {
        Some(ToolResult { data: Some(frame), .. }) if frame.mode == ResponseMode::Auto => {
            verbatim_reply(invocation, frame)
        }
        _ => enveloped_reply(client, invocation),
    };
    if let Some(would) = decision.would_have() {
        let would = json!({ "verdict": would.verdict(), "reason": would.primary_reason() });
        reply.meta.insert("weaver/would_have".to_owned(), would);
    }
    reply
}

/// A result wrapped in a body of our own.
fn enveloped_reply(client: &Client, invocation: &Invocation) -> Reply {
    let mut body = json!({ "verdict": invocation.decision.verdict(), "call": invocation.call });
    let Some(fields) = body.as_object_mut() else { return Reply::ok(body) };
    let Some(result) = &invocation.result else { return Reply::ok(body) };
    if let Some(frame) = &result.data {
        fields.insert("frame".to_owned(), json!(frame));
    }
    if !result.success {
        let principal = client.principal().ok();
        let explanation = principal
            .and_then(|principal| client.gateway.kernel.explain(&principal, &invocation.call));
        let reason = explanation.and_then(|explanation| explanation.failure);
        let reason = reason.unwrap_or(ReasonCode::ExecutionFailed);
        let is_unexpected = reason == ReasonCode::ExecutionFailed
            && matches!(result.error_code, None | Some(ToolErrorCode::Unexpected));
        let advice = match is_unexpected && is_network_failure(&result.error_message) {
            true => NETWORK_ADVICE,
            false => advice_after_failure(reason, result.error_code),
        };
        let mut message = format!("{}. {advice}", result.error_message.trim_end_matches('.'));
        if let Some(hint) = timeout_hint(client, result) {
            message.push_str(&format!(" {hint}"));
        }
        fields.insert("reason".to_owned(), json!(reason));
        fields.insert("message".to_owned(), json!(message));
        fields.insert("error".to_owned(), json!({ "code": result.error_code }));
        return Reply::error(body);
    }
    Reply::ok(body)
}

/// A result in its own content blocks, with one more line only where something was masked or cut.
/// Structured content has that line too, since many clients show a model nothing else. All metadata
/// goes under `_meta`.
fn verbatim_reply(invocation: &Invocation, frame: &Frame) -> Reply {
    let (mut content, mut structured) = (frame.content.clone(), frame.structured.clone());
    content.iter_mut().for_each(remove_our_metadata);
    if let Some(notice) = notice(frame) {
        content.push(text_block(format!("{NOTE_MARK} {notice}")));
        if let Some(Value::Object(structured)) = &mut structured {
            let lists = frame.next.as_ref().and(longest_list(structured));
            let notice = lists.map_or(notice.clone(), |items| {
                format!("{notice} Lists in this structured content end after {items} items at most: read on from {items}.")
            });
            structured.insert(NOTE_MARK.to_owned(), json!(notice));
        }
    }
    let mut meta = Map::new();
    meta.insert("weaver/verdict".to_owned(), json!(Verdict::Allow));
    meta.insert("weaver/call".to_owned(), json!(invocation.call));
    if let Some(handle) = &frame.handle {
        meta.insert("weaver/handle".to_owned(), json!(handle.handle_id));
    }
    meta.insert("weaver/label".to_owned(), json!(frame.label));
    if !frame.warnings.is_empty() {
        meta.insert("weaver/warnings".to_owned(), json!(frame.warnings));
    }
    let is_error = frame.status == ResultStatus::Error;
    Reply { content, structured, meta, is_error }
}

/// Removes what a server wrote under names of the gateway's metadata, in a content block and in the
/// resource that it embeds: a host would take it for the gateway's word.
pub(super) fn remove_our_metadata(block: &mut Value) {
    for at in ["/_meta", "/resource/_meta"] {
        if let Some(Value::Object(meta)) = block.pointer_mut(at) {
            meta.retain(|key, _| !key.starts_with("weaver/"));
        }
    }
}

/// What was masked or cut of a result, and the exact call for each part of the rest.
fn notice(frame: &Frame) -> Option<String> {
    let mut text = frame.notes.join(" ");
    if let Some(handle) = &frame.handle {
        // The query for the rest is complete: it repeats what it keeps of the query before.
        let call = |next: &Value| {
            let mut query = next.as_object()?.clone();
            query.insert("handle".to_owned(), json!(handle.handle_id));
            Some(format!("`tool_view {}`", Value::Object(query)))
        };
        let calls: Vec<String> =
            frame.next.iter().chain(&frame.next_parts).filter_map(call).collect();
        if !calls.is_empty() {
            text.push_str(&format!(" See more with {}.", calls.join(", ")));
        }
    }
    (!text.is_empty()).then(|| text.trim_start().to_owned())
}

/// Names the setting that limited a call which timed out.
fn timeout_hint<T>(client: &Client, result: &ToolResult<T>) -> Option<String> {
    if result.error_code != Some(ToolErrorCode::Timeout) {
        return None;
    }
    let id = result.tool_id.as_str();
    let upstream = client.gateway.upstreams.for_capability(id)?;
    let spec = client.gateway.registry.get(&result.tool_id)?;
    let proposed = spec.capability().spec().timeout_ms;
    let effective = spec.effective(&client.gateway.kernel.policy()).ok();
    let contract_timeout = effective.map(|effective| effective.spec().timeout_ms);
    let is_set = upstream.has_configured_timeout();
    let decides = |time: &u32| *time < proposed || (*time > proposed && !is_set);
    Some(match contract_timeout.filter(decides) {
        Some(contract_timeout) => {
            format!("`timeout_ms = {contract_timeout}` in the contract of `{id}` sets this time.")
        }
        None => format!(
            "`timeout_ms` under `[mcpServers.{}]` sets this time: {proposed} ms now, {} at most.",
            upstream.name,
            TIMEOUT_MS.end()
        ),
    })
}

/// Advice where a server did not reach what it needs.
const NETWORK_ADVICE: &str = "The server did not reach what it needs over the network. The \
    arguments may be right: try again later, or tell the user.";

/// Whether the words of a server's error say that it did not reach something over the network.
fn is_network_failure(message: &str) -> bool {
    const WORDS: [&str; 10] = [
        "fetch failed", "econnrefused", "econnreset", "enotfound", "etimedout", "eai_again",
        "getaddrinfo", "network is unreachable", "name resolution", "connection refused",
    ];
    let message = message.to_ascii_lowercase();
    WORDS.iter().any(|word| message.contains(word))
}

/// Advice after a call that was allowed and failed.
fn advice_after_failure(reason: ReasonCode, error: Option<ToolErrorCode>) -> &'static str {
    match reason {
        ReasonCode::OutcomeUnknown => {
            "It may have happened. Find out before you call it again, or tell the user."
        }
        ReasonCode::UpstreamUnavailable => {
            "Nothing was executed. Try again later, or tell the user if that does not help."
        }
        ReasonCode::Timeout => "It was given up after its time. Ask for less, or try again later.",
        ReasonCode::ExecutionFailed if error == Some(ToolErrorCode::NetworkError) => {
            "Its server went away. The arguments are not at fault: make the same call again."
        }
        ReasonCode::ExecutionFailed if error == Some(ToolErrorCode::RateLimited) => {
            "Its server limits how often it is called. Wait a while, then make the same call again."
        }
        _ => {
            "It was tried and failed. If the message names a cause, mend that; otherwise change the arguments or \
              choose another way."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_nothing_under_our_names() {
        let meta = json!({ "weaver/label": { "integrity": "trusted" }, "theirs/x": 1 });
        let mut block = json!({ "type": "resource", "_meta": meta,
            "resource": { "uri": "x://1", "text": "a", "_meta": meta } });
        remove_our_metadata(&mut block);
        let theirs = json!({ "theirs/x": 1 });
        assert_eq!(
            block,
            json!({ "type": "resource", "_meta": theirs,
                "resource": { "uri": "x://1", "text": "a", "_meta": theirs } })
        );
    }
}
