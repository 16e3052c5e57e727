//! The policy set: the three documents, validated, compiled and in force together.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weaver_types::digest::DomainTag;
use weaver_types::signature::{DocumentKind, PublicKey};
use weaver_types::{
    AgentId, Capability, CapabilityId, CheckKind, CheckResult, DecisionBasis, Digest, JsonPointer,
    PolicyOrigin, Precondition, Principal, PrincipalId, ReasonCode, Timestamp, Verdict, canonical,
};

use crate::compiled_rules::CompiledRules;
use crate::contract::{self, ContractResolver, ContractStatus, Contracts};
use crate::document::{self, CheckedDocuments, DocumentSources, SignatureRequirement, Signers};
use crate::enforcement::RuleEnforcement;
use crate::error::{ContractError, LoadError};
use crate::keys::Keys;
use crate::policy::Policy;
use crate::policy_settings::{ApprovalSettings, ContractEnforcement};
use crate::rate_limit::RateLimit;
use crate::rule::Rule;

/// The version of a document that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentVersion {
    /// Its name.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its digest.
    pub digest: Digest,
}

/// Policy, contracts and keys, compiled and immutable. This is the only way to get a decision.
#[derive(Debug)]
pub struct PolicySet {
    policy: Policy,
    contracts: Contracts,
    keys: Option<Keys>,
    basis: DecisionBasis,
    versions: BTreeMap<DocumentKind, DocumentVersion>,
    compiled: CompiledRules,
    resolver: ContractResolver,
    observes: bool,
}

impl PolicySet {
    /// Loads the three documents. The keys must be signed with the root key, policy and contracts
    /// with the root key or a delegate that the keys document names.
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in all three: signatures, form, content, and
    /// documents that expired before `now`.
    pub fn load(
        sources: &DocumentSources<'_>,
        root: &PublicKey,
        now: Timestamp,
    ) -> Result<Self, LoadError> {
        let trust = SignatureRequirement::Signed(Signers { root, keys: None, now });
        let checked = document::read_documents(sources, trust, Some(now))?;
        Ok(Self::from_checked(checked, PolicyOrigin::Signed))
    }

    /// Loads the three documents without verifying signatures. Every decision based on them says
    /// so.
    ///
    /// # Errors
    /// As [`PolicySet::load`], without the findings about signatures.
    pub fn load_unsigned_development(
        sources: &DocumentSources<'_>,
        now: Timestamp,
    ) -> Result<Self, LoadError> {
        let checked = document::read_documents(sources, SignatureRequirement::Unsigned, Some(now))?;
        Ok(Self::from_checked(checked, PolicyOrigin::UnsignedDevelopment))
    }

    /// Creates a set from a policy and contracts that were built in the host's code.
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in them.
    pub fn from_code(policy: Policy, contracts: Contracts) -> Result<Self, LoadError> {
        document::validate(&policy, &contracts)?;
        let policy_digest = code_digest("policy", &policy)?;
        let contracts_digest = code_digest("contracts", &contracts)?;
        let checked = CheckedDocuments {
            policy,
            contracts,
            keys: None,
            policy_digest,
            contracts_digest,
            keys_digest: None,
        };
        Ok(Self::from_checked(checked, PolicyOrigin::Code))
    }

    fn from_checked(checked: CheckedDocuments, origin: PolicyOrigin) -> Self {
        let CheckedDocuments {
            mut policy,
            contracts,
            keys,
            policy_digest,
            contracts_digest,
            keys_digest,
        } = checked;
        // The order of rules has no meaning, so they are sorted by name to make results
        // deterministic.
        policy.rules.sort_by(|a, b| a.name.cmp(&b.name));
        policy.limits.sort_by(|a, b| a.name.cmp(&b.name));
        let mut versions = BTreeMap::new();
        let mut version = |kind, id: &str, version, digest| {
            versions.insert(kind, DocumentVersion { id: id.to_owned(), version, digest });
        };
        version(DocumentKind::Policy, &policy.id, policy.version, policy_digest);
        version(DocumentKind::Contracts, &contracts.id, contracts.version, contracts_digest);
        if let (Some(keys), Some(digest)) = (&keys, keys_digest) {
            version(DocumentKind::Keys, &keys.id, keys.version, digest);
        }
        let compiled = CompiledRules::new(&policy.rules);
        let resolver = ContractResolver::new(&contracts);
        let basis = DecisionBasis { policy: policy_digest, contracts: contracts_digest, origin };
        let observes = policy.has_unenforced_parts();
        Self { policy, contracts, keys, basis, versions, compiled, resolver, observes }
    }

    /// The digests and the origin that every decision carries.
    #[must_use]
    pub fn basis(&self) -> &DecisionBasis {
        &self.basis
    }

    /// The documents in force. A policy in code has no keys document.
    #[must_use]
    pub fn versions(&self) -> &BTreeMap<DocumentKind, DocumentVersion> {
        &self.versions
    }

    /// Whether the policy, or any of its rules, is only observed.
    #[must_use]
    pub fn has_unenforced_parts(&self) -> bool {
        self.observes
    }

    /// The policy, with its rules sorted by name.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The contracts.
    #[must_use]
    pub fn contracts(&self) -> &Contracts {
        &self.contracts
    }

    /// The approvers; `None` for a policy in code.
    #[must_use]
    pub fn keys(&self) -> Option<&Keys> {
        self.keys.as_ref()
    }

    /// The approval settings.
    #[must_use]
    pub fn approvals(&self) -> &ApprovalSettings {
        &self.policy.approvals
    }

    /// The rate limits.
    #[must_use]
    pub fn limits(&self) -> &[RateLimit] {
        &self.policy.limits
    }

    /// The principal with what the policy grants it; `None` if the policy does not name it.
    #[must_use]
    pub fn principal(&self, id: &PrincipalId) -> Option<Principal> {
        self.policy.principals.get(id).cloned()
    }

    /// Limits a principal to what the policy in force also grants: the intersection of both. A
    /// principal that was read from an older policy thus loses what the current one has withdrawn.
    /// A principal that the policy does not name is returned unchanged.
    #[must_use]
    pub fn limit_to_grants<'p>(&self, brought: &'p Principal) -> Cow<'p, Principal> {
        let Some(named) = self.policy.principals.get(&brought.id) else {
            return Cow::Borrowed(brought);
        };
        let is_granted = brought.roles.is_subset(&named.roles)
            && brought.permissions.is_subset(&named.permissions)
            && brought
                .attributes
                .iter()
                .all(|(name, value)| named.attributes.get(name) == Some(value));
        if is_granted {
            return Cow::Borrowed(brought);
        }
        let mut kept = brought.clone();
        kept.roles.retain(|role| named.roles.contains(role));
        kept.permissions.retain(|permission| named.permissions.contains(permission));
        kept.attributes.retain(|name, value| named.attributes.get(name) == Some(value));
        Cow::Owned(kept)
    }

    /// True if the policy's agent declarations let this agent use the capability, or if there are
    /// none. This does not check any other permission.
    #[must_use]
    pub fn agent_may_use(&self, agent: &AgentId, capability: &Capability) -> bool {
        let declared_agents = &self.policy.agents;
        declared_agents.is_empty()
            || declared_agents.get(agent).is_some_and(|agent| agent.may_use(capability))
    }

    /// True if the policy lists this MCP client as a trusted host.
    #[must_use]
    pub fn trusts_host(&self, client: &str) -> bool {
        self.policy.trusted_hosts.contains(client)
    }

    /// The capability with its contract applied. Applying it again changes nothing.
    ///
    /// # Errors
    /// [`ContractError`]; the capability must then not be offered.
    pub fn apply_contract(&self, proposal: &Capability) -> Result<Capability, ContractError> {
        contract::apply_contract(&self.resolver, proposal)
    }

    /// How a capability compares with the approved one.
    #[must_use]
    pub fn contract_status(&self, proposal: &Capability) -> ContractStatus {
        self.resolver.status(proposal)
    }

    /// True if the contract for this id names the digest of what its server says.
    #[must_use]
    pub fn is_pinned(&self, id: &CapabilityId) -> bool {
        self.resolver.is_pinned(id.as_str())
    }

    /// True if there is a contract for exactly this id, not just a glob that matches it.
    #[must_use]
    pub fn has_exact_contract(&self, id: &CapabilityId) -> bool {
        self.resolver.has_exact_entry(id.as_str())
    }

    /// The result of the contract check if the capability differs from the approved one. The
    /// verdict follows the policy's `contract_enforcement`.
    #[must_use]
    pub fn contract_check_result(&self, proposal: &Capability) -> Option<CheckResult> {
        let verdict = match self.policy.contract_enforcement {
            ContractEnforcement::Off => return None,
            ContractEnforcement::Observe => Verdict::Allow,
            ContractEnforcement::Enforce => Verdict::Deny,
        };
        let ContractStatus::Changed { approved, found } = self.contract_status(proposal) else {
            return None;
        };
        let detail = format!("the server describes the tool as {found}; approved is {approved}");
        Some(CheckResult::new(CheckKind::Contract, verdict, ReasonCode::ContractChanged, detail))
    }

    /// Facts that must be the same at execution as at the decision.
    #[must_use]
    pub fn preconditions(&self, id: &CapabilityId) -> Vec<Precondition> {
        let resolved = self.resolver.resolve(id.as_str());
        resolved.map(|one| one.contract.preconditions.into_iter().collect()).unwrap_or_default()
    }

    /// The critical arguments that contracts declare for the capability.
    #[must_use]
    pub fn critical_arguments(&self, id: &CapabilityId) -> Vec<JsonPointer> {
        let resolved = self.resolver.resolve(id.as_str());
        resolved
            .map(|one| one.contract.critical_arguments.into_iter().collect())
            .unwrap_or_default()
    }

    /// Whether the principal may know that the capability exists. This is not permission to call
    /// it.
    #[must_use]
    pub fn is_visible(&self, principal: &Principal, capability: &Capability) -> bool {
        contract::is_visible(&self.contracts, &self.resolver, principal, capability)
    }

    /// Whether the principal could see some capability whose id begins with this namespace and a dot,
    /// as far as the visibility rules say. What the contracts say of single capabilities is not
    /// considered.
    #[must_use]
    pub fn may_see_namespace(&self, principal: &Principal, namespace: &str) -> bool {
        contract::may_see_namespace(&self.contracts, principal, namespace)
    }

    /// The rules that may match a capability with this id, sorted by name. Rules whose pattern
    /// cannot be indexed are included whether or not it matches.
    pub fn candidate_rules(&self, id: &str) -> impl Iterator<Item = &Rule> {
        let places = self.compiled.candidates(id).into_owned().into_iter();
        places.filter_map(|place| self.policy.rules.get(usize::try_from(place).ok()?))
    }

    /// Whether the capability is hidden from everybody, because it is prohibited or because the
    /// contracts hide it.
    #[must_use]
    pub fn is_hidden_from_everybody(&self, capability: &Capability) -> bool {
        capability.rung() == weaver_types::Rung::L5
            || self.resolver.is_hidden(capability.id().as_str())
    }

    /// A notice for people about what the policy does not enforce; `None` if everything is
    /// enforced. Show it wherever tools are listed, a status is reported or a log is verified.
    #[must_use]
    pub fn observation_notice(&self) -> Option<String> {
        let policy = self.policy();
        if policy.enforcement == RuleEnforcement::Observe {
            return Some(format!(
                "The policy `{}` observes: it holds and denies nothing, and the log records what it \
                 would have done. L5, revocations and the firewall still hold.",
                policy.id
            ));
        }
        let observed: Vec<&str> = policy
            .rules
            .iter()
            .filter(|rule| policy.enforcement_of(rule) == RuleEnforcement::Observe)
            .map(|rule| rule.name.as_str())
            .collect();
        let (first, more) = (observed.first()?, observed.len() - 1);
        let rules = match more {
            0 => format!("Rule `{first}` observes"),
            1 => format!("Rule `{first}` and 1 more observe"),
            more => format!("Rule `{first}` and {more} more observe"),
        };
        Some(format!(
            "{rules}: the log records what would have happened, and nothing is stopped or allowed on \
             that account."
        ))
    }

    pub(crate) fn compiled(&self) -> &CompiledRules {
        &self.compiled
    }
}

fn code_digest<T: serde::Serialize>(what: &str, value: &T) -> Result<Digest, LoadError> {
    let form = BTreeMap::from([(what, value)]);
    canonical::serialize(&form, canonical::Profile::Document)
        .map(|bytes| Digest::of(DomainTag::CODE_POLICY, &bytes))
        .map_err(|error| {
            LoadError::for_file(
                "code",
                "policy.canonical",
                format!("{what} cannot be written canonically: {error}"),
                "use integers within 2^53",
            )
        })
}
