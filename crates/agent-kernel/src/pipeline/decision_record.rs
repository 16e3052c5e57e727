//! The payload of an intent and of a refusal.

use serde::Serialize;
use serde_json::Value;
use weaver_firewall::Firewall;
use weaver_policy::Enforcement;
use weaver_types::{
    AgentId, Capability, CapabilityId, CapabilityRequest, Decision, DecisionKey, Digest, Label,
    Origin, PrincipalId, ReasonCode, RequestId, ResponseMode, Rung, SafetyClass, TokenId, Verdict,
};

use crate::caller::Caller;
use crate::contract::{ContractComparison, ContractState};
use crate::record::{
    Checks, HostFields, JustificationRecord, RecordedArguments, Tags, WouldHaveRecord,
    decision_version, metadata, refusal_key, words,
};
use crate::run_state::RunDelta;

/// What is recorded of a call that was decided on, in the order in which it is written. What is
/// `None` is left out.
#[derive(Debug, Serialize)]
pub(crate) struct DecisionRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<RecordedArguments<'a>>,
    capability: &'a CapabilityId,
    checks: Checks<'a>,
    checks_total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<SafetyClass>,
    contracts: Digest,
    pub(crate) decision_key: DecisionKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) driver: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Digest>,
    goal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    justification: Option<JustificationRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<ResponseMode>,
    origin: Origin,
    policy: Digest,
    principal: &'a PrincipalId,
    reason: ReasonCode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) released_by: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repaired: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<RequestId>,
    run: &'a RunDelta,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_agent: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<Rung>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Tags::is_empty")]
    tags: Tags<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<&'a TokenId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_contract_enforcement: Option<Enforcement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_contract_fingerprint: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_contract_mismatch: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_contract_registered_fingerprint: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_contract_status: Option<ContractState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_sid: Option<String>,
    v: u8,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worst_label: Option<&'a Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_have: Option<WouldHaveRecord<'a>>,
}

impl<'a> DecisionRecord<'a> {
    /// A refusal of a capability that nobody knows.
    pub(crate) fn new(
        caller: Caller<'a>,
        request: &'a CapabilityRequest,
        decision: &'a Decision,
        run: &'a RunDelta,
        firewall: &'a Firewall,
    ) -> Self {
        let basis = decision.basis();
        let principal = caller.principal;
        let host = HostFields::of(caller.run, firewall);
        Self {
            agent: principal.agent.as_ref(),
            arguments: None,
            capability: &request.capability_id,
            checks: Checks::of(decision, firewall),
            checks_total: decision.contributions().len(),
            class: None,
            contracts: basis.contracts,
            decision_key: refusal_key(decision.primary()),
            driver: None,
            fingerprint: None,
            goal: words(firewall, &request.goal),
            intent: request.intent.as_ref().map(|intent| words(firewall, intent)),
            justification: request
                .justification
                .as_ref()
                .map(|why| JustificationRecord::of(why, firewall)),
            metadata: metadata(caller.run, firewall),
            mode: None,
            origin: basis.origin,
            policy: basis.policy,
            principal: &principal.id,
            reason: decision.primary(),
            released_by: None,
            repaired: None,
            request: None,
            run,
            run_agent: host.run_agent,
            rung: None,
            session_id: host.session_id,
            tags: Tags::default(),
            token: None,
            tool_contract_enforcement: None,
            tool_contract_fingerprint: None,
            tool_contract_mismatch: None,
            tool_contract_registered_fingerprint: None,
            tool_contract_status: None,
            upstream_digest: None,
            user_sid: host.user_sid,
            v: decision_version(decision),
            verdict: decision.verdict(),
            worst_label: None,
            would_have: WouldHaveRecord::of(decision, firewall),
        }
    }

    /// Says what the capability is, and how it stands against its contract, under the keys of the
    /// SecondBrain kernel.
    pub(crate) fn about(&mut self, capability: &'a Capability, contract: &ContractComparison) {
        self.capability = capability.id();
        self.class = Some(capability.class());
        self.fingerprint = Some(capability.fingerprint());
        self.rung = Some(capability.rung());
        self.tags = Tags::of(capability);
        self.tool_contract_enforcement = Some(contract.enforcement);
        self.tool_contract_fingerprint = Some(contract.fingerprint);
        self.tool_contract_mismatch = Some(contract.mismatch());
        self.tool_contract_registered_fingerprint = registered(contract);
        self.tool_contract_status = Some(contract.state);
        self.upstream_digest = capability.spec().upstream_digest;
    }
}

/// The fingerprint that a capability was registered with, where it was compared with that.
fn registered(contract: &ContractComparison) -> Option<Digest> {
    (contract.state != ContractState::NotCompared).then_some(contract.registered)
}
