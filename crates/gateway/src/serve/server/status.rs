//! What an operator sees of a gateway.

use std::collections::BTreeMap;

use weaver_types::{CapabilityId, PrincipalId};

use crate::serve::entry::Entry;
use crate::serve::gateway::Gateway;

/// A session, as an operator sees it.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct SessionStatus {
    /// What it is called.
    pub label: String,
    /// Who it acts as.
    pub principal: PrincipalId,
    /// The client, in words.
    pub client: String,
    /// The requests under way.
    pub requests: usize,
}

/// What an operator sees of a gateway.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The sessions, in the order in which they began.
    pub sessions: Vec<SessionStatus>,
    /// The servers, by name.
    pub servers: BTreeMap<String, UpstreamStatus>,
    /// The calls that wait for an approval.
    pub held: usize,
}

/// How a server is, as an operator sees it.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct UpstreamStatus {
    /// `ready`, `starting` or `failed`.
    pub state: String,
    /// How many of its processes or sessions work for a client of their own.
    #[serde(default)]
    pub dedicated_instances: usize,
    /// How many of its tools are described otherwise than was registered or approved, so that they
    /// are shown to nobody.
    #[serde(default)]
    pub changed_tools: usize,
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

    pub(super) fn of(gateway: &Gateway, entry: &Entry) -> Self {
        let (state, problem) = match entry.missing() {
            None => ("ready", None),
            Some(missing) => (missing.status.as_str(), Some(missing.problem)),
        };
        let dedicated_instances = entry.instances.dedicated().len();
        let changed = |id: &CapabilityId| gateway.changed(id).is_some();
        let changed_tools = entry.tools().keys().filter(|id| changed(id)).count();
        Self { state: state.to_owned(), dedicated_instances, changed_tools, problem }
    }
}
