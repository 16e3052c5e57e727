//! The policy as a value: principals, trusted hosts, rules, limits, and what approvals need.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::{AgentId, Principal, PrincipalId, Timestamp};

use crate::agents::AgentCapabilities;
use crate::bounds::{ApprovalBounds, Enforcement};
use crate::destination::TrustedDestination;
use crate::enforcement::RuleEnforcement;
use crate::issuer::TrustedIssuer;
use crate::limit::Limit;
use crate::rule::Rule;
use crate::signal::SignalTable;

/// A policy. Its fields are checked when a [`PolicySet`](crate::PolicySet) is made from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Its name.
    pub id: String,
    /// Its version; a later one is greater.
    pub version: u64,
    /// The time from which the document is void.
    pub expires: Option<Timestamp>,
    /// Who may ask, and what each is granted.
    pub principals: BTreeMap<PrincipalId, Principal>,
    /// MCP clients whose words count as the user's and whose run keys separate runs.
    pub trusted_hosts: BTreeSet<String>,
    /// Hosts from which a run may read although it has taken in untrusted data.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub trusted_destinations: BTreeSet<TrustedDestination>,
    /// The issuers of access tokens that count, by their names here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub issuers: BTreeMap<String, TrustedIssuer>,
    /// The agents that there are, and what each is for; where there is none, agents are free.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<AgentId, AgentCapabilities>,
    /// Whether it is enforced, where a rule says nothing else.
    #[serde(skip_serializing_if = "RuleEnforcement::is_default")]
    pub enforcement: RuleEnforcement,
    /// The rules; their order means nothing.
    pub rules: Vec<Rule>,
    /// How often each capability may be called.
    pub limits: Vec<Limit>,
    /// What signals do, by their severity and the rung of the call.
    #[serde(serialize_with = "crate::bounds::signal_table")]
    pub signals: SignalTable,
    /// How approvals are given.
    pub approvals: ApprovalBounds,
    /// What happens with a capability that is not the one that was approved.
    pub contract_enforcement: Enforcement,
    /// True only for [`Policy::baseline`]: its allowances carry the reason code of the baseline.
    pub(crate) builtin: bool,
}

impl Policy {
    /// A policy of version 1 without principals and rules. It denies everything.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: 1,
            expires: None,
            principals: BTreeMap::new(),
            trusted_hosts: BTreeSet::new(),
            trusted_destinations: BTreeSet::new(),
            issuers: BTreeMap::new(),
            agents: BTreeMap::new(),
            enforcement: RuleEnforcement::default(),
            rules: Vec::new(),
            limits: Vec::new(),
            signals: SignalTable::default(),
            approvals: ApprovalBounds::default(),
            contract_enforcement: Enforcement::default(),
            builtin: false,
        }
    }

    /// The same with one more rule.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The same with one more limit.
    #[must_use]
    pub fn with_limit(mut self, limit: Limit) -> Self {
        self.limits.push(limit);
        self
    }

    /// The same with one more principal.
    #[must_use]
    pub fn with_principal(mut self, principal: Principal) -> Self {
        self.principals.insert(principal.id.clone(), principal);
        self
    }

    /// The same with one more agent.
    #[must_use]
    pub fn with_agent(mut self, agent: AgentCapabilities) -> Self {
        self.agents.insert(agent.agent_name.clone(), agent);
        self
    }

    /// Whether a rule of this policy is enforced: as the rule says, or else as the policy does.
    #[must_use]
    pub fn enforcement_of(&self, rule: &Rule) -> RuleEnforcement {
        rule.enforcement.unwrap_or(self.enforcement)
    }

    /// Whether anything in it is not enforced.
    #[must_use]
    pub fn observes(&self) -> bool {
        self.enforcement == RuleEnforcement::Observe
            || self.rules.iter().any(|rule| self.enforcement_of(rule) == RuleEnforcement::Observe)
    }

    /// Whether it needs the second form of documents, which knows enforcement.
    pub(crate) fn speaks_of_enforcement(&self) -> bool {
        self.enforcement != RuleEnforcement::Enforce
            || self.rules.iter().any(|rule| rule.enforcement.is_some())
    }
}
