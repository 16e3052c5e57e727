//! One call through the kernel, in both modes: what cannot become a call is recorded as refused.

use std::time::Duration;

use serde_json::Value;
use weaver_agent_kernel::{Call, Invocation};
use weaver_types::{
    CapabilityId, CapabilityRequest, Check, Contribution, Discharge, ReasonCode, ResponseMode,
    Verdict,
};

use super::error::ServeError;
use super::gateway::Gateway;

/// How long a call waits for the first attempt to connect its server.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is called.
pub(crate) struct Asked<'a> {
    pub(crate) request: CapabilityRequest,
    pub(crate) arguments: &'a Value,
    pub(crate) mode: ResponseMode,
    /// What is wrong with the line in which it was asked.
    pub(crate) flaw: Option<String>,
}

/// Runs a call through the kernel.
pub(crate) async fn run(gateway: &Gateway, asked: Asked<'_>) -> Result<Invocation, ServeError> {
    let Asked { request, arguments, mode, flaw } = asked;
    if let Some(flaw) = flaw {
        let reason = ReasonCode::InvalidArguments;
        let said = Contribution::new(Check::Justification, Verdict::Ask, reason, flaw)
            .discharged_by(Discharge::Arguments);
        return reject(gateway, &request, said).await;
    }
    if let Some(problem) = unavailable(gateway, &request.capability_id).await {
        let reason = ReasonCode::UpstreamUnavailable;
        let said = Contribution::new(Check::System, Verdict::Deny, reason, problem)
            .discharged_by(Discharge::Wait { retry_after_ms: 10_000 });
        return reject(gateway, &request, said).await;
    }
    let run = gateway.run().await?;
    let call = Call { request: &request, arguments: Some(arguments), mode };
    Ok(gateway.kernel.execute(gateway.caller(&run), call).await)
}

/// Refuses a call that never became one, and records it.
pub(crate) async fn reject(
    gateway: &Gateway,
    request: &CapabilityRequest,
    said: Contribution,
) -> Result<Invocation, ServeError> {
    let run = gateway.run().await?;
    Ok(gateway.kernel.reject(gateway.caller(&run), request, said).await)
}

/// Why the server of a tool is away; `None` when the principal can see the tool, or its server is
/// there after another look. A tool that is hidden is treated like one that is not listed.
async fn unavailable(gateway: &Gateway, id: &CapabilityId) -> Option<String> {
    let entry = gateway.upstreams.of(id.as_str())?;
    if !gateway.visible(id) {
        entry.wait_settled(PATIENCE).await;
    }
    // It may be back by now, or be another program than the one that was listed.
    if let Err(problem) = entry.keep_current(gateway).await {
        return Some(problem);
    }
    if gateway.visible(id) { None } else { entry.problem() }
}
