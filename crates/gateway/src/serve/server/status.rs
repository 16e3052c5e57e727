//! The status of a gateway, for operators.

use std::collections::BTreeMap;

use weaver_types::{CapabilityId, PrincipalId, ReasonCode};

use crate::serve::gateway::Gateway;
use crate::serve::managed_server::ManagedServer;

/// The status of a session.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct SessionStatus {
    /// Its name.
    pub label: String,
    /// The principal it acts as.
    pub principal: PrincipalId,
    /// The client, in words.
    pub client: String,
    /// The number of requests in flight.
    pub requests: usize,
}

/// The status of a gateway.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The sessions, in the order in which they began.
    pub sessions: Vec<SessionStatus>,
    /// The servers, by name.
    pub servers: BTreeMap<String, UpstreamStatus>,
    /// The number of calls that wait for an approval.
    pub held: usize,
    /// The versions of the documents in force, by kind.
    #[serde(default)]
    pub documents: BTreeMap<String, u64>,
    /// Why the documents on disk are not those in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_documents: Option<String>,
    /// Why the configuration on disk is not the one in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_configuration: Option<String>,
}

/// The status of an upstream server.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct UpstreamStatus {
    /// `ready`, `starting` or `failed`.
    pub state: String,
    /// The number of its dedicated instances.
    #[serde(default)]
    pub dedicated_instances: usize,
    /// The number of its tools whose descriptions differ from the registered or approved ones, and
    /// which are therefore hidden.
    #[serde(default)]
    pub changed_tools: usize,
    /// The number of its tools that are hidden because their descriptions address a model and nobody
    /// has approved them.
    #[serde(default)]
    pub suspicious_tools: usize,
    /// Why it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl UpstreamStatus {
    /// True when its tools can be called.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.problem.is_none()
    }

    pub(super) fn of(gateway: &Gateway, upstream: &ManagedServer) -> Self {
        let (state, problem) = match upstream.unavailability() {
            None => ("ready", None),
            Some(missing) => (missing.status.as_str(), Some(missing.problem)),
        };
        let dedicated_instances = upstream.instances.dedicated().len();
        let tools = upstream.tools();
        let denials = tools.keys().filter_map(|id: &CapabilityId| gateway.contract_denial(id));
        let (suspicious, changed): (Vec<_>, Vec<_>) =
            denials.partition(|denial| denial.reason == ReasonCode::ContractSuspicious);
        Self {
            state: state.to_owned(),
            dedicated_instances,
            changed_tools: changed.len(),
            suspicious_tools: suspicious.len(),
            problem,
        }
    }
}
