//! Conversions from our own types to the public contracts.
//!
//! Values for which a contract has no field go into its `metadata` under `weaver`. Nothing raw
//! crosses over: a frame's raw value and a capability's schemas are left out.

use serde::Serialize;
use serde_json::Value;

use super::{
    Capability, CapabilityToken, EventType, Fields, Frame, Handle, Nullable, Outcome,
    PolicyDecision, PolicyVerdict, TraceEvent,
};
use crate::{
    CallId, CapabilityId, Decision, EventKind, HandleId, PrincipalId, ResultStatus, Timestamp,
};
use crate::{TokenClaims, TokenId};

/// The version is the fingerprint: it changes exactly when what is executed changes. A capability
/// without a description is described by its name.
impl From<&crate::Capability> for Capability {
    fn from(capability: &crate::Capability) -> Self {
        let descriptor = capability.descriptor();
        let metadata = weaver_metadata([
            ("class", to_json(&descriptor.class)),
            ("effects", to_json(&descriptor.effects)),
            ("rung", to_json(&descriptor.rung)),
            ("sensitivity", to_json(&descriptor.sensitivity)),
        ]);
        Self {
            id: descriptor.id.to_string(),
            version: descriptor.fingerprint.to_string(),
            description: non_empty_or(descriptor.description, &descriptor.name),
            name: descriptor.name,
            input_schema_ref: None,
            output_schema_ref: None,
            tags: non_empty_list(descriptor.tags.into_iter().collect()),
            metadata,
            extra: Fields::new(),
        }
    }
}

/// A token of ours covers one invocation, so it is for single use and also expires. The contract
/// requires that an override of the firewall be declared in the token: that is `raw`.
impl From<&TokenClaims> for CapabilityToken {
    fn from(claims: &TokenClaims) -> Self {
        let metadata = weaver_metadata([
            ("audience", to_json(&claims.audience)),
            ("fingerprint", to_json(&claims.fingerprint)),
            ("policy", to_json(&claims.policy)),
            ("raw", to_json(&claims.raw)),
            ("run", to_json(&claims.run)),
            ("tenant", to_json(&claims.tenant)),
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

/// The call that a decision is about, which the decision value itself does not contain.
#[derive(Debug, Clone, Copy)]
pub struct DecisionSubject<'a> {
    /// The call. One call has one decision, so its id is also the decision's.
    pub call: &'a CallId,
    /// What was asked for.
    pub capability: &'a CapabilityId,
    /// Who asked.
    pub principal: &'a PrincipalId,
    /// The token that was issued or presented.
    pub token: Option<&'a TokenId>,
    /// When.
    pub at: Timestamp,
}

impl PolicyDecision {
    /// The contract has two verdicts, so everything but allow becomes deny. The reason begins with
    /// the reason code; our own verdict goes into the metadata.
    #[must_use]
    pub fn from_decision(decision: &Decision, subject: DecisionSubject<'_>) -> Self {
        let allowed = decision.is_allowed();
        let metadata = weaver_metadata([
            ("policy", to_json(&decision.basis().policy)),
            ("reason_code", to_json(&decision.primary_reason())),
            ("verdict", to_json(&decision.verdict())),
        ]);
        Self {
            decision_id: subject.call.to_string(),
            decision: if allowed { PolicyVerdict::Allow } else { PolicyVerdict::Deny },
            capability_id: subject.capability.to_string(),
            principal: subject.principal.to_string(),
            token_id: subject.token.map(ToString::to_string).into(),
            reason: Some(match decision.detail() {
                "" => decision.primary_reason().to_string(),
                detail => format!("{}: {detail}", decision.primary_reason()),
            }),
            timestamp: subject.at.rfc3339(),
            metadata,
            extra: Fields::new(),
        }
    }
}

/// The frame's id is the id of its call. A raw value is never carried over.
impl From<&crate::Frame> for Frame {
    fn from(frame: &crate::Frame) -> Self {
        let metadata = weaver_metadata([
            ("label", to_json(&frame.label)),
            ("mode", to_json(&frame.mode)),
            ("status", to_json(&frame.status)),
        ]);
        let rows = frame.table.iter().cloned().map(Value::Object).collect();
        let notes: Vec<String> =
            frame.warnings.iter().map(|w| format!("{} ({})", w.kind, w.count)).collect();
        Self {
            frame_id: frame.call_id.to_string(),
            capability_id: frame.capability_id.to_string(),
            summary: non_empty_or(frame.facts.join("; "), &format!("{} row(s)", frame.table.len())),
            structured_data: if frame.table.is_empty() {
                Nullable::Absent
            } else {
                Nullable::Value(Fields::from_iter([("rows".to_owned(), Value::Array(rows))]))
            },
            handle_refs: non_empty_list(
                frame.handle.iter().map(|h| h.handle_id.to_string()).collect(),
            ),
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
            artifact_type: non_empty_or(
                handle.media_type.clone().into_owned(),
                "application/octet-stream",
            ),
            created_at: handle.created_at.rfc3339(),
            expires_at: Nullable::Value(handle.expires_at.rfc3339()),
            access_policy: None,
            byte_size: Nullable::Value(handle.byte_size),
            metadata: handle
                .total_rows
                .and_then(|rows| weaver_metadata([("total_rows", to_json(&rows))])),
            extra: Fields::new(),
        }
    }
}

/// The fields of a log event from which its public form is built.
#[derive(Debug, Clone, Copy)]
pub struct EventSubject<'a> {
    /// What happened.
    pub kind: EventKind,
    /// A unique id, for example log id and position.
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
    /// Whether the firewall made a frame of the result.
    pub has_frame: bool,
    /// How the call ended.
    pub status: Option<ResultStatus>,
    /// An error message without anything unredacted.
    pub error: Option<&'a str>,
}

impl EventType {
    /// The public type of one of our events; `None` for kinds that the contract does not have.
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
    /// A run is not a flow, so runs have no public type. Frames, handles and tokens are created
    /// together with a call's events, so `firewall_applied`, `handle_created` and `token_issued`
    /// have no event of their own.
    #[must_use]
    pub fn for_kind(kind: EventKind) -> Option<Self> {
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
            | EventKind::RunRestated
            | EventKind::RunReplaced
            | EventKind::CalibrationRecorded
            | EventKind::Routed
            | EventKind::UpstreamReady
            | EventKind::UpstreamLost
            | EventKind::ContractApproved
            | EventKind::ContractChanged
            | EventKind::Pruned
            | EventKind::LogKey
            | EventKind::GatewayEnded
            | EventKind::ClientAdded
            | EventKind::ClientRotated
            | EventKind::ClientRemoved
            | EventKind::MemoryPut
            | EventKind::MemoryGet
            | EventKind::UserSaid => None,
        }
    }
}

impl TraceEvent {
    /// The public form of one of our events; `None` for kinds that the contract does not have.
    #[must_use]
    pub fn from_event(subject: EventSubject<'_>) -> Option<Self> {
        let event_type = EventType::for_kind(subject.kind)?;
        let unknown = subject.kind == EventKind::OutcomeUnknown;
        let outcome = match subject.status {
            _ if unknown => Some(Outcome::Partial),
            Some(ResultStatus::Success) => Some(Outcome::Success),
            Some(ResultStatus::Error) => Some(Outcome::Failure),
            Some(ResultStatus::Partial) => Some(Outcome::Partial),
            None => None,
        };
        let call: Nullable<String> = subject.call.map(ToString::to_string).into();
        Some(Self {
            event_id: subject.event_id.to_owned(),
            event_type,
            timestamp: subject.at.rfc3339(),
            capability_id: subject.capability.map(ToString::to_string).into(),
            principal: subject.principal.map(ToString::to_string).into(),
            frame_id: if subject.has_frame { call.clone() } else { Nullable::Absent },
            decision_id: call,
            handle_id: subject.handle.map(ToString::to_string).into(),
            outcome,
            error_message: subject
                .error
                .or(unknown.then_some("outcome unknown"))
                .map(str::to_owned)
                .into(),
            metadata: weaver_metadata([("kind", to_json(&subject.kind))]),
            extra: Fields::new(),
        })
    }
}

/// Our metadata under the key `weaver`.
fn weaver_metadata<const N: usize>(fields: [(&str, Value); N]) -> Option<Fields> {
    let descriptor: Fields = fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    Some(Fields::from_iter([("weaver".to_owned(), Value::Object(descriptor))]))
}

/// Serialises one of our own words, numbers or small records, none of which can fail.
fn to_json<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn non_empty_or(text: String, fallback: &str) -> String {
    if text.is_empty() { fallback.to_owned() } else { text }
}

fn non_empty_list(items: Vec<String>) -> Option<Vec<String>> {
    (!items.is_empty()).then_some(items)
}
