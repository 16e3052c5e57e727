//! What an MCP server offers as drivers of the kernel: its tools, resources, prompts and completions.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use weaver_agent_kernel::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
use weaver_types::{BoxFuture, ContentBlocks, JsonRows, RawContent, RawResult, Structured};

use crate::chunk_task::{self, ChunkTask};
use crate::confine::{self, Enforced};
use crate::feature_result;
use crate::http::pieces::chunk_of;
use crate::mcp::{
    CallOutcome, CallRequest, Confined, HttpFault, McpError, Method, Reply, RpcError, STRUCTURED,
    Upstream, escape, whole,
};
use crate::progress_messages::{MAX_MESSAGES, MESSAGES_LOST, ProgressMessages};
use crate::task;

/// Most of a server's message that an error repeats, in characters.
const MAX_MESSAGE: usize = 500;

/// The most text in the blocks of a result that is kept as it was laid out, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// The most blocks that are kept so.
const MAX_BLOCKS: usize = 1_000;
/// The most parts of a structured value that is kept so: its members, items and eighths of texts.
const MAX_PARTS: usize = 200_000;
/// The most fields beside the one list of an object whose items are rows, as the firewall has it.
const MAX_AROUND: usize = JsonRows::MAX_AROUND;

/// Why a driver of one connection refuses a call.
const ANEW: &str =
    "the server went away or was connected anew since its tools were listed; nothing was sent";

/// One tool of one upstream server, one of its prompts, or all of its resources.
///
/// What is called is fixed here; arguments are passed on as they are and select nothing. The future of a
/// call may be polled by any executor: the work itself is done on the tokio runtime that was given.
pub struct McpDriver {
    upstream: Arc<Upstream>,
    operation: Operation,
    name: String,
    runtime: Handle,
    generation: Option<u64>,
}

/// What a driver does at its server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Operation {
    Tool(String),
    ReadResource,
    Prompt(String),
    Complete,
}

impl McpDriver {
    /// A driver for `tool`, named exactly as the server lists it. `runtime` needs IO and time.
    #[must_use]
    pub fn new(upstream: Arc<Upstream>, tool: impl Into<String>, runtime: Handle) -> Self {
        Self::of(upstream, Operation::Tool(tool.into()), runtime)
    }

    /// A driver that reads resources of the server: the one that the argument `uri` names.
    #[must_use]
    pub fn reading_resources(upstream: Arc<Upstream>, runtime: Handle) -> Self {
        Self::of(upstream, Operation::ReadResource, runtime)
    }

    /// A driver that gets `prompt`, named exactly as the server lists it.
    #[must_use]
    pub fn prompt(upstream: Arc<Upstream>, prompt: impl Into<String>, runtime: Handle) -> Self {
        Self::of(upstream, Operation::Prompt(prompt.into()), runtime)
    }

    /// A driver that completes arguments: its own are `ref`, `argument` and `context`.
    #[must_use]
    pub fn completing(upstream: Arc<Upstream>, runtime: Handle) -> Self {
        Self::of(upstream, Operation::Complete, runtime)
    }

    fn of(upstream: Arc<Upstream>, operation: Operation, runtime: Handle) -> Self {
        let name = format!("mcp:{}", upstream.config().name);
        Self { upstream, operation, name, runtime, generation: None }
    }

    /// The same driver for the connection on which the tool was listed, and for no other: once the
    /// server is connected anew, it may be another program, so calls are refused unsent until its
    /// tools are listed again. See [`Connection::generation`](crate::mcp::Connection::generation).
    #[must_use]
    pub fn of_generation(mut self, generation: u64) -> Self {
        self.generation = Some(generation);
        self
    }

    fn request(&self, call: &AuthorizedCall) -> CallRequest {
        let late = call.clone();
        let arguments = call.arguments();
        let uri = || arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
        let request = match &self.operation {
            Operation::Tool(name) => CallRequest::new(name.clone(), arguments.clone()),
            // Its schema demands the URI.
            Operation::ReadResource => CallRequest::read_resource(uri()),
            Operation::Prompt(name) => CallRequest::get_prompt(name.clone(), arguments.clone()),
            Operation::Complete => CallRequest::complete(arguments.clone()),
        };
        let method = request.method;
        request
            .timeout(call.timeout().min(self.upstream.config().limits.call_timeout))
            .late(move |outcome| late.report_late(&result(method, outcome)))
    }
}

impl Driver for McpDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let upstream = Arc::clone(&self.upstream);
        let mut request = self.request(&call);
        if call.wants_progress() {
            request = request.progress(move |progress| call.report_progress(progress));
        }
        let generation = self.generation;
        Box::pin(async move {
            let work = async move { run(&upstream, generation, request).await };
            task::on(&self.runtime, work).await
        })
    }

    /// The messages of its progress, each a row, then its result.
    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        if !matches!(self.operation, Operation::Tool(_)) {
            return None;
        }
        let upstream = Arc::clone(&self.upstream);
        let (request, generation) = (self.request(call), self.generation);
        Some(Box::new(ChunkTask::with_room(MAX_MESSAGES, &self.runtime, |chunks| async move {
            let messages = ProgressMessages::new(chunks.clone());
            let request = request.progress(messages.sink());
            let raw = run(&upstream, generation, request).await?;
            let mut findings = raw.findings.clone();
            findings.extend(messages.has_lost().then_some(MESSAGES_LOST));
            chunk_task::send(&chunks, chunk_of(raw.content.clone())).await?;
            let is_error = raw.is_error;
            // What was said of the progress is no part of the result.
            let whole = Some(RawResult { findings: Vec::new(), ..raw });
            Ok(StreamSummary { is_error, findings, whole, ..StreamSummary::default() })
        })))
    }

    fn reports_progress(&self) -> bool {
        true
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
    let method = request.method;
    let called = match generation {
        Some(generation) => upstream
            .call_on(generation, request)
            .await
            .ok_or_else(|| DriverError::Unavailable(ANEW.to_owned()))?,
        None => {
            // A failure up to here is certainly before the call.
            let connected = upstream.connection().await;
            connected.map_err(|error| DriverError::Unavailable(error.explained()))?;
            upstream.call(request).await
        }
    };
    let enforced = upstream.enforced().await;
    let confined = upstream.config().confined().zip(enforced);
    match result(method, called) {
        Ok(raw) => Ok(match &confined {
            Some((confined, enforced)) => judged(raw, confined, enforced),
            None => raw,
        }),
        Err(error) => Err(error),
    }
}

/// A result that is nothing but the words of an operating system that refused a file, from a server
/// whose files are confined: it failed, whatever the server calls it, and the model is told why.
fn judged(raw: RawResult, confined: &Confined, enforced: &Enforced) -> RawResult {
    let RawContent::Text(text) = &raw.content else { return raw };
    let Some(refusal) = confine::of_result(text) else { return raw };
    let Some(note) = confined.explain(enforced, &refusal) else { return raw };
    let mut raw = raw.failed();
    raw.notes.push(escape(&note));
    raw
}

/// What an answer is to the kernel.
fn result(method: Method, called: Result<CallOutcome, McpError>) -> Result<RawResult, DriverError> {
    match called {
        Ok(CallOutcome::Complete(reply)) => Ok(match method {
            Method::ReadResource => feature_result::resource(reply),
            Method::GetPrompt => feature_result::prompt(reply),
            Method::Complete => feature_result::completion(reply),
            _ => raw_result(reply),
        }),
        Ok(CallOutcome::Error(error)) => Err(refused(method, &error)),
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
    let text = error.explained();
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

fn refused(method: Method, error: &RpcError) -> DriverError {
    let said: String = escape(&error.message).chars().take(MAX_MESSAGE).collect();
    let text = format!("the server answered with code {}: {said}", error.code);
    match error.code {
        // A resource that is not there has its own code in the legacy era.
        -32601 | -32002 => DriverError::NotFound(text),
        // Nothing but the URI can be wrong with a read, and the modern era has no code of its own.
        -32602 if method == Method::ReadResource => DriverError::NotFound(text),
        -32602 => DriverError::Invalid(text),
        _ => DriverError::Failed(text),
    }
}

/// Turns a tool result into content, without losing any.
///
/// One plain text block becomes text, also where the structured content only wraps it in a field;
/// one image or audio block becomes its bytes. Structured content stands for itself where the text
/// block only repeats it, and where it has rows and nothing but text stands beside it: questions go
/// to the rows, and the text is shown with them. Every other result is passed on as the whole result
/// object. `_meta`, which is not content, is kept in that last form only.
#[must_use]
pub fn raw_result(reply: Reply) -> RawResult {
    let is_error = reply.is_error();
    let findings = reply.findings().iter().map(|finding| finding.code()).collect();
    let (value, rows) = reply.into_parts();
    let value = match rows {
        None => value,
        Some(rows) => match beside_rows(&value, &rows) {
            Some(omitted) => {
                let notes = omitted.into_iter().collect();
                return RawResult {
                    is_error,
                    findings,
                    notes,
                    ..RawResult::of(RawContent::Rows(rows))
                };
            }
            None => whole(value, &rows),
        },
    };
    let blocks = layout(&value);
    let (content, structured, omitted) = parts(value);
    let notes = if blocks.is_none() { omitted.into_iter().collect() } else { Vec::new() };
    RawResult { is_error, findings, structured, blocks, notes, ..RawResult::of(content) }
}

/// What is said of the text beside rows that are kept as text: the same as [`parts`] says of rows.
/// None where the result is shown with its blocks, or as a whole.
fn beside_rows(result: &Value, rows: &JsonRows) -> Option<Option<String>> {
    let result = result.as_object().filter(|result| is_plain(result))?;
    if are_small(rows) {
        return None;
    }
    match result.get("content").and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) | None => Some(None),
        Some([block]) if plain_text(block).is_some_and(|text| rows.is_in(text)) => Some(None),
        Some(blocks) => text_beside(blocks),
    }
}

/// Whether rows have no more parts than a frame could show, as [`is_small`] has it.
fn are_small(rows: &JsonRows) -> bool {
    let frame = rows.with_list(Vec::new());
    let left = parts_within(&frame, MAX_PARTS).and_then(|left| left.checked_sub(rows.len()));
    left.and_then(|left| rows.rows().try_fold(left, |left, row| parts_within(&row, left))).is_some()
}

/// The blocks of a result as they came, unless there is more in them, or in the structured value
/// beside them, than any frame shows: blocks without that value would pass for the whole result.
fn layout(result: &Value) -> Option<ContentBlocks> {
    let blocks = result.get("content")?.as_array()?;
    if !is_plain(result.as_object()?) {
        return None;
    }
    let text = |block: &Value| {
        let inner = block.get("resource").and_then(|resource| resource.get("text"));
        let text = block.get("text").or(inner).and_then(Value::as_str);
        text.map_or(0, str::len)
    };
    let all_objects = blocks.iter().all(Value::is_object);
    let texts = blocks.iter().map(text).fold(0, usize::saturating_add);
    if !all_objects || blocks.len() > MAX_BLOCKS || texts > MAX_TEXT {
        return None;
    }
    let structured = result.get(STRUCTURED);
    if structured.is_some_and(|value| !is_small(value)) {
        return None;
    }
    let structured = structured.cloned();
    if blocks.is_empty() && structured.is_none() {
        return None;
    }
    Some(ContentBlocks { blocks: blocks.clone(), structured })
}

/// Whether a result has no field but those that the protocol knows. Of any other, the whole result
/// is shown, so that nothing is lost.
fn is_plain(result: &Map<String, Value>) -> bool {
    const KNOWN: [&str; 5] = ["content", STRUCTURED, "isError", "resultType", "_meta"];
    result.keys().all(|key| KNOWN.contains(&key.as_str()))
}

/// Whether a structured value has no more parts than a frame could show.
fn is_small(value: &Value) -> bool {
    parts_within(value, MAX_PARTS).is_some()
}

/// What of so many parts a value leaves; none where it has more.
fn parts_within(value: &Value, mut left: usize) -> Option<usize> {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let parts = match value {
            Value::Array(items) => {
                open.extend(items.iter().take(left));
                items.len()
            }
            Value::Object(fields) => {
                open.extend(fields.values().take(left));
                fields.len()
            }
            Value::String(text) => text.len() / 8,
            _ => 0,
        };
        left = left.checked_sub(parts)?;
    }
    Some(left)
}

/// The content of a result, what its output schema speaks of, and a line about text that stands
/// beside the content and is not in it.
fn parts(result: Value) -> (RawContent, Structured, Option<String>) {
    let Value::Object(mut result) = result else {
        return (RawContent::Json(result), Structured::Missing, None);
    };
    match form(&result) {
        Form::Structure { text_beside } => {
            let value = result.remove(STRUCTURED).unwrap_or_default();
            (RawContent::Json(value), Structured::Content, text_beside)
        }
        Form::Other(content) => {
            let structured = result.remove(STRUCTURED);
            (content, structured.map_or(Structured::Missing, Structured::Beside), None)
        }
        Form::Whole => {
            let structured = result.get(STRUCTURED).cloned();
            let structured = structured.map_or(Structured::Missing, Structured::Beside);
            (RawContent::Json(Value::Object(result)), structured, None)
        }
    }
}

/// What of a result object is its content.
enum Form {
    /// The structured value, which is moved out and not copied.
    Structure { text_beside: Option<String> },
    /// The content of its one block.
    Other(RawContent),
    /// The whole object.
    Whole,
}

fn form(result: &Map<String, Value>) -> Form {
    if !is_plain(result) {
        return Form::Whole;
    }
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice);
    let structure = Form::Structure { text_beside: None };
    match (blocks, result.get(STRUCTURED)) {
        (Some([]) | None, Some(_)) => structure,
        (Some([block]), Some(structured)) if is_wrapped(block, structured) => {
            let text = plain_text(block).unwrap_or_default();
            Form::Other(RawContent::Text(text.to_owned()))
        }
        (Some([block]), Some(structured)) if repeats(block, structured) => structure,
        (Some(blocks), Some(structured)) if has_rows(structured) => {
            text_beside(blocks).map_or(Form::Whole, |line| Form::Structure { text_beside: line })
        }
        (Some([block]), None) => single(block).map_or(Form::Whole, Form::Other),
        _ => Form::Whole,
    }
}

/// True for a block that is the text form of the structured value.
fn repeats(block: &Value, structured: &Value) -> bool {
    let value = plain_text(block).and_then(|text| serde_json::from_str::<Value>(text).ok());
    value.is_some_and(|value| value == *structured)
}

/// True where the structured value only wraps the text of the block in one field.
fn is_wrapped(block: &Value, structured: &Value) -> bool {
    let fields = structured.as_object().filter(|fields| fields.len() == 1);
    let (Some(text), Some(fields)) = (plain_text(block), fields) else { return false };
    fields.values().all(|field| field.as_str() == Some(text))
}

/// True for a list of objects, and for an object around one such list and plain values: the values
/// that questions see as rows.
fn has_rows(structured: &Value) -> bool {
    let is_list = |value: &Value| {
        value
            .as_array()
            .is_some_and(|items| !items.is_empty() && items.iter().all(Value::is_object))
    };
    let Value::Object(fields) = structured else { return is_list(structured) };
    let (lists, others): (Vec<&Value>, Vec<&Value>) =
        fields.values().partition(|value| is_list(value));
    lists.len() == 1
        && others.len() <= MAX_AROUND
        && others.iter().all(|value| !value.is_array() && !value.is_object())
}

/// What is said of blocks where they are not shown: how many, and how large. Their words are a
/// server's and are not repeated. Nothing where one of them is more than text, or where they are
/// empty.
fn text_beside(blocks: &[Value]) -> Option<Option<String>> {
    let texts: Option<Vec<&str>> = blocks.iter().map(plain_text).collect();
    let texts = texts?;
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let line = format!("Not shown: {} text block(s), {bytes} bytes, beside the rows.", texts.len());
    Some((bytes > 0).then_some(line))
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
        parts(value).0
    }

    /// Of a write that goes on out of sight nobody may say that it did not happen.
    #[test]
    fn what_goes_on_in_a_task_is_lost() {
        let value = json!({ "task": { "taskId": "1" } });
        let raw = serde_json::value::to_raw_value(&value).unwrap();
        let said =
            result(Method::CallTool, Ok(CallOutcome::Task(Reply::new(raw, value, Vec::new()))));
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

    fn raw(value: Value) -> RawResult {
        let text = serde_json::value::to_raw_value(&value).unwrap();
        raw_result(Reply::new(text, value, Vec::new()))
    }

    #[test]
    fn questions_see_the_rows_that_text_stands_beside() {
        let rows = json!({"users": [{"id": 1}, {"id": 2}], "total": 2});
        let text = json!({"type": "text", "text": "two users"});
        let both = raw(json!({"content": [text], "structuredContent": rows}));
        assert!(both.content == RawContent::Json(rows.clone()), "{both:?}");
        assert!(both.structured == Structured::Content);
        assert!(both.notes.is_empty(), "the text is in its block");
        let blocks = both.blocks.unwrap();
        assert_eq!((blocks.blocks, blocks.structured), (vec![text.clone()], Some(rows.clone())));
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        for whole in [
            json!({"content": [text, image], "structuredContent": rows}),
            json!({"content": [text], "structuredContent": {"a": [{}], "b": {}}}),
            json!({"content": [text], "structuredContent": rows, "more": 1}),
        ] {
            assert!(content_of(whole.clone()) == RawContent::Json(whole.clone()), "{whole}");
        }
    }

    #[test]
    fn blocks_without_their_large_structure_are_not_the_result() {
        let rows: Vec<Value> = (0..MAX_PARTS).map(|id| json!({"id": id})).collect();
        let text = json!({"type": "text", "text": "many users"});
        let large = raw(json!({"content": [text], "structuredContent": {"users": rows}}));
        assert!(large.blocks.is_none());
        assert!(large.content == RawContent::Json(json!({"users": rows})));
        assert_eq!(large.notes, ["Not shown: 1 text block(s), 10 bytes, beside the rows."]);
        let again = json!({"type": "text", "text": json!({"users": rows}).to_string()});
        let same = raw(json!({"content": [again], "structuredContent": {"users": rows}}));
        assert!(same.notes.is_empty() && same.content == large.content, "nothing is missing");
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
        let said = |method, code| {
            refused(method, &RpcError { code, message: "m\u{1b}".to_owned(), data: None })
        };
        let code = |code| said(Method::CallTool, code);
        assert_eq!(said(Method::ReadResource, -32602).code(), "driver.not_found");
        assert_eq!(code(-32602).code(), "driver.invalid");
        assert_eq!(
            code(-32601).to_string(),
            "not found: the server answered with code -32601: m\\u{1b}"
        );
    }
}
