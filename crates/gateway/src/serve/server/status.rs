//! What an operator sees of a gateway.

use std::collections::BTreeMap;

use weaver_types::PrincipalId;

use crate::serve::entry::Entry;

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
    pub further_instances: usize,
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

    pub(super) fn of(entry: &Entry) -> Self {
        let (state, problem) = match entry.missing() {
            None => ("ready", None),
            Some(missing) => (missing.status.as_str(), Some(missing.problem)),
        };
        let further_instances = entry.instances.further().len();
        Self { state: state.to_owned(), further_instances, problem }
    }
}
