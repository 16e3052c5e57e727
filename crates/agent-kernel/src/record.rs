//! The payloads of events: redacted, bounded, canonical.

use serde_json::{Map, Value, json};
use weaver_firewall::Firewall;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, Tag};
use weaver_types::ledger::NewEvent;
use weaver_types::{
    CallId, Capability, CapabilityRequest, Decision, DecisionKey, EventKind, Principal, Random,
    ReasonCode, RunId, Timestamp, Verdict, hex,
};

use crate::arguments::Arguments;
use crate::contract::{Contract, ContractState};
use crate::run_state::RunDelta;

/// How many contributions of a decision are recorded one by one.
const MAX_CONTRIBUTIONS: usize = 32;
/// The longest goal or justification that is recorded, in characters.
const MAX_WORDS: usize = 1_000;
/// How many tags of a capability are recorded.
const MAX_TAGS: usize = 64;
/// The longest text of redacted arguments that is recorded, in bytes.
const MAX_ARGUMENT_TEXT: usize = 16 * 1024;
/// The longest error text that is recorded, in characters.
const MAX_ERROR: usize = 500;
/// How much of a text is looked at, in characters.
const MAX_READ: usize = 32 * 1024;

/// A payload in the making.
pub(crate) struct Payload(Map<String, Value>);

impl Payload {
    pub(crate) fn new() -> Self {
        Self([("v".to_owned(), json!(1))].into_iter().collect())
    }

    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.0.insert(key.to_owned(), value);
        self
    }

    pub(crate) fn maybe(self, key: &str, value: Option<Value>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    pub(crate) fn key(self, key: DecisionKey) -> Self {
        self.with("decision_key", json!(key))
    }

    pub(crate) fn who(self, principal: &Principal) -> Self {
        self.with("principal", json!(principal.id))
            .maybe("agent", principal.agent.as_ref().map(|a| json!(a)))
    }

    pub(crate) fn what(self, capability: &Capability) -> Self {
        self.with("capability", json!(capability.id()))
            .with("fingerprint", json!(capability.fingerprint()))
            .with("class", json!(capability.class()))
            .with("rung", json!(capability.rung()))
            .tagged(Some(capability))
            .maybe("upstream_digest", capability.spec().upstream_digest.map(|d| json!(d)))
    }

    /// How the capability stands against its contract, under the keys of the SecondBrain kernel.
    pub(crate) fn compared(self, contract: &Contract) -> Self {
        let registered =
            (contract.state != ContractState::NotCompared).then_some(contract.registered);
        self.with("tool_contract_fingerprint", json!(contract.fingerprint))
            .maybe("tool_contract_registered_fingerprint", registered.map(|one| json!(one)))
            .with("tool_contract_status", json!(contract.state))
            .with("tool_contract_enforcement", json!(contract.enforcement))
            .with("tool_contract_mismatch", json!(contract.mismatch()))
    }

    /// The tags of a capability, by which retention can name what is said of it.
    pub(crate) fn tagged(self, capability: Option<&Capability>) -> Self {
        let tags = capability.into_iter().flat_map(|capability| &capability.spec().tags);
        let tags: Vec<&String> = tags.take(MAX_TAGS).collect();
        let some = (!tags.is_empty()).then(|| json!(tags));
        self.maybe("tags", some)
    }

    pub(crate) fn decided(self, decision: &Decision, firewall: &Firewall) -> Self {
        let said = decision.contributions().iter().take(MAX_CONTRIBUTIONS).map(|said| {
            // What stands in the way, or stood there, may quote the request.
            let mut said = said.clone();
            let released =
                matches!(said.reason, ReasonCode::ApprovalGranted | ReasonCode::StandingApproval);
            if said.verdict > Verdict::Allow || released {
                said.detail = words(firewall, &said.detail);
            }
            json!(said)
        });
        let said = said.collect();
        self.with("verdict", json!(decision.verdict()))
            .with("reason", json!(decision.primary()))
            .with("policy", json!(decision.basis().policy))
            .with("contracts", json!(decision.basis().contracts))
            .with("origin", json!(decision.basis().origin))
            .with("checks", Value::Array(said))
            .with("checks_total", json!(decision.contributions().len()))
    }

    pub(crate) fn asked(self, request: &CapabilityRequest, firewall: &Firewall) -> Self {
        let justification = request
            .justification
            .as_ref()
            .map(|j| json!({ "text": words(firewall, &j.text), "source": j.source }));
        self.with("goal", json!(words(firewall, &request.goal)))
            .maybe("intent", request.intent.as_ref().map(|i| json!(words(firewall, i))))
            .maybe("justification", justification)
    }

    pub(crate) fn run(self, delta: &RunDelta) -> Self {
        self.with("run", json!(delta))
    }

    pub(crate) fn event(
        self,
        kind: EventKind,
        at: Timestamp,
        run: &RunId,
        call: Option<&CallId>,
    ) -> Option<NewEvent> {
        let event = self.loose_event(kind, at)?;
        Some(NewEvent { run: Some(run.clone()), call: call.cloned(), ..event })
    }

    /// An event that belongs to no run.
    pub(crate) fn loose_event(self, kind: EventKind, at: Timestamp) -> Option<NewEvent> {
        let payload = canonical::to_bytes(&Value::Object(self.0), Profile::Record).ok()?;
        Some(NewEvent { kind, at, run: None, call: None, payload })
    }
}

fn words(firewall: &Firewall, text: &str) -> String {
    redacted(firewall, text, MAX_WORDS)
}

/// An error text as it may be recorded and shown: redacted, then cut.
pub(crate) fn error_text(firewall: &Firewall, text: &str) -> String {
    redacted(firewall, text, MAX_ERROR)
}

/// Redacted first and cut then, so that no cut hides a secret from the rules.
fn redacted(firewall: &Firewall, text: &str, most: usize) -> String {
    let read: String = text.chars().take(MAX_READ).collect();
    firewall.redact_text(&read).text.chars().take(most).collect()
}

/// Arguments as the log holds them: redacted text, and a commitment to the exact bytes under a
/// salt of its own. `None` when there is no randomness for the salt.
pub(crate) fn arguments(
    arguments: &Arguments,
    firewall: &Firewall,
    random: &dyn Random,
) -> Option<Value> {
    let (redacted, _) = firewall.redact_value(&Value::Object(arguments.object.clone()));
    let text = canonical::to_bytes(&redacted, Profile::Foreign)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|text| text.len() <= MAX_ARGUMENT_TEXT);
    let mut salt = [0_u8; 16];
    random.fill(&mut salt).ok()?;
    let commit = Digest::of_parts(Tag::ARGS_COMMIT, &[&salt, &arguments.bytes]);
    Some(json!({
        "text": text,
        "bytes": arguments.bytes.len(),
        "salt": hex(&salt),
        "commit": commit,
    }))
}

/// The decision key that goes with a refusal.
pub(crate) fn refusal_key(reason: ReasonCode) -> DecisionKey {
    match reason {
        ReasonCode::BudgetExceeded | ReasonCode::SessionBudgetExhausted => {
            DecisionKey::BudgetExceeded
        }
        _ => DecisionKey::PolicyBlocked,
    }
}
