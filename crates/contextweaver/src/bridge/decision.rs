//! The context that each kind of decision requires.

use std::collections::{BTreeMap, BTreeSet};

use weaver_text::suggest;
use weaver_types::Confidentiality;

use super::error::BridgeError;
use super::pack::{check_id, shown};

/// What a decision needs: its packs, and how much room they have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionSpec {
    /// Its key, for example `support.context.injection.v1`.
    pub key: String,
    /// The packs without which it is not made, in the order in which they are shown.
    pub required_packs: Vec<String>,
    /// The packs that are shown after them where there is room.
    pub optional_packs: Vec<String>,
    /// The tokens that all packs may come to.
    pub budget_tokens: usize,
}

impl DecisionSpec {
    /// A decision without packs.
    pub fn new(key: impl Into<String>, budget_tokens: usize) -> Self {
        let (required_packs, optional_packs) = (Vec::new(), Vec::new());
        Self { key: key.into(), required_packs, optional_packs, budget_tokens }
    }

    /// The same with one more required pack.
    #[must_use]
    pub fn requires(mut self, pack: impl Into<String>) -> Self {
        self.required_packs.push(pack.into());
        self
    }

    /// The same with one more optional pack.
    #[must_use]
    pub fn prefers(mut self, pack: impl Into<String>) -> Self {
        self.optional_packs.push(pack.into());
        self
    }
}

/// What an agent declares that it needs, whatever it decides: `required_packs` of the
/// `AgentCapabilities` in a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentNeeds {
    /// Its name.
    pub agent_name: String,
    /// The packs without which it is not run.
    pub required_packs: BTreeSet<String>,
}

/// The circumstances of one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEnvelope {
    /// The trace that it belongs to. May be empty.
    pub trace_id: String,
    /// For which agent, where one is known.
    pub agent: Option<AgentNeeds>,
    /// A budget in tokens that is tighter than that of the decision. One that is looser changes
    /// nothing.
    pub budget_tokens: Option<usize>,
    /// The most confidential data that may be shown.
    pub clearance: Confidentiality,
}

impl Default for ContextEnvelope {
    /// For no agent in particular, with the budget of the decision, up to internal data.
    fn default() -> Self {
        let clearance = Confidentiality::Internal;
        Self { trace_id: String::new(), agent: None, budget_tokens: None, clearance }
    }
}

/// The decisions that are declared.
#[derive(Debug, Clone, Default)]
pub struct DecisionResolver(BTreeMap<String, DecisionSpec>);

impl DecisionResolver {
    /// A resolver that knows no decision.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a decision.
    ///
    /// # Errors
    /// [`BridgeError`], when its key is taken or cannot be one, or it names a pack twice.
    pub fn declare(&mut self, spec: DecisionSpec) -> Result<(), BridgeError> {
        check_id("decision", &spec.key)?;
        let mut seen = BTreeSet::new();
        for pack in spec.required_packs.iter().chain(&spec.optional_packs) {
            check_id("pack", pack)?;
            if !seen.insert(pack) {
                return Err(BridgeError::Duplicate { what: "pack", id: shown(pack) });
            }
        }
        if self.0.contains_key(&spec.key) {
            return Err(BridgeError::Duplicate { what: "decision", id: shown(&spec.key) });
        }
        self.0.insert(spec.key.clone(), spec);
        Ok(())
    }

    /// The decision of this key.
    ///
    /// # Errors
    /// [`BridgeError::UnknownDecision`].
    pub fn resolve(&self, key: &str) -> Result<&DecisionSpec, BridgeError> {
        self.0.get(key).ok_or_else(|| BridgeError::UnknownDecision {
            key: shown(key),
            nearest: suggest::nearest(key, self.0.keys().map(String::as_str)).map(str::to_owned),
        })
    }
}
