//! From our vocabulary to the public contracts.
//!
//! What a contract has no field for stands in its `metadata` under `weaver`. Nothing raw crosses:
//! a frame's raw value and a capability's schemas are left out.

use serde::Serialize;
use serde_json::Value;

use super::{
    Capability, CapabilityToken, EventType, Fields, Frame, Handle, Nullable, Outcome,
    PolicyDecision, PolicyVerdict, TraceEvent,
};
use crate::{CallId, CapabilityId, Decision, EventKind, HandleId, PrincipalId, Status, Timestamp};
use crate::{TokenClaims, TokenId};

/// The version is the fingerprint: it changes exactly when what is executed changes. A capability
/// without a description is described by its name.
impl From<&crate::Capability> for Capability {
    fn from(capability: &crate::Capability) -> Self {
        let own = capability.descriptor();
        let metadata = weaver([
            ("class", json(&own.class)),
            ("effects", json(&own.effects)),
            ("rung", json(&own.rung)),
            ("sensitivity", json(&own.sensitivity)),
        ]);
        Self {
            id: own.id.to_string(),
            version: own.fingerprint.to_string(),
            description: or(own.description, &own.name),
            name: own.name,
            input_schema_ref: None,
            output_schema_ref: None,
            tags: list(own.tags.into_iter().collect()),
            metadata,
            extra: Fields::new(),
        }
    }
}

/// A token here is one invocation, so it is for single use and expires as well. The contract wants
/// an override of the firewall declared in the token: `raw` is that.
impl From<&TokenClaims> for CapabilityToken {
    fn from(claims: &TokenClaims) -> Self {
        let metadata = weaver([
            ("audience", json(&claims.audience)),
            ("fingerprint", json(&claims.fingerprint)),
            ("policy", json(&claims.policy)),
            ("raw", json(&claims.raw)),
            ("run", json(&claims.run)),
            ("tenant", json(&claims.tenant)),
        ]);
        Self {
            token_id: claims.token_id.to_string(),
            principal: claims.principal.to_string(),
            scope: vec![claims.capability.to_string()],
            issued_at: claims.issued_at.rfc3339(),
            expires_at: Nullable::Value(claims.expires_at.rfc3339()),
            single_use: Some(true),
            issuer: Some(claims.key_id.to_string()),
            metadata,
            extra: Fields::new(),
        }
    }
}

/// What a decision is about. A decision value does not say it itself.
#[derive(Debug, Clone, Copy)]
pub struct DecisionSubject<'a> {
    /// The call: one call is one decision, so its id is the decision's.
    pub call: &'a CallId,
    /// What was asked for.
    pub capability: &'a CapabilityId,
    /// Who asked.
    pub principal: &'a PrincipalId,
    /// The token that was issued or shown.
    pub token: Option<&'a TokenId>,
    /// When.
    pub at: Timestamp,
}

impl PolicyDecision {
    /// The contract knows two verdicts: everything but allow is deny. The reason begins with the
    /// code; the verdict itself stands in the metadata.
    #[must_use]
    pub fn of(decision: &Decision, subject: DecisionSubject<'_>) -> Self {
        let allowed = decision.allowed();
        let metadata = weaver([
            ("policy", json(&decision.basis().policy)),
            ("reason_code", json(&decision.primary())),
            ("verdict", json(&decision.verdict())),
        ]);
        Self {
            decision_id: subject.call.to_string(),
            decision: if allowed { PolicyVerdict::Allow } else { PolicyVerdict::Deny },
            capability_id: subject.capability.to_string(),
            principal: subject.principal.to_string(),
            token_id: subject.token.map(ToString::to_string).into(),
            reason: Some(match decision.detail() {
                "" => decision.primary().to_string(),
                detail => format!("{}: {detail}", decision.primary()),
            }),
            timestamp: subject.at.rfc3339(),
            metadata,
            extra: Fields::new(),
        }
    }
}

/// The frame's id is its call's. A raw value is never carried over.
impl From<&crate::Frame> for Frame {
    fn from(frame: &crate::Frame) -> Self {
        let metadata = weaver([
            ("label", json(&frame.label)),
            ("mode", json(&frame.mode)),
            ("status", json(&frame.status)),
        ]);
        let rows = frame.table.iter().cloned().map(Value::Object).collect();
        let notes: Vec<String> =
            frame.warnings.iter().map(|w| format!("{} ({})", w.kind, w.count)).collect();
        Self {
            frame_id: frame.call_id.to_string(),
            capability_id: frame.capability_id.to_string(),
            summary: or(frame.facts.join("; "), &format!("{} row(s)", frame.table.len())),
            structured_data: if frame.table.is_empty() {
                Nullable::Absent
            } else {
                Nullable::Value(Fields::from_iter([("rows".to_owned(), Value::Array(rows))]))
            },
            handle_refs: list(frame.handle.iter().map(|h| h.handle_id.to_string()).collect()),
            redaction_notes: (!notes.is_empty()).then(|| notes.join("; ")),
            created_at: frame.created_at.rfc3339(),
            metadata,
            extra: Fields::new(),
        }
    }
}

impl From<&crate::Handle> for Handle {
    fn from(handle: &crate::Handle) -> Self {
        Self {
            handle_id: handle.handle_id.to_string(),
            capability_id: handle.capability_id.to_string(),
            artifact_type: or(handle.media_type.clone().into_owned(), "application/octet-stream"),
            created_at: handle.created_at.rfc3339(),
            expires_at: Nullable::Value(handle.expires_at.rfc3339()),
            access_policy: None,
            byte_size: Nullable::Value(handle.byte_size),
            metadata: handle.total_rows.and_then(|rows| weaver([("total_rows", json(&rows))])),
            extra: Fields::new(),
        }
    }
}

/// What an event of the log is about, as its payload says.
#[derive(Debug, Clone, Copy)]
pub struct EventSubject<'a> {
    /// What happened.
    pub kind: EventKind,
    /// Its id: the log's id and the event's place, or any other unique text.
    pub event_id: &'a str,
    /// When.
    pub at: Timestamp,
    /// The call: also the id of its decision and of its frame.
    pub call: Option<&'a CallId>,
    /// The capability.
    pub capability: Option<&'a CapabilityId>,
    /// The principal.
    pub principal: Option<&'a PrincipalId>,
    /// The handle.
    pub handle: Option<&'a HandleId>,
    /// Whether the firewall made a frame.
    pub framed: bool,
    /// How the call ended.
    pub status: Option<Status>,
    /// A message that holds nothing unredacted.
    pub error: Option<&'a str>,
}

impl EventType {
    /// The public type of one of our events; `None` for events that the contract does not know.
    ///
    /// | ours | public |
    /// |---|---|
    /// | `call.intent` | `capability_authorized` (decision and use of the token in one) |
    /// | `call.refused` | `capability_denied` (asked, held or denied) |
    /// | `call.outcome` | `capability_executed` |
    /// | `call.outcome_unknown` | `capability_executed`, outcome `partial` |
    /// | `handle.resolved` | `handle_resolved` |
    /// | `grant.revoked` | `token_invalidated` |
    /// | all others | none |
    ///
    /// A run is no flow, so runs have no public type. Frames, handles and tokens come into being
    /// with a call's events, so `firewall_applied`, `handle_created` and `token_issued` have no
    /// event of their own.
    #[must_use]
    pub fn of(kind: EventKind) -> Option<Self> {
        match kind {
            EventKind::Intent => Some(Self::CapabilityAuthorized),
            EventKind::Refused => Some(Self::CapabilityDenied),
            EventKind::Outcome | EventKind::OutcomeUnknown => Some(Self::CapabilityExecuted),
            EventKind::HandleResolved => Some(Self::HandleResolved),
            EventKind::Revoked => Some(Self::TokenInvalidated),
            EventKind::LedgerOpened
            | EventKind::Late
            | EventKind::PolicyLoaded
            | EventKind::PolicyRefused
            | EventKind::ApprovalRequested
            | EventKind::ApprovalEndorsed
            | EventKind::ApprovalGranted
            | EventKind::ApprovalDenied
            | EventKind::ApprovalExpired
            | EventKind::ApprovalRevoked
            | EventKind::ApprovalSuperseded
            | EventKind::ApprovalRejected
            | EventKind::StandingAccepted
            | EventKind::StandingRevoked
            | EventKind::ClockConfirmed
            | EventKind::SignalRaised
            | EventKind::RunStarted
            | EventKind::RunEntered
            | EventKind::RunFinished
            | EventKind::CalibrationRecorded
            | EventKind::Routed
            | EventKind::UpstreamReady
            | EventKind::UpstreamLost
            | EventKind::ContractApproved
            | EventKind::ContractChanged
            | EventKind::Pruned
            | EventKind::LogKey
            | EventKind::MemoryPut
            | EventKind::MemoryGet
            | EventKind::UserSaid => None,
        }
    }
}

impl TraceEvent {
    /// The public form of one of our events; `None` for kinds that the contract does not know.
    #[must_use]
    pub fn of(subject: EventSubject<'_>) -> Option<Self> {
        let event_type = EventType::of(subject.kind)?;
        let unknown = subject.kind == EventKind::OutcomeUnknown;
        let outcome = match subject.status {
            _ if unknown => Some(Outcome::Partial),
            Some(Status::Success) => Some(Outcome::Success),
            Some(Status::Error) => Some(Outcome::Failure),
            Some(Status::Partial) => Some(Outcome::Partial),
            None => None,
        };
        let call: Nullable<String> = subject.call.map(ToString::to_string).into();
        Some(Self {
            event_id: subject.event_id.to_owned(),
            event_type,
            timestamp: subject.at.rfc3339(),
            capability_id: subject.capability.map(ToString::to_string).into(),
            principal: subject.principal.map(ToString::to_string).into(),
            frame_id: if subject.framed { call.clone() } else { Nullable::Absent },
            decision_id: call,
            handle_id: subject.handle.map(ToString::to_string).into(),
            outcome,
            error_message: subject
                .error
                .or(unknown.then_some("outcome unknown"))
                .map(str::to_owned)
                .into(),
            metadata: weaver([("kind", json(&subject.kind))]),
            extra: Fields::new(),
        })
    }
}

/// Our metadata, under one key.
fn weaver<const N: usize>(fields: [(&str, Value); N]) -> Option<Fields> {
    let own: Fields = fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    Some(Fields::from_iter([("weaver".to_owned(), Value::Object(own))]))
}

/// Words, numbers and small records of ours as JSON; none of them fails to serialise.
fn json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn or(text: String, instead: &str) -> String {
    if text.is_empty() { instead.to_owned() } else { text }
}

fn list(items: Vec<String>) -> Option<Vec<String>> {
    (!items.is_empty()).then_some(items)
}
