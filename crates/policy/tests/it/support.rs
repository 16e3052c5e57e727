//! Builders that keep the tests short.

use serde_json::{Value, json};
use weaver_policy::signal::SignalReport;
use weaver_policy::{
    Contracts, DocumentSource, DocumentSources, LoadError, Policy, PolicyQuery, PolicySet,
    sign_document, signing_key_id,
};
use weaver_types::signature::{DocumentKind, SigningKey};
use weaver_types::{
    AllowedAgents, Capability, CapabilityDraft, CapabilityId, CapabilityRequest, Decision, Digest,
    Effects, JustificationSource, Label, Operation, Principal, PrincipalId, ReasonCode, SafetyMode,
    Timestamp, Verdict,
};

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// A head for a document of that kind.
pub(crate) fn head(kind: &str) -> String {
    format!("kind = \"{kind}\"\nformat = 1\nid = \"t\"\nversion = 1\n")
}

/// A policy document with this body.
pub(crate) fn policy_text(body: &str) -> String {
    head("policy") + body
}

/// Loads documents with these bodies, unsigned.
pub(crate) fn load(policy: &str, contracts: &str, keys: &str) -> Result<PolicySet, LoadError> {
    let texts = [policy_text(policy), head("contracts") + contracts, head("keys") + keys];
    PolicySet::load_unsigned_development(
        &DocumentSources {
            policy: DocumentSource::unsigned("policy.toml", &texts[0]),
            contracts: DocumentSource::unsigned("contracts.toml", &texts[1]),
            keys: DocumentSource::unsigned("keys.toml", &texts[2]),
        },
        NOW,
    )
}

/// The codes of what is wrong in a policy with this body.
pub(crate) fn codes(policy: &str) -> Vec<&'static str> {
    load(policy, "", "")
        .map(|_| Vec::new())
        .unwrap_or_else(|error| error.findings().iter().map(|f| f.code).collect())
}

/// A loaded set, from a policy and contracts.
pub(crate) fn set(policy: &str, contracts: &str) -> PolicySet {
    load(policy, contracts, "").unwrap_or_else(|error| panic!("{error}"))
}

/// The built-in baseline with nothing else.
pub(crate) fn baseline() -> PolicySet {
    PolicySet::from_code(Policy::baseline().unwrap(), Contracts::new("none")).unwrap()
}

/// The root key of these tests.
pub(crate) fn root() -> SigningKey {
    SigningKey::from_seed([7; 32])
}

/// An envelope over a document, as its file holds it.
pub(crate) fn envelope(kind: DocumentKind, text: &str, key: &SigningKey) -> String {
    let id = signing_key_id(&key.public()).unwrap();
    sign_document(&DocumentSource::unsigned("x.toml", text), kind, id, key, NOW)
        .unwrap()
        .to_json()
        .unwrap()
}

pub(crate) fn draft(id: &str, effects: Effects) -> CapabilityDraft {
    CapabilityDraft {
        description: "a capability".to_owned(),
        ..CapabilityDraft::new(CapabilityId::parse(id).unwrap(), id, effects, AllowedAgents::Any)
    }
}

/// A capability that host code registered.
pub(crate) fn host(id: &str, effects: Effects) -> Capability {
    draft(id, effects).build().unwrap()
}

/// A capability that a server proposed, with these effects in its own words.
pub(crate) fn foreign(id: &str, effects: Effects) -> Capability {
    let upstream_digest = Some(Digest::from_bytes([1; 32]));
    CapabilityDraft { upstream_digest, ..draft(id, effects) }.build().unwrap()
}

pub(crate) fn principal(roles: &[&str]) -> Principal {
    Principal::new(PrincipalId::parse("agent").unwrap()).with_roles(roles.iter().copied())
}

/// A query with everything in it at its mildest, to change one thing at a time.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) capability: Capability,
    pub(crate) principal: Principal,
    pub(crate) request: CapabilityRequest,
    pub(crate) arguments: Option<Value>,
    pub(crate) operation: Operation,
    pub(crate) mode: SafetyMode,
    pub(crate) label: Label,
    pub(crate) human: bool,
    pub(crate) signals: SignalReport,
}

impl Case {
    pub(crate) fn new(capability: Capability, roles: &[&str]) -> Self {
        let request = CapabilityRequest::new(capability.id().clone(), "a goal");
        Self {
            capability,
            principal: principal(roles),
            request,
            arguments: Some(json!({})),
            operation: Operation::Invoke,
            mode: SafetyMode::Normal,
            label: Label::clean(),
            human: true,
            signals: SignalReport::none(),
        }
    }

    pub(crate) fn justified(mut self, text: &str, source: JustificationSource) -> Self {
        self.request = self.request.justified(text, source);
        self
    }

    pub(crate) fn signalled(mut self, report: &SignalReport) -> Self {
        self.signals = report.clone();
        self
    }

    /// The question, at [`NOW`].
    pub(crate) fn query(&self) -> PolicyQuery<'_> {
        PolicyQuery {
            arguments: self.arguments.as_ref(),
            operation: self.operation,
            mode: self.mode,
            label: &self.label,
            now: NOW,
            human_channel: self.human,
            signals: &self.signals,
            ..PolicyQuery::new(&self.capability, &self.principal, &self.request)
        }
    }

    pub(crate) fn decide_at(&self, set: &PolicySet, now: Timestamp) -> Decision {
        set.decide(&PolicyQuery { now, ..self.query() })
    }

    pub(crate) fn decide(&self, set: &PolicySet) -> Decision {
        self.decide_at(set, NOW)
    }

    /// Verdict and primary reason.
    pub(crate) fn answer(&self, set: &PolicySet) -> (Verdict, ReasonCode) {
        let decision = self.decide(set);
        (decision.verdict(), decision.primary_reason())
    }
}
