//! Runs one call through the kernel, for gateway and proxy mode. A call that cannot be made is
//! recorded as refused.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::WeakSender;
use tokio_util::sync::CancellationToken;
use weaver_agent_kernel::{Call, Caller, Invocation};
use weaver_policy::approval::Phase;
use weaver_text::escape;
use weaver_types::{
    CapabilityId, CapabilityRequest, CheckKind, CheckResult, ReasonCode, Remedy, ResponseMode,
    Verdict,
};

use super::client::Client;
use super::client_call::ClientCall;
use super::error::ServeError;
use super::heartbeat;
use super::managed_server::{CALL_START_WAIT, ManagedServer};
use super::measured_call::{CallDetails, MeasuredCall};
use super::server_feature::FeatureKind;
use super::task::Task;
use crate::telemetry::{CallTrace, RequestOrigin, TraceParent};

/// The server label of a tool that does not exist.
const NO_SERVER: &str = "none";

/// The longest URI in a trace, in characters.
const MAX_URI_CHARS: usize = 500;

/// The default wait of a held call: shorter than the 60 seconds after which common MCP client
/// libraries give a request up.
const DEFAULT_APPROVAL_WAIT: Duration = Duration::from_secs(45);

/// How often the run of a call is marked as used: shorter than the shortest idle limit, so that the
/// run does not expire while its call is made.
const RUN_REFRESH_INTERVAL: Duration = Duration::from_secs(20);

/// The context of a call besides its arguments.
pub(crate) struct CallOptions {
    /// Why the arguments are malformed. Such a call is refused and recorded.
    pub(crate) argument_problem: Option<String>,
    /// Cancelled when the client no longer waits for the answer.
    pub(crate) cancellation: CancellationToken,
    /// The request that makes the call.
    pub(crate) client_call: Arc<ClientCall>,
    /// The channel for notifications before the answer. It closes with the answer, also where the
    /// call goes on as a task.
    pub(crate) outbox: WeakSender<Vec<u8>>,
    /// The trace context of the client.
    pub(crate) trace_parent: Option<TraceParent>,
    /// The request as traces identify it.
    pub(crate) origin: RequestOrigin,
}

/// One call: the capability, its arguments, the response mode and the context.
pub(crate) struct CallRequest<'a> {
    pub(crate) request: CapabilityRequest,
    pub(crate) arguments: &'a Value,
    pub(crate) mode: ResponseMode,
    pub(crate) options: CallOptions,
}

/// The outcome of a call.
pub(crate) struct CallOutcome {
    pub(crate) invocation: Invocation,
    /// True when the call waited for an approval that did not come.
    pub(crate) approval_timed_out: bool,
}

impl CallOutcome {
    pub(crate) fn without_wait(invocation: Invocation) -> Self {
        Self { invocation, approval_timed_out: false }
    }
}

/// Runs a call through the kernel. A held one waits for an approval as long as the configuration
/// says. Afterwards the same call is evaluated again: the kernel then finds the approval or its
/// refusal, so a resumed call passes every check once more.
pub(crate) async fn run(client: &Client, call: CallRequest<'_>) -> Result<CallOutcome, ServeError> {
    let principal = client.principal().map(|principal| principal.id.to_string());
    let details = CallDetails {
        capability: &call.request.capability_id,
        server: server_label(client, &call.request.capability_id),
        principal: principal.unwrap_or_default(),
        trace_parent: call.options.trace_parent,
        request: call.options.origin.clone(),
        resource_uri: resource_uri(client, &call),
    };
    let measured = MeasuredCall::begin(&client.gateway.telemetry, details);
    // A run in which a call is made is not idle.
    let made = async {
        tokio::select! {
            outcome = run_measured(client, call) => outcome,
            never = keep_run_alive(client) => match never {},
        }
    };
    // Boxed: the futures of a request are moved until its task runs, and this is most of them.
    let outcome = measured.trace().scope(Box::pin(made)).await;
    match &outcome {
        Ok(outcome) => measured.end(&outcome.invocation),
        Err(error) => measured.fail(error.code()),
    }
    outcome
}

/// The configured name of a tool's server, or the namespace of a tool without one.
fn server_label(client: &Client, id: &CapabilityId) -> String {
    let gateway = &client.gateway;
    match gateway.upstreams.for_capability(id.as_str()) {
        Some(server) => server.name.to_string(),
        None if gateway.registry.contains(id) => {
            id.as_str().split_once('.').map_or(NO_SERVER, |(space, _)| space).to_owned()
        }
        None => NO_SERVER.to_owned(),
    }
}

/// The masked URI of the resource that a call reads, for traces.
fn resource_uri(client: &Client, call: &CallRequest<'_>) -> Option<String> {
    let reads = FeatureKind::of(&call.request.capability_id) == FeatureKind::ResourceReading;
    if !reads || !client.gateway.telemetry.exports_spans() {
        return None;
    }
    let uri = call.arguments.get("uri")?.as_str()?;
    let masked = client.gateway.kernel.firewall().redact_text(uri).text;
    Some(escape::excerpt(&masked, MAX_URI_CHARS))
}

async fn run_measured(client: &Client, call: CallRequest<'_>) -> Result<CallOutcome, ServeError> {
    let CallRequest { request, arguments, mode, options } = call;
    if let Some(argument_problem) = options.argument_problem {
        let reason = ReasonCode::InvalidArguments;
        let denial =
            CheckResult::new(CheckKind::Justification, Verdict::Ask, reason, argument_problem)
                .with_remedy(Remedy::Arguments);
        return client.reject(&request, denial).await.map(CallOutcome::without_wait);
    }
    // The kernel refuses what the policy hides, and knows no profiles.
    if !client.shows(&request.capability_id) {
        let (reason, problem) = (ReasonCode::NotFound, "no capability of that name is known here");
        let denial = CheckResult::new(CheckKind::System, Verdict::Deny, reason, problem);
        return client.reject(&request, denial).await.map(CallOutcome::without_wait);
    }
    if FeatureKind::of(&request.capability_id).is_asked_by_servers() {
        let (reason, problem) = (ReasonCode::NotFound, "only its server may make this request");
        let denial = CheckResult::new(CheckKind::System, Verdict::Deny, reason, problem);
        return client.reject(&request, denial).await.map(CallOutcome::without_wait);
    }
    let call = Call { request: &request, arguments: Some(arguments), mode };
    let invocation = execute(client, call, &options.client_call).await?;
    let reporter = options.client_call.progress.as_ref();
    let wait = client.gateway.config.approval_timeout;
    let wait = wait.unwrap_or_else(|| {
        default_approval_timeout(options.client_call.task().map(Arc::as_ref), reporter.is_some())
    });
    let is_held = invocation.decision.verdict() == Verdict::Hold && !wait.is_zero();
    let Some(id) = invocation.request.clone().filter(|_| is_held) else {
        return Ok(CallOutcome::without_wait(invocation));
    };
    let resolution = async {
        tokio::select! {
            phase = client.gateway.kernel.wait_resolution(&id, wait) => phase,
            () = options.cancellation.cancelled() => Some(Phase::Requested),
        }
    };
    let wait_message = format!("waiting for a person: request {id}");
    if let Some(task) = options.client_call.task() {
        task.set_message(&wait_message);
        task.defer();
    }
    let reporters: Vec<_> = reporter.cloned().into_iter().collect();
    let timer = CallTrace::current().map(|trace| trace.begin_hold());
    let resolution = Box::pin(resolution);
    let phase = heartbeat::during(resolution, heartbeat::INTERVAL, &reporters, &wait_message).await;
    if let Some(task) = options.client_call.task() {
        task.clear_message();
    }
    if let Some(timer) = timer {
        timer.end(None);
    }
    match phase {
        Some(Phase::Requested) | None => Ok(CallOutcome { invocation, approval_timed_out: true }),
        Some(_) => execute(client, call, &options.client_call).await.map(CallOutcome::without_wait),
    }
}

/// How long a held call waits if the configuration does not say. A task that the client asked for
/// waits for its lifetime or until the request expires. A client that asks for progress, or that
/// knows tasks, expects long calls and gets [`DEFAULT_APPROVAL_WAIT`]: a model that waits longer
/// cannot tell its user who has to release the call. Any other client gets the hold at once, because
/// it may count the wait as a failure of the tool.
fn default_approval_timeout(task: Option<&Task>, asks_for_progress: bool) -> Duration {
    match task {
        Some(task) if task.was_asked_for() => task.lifetime(),
        Some(_) => DEFAULT_APPROVAL_WAIT,
        None if asks_for_progress => DEFAULT_APPROVAL_WAIT,
        None => Duration::ZERO,
    }
}

/// Marks the run as used while a call is made: an approval counts only in the run that asked, and a
/// result is shown only in the run that it taints.
async fn keep_run_alive(client: &Client) -> Infallible {
    loop {
        tokio::time::sleep(RUN_REFRESH_INTERVAL).await;
        if let Err(error) = client.run().await {
            tracing::warn!(%error, "the run of a waiting call could not be kept");
        }
    }
}

/// Executes one call; once more if it reached nothing because a changed configuration put another
/// server in place of its own at that moment.
async fn execute(
    client: &Client,
    call: Call<'_>,
    client_call: &Arc<ClientCall>,
) -> Result<Invocation, ServeError> {
    let server = || client.gateway.upstreams.for_capability(call.request.capability_id.as_str());
    loop {
        let before = server();
        let invocation = execute_once(client, call, client_call).await?;
        let was_replaced =
            before.zip(server()).is_some_and(|(before, now)| !Arc::ptr_eq(&before, &now));
        if !was_replaced || !has_reached_nothing(client, &invocation) {
            return Ok(invocation);
        }
    }
}

/// Whether the tool was not there, or its server could not be sent anything.
fn has_reached_nothing(client: &Client, invocation: &Invocation) -> bool {
    let kernel = &client.gateway.kernel;
    let principal = client.principal().ok();
    let explanation = principal.and_then(|one| kernel.explain(&one, &invocation.call));
    invocation.decision.primary_reason() == ReasonCode::NotFound
        || explanation.and_then(|one| one.failure) == Some(ReasonCode::UpstreamUnavailable)
}

/// Evaluates and executes one call after making its server available.
async fn execute_once(
    client: &Client,
    call: Call<'_>,
    client_call: &Arc<ClientCall>,
) -> Result<Invocation, ServeError> {
    let run = client.run().await?;
    client_call.set_run(&run.run_id);
    client.register_run(&run.run_id)?;
    let upstreams = &client.gateway.upstreams;
    let server = upstreams.for_capability(call.request.capability_id.as_str());
    // Requests that the server sends during the call go to this client.
    let _calling = server.as_ref().map(|server| {
        upstreams.connected_clients.begin_call(&server.name, client_call, &run.run_id)
    });
    if let Some(server) = &server {
        server.restart_abandoned_primary(&client.gateway.runs, &run.run_id).await;
    }
    if let Some(problem) = unavailable_reason(client, &call.request.capability_id).await {
        let reason = ReasonCode::UpstreamUnavailable;
        let denial = CheckResult::new(CheckKind::System, Verdict::Deny, reason, problem)
            .with_remedy(Remedy::Wait { retry_after_ms: 10_000 });
        return client.reject(call.request, denial).await;
    }
    let principal = client.principal()?;
    let caller = Caller { run: &run, principal: &principal };
    let kernel = &client.gateway.kernel;
    let execution = async {
        match &client_call.progress {
            Some(progress) => kernel.execute_with_progress(caller, call, progress.sink()).await,
            None => kernel.execute(caller, call).await,
        }
    };
    let trace = CallTrace::current();
    let begun = trace.as_ref().map(|trace| trace.begin_execution());
    let invocation = client_call.scope(execution).await;
    if let (Some(server), Some(process)) = (&server, client_call.serving_process()) {
        client.note_process(&server.name, process);
    }
    if client_call.wants_log() {
        // Log messages of the call must arrive before its answer.
        upstreams.events.wait_until_logs_forwarded(client_call.link()).await;
    }
    if let (Some(trace), Some(begun)) = (trace, begun) {
        trace.end_execution(begun);
    }
    Ok(invocation)
}

/// Why the server of a tool is unavailable; `None` when the client may see the tool and its server
/// is up to date. A hidden tool is treated like one that is not listed, and a tool of a server that
/// the client may not know of like one of no server.
async fn unavailable_reason(client: &Client, id: &CapabilityId) -> Option<String> {
    loop {
        let server = client.gateway.upstreams.for_capability(id.as_str())?;
        let reason = unavailable_reason_of(&server, client, id).await;
        let now = client.gateway.upstreams.for_capability(id.as_str());
        // A changed configuration may have put another server in its place meanwhile.
        if now.is_some_and(|now| Arc::ptr_eq(&now, &server)) {
            return reason;
        }
    }
}

async fn unavailable_reason_of(
    server: &ManagedServer,
    client: &Client,
    id: &CapabilityId,
) -> Option<String> {
    let is_visible = client.is_visible(id);
    // Whoever sees the tool may know of its server, which takes longer to find out.
    if !is_visible && !client.may_see_server(&server.name) {
        return None;
    }
    // Tools may be visible a moment before their server is ready: a first call waits as a list
    // does.
    if !is_visible || server.unavailability().is_some() {
        server.start_now(CALL_START_WAIT).await;
    }
    // The server may have come back, or may be a different program from the one that was listed.
    if let Err(error) = server.ensure_current().await {
        return Some(error.to_string());
    }
    if client.is_visible(id) { None } else { server.problem().map(|problem| problem.message) }
}

#[cfg(test)]
mod tests {
    use weaver_types::{Clock, SystemClock};

    use super::*;
    use crate::serve::era::Era;
    use crate::serve::result_budget::ResultBudget;
    use crate::serve::task::TaskContext;

    #[test]
    fn only_a_task_that_was_asked_for_waits_for_an_approval_as_long_as_it_lives() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let results = Arc::new(ResultBudget::default());
        let hour = Duration::from_secs(3600);
        let context = TaskContext { clock: &clock, results: &results };
        let task = |era| Task::begin("t".to_owned(), era, context, hour);
        let wait = |era| default_approval_timeout(Some(&task(era)), false);
        assert_eq!(wait(Era::Legacy), hour);
        assert_eq!(wait(Era::Modern), DEFAULT_APPROVAL_WAIT);
        assert_eq!(default_approval_timeout(None, true), DEFAULT_APPROVAL_WAIT);
        assert_eq!(default_approval_timeout(None, false), Duration::ZERO);
    }
}
