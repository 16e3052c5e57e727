//! The status of a gateway, for operators.

use std::collections::BTreeMap;

use weaver_policy::ContractStatus;
use weaver_types::{CapabilityId, PrincipalId, ReasonCode};

use super::SessionOwner;
use super::open_sessions::OpenSessions;
use crate::serve::client::Client;
use crate::serve::error::ServeError;
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

impl SessionStatus {
    /// The status of a session that begins.
    pub(super) fn of(owner: &SessionOwner, client: &Client) -> Result<Self, ServeError> {
        Ok(Self {
            label: owner.label.clone(),
            principal: client.principal()?.id.clone(),
            client: owner.client.display_text(),
            requests: 0,
        })
    }
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

impl ServerStatus {
    pub(super) fn of(gateway: &Gateway, sessions: &OpenSessions) -> Self {
        let sessions = sessions.all().into_iter().map(|session| SessionStatus {
            requests: session.requests.upgrade().map_or(0, |requests| requests.in_flight()),
            ..session.status
        });
        let servers = gateway.upstreams.servers();
        let servers = servers
            .iter()
            .map(|upstream| (upstream.name.to_string(), UpstreamStatus::of(gateway, upstream)));
        let policy = gateway.kernel.policy();
        let documents = policy.versions().iter();
        let documents = documents.map(|(kind, document)| (kind.to_string(), document.version));
        Self {
            sessions: sessions.collect(),
            servers: servers.collect(),
            held: gateway.kernel.open_requests().len(),
            documents: documents.collect(),
            refused_documents: gateway.refused_documents(),
            refused_configuration: gateway.refused_configuration(),
        }
    }
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
    /// The number of its tools that no contract names, beside others that one names: each of their
    /// calls waits for a person, or is refused.
    #[serde(default)]
    pub new_tools: usize,
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
            Some(missing) => (missing.status.as_str(), Some(missing.problem.detail)),
        };
        let dedicated_instances = upstream.instances.dedicated().len();
        let tools = upstream.tools();
        let policy = gateway.kernel.policy();
        let is_reviewed = tools.keys().any(|id| policy.has_exact_contract(id));
        let is_new = |id: &CapabilityId| {
            let entry = gateway.registry.get(id).filter(|_| is_reviewed);
            entry.is_some_and(|entry| {
                policy.contract_status(entry.capability()) == ContractStatus::Unknown
            })
        };
        let (mut new_tools, mut changed_tools, mut suspicious_tools) = (0, 0, 0);
        for id in tools.keys() {
            match gateway.contract_denial(id).map(|denial| denial.reason) {
                Some(ReasonCode::ContractSuspicious) => suspicious_tools += 1,
                Some(ReasonCode::ContractUnknown) => new_tools += 1,
                Some(_) => changed_tools += 1,
                None => new_tools += usize::from(is_new(id)),
            }
        }
        Self {
            state: state.to_owned(),
            dedicated_instances,
            changed_tools,
            suspicious_tools,
            new_tools,
            problem,
        }
    }
}
