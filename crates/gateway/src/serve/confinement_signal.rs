//! A signal source that reports servers whose processes are less confined than configured.

use std::collections::BTreeMap;
use std::sync::RwLock;

use weaver_drivers::confine::{EnforcedConfinement, FileAccess, NetworkAccess, ResourceLimits};
use weaver_drivers::mcp::{Endpoint, UpstreamConfig};
use weaver_policy::signal::{
    CallContext, FinishedCall, Severity, Signal, SignalError, SignalKind, SignalSource,
    SignalSubject,
};
use weaver_types::UpstreamName;

/// The name of this source in decisions and events.
const SOURCE_NAME: &str = "unconfined-child";

/// The missing parts of the requested confinement, by server.
///
/// A call to a server whose process is less confined than it should be raises a signal: `warning`
/// where the configuration requested confinement, `info` where only the gateway's own state was to
/// be protected. The `[signals]` of the policy decide what follows.
#[derive(Debug, Default)]
pub(crate) struct ConfinementSignalSource(RwLock<BTreeMap<UpstreamName, (Severity, String)>>);

impl ConfinementSignalSource {
    /// Records how a started process is confined.
    pub(crate) fn record(
        &self,
        name: UpstreamName,
        config: &UpstreamConfig,
        enforced: &EnforcedConfinement,
    ) {
        let Ok(mut gaps) = self.0.write() else { return };
        if enforced.is_complete() {
            gaps.remove(&name);
            return;
        }
        let severity =
            if is_confinement_configured(config) { Severity::Warning } else { Severity::Info };
        let missing: Vec<&str> = enforced.lacking.iter().map(|one| one.code()).collect();
        let detail = format!("its server's process runs without: {}", missing.join(", "));
        tracing::warn!(upstream = %name, "{detail}");
        gaps.insert(name, (severity, detail));
    }
}

/// Whether the configuration requests more than the protection of the gateway's state.
fn is_confinement_configured(config: &UpstreamConfig) -> bool {
    let Endpoint::Stdio(stdio) = &config.endpoint else { return false };
    stdio.confinement.as_ref().is_some_and(|confined| {
        let configured = &confined.confinement;
        configured.files != FileAccess::AllButDenied
            || configured.network != NetworkAccess::Host
            || configured.limits != ResourceLimits::default()
            || configured.isolated
            || configured.user.is_some()
    })
}

impl SignalSource for ConfinementSignalSource {
    fn name(&self) -> &str {
        SOURCE_NAME
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, call: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let gaps = self.0.read().map_err(|_| SignalError::Poisoned)?;
        let id = call.capability.id().as_str();
        let server = id.split_once('.').map_or(id, |(server, _)| server);
        let gap = gaps.iter().find(|(name, _)| name.as_str() == server);
        Ok(gap
            .map(|(_, (severity, detail))| Signal {
                source: SOURCE_NAME.to_owned(),
                kind: SignalKind::SentinelAlert,
                severity: *severity,
                subject: SignalSubject::ToolSequence,
                detail: detail.clone(),
            })
            .into_iter()
            .collect())
    }
}
