//! A request for a capability.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decision::Constraints;
use crate::id::CapabilityId;

/// What a request wants to do with a capability.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Execute it.
    #[default]
    Invoke,
    /// Look further into a result that it produced.
    View,
}

/// Who wrote a justification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JustificationSource {
    /// A person, through a channel that the host vouches for.
    Human,
    /// The host program.
    Host,
    /// A model. By default it satisfies no requirement for a justification.
    Model,
}

/// Why the call should happen, and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Justification {
    /// The text.
    pub text: String,
    /// Its author.
    pub source: JustificationSource,
}

impl Justification {
    /// The length that counts: characters after trimming.
    #[must_use]
    pub fn length(&self) -> usize {
        self.text.trim().chars().count()
    }
}

/// A request for a capability: the goal in words, the machine-readable intent and scope, and
/// constraints that the requester puts on itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityRequest {
    /// Which capability.
    pub capability_id: CapabilityId,
    /// The goal in the requester's words. Models write it, so it never counts as the user's words.
    #[serde(default)]
    pub goal: String,
    /// Constraints of the requester, which only tighten.
    #[serde(default)]
    pub constraints: Constraints,
    /// A machine-readable intent, for policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// A machine-readable scope, for policies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scope: BTreeMap<String, String>,
    /// Why it should happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<Justification>,
}

impl CapabilityRequest {
    /// A request with a goal and nothing else.
    #[must_use]
    pub fn new(capability_id: CapabilityId, goal: impl Into<String>) -> Self {
        Self {
            capability_id,
            goal: goal.into(),
            constraints: Constraints::default(),
            intent: None,
            scope: BTreeMap::new(),
            justification: None,
        }
    }

    /// Adds a justification.
    #[must_use]
    pub fn justified(mut self, text: impl Into<String>, source: JustificationSource) -> Self {
        self.justification = Some(Justification { text: text.into(), source });
        self
    }
}
