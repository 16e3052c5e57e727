//! The payloads of events: redacted, bounded, canonical.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};
use weaver_firewall::Firewall;
use weaver_types::canonical::{self, Members, Profile};
use weaver_types::digest::{Digest, Tag};
use weaver_types::ledger::NewEvent;
use weaver_types::{
    CallId, Capability, CapabilityRequest, Contribution, Decision, DecisionKey, EventKind,
    Principal, Random, ReasonCode, RunId, Timestamp, Verdict, hex,
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

/// A payload in the making. Its members may come in any order; in the order of their names they are
/// sorted soonest.
pub(crate) struct Payload(Members);

impl Payload {
    pub(crate) fn new() -> Self {
        Self(Members::new(Profile::Record)).with("v", 1)
    }

    pub(crate) fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.0.add(key, &value);
        self
    }

    pub(crate) fn maybe(self, key: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    pub(crate) fn key(self, key: DecisionKey) -> Self {
        self.with("decision_key", key)
    }

    pub(crate) fn who(self, principal: &Principal) -> Self {
        self.maybe("agent", principal.agent.as_ref()).with("principal", &principal.id)
    }

    pub(crate) fn what(self, capability: &Capability) -> Self {
        self.with("capability", capability.id())
            .with("class", capability.class())
            .with("fingerprint", capability.fingerprint())
            .with("rung", capability.rung())
            .tagged(Some(capability))
            .maybe("upstream_digest", capability.spec().upstream_digest)
    }

    /// How the capability stands against its contract, under the keys of the SecondBrain kernel.
    pub(crate) fn compared(self, contract: &Contract) -> Self {
        let registered =
            (contract.state != ContractState::NotCompared).then_some(contract.registered);
        self.with("tool_contract_enforcement", contract.enforcement)
            .with("tool_contract_fingerprint", contract.fingerprint)
            .with("tool_contract_mismatch", contract.mismatch())
            .maybe("tool_contract_registered_fingerprint", registered)
            .with("tool_contract_status", contract.state)
    }

    /// The tags of a capability, by which retention can name what is said of it.
    pub(crate) fn tagged(self, capability: Option<&Capability>) -> Self {
        let tags = capability.into_iter().flat_map(|capability| &capability.spec().tags);
        let tags: Vec<&String> = tags.take(MAX_TAGS).collect();
        let some = (!tags.is_empty()).then_some(tags);
        self.maybe("tags", some)
    }

    pub(crate) fn decided(self, decision: &Decision, firewall: &Firewall) -> Self {
        let said = decision.contributions().iter().take(MAX_CONTRIBUTIONS).map(|said| {
            // What stands in the way, or stood there, may quote the request.
            let released =
                matches!(said.reason, ReasonCode::ApprovalGranted | ReasonCode::StandingApproval);
            if said.verdict > Verdict::Allow || released {
                let detail = words(firewall, &said.detail);
                Cow::Owned(Contribution { detail, ..said.clone() })
            } else {
                Cow::Borrowed(said)
            }
        });
        self.with("checks", said.collect::<Vec<_>>())
            .with("checks_total", decision.contributions().len())
            .with("contracts", decision.basis().contracts)
            .with("origin", decision.basis().origin)
            .with("policy", decision.basis().policy)
            .with("reason", decision.primary())
            .with("verdict", decision.verdict())
    }

    pub(crate) fn asked(self, request: &CapabilityRequest, firewall: &Firewall) -> Self {
        let justification = request
            .justification
            .as_ref()
            .map(|j| json!({ "text": words(firewall, &j.text), "source": j.source }));
        self.with("goal", words(firewall, &request.goal))
            .maybe("intent", request.intent.as_ref().map(|intent| words(firewall, intent)))
            .maybe("justification", justification)
    }

    pub(crate) fn run(self, delta: &RunDelta) -> Self {
        self.with("run", delta)
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
        let payload = self.0.finish().ok()?;
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
    let mut text = firewall.redact_text(first(text, MAX_READ)).text;
    text.truncate(first(&text, most).len());
    text
}

/// The first so many characters.
fn first(text: &str, most: usize) -> &str {
    // No character takes less than a byte.
    let cut = if text.len() > most { text.char_indices().nth(most) } else { None };
    cut.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Arguments as the log holds them: redacted text, and a commitment to the exact bytes under a
/// salt of its own.
#[derive(Debug, Serialize)]
pub(crate) struct Recorded {
    bytes: usize,
    commit: Digest,
    salt: String,
    text: Option<String>,
}

/// What the log holds of `value`, which was read as `arguments`. `None` when there is no randomness
/// for the salt.
pub(crate) fn arguments(
    value: &Value,
    arguments: &Arguments,
    firewall: &Firewall,
    random: &dyn Random,
) -> Option<Recorded> {
    let (redacted, _) = firewall.redact_value(value);
    let bytes = if redacted == *value {
        Some(arguments.bytes.clone())
    } else {
        canonical::to_bytes(&redacted, Profile::Foreign).ok()
    };
    let text = bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|text| text.len() <= MAX_ARGUMENT_TEXT);
    let mut salt = [0_u8; 16];
    random.fill(&mut salt).ok()?;
    let commit = Digest::of_parts(Tag::ARGS_COMMIT, &[&salt, &arguments.bytes]);
    Some(Recorded { text, bytes: arguments.bytes.len(), salt: hex(&salt), commit })
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

#[cfg(test)]
mod tests {
    use super::{Firewall, first, redacted};

    #[test]
    fn a_text_is_cut_at_so_many_characters_and_after_it_was_redacted() {
        for (text, most, wanted) in [
            ("", 2, ""),
            ("ab", 2, "ab"),
            ("abc", 2, "ab"),
            ("\u{e9}\u{e9}\u{e9}", 2, "\u{e9}\u{e9}"),
            ("\u{e9}", 2, "\u{e9}"),
        ] {
            assert_eq!(first(text, most), wanted);
        }
        let firewall = Firewall::new();
        assert_eq!(redacted(&firewall, "ask jane.roe@example.com", 10), "ask [REDAC");
    }
}
