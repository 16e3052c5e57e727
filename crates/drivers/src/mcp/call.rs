//! One request to a server, and how it ended.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use weaver_types::{JsonRows, Progress, ProgressSink};

use super::call_timer::CallTimer;
use super::client_features::ClientFeatures;
use super::config::Era;
use super::error::{McpError, RpcError};
use super::fault::MessageFault;
use super::input_responses::InputResponses;
use super::message::RpcResult;
use super::method::Method;

/// Something noticed while a reply was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ReplyWarning {
    /// A number beyond 64 bits, or beyond a double, was rounded in [`Reply::value`]; its digits
    /// are in [`Reply::raw`].
    NumbersRounded,
    /// `NaN` or an infinity, which JSON does not have, is `null` in the reply.
    NonFiniteNumbers,
}

impl ReplyWarning {
    /// A stable name for logs and JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NumbersRounded => "mcp.numbers_rounded",
            Self::NonFiniteNumbers => "mcp.non_finite_numbers",
        }
    }
}

/// The `result` object of a reply. Every field that the server sent is kept.
#[derive(Clone)]
pub struct Reply {
    pub(crate) raw: Box<RawValue>,
    /// The object. Where there are `rows`, their list is empty here.
    pub(crate) value: Value,
    /// The structured value of a large result that is rows.
    rows: Option<JsonRows>,
    /// The object with its rows put back, built on first use.
    value_with_rows: OnceLock<Value>,
    warnings: Vec<ReplyWarning>,
}

/// The field of a tool result that holds its structured value.
pub(crate) const STRUCTURED_CONTENT: &str = "structuredContent";

impl Reply {
    pub(crate) fn new(raw: Box<RawValue>, value: Value, warnings: Vec<ReplyWarning>) -> Self {
        Self { raw, value, rows: None, value_with_rows: OnceLock::new(), warnings }
    }

    /// The same reply with rows, whose list is empty in the value.
    pub(crate) fn with_rows(self, rows: Option<JsonRows>) -> Self {
        Self { rows, ..self }
    }

    /// The bytes of the `result` object as received.
    #[must_use]
    pub fn raw(&self) -> &str {
        self.raw.get()
    }

    /// The `result` object, read strictly: no duplicate keys, numbers in canonical form.
    #[must_use]
    pub fn value(&self) -> &Value {
        match &self.rows {
            None => &self.value,
            Some(rows) => {
                self.value_with_rows.get_or_init(|| with_structured_rows(self.value.clone(), rows))
            }
        }
    }

    /// What was noticed while reading, in order.
    #[must_use]
    pub fn warnings(&self) -> &[ReplyWarning] {
        &self.warnings
    }

    /// Whether a tool result says of itself that the tool failed (`isError: true`). Anything but
    /// an absent field or `false` counts as failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        !matches!(self.value.get("isError"), None | Some(Value::Bool(false) | Value::Null))
    }

    /// Takes the value out.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self.rows {
            None => self.value,
            Some(rows) => with_structured_rows(self.value, &rows),
        }
    }

    /// Takes the value out, and separately the rows whose list is empty in it.
    pub(crate) fn into_parts(self) -> (Value, Option<JsonRows>) {
        (self.value, self.rows)
    }
}

/// Puts the rows back into a result object as its structured value.
pub(crate) fn with_structured_rows(mut result: Value, rows: &JsonRows) -> Value {
    if let Some(structured) = result.get_mut(STRUCTURED_CONTENT) {
        *structured = rows.to_value();
    }
    result
}

impl fmt::Debug for Reply {
    /// Shows sizes only, so that no log line can leak what a tool returned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("bytes", &self.raw.get().len())
            .field("is_error", &self.is_error())
            .field("findings", &self.warnings)
            .finish()
    }
}

/// How a request ended. The request decides what is read; nothing in the reply can turn it
/// into the answer to another kind of request.
#[derive(Debug, Clone)]
pub enum CallOutcome {
    /// The result, also when a tool reports a failure ([`Reply::is_error`]).
    Complete(Reply),
    /// The server answered with a JSON-RPC error. Its message is untrusted text.
    Error(RpcError),
    /// The server wants more input before it goes on. For the caller to refuse.
    InputRequired(Reply),
    /// The server turned the call into a task to be polled. [`Connection::call_to_completion`] follows it.
    ///
    /// [`Connection::call_to_completion`]: super::Connection::call_to_completion
    Task(Reply),
}

impl CallOutcome {
    /// Classifies an answer by `resultType` alone. In the legacy era the field does not exist, so a legacy server may
    /// use any other word there.
    pub(crate) fn classify(
        method: Method,
        answer: RpcResult,
        era: Era,
    ) -> Result<Self, MessageFault> {
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) => return Ok(Self::Error(error)),
        };
        let legacy_task = era == Era::Legacy
            && method == Method::CallTool
            && reply.value.get("content").is_none()
            && reply.value.get(STRUCTURED_CONTENT).is_none()
            && reply.value.get("task").is_some_and(Value::is_object);
        match reply.value.get("resultType") {
            Some(Value::String(kind)) if kind == "input_required" => Ok(Self::InputRequired(reply)),
            Some(Value::String(kind)) if kind == "task" => Ok(Self::Task(reply)),
            Some(Value::String(kind)) if kind == "complete" => Ok(Self::Complete(reply)),
            None if legacy_task => Ok(Self::Task(reply)),
            None => Ok(Self::Complete(reply)),
            Some(_) if era == Era::Legacy => Ok(Self::Complete(reply)),
            Some(_) => Err(MessageFault::UnknownResultType),
        }
    }
}

/// Receives an answer that came after its call was given up. It runs on the reading task, so it must return at once.
/// It is called at most once for each sending.
pub type LateAnswerHandler = Arc<dyn Fn(Result<CallOutcome, McpError>) + Send + Sync>;

/// One request to a server: most often a tool call.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallRequest {
    /// What is asked for.
    pub method: Method,
    /// The name of the tool or prompt exactly as the server lists it, or the URI of the resource. Empty where the
    /// method takes no name.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// More `_meta` fields. The fields that the protocol reserves for the client are overwritten,
    /// except `io.modelcontextprotocol/clientCapabilities`, which is empty unless given here.
    pub meta: Map<String, Value>,
    /// Time limit of this call; `None` means [`Limits::call_timeout`](super::Limits).
    pub timeout: Option<Duration>,
    /// Receives progress as the server reports it; with `None` the server is asked for none. It runs on the reading
    /// task.
    pub progress: Option<ProgressSink>,
    /// Receives an answer that arrives after the call was given up. Over HTTP giving up closes the stream, so that no
    /// such answer can arrive.
    pub on_late_answer: Option<LateAnswerHandler>,
    /// Answers what the server asks during this call; `None` means the handler of the connection.
    pub client: Option<Arc<dyn ClientFeatures>>,
    /// The timer that the time limits run on; with `None` they never pause.
    pub timer: Option<CallTimer>,
    /// Asks for the call to run as a task (2025-11-25, `execution.taskSupport: required`). Servers of other revisions
    /// are not asked.
    pub as_task: bool,
    /// The answers to the input requests of an earlier result.
    pub(crate) input_responses: Option<InputResponses>,
}

impl CallRequest {
    /// A call without extra `_meta`, with the default time limit and no progress.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self::with_method(Method::CallTool, name, arguments)
    }

    /// A request of this method for a name with arguments.
    #[must_use]
    pub fn with_method(
        method: Method,
        name: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> Self {
        let (name, meta) = (name.into(), Map::new());
        Self {
            method,
            name,
            arguments,
            meta,
            timeout: None,
            progress: None,
            on_late_answer: None,
            client: None,
            timer: None,
            as_task: false,
            input_responses: None,
        }
    }

    /// To read the resource of this URI.
    #[must_use]
    pub fn read_resource(uri: impl Into<String>) -> Self {
        Self::with_method(Method::ReadResource, uri, Map::new())
    }

    /// To get a prompt with these arguments.
    #[must_use]
    pub fn get_prompt(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self::with_method(Method::GetPrompt, name, arguments)
    }

    /// To complete an argument: the parameters are `ref`, `argument` and `context`.
    #[must_use]
    pub fn complete(params: Map<String, Value>) -> Self {
        Self::with_method(Method::Complete, "", params)
    }

    /// Sets the time limit.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sends progress to `sink`.
    #[must_use]
    pub fn progress(mut self, sink: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(sink));
        self
    }

    /// Tells `handler` of an answer that comes too late.
    #[must_use]
    pub fn on_late_answer(
        mut self,
        handler: impl Fn(Result<CallOutcome, McpError>) + Send + Sync + 'static,
    ) -> Self {
        self.on_late_answer = Some(Arc::new(handler));
        self
    }

    /// Lets this client answer what the server asks during the call.
    #[must_use]
    pub fn client(mut self, client: Arc<dyn ClientFeatures>) -> Self {
        self.client = Some(client);
        self
    }

    /// Runs the time limits of this call on `timer`.
    #[must_use]
    pub fn timer(mut self, timer: CallTimer) -> Self {
        self.timer = Some(timer);
        self
    }

    /// Asks the server to run the call as a task, if it supports tasks.
    #[must_use]
    pub fn as_task(mut self) -> Self {
        self.as_task = true;
        self
    }

    /// Adds `_meta` fields.
    #[must_use]
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        self.meta = meta;
        self
    }
}

impl fmt::Debug for CallRequest {
    /// Arguments may hold secrets and are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRequest")
            .field("method", &self.method)
            .field("name", &self.name)
            .field("arguments", &self.arguments.len())
            .field("timeout", &self.timeout)
            .field("progress", &self.progress.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sorted(value: Value, era: Era) -> Result<&'static str, MessageFault> {
        let raw = serde_json::value::to_raw_value(&value).unwrap();
        let reply = Reply::new(raw, value, Vec::new());
        CallOutcome::classify(Method::CallTool, Ok(reply), era).map(|outcome| match outcome {
            CallOutcome::Complete(_) => "complete",
            CallOutcome::Error(_) => "error",
            CallOutcome::InputRequired(_) => "input",
            CallOutcome::Task(_) => "task",
        })
    }

    #[test]
    fn extra_fields_choose_nothing() {
        for key in [
            "tools", "action", "messages", "contents", "resources", "task", "inputRequests",
            "cursor",
        ] {
            let value = json!({"content": [], key: {"x": 1}});
            assert_eq!(sorted(value.clone(), Era::Legacy), Ok("complete"), "{key}");
            assert_eq!(sorted(value, Era::Modern), Ok("complete"), "{key}");
        }
    }

    #[test]
    fn only_a_call_of_a_tool_becomes_a_task_by_its_form() {
        let value = json!({"contents": [], "task": {"taskId": "1"}});
        let raw = serde_json::value::to_raw_value(&value).unwrap();
        let reply = Reply::new(raw, value, Vec::new());
        let sorted = CallOutcome::classify(Method::ReadResource, Ok(reply), Era::Legacy);
        assert!(matches!(sorted, Ok(CallOutcome::Complete(_))));
    }

    #[test]
    fn result_type_is_read_by_era() {
        assert_eq!(sorted(json!({"resultType": "input_required"}), Era::Modern), Ok("input"));
        assert_eq!(sorted(json!({"resultType": "task"}), Era::Modern), Ok("task"));
        assert_eq!(sorted(json!({"task": {"taskId": "1"}}), Era::Legacy), Ok("task"));
        assert_eq!(
            sorted(json!({"resultType": "new"}), Era::Modern),
            Err(MessageFault::UnknownResultType)
        );
        assert_eq!(sorted(json!({"resultType": "new"}), Era::Legacy), Ok("complete"));
    }

    #[test]
    fn a_strange_error_flag_counts_as_failed() {
        for (value, failed) in [
            (json!({}), false),
            (json!({"isError": false}), false),
            (json!({"isError": "yes"}), true),
        ] {
            let raw = serde_json::value::to_raw_value(&value).unwrap();
            assert_eq!(Reply::new(raw, value, Vec::new()).is_error(), failed);
        }
    }
}
