//! How well the servers' processes are confined, as a signal that the policy can use.

use std::collections::BTreeMap;
use std::sync::RwLock;

use weaver_drivers::confine::{EnforcedConfinement, Files, Limits, Network};
use weaver_drivers::mcp::{Endpoint, UpstreamConfig};
use weaver_policy::signal::{
    CallContext, FinishedCall, Severity, Signal, SignalError, SignalKind, SignalSource, Subject,
};
use weaver_types::UpstreamName;

/// The name of this source in decisions and events.
const NAME: &str = "unconfined-child";

/// The parts of the requested confinement that are not in force, by server.
///
/// A call of a server whose process is less confined than it should be raises a signal: `warning`
/// where the configuration named a confinement, `info` where only the gateway's own state was to
/// be kept from it. The `[signals]` of the policy say what follows.
#[derive(Debug, Default)]
pub(crate) struct ConfinedChildren(RwLock<BTreeMap<UpstreamName, (Severity, String)>>);

impl ConfinedChildren {
    /// Records how a started process is confined.
    pub(crate) fn note(
        &self,
        name: UpstreamName,
        config: &UpstreamConfig,
        enforced: &EnforcedConfinement,
    ) {
        let Ok(mut known) = self.0.write() else { return };
        if enforced.is_whole() {
            known.remove(&name);
            return;
        }
        let severity = if asked_for(config) { Severity::Warning } else { Severity::Info };
        let lacking: Vec<&str> = enforced.lacking.iter().map(|one| one.code()).collect();
        let detail = format!("its server's process runs without: {}", lacking.join(", "));
        tracing::warn!(upstream = %name, "{detail}");
        known.insert(name, (severity, detail));
    }
}

/// Whether the configuration asks for more than protecting the gateway's state.
fn asked_for(config: &UpstreamConfig) -> bool {
    let Endpoint::Stdio(stdio) = &config.endpoint else { return false };
    stdio.confined.as_ref().is_some_and(|confined| {
        let asked = &confined.confinement;
        asked.files != Files::AllButDenied
            || asked.network != Network::Host
            || asked.limits != Limits::default()
            || asked.isolated
            || asked.user.is_some()
    })
}

impl SignalSource for ConfinedChildren {
    fn name(&self) -> &str {
        NAME
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, situation: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let known = self.0.read().map_err(|_| SignalError::Poisoned)?;
        let id = situation.capability.id().as_str();
        let server = id.split_once('.').map_or(id, |(server, _)| server);
        let found = known.iter().find(|(name, _)| name.as_str() == server);
        Ok(found
            .map(|(_, (severity, detail))| Signal {
                source: NAME.to_owned(),
                kind: SignalKind::SentinelAlert,
                severity: *severity,
                subject: Subject::ToolSequence,
                detail: detail.clone(),
            })
            .into_iter()
            .collect())
    }
}
