//! One call through the kernel, in both modes: what cannot become a call is recorded as refused.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weaver_agent_kernel::{Call, Caller, Invocation};
use weaver_policy::approval::Phase;
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, Discharge, ProgressSink, ReasonCode,
    ResponseMode, Verdict,
};

use super::client_link::ClientLink;
use super::error::ServeError;
use super::gateway::Gateway;
use super::heartbeat;
use super::server_feature::FeatureKind;

/// How long a call waits for the first attempt to connect its server.
const PATIENCE: Duration = Duration::from_secs(25);

/// How long a held call waits by default: less than the 60 seconds after which clients of the common
/// MCP libraries give a request up.
const DEFAULT_WAIT: Duration = Duration::from_secs(45);

/// How often a client hears of a call that is held.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What comes with a call beside its arguments.
pub(crate) struct CallOptions {
    /// What is wrong with the arguments as they arrived; such a call is refused and recorded.
    pub(crate) argument_problem: Option<String>,
    /// Cancelled when the client no longer waits for the answer.
    pub(crate) cancellation: CancellationToken,
    /// Where the progress of the call goes.
    pub(crate) progress: Option<ProgressSink>,
    /// The client that makes it, for what its server asks meanwhile.
    pub(crate) client: Option<Arc<ClientLink>>,
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
pub(crate) async fn run(
    gateway: &Gateway,
    call: CallRequest<'_>,
) -> Result<CallOutcome, ServeError> {
    let CallRequest { request, arguments, mode, options } = call;
    if let Some(argument_problem) = options.argument_problem {
        let reason = ReasonCode::InvalidArguments;
        let said = Contribution::new(Check::Justification, Verdict::Ask, reason, argument_problem)
            .discharged_by(Discharge::Arguments);
        return reject(gateway, &request, said).await.map(CallOutcome::immediate);
    }
    if FeatureKind::of(&request.capability_id).is_asked_by_servers() {
        let (reason, problem) = (ReasonCode::NotFound, "only its server asks this");
        let said = Contribution::new(Check::System, Verdict::Deny, reason, problem);
        return reject(gateway, &request, said).await.map(CallOutcome::immediate);
    }
    // What the server asks while the call runs, it asks of this client.
    let server = gateway.upstreams.of(request.capability_id.as_str()).map(|entry| &entry.name);
    let _calling = server
        .zip(options.client.as_ref())
        .map(|(server, client)| gateway.upstreams.callers.enter(server, client));
    let call = Call { request: &request, arguments: Some(arguments), mode };
    let progress = options.progress;
    let done = once(gateway, call, progress.clone()).await?;
    let wait = gateway.config.approval_wait.unwrap_or_else(|| default_wait(progress.as_ref()));
    let held = done.decision.verdict() == Verdict::Hold && !wait.is_zero();
    let Some(id) = done.request.clone().filter(|_| held) else {
        return Ok(CallOutcome::immediate(done));
    };
    let resolved = async {
        tokio::select! {
            phase = gateway.kernel.wait_resolution(&id, wait) => phase,
            () = options.cancellation.cancelled() => Some(Phase::Requested),
        }
    };
    let phase = heartbeat::during(resolved, HEARTBEAT, progress.as_ref(), &id).await;
    match phase {
        Some(Phase::Requested) | None => {
            Ok(CallOutcome { invocation: done, approval_timed_out: true })
        }
        Some(_) => once(gateway, call, progress).await.map(CallOutcome::immediate),
    }
}

/// How long a held call waits where the configuration does not say. A client that wants to be told
/// how far its call is, is made for calls that take their time. Every other one gets the hold at
/// once: it may count the wait as a failure of the tool.
fn default_wait(progress: Option<&ProgressSink>) -> Duration {
    if progress.is_some() { DEFAULT_WAIT } else { Duration::ZERO }
}

/// One call, whose server is there.
async fn once(
    gateway: &Gateway,
    call: Call<'_>,
    progress: Option<ProgressSink>,
) -> Result<Invocation, ServeError> {
    if let Some(problem) = unavailable(gateway, &call.request.capability_id).await {
        let reason = ReasonCode::UpstreamUnavailable;
        let said = Contribution::new(Check::System, Verdict::Deny, reason, problem)
            .discharged_by(Discharge::Wait { retry_after_ms: 10_000 });
        return reject(gateway, call.request, said).await;
    }
    let run = gateway.run().await?;
    let principal = gateway.principal();
    let caller = Caller { run: &run, principal: &principal };
    Ok(match progress {
        Some(progress) => gateway.kernel.execute_with_progress(caller, call, progress).await,
        None => gateway.kernel.execute(caller, call).await,
    })
}

/// Refuses a call that never became one, and records it.
pub(crate) async fn reject(
    gateway: &Gateway,
    request: &CapabilityRequest,
    said: Contribution,
) -> Result<Invocation, ServeError> {
    let run = gateway.run().await?;
    let caller = Caller { run: &run, principal: &gateway.principal() };
    Ok(gateway.kernel.reject(caller, request, said).await)
}

/// Why the server of a tool is away; `None` when the principal can see the tool, or its server is
/// there after another look. A tool that is hidden is treated like one that is not listed.
async fn unavailable(gateway: &Gateway, id: &CapabilityId) -> Option<String> {
    let entry = gateway.upstreams.of(id.as_str())?;
    if !gateway.visible(id) {
        entry.wait_settled(PATIENCE).await;
    }
    // It may be back by now, or be another program than the one that was listed.
    if let Err(problem) = entry.keep_current().await {
        return Some(problem);
    }
    if gateway.visible(id) { None } else { entry.problem() }
}
