//! The payload of intent and refusal events.

use serde::Serialize;
use serde_json::Value;
use weaver_firewall::Firewall;
use weaver_policy::ContractEnforcement;
use weaver_types::{
    AgentId, ApprovalRequestId, Capability, CapabilityId, CapabilityRequest, Decision, DecisionKey,
    Digest, Label, PolicyOrigin, PrincipalId, ReasonCode, ResponseMode, Rung, SafetyClass, TokenId,
    Verdict,
};

use crate::caller::Caller;
use crate::contract_check::{ContractComparison, ContractState};
use crate::event_payload::{
    ArgumentsRecord, CapabilityTags, HostFields, JustificationRecord, RecordedChecks,
    WouldHaveRecord, decision_version, redacted_metadata, refusal_decision_key, request_text,
};
use crate::run_state::RunDelta;

/// The record of a decided call, in the order in which its fields are written. Fields that are
/// `None` are left out.
#[derive(Debug, Serialize)]
pub(crate) struct DecisionRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<ArgumentsRecord<'a>>,
    capability: &'a CapabilityId,
    checks: RecordedChecks<'a>,
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
    origin: PolicyOrigin,
    policy: Digest,
    principal: &'a PrincipalId,
    reason: ReasonCode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) released_by: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repaired: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<ApprovalRequestId>,
    run: &'a RunDelta,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_agent: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<Rung>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "CapabilityTags::is_empty")]
    tags: CapabilityTags<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<&'a TokenId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_contract_enforcement: Option<ContractEnforcement>,
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
    /// The record of a refused call whose capability is unknown.
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
            checks: RecordedChecks::of(decision, firewall),
            checks_total: decision.check_results().len(),
            class: None,
            contracts: basis.contracts,
            decision_key: refusal_decision_key(decision.primary_reason()),
            driver: None,
            fingerprint: None,
            goal: request_text(firewall, &request.goal),
            intent: request.intent.as_ref().map(|intent| request_text(firewall, intent)),
            justification: request
                .justification
                .as_ref()
                .map(|why| JustificationRecord::of(why, firewall)),
            metadata: redacted_metadata(caller.run, firewall),
            mode: None,
            origin: basis.origin,
            policy: basis.policy,
            principal: &principal.id,
            reason: decision.primary_reason(),
            released_by: None,
            repaired: None,
            request: None,
            run,
            run_agent: host.run_agent,
            rung: None,
            session_id: host.session_id,
            tags: CapabilityTags::default(),
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

    /// Adds the capability and its contract comparison, under the keys of the SecondBrain kernel.
    pub(crate) fn describe_capability(
        &mut self,
        capability: &'a Capability,
        contract: &ContractComparison,
    ) {
        self.capability = capability.id();
        self.class = Some(capability.class());
        self.fingerprint = Some(capability.fingerprint());
        self.rung = Some(capability.rung());
        self.tags = CapabilityTags::of(capability);
        self.tool_contract_enforcement = Some(contract.enforcement);
        self.tool_contract_fingerprint = Some(contract.fingerprint);
        self.tool_contract_mismatch = Some(contract.is_mismatch());
        self.tool_contract_registered_fingerprint = registered_fingerprint(contract);
        self.tool_contract_status = Some(contract.state);
        self.upstream_digest = capability.spec().upstream_digest;
    }
}

/// The registered fingerprint, if the capability was compared with it.
fn registered_fingerprint(contract: &ContractComparison) -> Option<Digest> {
    (contract.state != ContractState::NotCompared).then_some(contract.registered)
}
