//! The payloads of events: redacted, bounded, canonical.

mod host_fields;
mod outcome;
mod would_have;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use serde_json::Value;
use weaver_firewall::Firewall;
use weaver_types::canonical::{self, ObjectBuilder, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::NewEvent;
use weaver_types::{
    CallId, Capability, CapabilityRequest, CheckResult, Decision, DecisionKey, EventKind,
    Justification, JustificationSource, Principal, Random, ReasonCode, RunContext, RunId,
    Timestamp, Verdict, hex,
};

use crate::caller::Caller;
use crate::canonical_arguments::CanonicalArguments;
use crate::run_state::RunDelta;

pub(crate) use host_fields::{HostFields, redacted_metadata};
pub(crate) use outcome::{FrameRecord, OutcomeRecord};
pub(crate) use would_have::{WouldHaveRecord, decision_version};

/// How many check results of a decision are recorded.
const MAX_CHECK_RESULTS: usize = 32;
/// The longest goal or justification that is recorded, in characters.
const MAX_REQUEST_TEXT_CHARS: usize = 1_000;
/// How many tags of a capability are recorded.
const MAX_TAGS: usize = 64;
/// The longest text of redacted arguments that is recorded, in bytes.
const MAX_ARGUMENT_BYTES: usize = 16 * 1024;
/// The longest error text that is recorded, in characters.
const MAX_ERROR_CHARS: usize = 500;
/// How much of a text is redacted at most, in characters; the rest is dropped.
const MAX_SCANNED_CHARS: usize = 32 * 1024;

/// The payload of an event that is not written for each call. Its members may be added in any
/// order.
pub(crate) struct EventPayload(ObjectBuilder);

impl EventPayload {
    pub(crate) fn new() -> Self {
        Self(ObjectBuilder::new(Profile::Record)).with("v", 1)
    }

    pub(crate) fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.0.add(key, &value);
        self
    }

    pub(crate) fn with_optional(self, key: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    pub(crate) fn with_decision_key(self, key: DecisionKey) -> Self {
        self.with("decision_key", key)
    }

    pub(crate) fn with_principal(self, principal: &Principal) -> Self {
        self.with_optional("agent", principal.agent.as_ref()).with("principal", &principal.id)
    }

    /// Adds the caller, and the host's session of its run.
    pub(crate) fn with_caller(self, caller: Caller<'_>, firewall: &Firewall) -> Self {
        self.with_principal(caller.principal).with_session(Some(caller.run), firewall)
    }

    /// Adds the host's session of a run.
    pub(crate) fn with_session(self, run: Option<&RunContext>, firewall: &Firewall) -> Self {
        let host = run.map(|run| HostFields::of(run, firewall)).unwrap_or_default();
        self.with_optional("run_agent", host.run_agent)
            .with_optional("session_id", host.session_id)
            .with_optional("user_sid", host.user_sid)
    }

    pub(crate) fn with_tags(self, capability: Option<&Capability>) -> Self {
        self.with_optional(
            "tags",
            capability.map(CapabilityTags::of).filter(|tags| !tags.is_empty()),
        )
    }

    pub(crate) fn with_decision(self, decision: &Decision, firewall: &Firewall) -> Self {
        let basis = decision.basis();
        self.with("checks", RecordedChecks::of(decision, firewall))
            .with("checks_total", decision.check_results().len())
            .with("contracts", basis.contracts)
            .with("origin", basis.origin)
            .with("policy", basis.policy)
            .with("reason", decision.primary_reason())
            .with("verdict", decision.verdict())
            .with_optional("would_have", WouldHaveRecord::of(decision, firewall))
    }

    pub(crate) fn with_request(self, request: &CapabilityRequest, firewall: &Firewall) -> Self {
        self.with("goal", request_text(firewall, &request.goal))
            .with_optional(
                "intent",
                request.intent.as_ref().map(|intent| request_text(firewall, intent)),
            )
            .with_optional(
                "justification",
                request.justification.as_ref().map(|j| JustificationRecord::of(j, firewall)),
            )
    }

    pub(crate) fn with_run_delta(self, delta: &RunDelta) -> Self {
        self.with("run", delta)
    }

    pub(crate) fn into_event(
        self,
        kind: EventKind,
        at: Timestamp,
        run: &RunId,
        call: Option<&CallId>,
    ) -> Option<NewEvent> {
        let event = self.into_global_event(kind, at)?;
        Some(NewEvent { run: Some(run.clone()), call: call.cloned(), ..event })
    }

    /// An event that belongs to no run.
    pub(crate) fn into_global_event(self, kind: EventKind, at: Timestamp) -> Option<NewEvent> {
        let payload = self.0.finish().ok()?;
        Some(NewEvent { kind, at, run: None, call: None, payload })
    }
}

/// An event of a run, from a payload type whose fields are declared in canonical order.
pub(crate) fn record_event(
    payload: &impl Serialize,
    kind: EventKind,
    at: Timestamp,
    run: &RunId,
    call: Option<&CallId>,
) -> Option<NewEvent> {
    let payload = canonical::record(payload).ok()?;
    Some(NewEvent { kind, at, run: Some(run.clone()), call: call.cloned(), payload })
}

/// The tags of a capability in an event, by which retention rules select events.
#[derive(Debug, Default)]
pub(crate) struct CapabilityTags<'a>(Option<&'a BTreeSet<String>>);

impl<'a> CapabilityTags<'a> {
    pub(crate) fn of(capability: &'a Capability) -> Self {
        Self(Some(&capability.spec().tags))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none_or(BTreeSet::is_empty)
    }
}

impl Serialize for CapabilityTags<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.into_iter().flatten().take(MAX_TAGS))
    }
}

/// The check results of a decision, as they are recorded.
#[derive(Debug)]
pub(crate) struct RecordedChecks<'a> {
    check_results: &'a [CheckResult],
    firewall: &'a Firewall,
}

impl<'a> RecordedChecks<'a> {
    pub(crate) fn of(decision: &'a Decision, firewall: &'a Firewall) -> Self {
        Self { check_results: decision.check_results(), firewall }
    }
}

impl Serialize for RecordedChecks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.check_results.iter().take(MAX_CHECK_RESULTS).map(
            |check_result| {
                // The detail of an obstacle, or of one that was released, may quote the request, so it
                // is redacted.
                if check_result.verdict > Verdict::Allow || check_result.reason.is_release() {
                    let detail = request_text(self.firewall, &check_result.detail);
                    Cow::Owned(CheckResult { detail, ..check_result.clone() })
                } else {
                    Cow::Borrowed(check_result)
                }
            },
        ))
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
        Self { source: justification.source, text: request_text(firewall, &justification.text) }
    }
}

pub(crate) fn request_text(firewall: &Firewall, text: &str) -> String {
    redact_and_truncate(firewall, text, MAX_REQUEST_TEXT_CHARS)
}

/// An error text as it may be recorded and shown: redacted, then cut.
pub(crate) fn error_text(firewall: &Firewall, text: &str) -> String {
    redact_and_truncate(firewall, text, MAX_ERROR_CHARS)
}

/// The text of a driver's error as it may be recorded and shown: as [`error_text`], except that what
/// the driver itself has masked stays as it is.
pub(crate) fn driver_error_text(firewall: &Firewall, text: &str) -> String {
    let text = firewall.redact_driver_text(first_chars(text, MAX_SCANNED_CHARS)).text;
    first_chars(&text, MAX_ERROR_CHARS).to_owned()
}

/// Redacts before it cuts, so that a cut cannot hide a secret from the rules.
fn redact_and_truncate(firewall: &Firewall, text: &str, max_chars: usize) -> String {
    let mut text = firewall.redact_text(first_chars(text, MAX_SCANNED_CHARS)).text;
    text.truncate(first_chars(&text, max_chars).len());
    text
}

/// The first `most` characters.
fn first_chars(text: &str, max_chars: usize) -> &str {
    // A text of at most `max_chars` bytes has no more characters than that.
    let cut = if text.len() > max_chars { text.char_indices().nth(max_chars) } else { None };
    cut.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Arguments as the log contains them: redacted text, and a salted commitment to the exact bytes.
#[derive(Debug, Serialize)]
pub(crate) struct ArgumentsRecord<'a> {
    bytes: usize,
    commit: Digest,
    salt: String,
    text: Option<Cow<'a, str>>,
}

/// The record of arguments. If they contain masks, `as_written` is the form with masks, whose text
/// is recorded; the commitment covers the values. `None` when there is no randomness for the salt.
pub(crate) fn record_arguments<'a>(
    value: &Value,
    as_written: Option<&Value>,
    arguments: &'a CanonicalArguments,
    firewall: &Firewall,
    random: &dyn Random,
) -> Option<ArgumentsRecord<'a>> {
    let (redacted, _) = firewall.redact_value(as_written.unwrap_or(value));
    let text = if as_written.is_none() && redacted == *value {
        str::from_utf8(&arguments.bytes).ok().map(Cow::Borrowed)
    } else {
        let bytes = canonical::to_bytes(&redacted, Profile::Foreign).ok();
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Cow::Owned)
    };
    let text = text.filter(|text| text.len() <= MAX_ARGUMENT_BYTES);
    let mut salt = [0_u8; 16];
    random.fill(&mut salt).ok()?;
    let commit = Digest::of_parts(DomainTag::ARGS_COMMIT, &[&salt, &arguments.bytes]);
    Some(ArgumentsRecord { text, bytes: arguments.bytes.len(), salt: hex(&salt), commit })
}

/// The decision key of a refusal.
pub(crate) fn refusal_decision_key(reason: ReasonCode) -> DecisionKey {
    match reason {
        ReasonCode::BudgetExceeded | ReasonCode::SessionBudgetExhausted => {
            DecisionKey::BudgetExceeded
        }
        _ => DecisionKey::PolicyBlocked,
    }
}

#[cfg(test)]
mod tests {
    use super::{Firewall, first_chars, redact_and_truncate};

    #[test]
    fn a_text_is_cut_at_so_many_characters_and_after_it_was_redacted() {
        for (text, max_chars, wanted) in [
            ("", 2, ""),
            ("ab", 2, "ab"),
            ("abc", 2, "ab"),
            ("\u{e9}\u{e9}\u{e9}", 2, "\u{e9}\u{e9}"),
            ("\u{e9}", 2, "\u{e9}"),
        ] {
            assert_eq!(first_chars(text, max_chars), wanted);
        }
        let firewall = Firewall::new();
        assert_eq!(
            redact_and_truncate(&firewall, "ask jane.roe@corp.example.com", 10),
            "ask [REDAC"
        );
    }

    #[test]
    fn a_refusal_for_want_of_budget_has_its_own_key() {
        use super::{DecisionKey, ReasonCode, refusal_decision_key};
        for (reason, key) in [
            (ReasonCode::BudgetExceeded, DecisionKey::BudgetExceeded),
            (ReasonCode::SessionBudgetExhausted, DecisionKey::BudgetExceeded),
            (ReasonCode::RateLimited, DecisionKey::PolicyBlocked),
            (ReasonCode::MissingRole, DecisionKey::PolicyBlocked),
        ] {
            assert_eq!(refusal_decision_key(reason), key, "{reason}");
        }
    }

    #[test]
    fn what_stands_in_the_way_and_what_released_a_call_is_recorded_redacted() {
        use weaver_policy::{Contracts, Policy, PolicySet};
        use weaver_types::{CheckKind, CheckResult, Decision, ReasonCode, Verdict};
        let policy = PolicySet::from_code(Policy::new("p"), Contracts::new("c")).unwrap();
        let firewall = Firewall::new();
        for (verdict, reason) in [
            (Verdict::Ask, ReasonCode::InvalidArguments),
            (Verdict::Hold, ReasonCode::FloorHold),
            (Verdict::Deny, ReasonCode::MissingRole),
            (Verdict::Allow, ReasonCode::ApprovalGranted),
        ] {
            let detail = "write to jane.roe@corp.example.com";
            let check_result = CheckResult::new(CheckKind::Rule, verdict, reason, detail);
            let decision = Decision::join(vec![check_result], policy.basis().clone());
            let checks =
                serde_json::to_value(super::RecordedChecks::of(&decision, &firewall)).unwrap();
            let detail = checks[0]["detail"].as_str().unwrap();
            assert!(detail.starts_with("write to ") && !detail.contains("jane"), "{detail}");
            assert_eq!(checks[0]["reason"], reason.as_str());
        }
    }

    #[test]
    fn a_text_is_cut_where_it_is_longer_and_not_where_it_is_as_long() {
        let text = "\u{e9}".repeat(3);
        for (max_chars, length) in [(2, 4), (3, 6), (4, 6), (6, 6)] {
            assert_eq!(first_chars(&text, max_chars).len(), length, "{max_chars}");
        }
    }
}
