//! The payload of an outcome.

use serde::Serialize;
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{
    AgentId, CapabilityId, DecisionKey, Frame, HandleId, Label, PrincipalId, Random, ReasonCode,
    ResponseMode, ResultStatus, ToolErrorCode, Warning, hex,
};

use super::CapabilityTags;
use crate::run_state::RunDelta;

/// The record of the end of a call. The fields stand in the order in which they are written; those
/// that are `None` are left out.
#[derive(Debug, Serialize)]
pub(crate) struct OutcomeRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<&'a AgentId>,
    pub(crate) capability: &'a CapabilityId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decision_key: Option<DecisionKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ToolErrorCode>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) error_message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) frame: Option<FrameRecord<'a>>,
    pub(crate) latency_us: u64,
    pub(crate) principal: &'a PrincipalId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<ReasonCode>,
    pub(crate) retries: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_stopped: Option<ReasonCode>,
    pub(crate) run: &'a RunDelta,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_agent: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<&'a Value>,
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "CapabilityTags::is_empty")]
    pub(crate) tags: CapabilityTags<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_sid: Option<String>,
    pub(crate) v: u8,
}

/// The record of a frame: how much was shown, what was hidden, and the [`FrameCommitment`]. The
/// fields stand in the order in which they are written.
#[derive(Debug, Serialize)]
pub(crate) struct FrameRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<Digest>,
    facts: usize,
    handle: Option<&'a HandleId>,
    label: &'a Label,
    mode: ResponseMode,
    rows: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    status: ResultStatus,
    warnings: &'a [Warning],
}

/// A salted commitment to the whole frame: whoever has the frame can prove that it was this one.
struct FrameCommitment {
    bytes: usize,
    salt: String,
    commit: Digest,
}

impl<'a> FrameRecord<'a> {
    pub(crate) fn of(frame: &'a Frame, random: &dyn Random) -> Self {
        let seal = FrameCommitment::of(frame, random);
        Self {
            bytes: seal.as_ref().map(|seal| seal.bytes),
            commit: seal.as_ref().map(|seal| seal.commit),
            facts: frame.facts.len(),
            handle: frame.handle.as_ref().map(|handle| &handle.handle_id),
            label: &frame.label,
            mode: frame.mode,
            rows: frame.table.len(),
            salt: seal.map(|seal| seal.salt),
            status: frame.status,
            warnings: &frame.warnings,
        }
    }
}

impl FrameCommitment {
    fn of(frame: &Frame, random: &dyn Random) -> Option<Self> {
        let mut salt = [0_u8; 16];
        let bytes = canonical::serialize(frame, Profile::Foreign).ok()?;
        random.fill(&mut salt).ok()?;
        let commit = Digest::of_parts(DomainTag::FRAME_COMMIT, &[&salt, &bytes]);
        Some(Self { bytes: bytes.len(), salt: hex(&salt), commit })
    }
}
