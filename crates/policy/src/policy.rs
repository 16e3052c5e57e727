//! The parsed policy document: principals, trusted hosts, rules, limits and approval settings.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_types::{AgentId, Principal, PrincipalId, Timestamp};

use crate::agents::AgentCapabilities;
use crate::destination::TrustedDestination;
use crate::enforcement::RuleEnforcement;
use crate::issuer::TrustedIssuer;
use crate::policy_settings::{ApprovalSettings, ContractEnforcement};
use crate::rate_limit::RateLimit;
use crate::rule::Rule;
use crate::signal::SignalTable;

/// A policy. Its fields are validated when a [`PolicySet`](crate::PolicySet) is created from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// The id of the document.
    pub id: String,
    /// The version; newer versions are greater.
    pub version: u64,
    /// The time from which the document is void.
    pub expires: Option<Timestamp>,
    /// The known principals and what each is granted.
    pub principals: BTreeMap<PrincipalId, Principal>,
    /// MCP clients whose statements count as the user's, and whose run keys separate runs.
    pub trusted_hosts: BTreeSet<String>,
    /// Hosts from which a run may read even after it has taken in untrusted data.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub trusted_destinations: BTreeSet<TrustedDestination>,
    /// The trusted issuers of access tokens, by their names in this policy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub issuers: BTreeMap<String, TrustedIssuer>,
    /// The declared agents. If there are none, any agent is accepted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<AgentId, AgentCapabilities>,
    /// Whether the policy is enforced. A rule may override this for itself.
    #[serde(skip_serializing_if = "RuleEnforcement::is_default")]
    pub enforcement: RuleEnforcement,
    /// The rules; their order has no meaning.
    pub rules: Vec<Rule>,
    /// How often each capability may be called.
    pub limits: Vec<RateLimit>,
    /// From which rung on signals hold or deny a call, by severity.
    #[serde(serialize_with = "crate::policy_settings::serialize_signal_table")]
    pub signals: SignalTable,
    /// The approval settings.
    pub approvals: ApprovalSettings,
    /// What happens to a capability that differs from the approved one.
    pub contract_enforcement: ContractEnforcement,
    /// True only for [`Policy::baseline`], whose allow results have a reason code of their own.
    pub(crate) builtin: bool,
}

impl Policy {
    /// Version 1, without principals or rules. It denies everything.
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
            approvals: ApprovalSettings::default(),
            contract_enforcement: ContractEnforcement::default(),
            builtin: false,
        }
    }

    /// Adds a rule.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Adds a rate limit.
    #[must_use]
    pub fn with_limit(mut self, limit: RateLimit) -> Self {
        self.limits.push(limit);
        self
    }

    /// Adds a principal.
    #[must_use]
    pub fn with_principal(mut self, principal: Principal) -> Self {
        self.principals.insert(principal.id.clone(), principal);
        self
    }

    /// Adds an agent.
    #[must_use]
    pub fn with_agent(mut self, agent: AgentCapabilities) -> Self {
        self.agents.insert(agent.agent_name.clone(), agent);
        self
    }

    /// Whether a rule of this policy is enforced: the rule's own setting, or else the policy's.
    #[must_use]
    pub fn enforcement_of(&self, rule: &Rule) -> RuleEnforcement {
        rule.enforcement.unwrap_or(self.enforcement)
    }

    /// Whether the policy, or any of its rules, is only observed.
    #[must_use]
    pub fn has_unenforced_parts(&self) -> bool {
        self.enforcement == RuleEnforcement::Observe
            || self.rules.iter().any(|rule| self.enforcement_of(rule) == RuleEnforcement::Observe)
    }
}
