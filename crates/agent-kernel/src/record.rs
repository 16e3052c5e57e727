//! The payloads of events: redacted, bounded, canonical.

mod host_fields;
mod outcome;
mod would_have;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use serde_json::Value;
use weaver_firewall::Firewall;
use weaver_types::canonical::{self, Members, Profile};
use weaver_types::digest::{Digest, Tag};
use weaver_types::ledger::NewEvent;
use weaver_types::{
    CallId, Capability, CapabilityRequest, Contribution, Decision, DecisionKey, EventKind,
    Justification, JustificationSource, Principal, Random, ReasonCode, RunContext, RunId,
    Timestamp, Verdict, hex,
};

use crate::arguments::Arguments;
use crate::caller::Caller;
use crate::run_state::RunDelta;

pub(crate) use host_fields::{HostFields, metadata};
pub(crate) use outcome::{FrameRecord, Outcome};
pub(crate) use would_have::{WouldHaveRecord, decision_version};

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

/// The payload of an event that is not written with each call. Its members may come in any order.
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

    /// Who asks, and in which session of the host.
    pub(crate) fn caller(self, caller: Caller<'_>, firewall: &Firewall) -> Self {
        self.who(caller.principal).session(Some(caller.run), firewall)
    }

    /// In which session of the host.
    pub(crate) fn session(self, run: Option<&RunContext>, firewall: &Firewall) -> Self {
        let host = run.map(|run| HostFields::of(run, firewall)).unwrap_or_default();
        self.maybe("run_agent", host.run_agent)
            .maybe("session_id", host.session_id)
            .maybe("user_sid", host.user_sid)
    }

    pub(crate) fn tagged(self, capability: Option<&Capability>) -> Self {
        self.maybe("tags", capability.map(Tags::of).filter(|tags| !tags.is_empty()))
    }

    pub(crate) fn decided(self, decision: &Decision, firewall: &Firewall) -> Self {
        let basis = decision.basis();
        self.with("checks", Checks::of(decision, firewall))
            .with("checks_total", decision.contributions().len())
            .with("contracts", basis.contracts)
            .with("origin", basis.origin)
            .with("policy", basis.policy)
            .with("reason", decision.primary())
            .with("verdict", decision.verdict())
            .maybe("would_have", WouldHaveRecord::of(decision, firewall))
    }

    pub(crate) fn asked(self, request: &CapabilityRequest, firewall: &Firewall) -> Self {
        self.with("goal", words(firewall, &request.goal))
            .maybe("intent", request.intent.as_ref().map(|intent| words(firewall, intent)))
            .maybe(
                "justification",
                request.justification.as_ref().map(|j| JustificationRecord::of(j, firewall)),
            )
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

/// An event of a run with a payload whose members are declared in the order in which they are
/// written.
pub(crate) fn event(
    payload: &impl Serialize,
    kind: EventKind,
    at: Timestamp,
    run: &RunId,
    call: Option<&CallId>,
) -> Option<NewEvent> {
    let payload = canonical::record(payload).ok()?;
    Some(NewEvent { kind, at, run: Some(run.clone()), call: call.cloned(), payload })
}

/// The tags of a capability, by which retention can name what is said of it.
#[derive(Debug, Default)]
pub(crate) struct Tags<'a>(Option<&'a BTreeSet<String>>);

impl<'a> Tags<'a> {
    pub(crate) fn of(capability: &'a Capability) -> Self {
        Self(Some(&capability.spec().tags))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none_or(BTreeSet::is_empty)
    }
}

impl Serialize for Tags<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.into_iter().flatten().take(MAX_TAGS))
    }
}

/// What the checks of a decision said, one by one.
#[derive(Debug)]
pub(crate) struct Checks<'a> {
    said: &'a [Contribution],
    firewall: &'a Firewall,
}

impl<'a> Checks<'a> {
    pub(crate) fn of(decision: &'a Decision, firewall: &'a Firewall) -> Self {
        Self { said: decision.contributions(), firewall }
    }
}

impl Serialize for Checks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.said.iter().take(MAX_CONTRIBUTIONS).map(|said| {
            // What stands in the way, or stood there, may quote the request.
            if said.verdict > Verdict::Allow || said.reason.is_release() {
                let detail = words(self.firewall, &said.detail);
                Cow::Owned(Contribution { detail, ..said.clone() })
            } else {
                Cow::Borrowed(said)
            }
        }))
    }
}

/// A justification, redacted.
#[derive(Debug, Serialize)]
pub(crate) struct JustificationRecord {
    source: JustificationSource,
    text: String,
}

impl JustificationRecord {
    pub(crate) fn of(justification: &Justification, firewall: &Firewall) -> Self {
        Self { source: justification.source, text: words(firewall, &justification.text) }
    }
}

pub(crate) fn words(firewall: &Firewall, text: &str) -> String {
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

/// The first `most` characters.
fn first(text: &str, most: usize) -> &str {
    // No character takes less than a byte.
    let cut = if text.len() > most { text.char_indices().nth(most) } else { None };
    cut.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Arguments as the log holds them: redacted text, and a commitment to the exact bytes under a
/// salt of its own.
#[derive(Debug, Serialize)]
pub(crate) struct RecordedArguments<'a> {
    bytes: usize,
    commit: Digest,
    salt: String,
    text: Option<Cow<'a, str>>,
}

/// What the log holds of a value, which was read as `arguments`: where masks stood in it, as it was
/// given. The commitment is to what was read. `None` when there is no randomness for the salt.
pub(crate) fn arguments<'a>(
    value: &Value,
    given: Option<&Value>,
    arguments: &'a Arguments,
    firewall: &Firewall,
    random: &dyn Random,
) -> Option<RecordedArguments<'a>> {
    let (redacted, _) = firewall.redact_value(given.unwrap_or(value));
    let text = if given.is_none() && redacted == *value {
        str::from_utf8(&arguments.bytes).ok().map(Cow::Borrowed)
    } else {
        let bytes = canonical::to_bytes(&redacted, Profile::Foreign).ok();
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Cow::Owned)
    };
    let text = text.filter(|text| text.len() <= MAX_ARGUMENT_TEXT);
    let mut salt = [0_u8; 16];
    random.fill(&mut salt).ok()?;
    let commit = Digest::of_parts(Tag::ARGS_COMMIT, &[&salt, &arguments.bytes]);
    Some(RecordedArguments { text, bytes: arguments.bytes.len(), salt: hex(&salt), commit })
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
        assert_eq!(redacted(&firewall, "ask jane.roe@corp.example.com", 10), "ask [REDAC");
    }

    #[test]
    fn a_refusal_for_want_of_budget_has_its_own_key() {
        use super::{DecisionKey, ReasonCode, refusal_key};
        for (reason, key) in [
            (ReasonCode::BudgetExceeded, DecisionKey::BudgetExceeded),
            (ReasonCode::SessionBudgetExhausted, DecisionKey::BudgetExceeded),
            (ReasonCode::RateLimited, DecisionKey::PolicyBlocked),
            (ReasonCode::MissingRole, DecisionKey::PolicyBlocked),
        ] {
            assert_eq!(refusal_key(reason), key, "{reason}");
        }
    }

    #[test]
    fn what_stands_in_the_way_and_what_released_a_call_is_recorded_redacted() {
        use weaver_policy::{Contracts, Policy, PolicySet};
        use weaver_types::{Check, Contribution, Decision, ReasonCode, Verdict};
        let policy = PolicySet::from_code(Policy::new("p"), Contracts::new("c")).unwrap();
        let firewall = Firewall::new();
        for (verdict, reason) in [
            (Verdict::Ask, ReasonCode::InvalidArguments),
            (Verdict::Hold, ReasonCode::FloorHold),
            (Verdict::Deny, ReasonCode::MissingRole),
            (Verdict::Allow, ReasonCode::ApprovalGranted),
        ] {
            let detail = "write to jane.roe@corp.example.com";
            let said = Contribution::new(Check::Rule, verdict, reason, detail);
            let decision = Decision::join(vec![said], policy.basis().clone());
            let checks = serde_json::to_value(super::Checks::of(&decision, &firewall)).unwrap();
            let detail = checks[0]["detail"].as_str().unwrap();
            assert!(detail.starts_with("write to ") && !detail.contains("jane"), "{detail}");
            assert_eq!(checks[0]["reason"], reason.as_str());
        }
    }

    #[test]
    fn a_text_is_cut_where_it_is_longer_and_not_where_it_is_as_long() {
        let text = "\u{e9}".repeat(3);
        for (most, length) in [(2, 4), (3, 6), (4, 6), (6, 6)] {
            assert_eq!(first(&text, most).len(), length, "{most}");
        }
    }
}
