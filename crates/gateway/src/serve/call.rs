//! One call through the kernel, in both modes: what cannot become a call is recorded as refused.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weaver_agent_kernel::{Call, Caller, Invocation};
use weaver_policy::approval::Phase;
use weaver_text::escape;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, Discharge, ReasonCode, ResponseMode,
    Verdict,
};

use super::client::Client;
use super::client_call::ClientCall;
use super::error::ServeError;
use super::heartbeat;
use super::lines::Outbox;
use super::measured_call::{CallOrigin, MeasuredCall};
use super::server_feature::FeatureKind;
use crate::telemetry::{CallTrace, RequestOrigin, TraceParent};

/// What stands for the server of a tool that does not exist.
const NO_SERVER: &str = "none";

/// The longest URI in a trace, in characters.
const MAX_URI: usize = 500;

/// How long a call waits for the first attempt to connect its server.
const PATIENCE: Duration = Duration::from_secs(25);

/// How long a held call waits by default: less than the 60 seconds after which clients of the common
/// MCP libraries give a request up.
const DEFAULT_WAIT: Duration = Duration::from_secs(45);

/// How often a client hears of a call that is held.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How often the run of a held call is used: less than the shortest time after which one that nobody
/// uses is over.
const RUN_USE: Duration = Duration::from_secs(20);

/// What comes with a call beside its arguments.
pub(crate) struct CallOptions {
    /// What is wrong with the arguments as they arrived; such a call is refused and recorded.
    pub(crate) argument_problem: Option<String>,
    /// Cancelled when the client no longer waits for the answer.
    pub(crate) cancellation: CancellationToken,
    /// The request that makes the call.
    pub(crate) call: Arc<ClientCall>,
    /// Where lines of the request go before its answer.
    pub(crate) outbox: Outbox,
    /// The trace that its client is in.
    pub(crate) trace_parent: Option<TraceParent>,
    /// The request, as traces name it.
    pub(crate) origin: RequestOrigin,
}

/// One call: what is to be called, with which arguments, and how.
pub(crate) struct CallRequest<'a> {
    pub(crate) request: CapabilityRequest,
    pub(crate) arguments: &'a Value,
    pub(crate) mode: ResponseMode,
    pub(crate) options: CallOptions,
}

/// What a call came to.
pub(crate) struct CallOutcome {
    pub(crate) invocation: Invocation,
    /// True when it waited for an approval that did not come.
    pub(crate) approval_timed_out: bool,
}

impl CallOutcome {
    pub(crate) fn immediate(invocation: Invocation) -> Self {
        Self { invocation, approval_timed_out: false }
    }
}

/// Runs a call through the kernel. A held one waits for an approval as long as the configuration
/// says; what comes of the approval is decided by making the same call again.
pub(crate) async fn run(client: &Client, call: CallRequest<'_>) -> Result<CallOutcome, ServeError> {
    let principal = client.principal().map(|principal| principal.id.to_string());
    let origin = CallOrigin {
        capability: &call.request.capability_id,
        server: server_of(client, &call.request.capability_id),
        principal: principal.unwrap_or_default(),
        trace_parent: call.options.trace_parent,
        request: call.options.origin.clone(),
        resource_uri: resource_uri(client, &call),
    };
    let measured = MeasuredCall::begin(&client.gateway.telemetry, origin);
    let done = measured.trace().scope(run_measured(client, call)).await;
    match &done {
        Ok(done) => measured.end(&done.invocation),
        Err(error) => measured.fail(error.code()),
    }
    done
}

/// The server of a tool as the configuration names it, or the namespace of one that has none.
fn server_of(client: &Client, id: &CapabilityId) -> String {
    let gateway = &client.gateway;
    match gateway.upstreams.of(id.as_str()) {
        Some(entry) => entry.name.to_string(),
        None if gateway.registry.contains(id) => {
            id.as_str().split_once('.').map_or(NO_SERVER, |(space, _)| space).to_owned()
        }
        None => NO_SERVER.to_owned(),
    }
}

/// The resource that a call reads, as traces name it.
fn resource_uri(client: &Client, call: &CallRequest<'_>) -> Option<String> {
    let reads = FeatureKind::of(&call.request.capability_id) == FeatureKind::ResourceReading;
    if !reads || !client.gateway.telemetry.exports_spans() {
        return None;
    }
    let uri = call.arguments.get("uri")?.as_str()?;
    let masked = client.gateway.kernel.firewall().redact_text(uri).text;
    Some(escape::line(escape::truncate(&masked, MAX_URI)).into_owned())
}

async fn run_measured(client: &Client, call: CallRequest<'_>) -> Result<CallOutcome, ServeError> {
    let CallRequest { request, arguments, mode, options } = call;
    if let Some(argument_problem) = options.argument_problem {
        let reason = ReasonCode::InvalidArguments;
        let said = Contribution::new(Check::Justification, Verdict::Ask, reason, argument_problem)
            .discharged_by(Discharge::Arguments);
        return client.reject(&request, said).await.map(CallOutcome::immediate);
    }
    if FeatureKind::of(&request.capability_id).is_asked_by_servers() {
        let (reason, problem) = (ReasonCode::NotFound, "only its server asks this");
        let said = Contribution::new(Check::System, Verdict::Deny, reason, problem);
        return client.reject(&request, said).await.map(CallOutcome::immediate);
    }
    let call = Call { request: &request, arguments: Some(arguments), mode };
    let done = once(client, call, &options.call).await?;
    let reporter = options.call.progress.as_ref();
    let wait = client.gateway.config.approval_wait;
    let wait = wait.unwrap_or_else(|| default_wait(&options.call));
    let held = done.decision.verdict() == Verdict::Hold && !wait.is_zero();
    let Some(id) = done.request.clone().filter(|_| held) else {
        return Ok(CallOutcome::immediate(done));
    };
    let resolved = async {
        tokio::select! {
            phase = client.gateway.kernel.wait_resolution(&id, wait) => phase,
            () = options.cancellation.cancelled() => Some(Phase::Requested),
            never = keep_run(client) => match never {},
        }
    };
    let waits = format!("waiting for a person: request {id}");
    if let Some(task) = options.call.task() {
        task.tell(&waits);
    }
    let told: Vec<_> = reporter.cloned().into_iter().collect();
    let timer = CallTrace::current().map(|trace| trace.hold());
    let phase = heartbeat::during(resolved, HEARTBEAT, &told, &waits).await;
    if let Some(task) = options.call.task() {
        task.go_on();
    }
    if let Some(timer) = timer {
        timer.end(None);
    }
    match phase {
        Some(Phase::Requested) | None => {
            Ok(CallOutcome { invocation: done, approval_timed_out: true })
        }
        Some(_) => once(client, call, &options.call).await.map(CallOutcome::immediate),
    }
}

/// How long a held call waits where the configuration does not say. A task waits for as long as it
/// lives, if the request does. A client that wants to be told how far its call is, is made for calls
/// that take their time. Every other one gets the hold at once: it may count the wait as a failure of
/// the tool.
fn default_wait(call: &ClientCall) -> Duration {
    match (call.task(), &call.progress) {
        (Some(task), _) => task.lifetime(),
        (None, Some(_)) => DEFAULT_WAIT,
        (None, None) => Duration::ZERO,
    }
}

/// Uses the run now and then while a call of it waits: an approval counts in the run that asked.
async fn keep_run(client: &Client) -> Infallible {
    loop {
        tokio::time::sleep(RUN_USE).await;
        if let Err(error) = client.run().await {
            tracing::warn!(%error, "the run of a waiting call could not be kept");
        }
    }
}

/// One call, whose server is there.
async fn once(
    client: &Client,
    call: Call<'_>,
    made_by: &Arc<ClientCall>,
) -> Result<Invocation, ServeError> {
    let run = client.run().await?;
    client.note_run(&run.run_id)?;
    let upstreams = &client.gateway.upstreams;
    let entry = upstreams.of(call.request.capability_id.as_str());
    // What the server asks while the call runs, it asks of this client.
    let _calling = entry.map(|entry| upstreams.callers.enter(&entry.name, made_by, &run.run_id));
    if let Some(entry) = entry {
        entry.free_primary(&client.gateway.runs, &run.run_id).await;
    }
    if let Some(problem) = unavailable(client, &call.request.capability_id).await {
        let reason = ReasonCode::UpstreamUnavailable;
        let said = Contribution::new(Check::System, Verdict::Deny, reason, problem)
            .discharged_by(Discharge::Wait { retry_after_ms: 10_000 });
        return client.reject(call.request, said).await;
    }
    let principal = client.principal()?;
    let caller = Caller { run: &run, principal: &principal };
    let kernel = &client.gateway.kernel;
    let executed = async {
        match &made_by.progress {
            Some(progress) => kernel.execute_with_progress(caller, call, progress.sink()).await,
            None => kernel.execute(caller, call).await,
        }
    };
    let trace = CallTrace::current();
    let begun = trace.as_ref().map(|trace| trace.begin_execution());
    let done = made_by.scope(executed).await;
    if made_by.wants_log() {
        // What the server logged in the call comes before its answer.
        upstreams.events.passed_on(made_by.link()).await;
    }
    if let (Some(trace), Some(begun)) = (trace, begun) {
        trace.end_execution(begun);
    }
    Ok(done)
}

/// Why the server of a tool is away; `None` when the principal can see the tool, or its server is
/// there after another look. A tool that is hidden is treated like one that is not listed.
async fn unavailable(client: &Client, id: &CapabilityId) -> Option<String> {
    let entry = client.gateway.upstreams.of(id.as_str())?;
    // Its tools may be in view a moment before it is ready: a first call waits as a list does.
    if !client.visible(id) || entry.missing().is_some() {
        entry.wait_settled(PATIENCE).await;
    }
    // It may be back by now, or be another program than the one that was listed.
    if let Err(error) = entry.keep_current().await {
        return Some(error.to_string());
    }
    if client.visible(id) { None } else { entry.problem() }
}
