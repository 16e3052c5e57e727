//! The policy set: three documents, checked, compiled and in force together.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weaver_types::digest::Tag;
use weaver_types::signature::{Kind, PublicKey};
use weaver_types::{
    AgentId, Basis, Capability, CapabilityId, Check, Contribution, Digest, Origin, Pointer,
    Precondition, Principal, PrincipalId, ReasonCode, Timestamp, Verdict, canonical,
};

use crate::bounds::{ApprovalBounds, Enforcement};
use crate::compiled::CompiledRules;
use crate::contract::{self, ContractResolver, ContractStatus, Contracts};
use crate::document::{self, CheckedDocuments, SignatureRequirement, Signers, Sources};
use crate::enforcement::RuleEnforcement;
use crate::error::{ContractError, LoadError};
use crate::keys::Keys;
use crate::limit::Limit;
use crate::policy::Policy;
use crate::rule::Rule;

/// Which document of which version is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentVersion {
    /// Its name.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its digest.
    pub digest: Digest,
}

/// Policy, contracts and keys, compiled and immutable. There is no other way to a decision.
#[derive(Debug)]
pub struct PolicySet {
    policy: Policy,
    contracts: Contracts,
    keys: Option<Keys>,
    basis: Basis,
    versions: BTreeMap<Kind, DocumentVersion>,
    compiled: CompiledRules,
    resolver: ContractResolver,
    observes: bool,
}

impl PolicySet {
    /// Reads the three documents: keys signed with the root key, policy and contracts with it or
    /// with a key that the keys document lets sign them.
    ///
    /// # Errors
    /// [`LoadError`] with everything that is wrong in all three: signatures, form, content, and
    /// documents that expired before `now`.
    pub fn load(
        sources: &Sources<'_>,
        root: &PublicKey,
        now: Timestamp,
    ) -> Result<Self, LoadError> {
        let trust = SignatureRequirement::Signed(Signers { root, keys: None, now });
        let checked = document::check(sources, trust, Some(now))?;
        Ok(Self::from_checked(checked, Origin::Signed))
    }

    /// Reads the three documents without looking at signatures. Every decision made under them
    /// says so.
    ///
    /// # Errors
    /// As [`PolicySet::load`], without the findings about signatures.
    pub fn load_unsigned_development(
        sources: &Sources<'_>,
        now: Timestamp,
    ) -> Result<Self, LoadError> {
        let checked = document::check(sources, SignatureRequirement::Unsigned, Some(now))?;
        Ok(Self::from_checked(checked, Origin::UnsignedDevelopment))
    }

    /// A policy and contracts built in the host's code.
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
        Ok(Self::from_checked(checked, Origin::Code))
    }

    fn from_checked(checked: CheckedDocuments, origin: Origin) -> Self {
        let CheckedDocuments {
            mut policy,
            contracts,
            keys,
            policy_digest,
            contracts_digest,
            keys_digest,
        } = checked;
        // Order means nothing, so it is made one: by name.
        policy.rules.sort_by(|a, b| a.name.cmp(&b.name));
        policy.limits.sort_by(|a, b| a.name.cmp(&b.name));
        let mut versions = BTreeMap::new();
        let mut version = |kind, id: &str, version, digest| {
            versions.insert(kind, DocumentVersion { id: id.to_owned(), version, digest });
        };
        version(Kind::Policy, &policy.id, policy.version, policy_digest);
        version(Kind::Contracts, &contracts.id, contracts.version, contracts_digest);
        if let (Some(keys), Some(digest)) = (&keys, keys_digest) {
            version(Kind::Keys, &keys.id, keys.version, digest);
        }
        let compiled = CompiledRules::new(&policy.rules);
        let resolver = ContractResolver::new(&contracts);
        let basis = Basis { policy: policy_digest, contracts: contracts_digest, origin };
        let observes = policy.observes();
        Self { policy, contracts, keys, basis, versions, compiled, resolver, observes }
    }

    /// The digests and the origin that every decision carries.
    #[must_use]
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The documents in force. Without a keys document, as for a policy in code, that kind is
    /// absent.
    #[must_use]
    pub fn versions(&self) -> &BTreeMap<Kind, DocumentVersion> {
        &self.versions
    }

    /// Whether anything in the policy is not enforced.
    #[must_use]
    pub fn observes(&self) -> bool {
        self.observes
    }

    /// The policy, with its rules in the order of their names.
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

    /// How approvals are given.
    #[must_use]
    pub fn approvals(&self) -> &ApprovalBounds {
        &self.policy.approvals
    }

    /// How often each capability may be called.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.policy.limits
    }

    /// What the policy grants this principal; `None` for one that it does not name.
    #[must_use]
    pub fn principal(&self, id: &PrincipalId) -> Option<Principal> {
        self.policy.principals.get(id).cloned()
    }

    /// The principal with what it brings and the policy in force grants it, both: one that was read
    /// from an older policy keeps nothing that this one takes away. One that the policy does not
    /// name stays as it came.
    #[must_use]
    pub fn granted<'p>(&self, brought: &'p Principal) -> Cow<'p, Principal> {
        let Some(named) = self.policy.principals.get(&brought.id) else {
            return Cow::Borrowed(brought);
        };
        let held = brought.roles.is_subset(&named.roles)
            && brought.permissions.is_subset(&named.permissions)
            && brought
                .attributes
                .iter()
                .all(|(name, value)| named.attributes.get(name) == Some(value));
        if held {
            return Cow::Borrowed(brought);
        }
        let mut kept = brought.clone();
        kept.roles.retain(|role| named.roles.contains(role));
        kept.permissions.retain(|permission| named.permissions.contains(permission));
        kept.attributes.retain(|name, value| named.attributes.get(name) == Some(value));
        Cow::Owned(kept)
    }

    /// True when what the policy declares of agents admits this one to the capability: always, where
    /// it declares none. It says nothing about permission otherwise.
    #[must_use]
    pub fn agent_admits(&self, agent: &AgentId, capability: &Capability) -> bool {
        let declared = &self.policy.agents;
        declared.is_empty() || declared.get(agent).is_some_and(|agent| agent.admits(capability))
    }

    /// True for an MCP client that the policy trusts as a host.
    #[must_use]
    pub fn trusts_host(&self, client: &str) -> bool {
        self.policy.trusted_hosts.contains(client)
    }

    /// The capability with its contract applied. Applying it again changes nothing.
    ///
    /// # Errors
    /// [`ContractError`]; the capability must then not be offered.
    pub fn effective(&self, proposal: &Capability) -> Result<Capability, ContractError> {
        contract::effective(&self.resolver, proposal)
    }

    /// How a capability compares with the approved contract.
    #[must_use]
    pub fn contract_status(&self, proposal: &Capability) -> ContractStatus {
        self.resolver.status(proposal)
    }

    /// True when a contract names this capability, and not only a glob covers it.
    #[must_use]
    pub fn names_contract(&self, id: &CapabilityId) -> bool {
        self.resolver.names(id.as_str())
    }

    /// What the check of contracts contributes for a capability that is not the approved one, under
    /// the policy's enforcement.
    #[must_use]
    pub fn contract_contribution(&self, proposal: &Capability) -> Option<Contribution> {
        let verdict = match self.policy.contract_enforcement {
            Enforcement::Off => return None,
            Enforcement::Observe => Verdict::Allow,
            Enforcement::Enforce => Verdict::Deny,
        };
        let ContractStatus::Changed { approved, found } = self.contract_status(proposal) else {
            return None;
        };
        let detail = format!("the server describes the tool as {found}; approved is {approved}");
        Some(Contribution::new(Check::Contract, verdict, ReasonCode::ContractChanged, detail))
    }

    /// The facts that must be the same at execution as at the decision.
    #[must_use]
    pub fn preconditions(&self, id: &CapabilityId) -> Vec<Precondition> {
        let resolved = self.resolver.resolve(id.as_str());
        resolved.map(|one| one.contract.preconditions.into_iter().collect()).unwrap_or_default()
    }

    /// The critical arguments of the capability.
    #[must_use]
    pub fn critical_arguments(&self, id: &CapabilityId) -> Vec<Pointer> {
        let resolved = self.resolver.resolve(id.as_str());
        resolved
            .map(|one| one.contract.critical_arguments.into_iter().collect())
            .unwrap_or_default()
    }

    /// Whether the principal may know of the capability at all; says nothing about permission.
    #[must_use]
    pub fn visible(&self, principal: &Principal, capability: &Capability) -> bool {
        contract::visible(&self.contracts, &self.resolver, principal, capability)
    }

    /// The rules that may match a capability with this id, in the order of their names. Rules whose
    /// pattern the index cannot use are among them whether it fits or not.
    pub fn candidate_rules(&self, id: &str) -> impl Iterator<Item = &Rule> {
        let places = self.compiled.candidates(id).into_owned().into_iter();
        places.filter_map(|place| self.policy.rules.get(usize::try_from(place).ok()?))
    }

    /// Whether the capability is hidden from everybody: prohibited, or hidden by the contracts.
    #[must_use]
    pub fn is_hidden(&self, capability: &Capability) -> bool {
        capability.rung() == weaver_types::Rung::L5
            || self.resolver.hidden(capability.id().as_str())
    }

    /// One sentence for people on what the policy in force does not enforce; `None` where it
    /// enforces all that it says. Whoever lists tools, reports a state or verifies a log shows it.
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
    canonical::of(&form, canonical::Profile::Document)
        .map(|bytes| Digest::of(Tag::CODE_POLICY, &bytes))
        .map_err(|error| {
            LoadError::whole(
                "code",
                "policy.canonical",
                format!("{what} cannot be written canonically: {error}"),
                "use integers within 2^53",
            )
        })
}
