//! What an MCP server offers as drivers of the kernel: its tools, resources, prompts and completions.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use weaver_agent_kernel::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
use weaver_types::{BoxFuture, RawContent, RawResult};

use crate::call_result::result;
use crate::child_config::ChildConfinement;
use crate::chunk_task::{self, ChunkTask};
use crate::confine::{self, EnforcedConfinement};
use crate::escape::escape;
use crate::http::pieces::chunk_of;
use crate::instance::{InstanceSource, ServerInstance};
use crate::mcp::{CallOutcome, CallRequest, Upstream};
use crate::progress_messages::{MAX_MESSAGES, MESSAGES_LOST, ProgressMessages};
use crate::task;

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
    instances: Option<Arc<dyn InstanceSource>>,
    meta: Option<RequestMeta>,
    as_task: bool,
}

/// Gives `_meta` fields for the request that is about to be sent.
pub type RequestMeta = Arc<dyn Fn() -> Map<String, Value> + Send + Sync>;

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
        Self {
            upstream,
            operation,
            name,
            runtime,
            generation: None,
            instances: None,
            meta: None,
            as_task: false,
        }
    }

    /// The same driver for the connection on which the tool was listed, and for no other: once the
    /// server is connected anew, it may be another program, so calls are refused unsent until its
    /// tools are listed again. See [`Connection::generation`](crate::mcp::Connection::generation).
    #[must_use]
    pub fn of_generation(mut self, generation: u64) -> Self {
        self.generation = Some(generation);
        self
    }

    /// The same driver where `instances` says for each call which instance of the server serves it.
    #[must_use]
    pub fn with_instances(mut self, instances: Arc<dyn InstanceSource>) -> Self {
        self.instances = Some(instances);
        self
    }

    /// The same driver where `meta` gives fields for the `_meta` of each request. It is asked in the
    /// task that executes the call.
    #[must_use]
    pub fn with_request_meta(mut self, meta: RequestMeta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// The same driver for a tool that its server does only as a task: the task is followed to its
    /// end.
    #[must_use]
    pub fn as_task(mut self) -> Self {
        self.as_task = true;
        self
    }

    fn instance(
        &self,
        call: &AuthorizedCall,
    ) -> BoxFuture<'static, Result<ServerInstance, DriverError>> {
        match &self.instances {
            Some(instances) => instances.instance(call),
            None => {
                let only = ServerInstance::new(Arc::clone(&self.upstream), self.generation);
                Box::pin(std::future::ready(Ok(only)))
            }
        }
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
        let meta = self.meta.as_ref().map(|meta| meta()).unwrap_or_default();
        let request = if self.as_task { request.as_task() } else { request };
        request
            .meta(meta)
            .timeout(call.timeout().min(self.upstream.config().limits.call_timeout))
            .late(move |outcome| late.report_late(&result(method, outcome)))
    }
}

impl Driver for McpDriver {
    fn execute(&self, call: AuthorizedCall) -> BoxFuture<'_, Result<RawResult, DriverError>> {
        let instance = self.instance(&call);
        let mut request = self.request(&call);
        if call.wants_progress() {
            request = request.progress(move |progress| call.report_progress(progress));
        }
        Box::pin(async move {
            let work = async move { run(&instance.await?, request).await };
            task::on(&self.runtime, work).await
        })
    }

    /// The messages of its progress, each a row, then its result.
    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        if !matches!(self.operation, Operation::Tool(_)) {
            return None;
        }
        let (request, instance) = (self.request(call), self.instance(call));
        Some(Box::new(ChunkTask::with_room(MAX_MESSAGES, &self.runtime, |chunks| async move {
            let messages = ProgressMessages::new(chunks.clone());
            let request = request.progress(messages.sink());
            let raw = run(&instance.await?, request).await?;
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

async fn run(instance: &ServerInstance, request: CallRequest) -> Result<RawResult, DriverError> {
    let (method, upstream) = (request.method, instance.upstream());
    let request = instance.on_behalf(request);
    if instance.generation().is_none() {
        // A failure up to here is certainly before the call.
        let connected = upstream.connection().await;
        connected.map_err(|error| DriverError::Unavailable(error.explained()))?;
    }
    // Asked before the call: its answer does not wait for the connection after this one.
    let enforced = upstream.enforced().await;
    let called = match instance.generation() {
        Some(generation) => upstream
            .call_on(generation, request)
            .await
            .ok_or_else(|| DriverError::Unavailable(ANEW.to_owned()))?,
        None => upstream.call(request).await,
    };
    if let Ok(CallOutcome::Error(error)) = &called {
        instance.note_refusal(error);
    }
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
fn judged(
    raw: RawResult,
    confined: &ChildConfinement,
    enforced: &EnforcedConfinement,
) -> RawResult {
    let RawContent::Text(text) = &raw.content else { return raw };
    let Some(refusal) = confine::of_result(text) else { return raw };
    let Some(note) = confined.explain(enforced, &refusal) else { return raw };
    let mut raw = raw.failed();
    raw.notes.push(escape(&note));
    raw
}
