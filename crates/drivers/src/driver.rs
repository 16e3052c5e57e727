//! MCP tools as drivers of the kernel.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use weaver_agent_kernel::{AuthorizedCall, Driver, DriverError};
use weaver_types::{BoxFuture, RawContent, RawResult, Structured};

use crate::mcp::{
    CallOutcome, CallRequest, HttpFault, McpError, Reply, RpcError, Upstream, escape,
};
use crate::task;

/// Most of a server's message that an error repeats, in characters.
const MAX_MESSAGE: usize = 500;

/// Why a driver of one connection refuses a call.
const ANEW: &str =
    "the server went away or was connected anew since its tools were listed; nothing was sent";

/// One tool of one upstream server.
///
/// The tool is fixed here; arguments are passed on as they are and select nothing. The future of a
/// call may be polled by any executor: the work itself is done on the tokio runtime that was given.
pub struct McpDriver {
    upstream: Arc<Upstream>,
    tool: String,
    name: String,
    runtime: Handle,
    generation: Option<u64>,
}

impl McpDriver {
    /// A driver for `tool`, named exactly as the server lists it. `runtime` needs IO and time.
    #[must_use]
    pub fn new(upstream: Arc<Upstream>, tool: impl Into<String>, runtime: Handle) -> Self {
        let name = format!("mcp:{}", upstream.config().name);
        Self { upstream, tool: tool.into(), name, runtime, generation: None }
    }

    /// The same driver for the connection on which the tool was listed, and for no other: once the
    /// server is connected anew, it may be another program, so calls are refused unsent until its
    /// tools are listed again. See [`Connection::generation`](crate::mcp::Connection::generation).
    #[must_use]
    pub fn of_generation(mut self, generation: u64) -> Self {
        self.generation = Some(generation);
        self
    }

    /// The tool's name at the server.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }
}

impl Driver for McpDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let upstream = Arc::clone(&self.upstream);
        let late = call.clone();
        let request = CallRequest::new(self.tool.clone(), call.arguments().clone())
            .timeout(call.timeout())
            .late(move |outcome| late.report_late(&result(outcome)));
        let generation = self.generation;
        Box::pin(async move {
            let work = async move { run(&upstream, generation, request).await };
            task::on(&self.runtime, work).await
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

async fn run(
    upstream: &Upstream,
    generation: Option<u64>,
    request: CallRequest,
) -> Result<RawResult, DriverError> {
    let called = match generation {
        Some(generation) => upstream
            .call_on(generation, request)
            .await
            .ok_or_else(|| DriverError::Unavailable(ANEW.to_owned()))?,
        None => {
            // A failure up to here is certainly before the call.
            let connected = upstream.connection().await;
            connected.map_err(|error| DriverError::Unavailable(error.to_string()))?;
            upstream.call(request).await
        }
    };
    result(called)
}

/// What an answer is to the kernel.
fn result(called: Result<CallOutcome, McpError>) -> Result<RawResult, DriverError> {
    match called {
        Ok(CallOutcome::Complete(reply)) => Ok(raw_result(reply)),
        Ok(CallOutcome::Error(error)) => Err(refused(&error)),
        Ok(CallOutcome::InputRequired(_)) => Err(DriverError::Failed(
            "the server asks for more input, which is not offered".to_owned(),
        )),
        Ok(CallOutcome::Task(_)) => {
            Err(DriverError::Lost("the server goes on in a task, which is not followed".to_owned()))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Whatever may have reached the tool counts as lost, so that a write is never taken for undone.
fn failed(error: &McpError) -> DriverError {
    let text = error.to_string();
    match error {
        McpError::Timeout { after, .. } => DriverError::Timeout(*after),
        McpError::CallsPerSecond { retry_in, .. } => {
            DriverError::RateLimited { said: text, wait: Some(*retry_in) }
        }
        error if error.not_sent() => DriverError::Unavailable(text),
        McpError::Http { fault: HttpFault::Status(429), .. } => {
            DriverError::RateLimited { said: text, wait: None }
        }
        McpError::Http { fault: HttpFault::Connection, .. } => DriverError::Network(text),
        McpError::Http { fault: HttpFault::Status(400..=499) | HttpFault::Redirect(_), .. } => {
            DriverError::Failed(text)
        }
        _ => DriverError::Lost(text),
    }
}

fn refused(error: &RpcError) -> DriverError {
    let said: String = escape(&error.message).chars().take(MAX_MESSAGE).collect();
    let text = format!("the server answered with code {}: {said}", error.code);
    match error.code {
        -32601 => DriverError::NotFound(text),
        -32602 => DriverError::Invalid(text),
        _ => DriverError::Failed(text),
    }
}

/// Turns a tool result into content, without losing any.
///
/// One plain text block becomes text, also where the structured content only wraps it in a field;
/// one image or audio block becomes its bytes, and structured content stands for itself where the
/// text block only repeats it. Every other result is passed on as the
/// whole result object. `_meta`, which is not content, is kept in that last form only.
#[must_use]
pub fn raw_result(reply: Reply) -> RawResult {
    let is_error = reply.is_error();
    let findings = reply.findings().iter().map(|finding| finding.code()).collect();
    let (content, structured) = parts(reply.into_value());
    RawResult { is_error, findings, structured, ..RawResult::of(content) }
}

/// The content of a result, and what its output schema speaks of.
fn parts(result: Value) -> (RawContent, Structured) {
    let Value::Object(result) = result else {
        return (RawContent::Json(result), Structured::Missing);
    };
    let structured = result.get("structuredContent").cloned();
    let content = content(result);
    let structured = match (structured, &content) {
        // What is there already is kept once.
        (Some(value), RawContent::Json(whole)) if *whole == value => Structured::Content,
        (Some(value), _) => Structured::Beside(value),
        (None, _) => Structured::Missing,
    };
    (content, structured)
}

fn content(result: Map<String, Value>) -> RawContent {
    const KNOWN: [&str; 5] = ["content", "structuredContent", "isError", "resultType", "_meta"];
    let plain = result.keys().all(|key| KNOWN.contains(&key.as_str()));
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice);
    let reduced = match (plain, blocks, result.get("structuredContent")) {
        (true, Some([]) | None, Some(structured)) => Some(RawContent::Json(structured.clone())),
        (true, Some([block]), Some(structured)) => once(block, structured),
        (true, Some([block]), None) => single(block),
        _ => None,
    };
    reduced.unwrap_or(RawContent::Json(Value::Object(result)))
}

/// The content of a result whose one block and structured content say the same: as JSON where the
/// block is its text form, as text where the structure only wraps the block's text in one field.
fn once(block: &Value, structured: &Value) -> Option<RawContent> {
    let text = plain_text(block)?;
    let wrapped = structured.as_object().filter(|fields| fields.len() == 1);
    if wrapped.is_some_and(|fields| fields.values().all(|field| field.as_str() == Some(text))) {
        return Some(RawContent::Text(text.to_owned()));
    }
    let same = serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured);
    same.then(|| RawContent::Json(structured.clone()))
}

fn single(block: &Value) -> Option<RawContent> {
    if let Some(text) = plain_text(block) {
        return Some(RawContent::Text(text.to_owned()));
    }
    let members = block.as_object().filter(|members| members.len() == 3)?;
    if !matches!(members.get("type")?.as_str()?, "image" | "audio") {
        return None;
    }
    let bytes = STANDARD.decode(members.get("data")?.as_str()?).ok()?;
    let media_type = members.get("mimeType")?.as_str()?.to_owned();
    Some(RawContent::Binary { media_type, bytes })
}

/// The text of a block that is nothing but text.
fn plain_text(block: &Value) -> Option<&str> {
    let members = block.as_object().filter(|members| members.len() == 2)?;
    if members.get("type")?.as_str()? != "text" {
        return None;
    }
    members.get("text")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content_of(value: Value) -> RawContent {
        let Value::Object(result) = value else { panic!("an object") };
        content(result)
    }

    /// Of a write that goes on out of sight nobody may say that it did not happen.
    #[test]
    fn what_goes_on_in_a_task_is_lost() {
        let value = json!({ "task": { "taskId": "1" } });
        let raw = serde_json::value::to_raw_value(&value).unwrap();
        let said = result(Ok(CallOutcome::Task(Reply { raw, value, findings: Vec::new() })));
        assert!(said.is_err_and(|error| error.is_ambiguous()));
    }

    #[test]
    fn one_block_is_reduced_and_anything_more_is_kept_whole() {
        let text = json!({"type": "text", "text": "hi"});
        assert!(
            content_of(json!({"content": [text], "isError": false}))
                == RawContent::Text("hi".to_owned())
        );
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let bytes =
            RawContent::Binary { media_type: "image/png".to_owned(), bytes: b"hi".to_vec() };
        assert!(content_of(json!({"content": [image]})) == bytes);
        for whole in [
            json!({"content": [text, text]}),
            json!({"content": [text], "tools": []}),
            json!({"content": [{"type": "text", "text": "hi", "annotations": {}}]}),
            json!({"content": [{"type": "image", "data": "*", "mimeType": "image/png"}]}),
            json!({"content": [{"type": "hologram", "text": "hi"}]}),
            json!({"content": "hi"}),
            json!({}),
        ] {
            assert!(content_of(whole.clone()) == RawContent::Json(whole.clone()), "{whole}");
        }
    }

    #[test]
    fn structured_content_stands_alone_only_when_the_text_repeats_it() {
        let rows = json!({"rows": [1, 2]});
        let same = json!({"type": "text", "text": "{ \"rows\": [1, 2] }"});
        let other = json!({"type": "text", "text": "ignore the rows"});
        assert!(
            content_of(json!({"content": [same], "structuredContent": rows}))
                == RawContent::Json(rows.clone())
        );
        assert!(
            content_of(json!({"content": [], "structuredContent": rows}))
                == RawContent::Json(rows.clone())
        );
        let text = json!({"type": "text", "text": "line 1"});
        let wrapped = json!({"content": [text], "structuredContent": {"content": "line 1"}});
        assert!(content_of(wrapped) == RawContent::Text("line 1".to_owned()));
        let more = json!({"content": [text], "structuredContent": {"content": "line 1", "n": 2}});
        assert!(content_of(more.clone()) == RawContent::Json(more));
        let whole = json!({"content": [other], "structuredContent": rows});
        assert!(content_of(whole.clone()) == RawContent::Json(whole));
    }

    #[test]
    fn the_schema_speaks_of_the_structured_content_wherever_it_stands() {
        let of = |value: Value| parts(value).1;
        let rows = json!({"rows": [1]});
        let text = json!({"type": "text", "text": "1"});
        assert!(of(json!({"structuredContent": rows})) == Structured::Content);
        let both = json!({"content": [text, text], "structuredContent": rows});
        assert!(of(both) == Structured::Beside(rows));
        let wrapped = json!({"content": [text], "structuredContent": {"n": "1"}});
        assert!(of(wrapped) == Structured::Beside(json!({"n": "1"})));
        assert!(of(json!({"content": [text]})) == Structured::Missing);
        assert!(of(json!("nothing")) == Structured::Missing);
    }

    #[test]
    fn what_may_have_reached_the_tool_is_ambiguous() {
        use crate::mcp::Fault;
        let upstream = || "x".to_owned();
        let broken = McpError::Malformed { upstream: upstream(), fault: Fault::DuplicateKey };
        let gone = McpError::Http { upstream: upstream(), fault: HttpFault::StreamEnded };
        let status = McpError::Http { upstream: upstream(), fault: HttpFault::Status(503) };
        for error in [broken, gone, status] {
            assert!(failed(&error).is_ambiguous(), "{error}");
        }
        let unsent = McpError::TooManyCalls { upstream: upstream(), waiting: 1 };
        assert!(!failed(&unsent).is_ambiguous());
        let code = |code| refused(&RpcError { code, message: "m\u{1b}".to_owned(), data: None });
        assert_eq!(code(-32602).code(), "driver.invalid");
        assert_eq!(
            code(-32601).to_string(),
            "not found: the server answered with code -32601: m\\u{1b}"
        );
    }
}
