//! Drivers for what an MCP server offers: tools, resources, prompts and completions.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use weaver_agent_kernel::{AuthorizedCall, ChunkSource, Driver, DriverError, StreamSummary};
use weaver_types::{BoxFuture, RawContent, RawResult, RunId};

use crate::call_result::to_raw_result;
use crate::child_config::ChildConfinement;
use crate::chunk_task::{self, ChunkTask};
use crate::confine::{self, EnforcedConfinement};
use crate::escape::escape;
use crate::http::streamed_response::content_to_chunk;
use crate::instance::{InstanceSource, ServerInstance};
use crate::mcp::{CallOutcome, CallRequest, Upstream};
use crate::progress_messages::{MESSAGE_QUEUE_CAPACITY, MESSAGES_OMITTED, ProgressMessages};
use crate::runtime_task;

/// Why a call bound to a former connection is refused.
const CONNECTION_CHANGED: &str =
    "the server went away or was connected anew since its tools were listed; nothing was sent";

/// One tool or prompt of an upstream server, or all of its resources.
///
/// The operation is fixed here; arguments are passed on unchanged and cannot select another. Any
/// executor may poll the future of a call: the work itself runs on the given tokio runtime.
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

weaver_types::opaque_debug!(McpDriver);

/// Supplies `_meta` fields for the next request.
pub type RequestMeta = Arc<dyn Fn() -> Map<String, Value> + Send + Sync>;

/// The operation that a driver performs.
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
        Self::with_operation(upstream, Operation::Tool(tool.into()), runtime)
    }

    /// A driver that reads the resource named by the argument `uri`.
    #[must_use]
    pub fn reading_resources(upstream: Arc<Upstream>, runtime: Handle) -> Self {
        Self::with_operation(upstream, Operation::ReadResource, runtime)
    }

    /// A driver that gets `prompt`, named exactly as the server lists it.
    #[must_use]
    pub fn prompt(upstream: Arc<Upstream>, prompt: impl Into<String>, runtime: Handle) -> Self {
        Self::with_operation(upstream, Operation::Prompt(prompt.into()), runtime)
    }

    /// A driver that completes arguments. Its own arguments are `ref`, `argument` and `context`.
    #[must_use]
    pub fn completing(upstream: Arc<Upstream>, runtime: Handle) -> Self {
        Self::with_operation(upstream, Operation::Complete, runtime)
    }

    fn with_operation(upstream: Arc<Upstream>, operation: Operation, runtime: Handle) -> Self {
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

    /// Binds the driver to the connection on which the tool was listed. After a reconnect the
    /// server may be another program, so calls are refused unsent until its tools are listed again.
    /// See [`Connection::generation`](crate::mcp::Connection::generation).
    #[must_use]
    pub fn of_generation(mut self, generation: u64) -> Self {
        self.generation = Some(generation);
        self
    }

    /// Lets `instances` choose the server instance for each call.
    #[must_use]
    pub fn with_instances(mut self, instances: Arc<dyn InstanceSource>) -> Self {
        self.instances = Some(instances);
        self
    }

    /// Adds the fields from `meta` to the `_meta` of each request. It is called in the task that
    /// executes the call.
    #[must_use]
    pub fn with_request_meta(mut self, meta: RequestMeta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// For a tool that its server runs only as a task, which is followed to its end.
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
        let late_call = call.clone();
        let arguments = call.arguments();
        let uri = || arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
        let request = match &self.operation {
            Operation::Tool(name) => CallRequest::new(name.clone(), arguments.clone()),
            // Its schema requires the URI.
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
            .on_late_answer(move |outcome| late_call.report_late(&to_raw_result(method, outcome)))
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
            runtime_task::run_on(&self.runtime, Box::pin(work)).await
        })
    }

    /// The call's progress messages, one row each, then its result.
    fn execute_stream(&self, call: &AuthorizedCall) -> Option<Box<dyn ChunkSource + '_>> {
        if !matches!(self.operation, Operation::Tool(_)) {
            return None;
        }
        let (request, instance) = (self.request(call), self.instance(call));
        Some(Box::new(ChunkTask::with_capacity(
            MESSAGE_QUEUE_CAPACITY,
            &self.runtime,
            |chunks| async move {
                let messages = ProgressMessages::new(chunks.clone());
                let request = request.progress(messages.sink());
                let raw = run(&instance.await?, request).await?;
                let mut findings = raw.findings.clone();
                findings.extend(messages.has_dropped().then_some(MESSAGES_OMITTED));
                chunk_task::send(&chunks, content_to_chunk(raw.content.clone())).await?;
                let is_error = raw.is_error;
                // The progress messages are not part of the result.
                let whole = Some(RawResult { findings: Vec::new(), ..raw });
                Ok(StreamSummary { is_error, findings, result: whole, ..StreamSummary::default() })
            },
        )))
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn working_folder(&self, run: &RunId) -> Option<String> {
        self.instances.as_ref()?.working_folder(run)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

async fn run(instance: &ServerInstance, request: CallRequest) -> Result<RawResult, DriverError> {
    let (method, upstream) = (request.method, instance.upstream());
    let request = instance.for_caller(request);
    if instance.generation().is_none() {
        // A failure up to here certainly precedes the call.
        let connected = upstream.connection().await;
        connected.map_err(|error| {
            error.log_detail();
            DriverError::Unavailable(error.for_model())
        })?;
    }
    // Read before the call, so that it cannot wait for a later connection.
    let enforced = upstream.enforced().await;
    let called = match instance.generation() {
        Some(generation) => upstream
            .call_on(generation, request)
            .await
            .ok_or_else(|| DriverError::Unavailable(CONNECTION_CHANGED.to_owned()))?,
        None => upstream.call(request).await,
    };
    if let Ok(CallOutcome::Error(error)) = &called {
        instance.report_missing_capability(error);
    }
    let confinement = upstream.config().confinement().zip(enforced);
    let secrets = &upstream.config().secrets;
    match to_raw_result(method, called) {
        Ok(raw) => Ok(secrets.hide_in(match &confinement {
            Some((confinement, enforced)) => mark_refused_access(raw, confinement, enforced),
            None => raw,
        })),
        Err(error) => Err(error.map_text(|text| secrets.hide_in_text(text))),
    }
}

/// If a result consists only of the operating system's refusal of a file, and the server's files
/// are confined, the call failed, whatever the server says; a note tells the model why.
fn mark_refused_access(
    raw: RawResult,
    confinement: &ChildConfinement,
    enforced: &EnforcedConfinement,
) -> RawResult {
    let RawContent::Text(text) = &raw.content else { return raw };
    let Some(refusal) = confine::refusal_in_result(text) else { return raw };
    let Some(note) = confinement.explain_refusal(enforced, &refusal) else { return raw };
    let mut raw = raw.failed();
    raw.notes.push(escape(&note));
    raw
}
