//! Declares which context packs each kind of decision requires.

use std::collections::{BTreeMap, BTreeSet};

use weaver_text::suggest;
use weaver_types::Confidentiality;

use super::error::BridgeError;
use super::pack::{check_id, printable};

/// What a decision needs: its packs, and their token budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionSpec {
    /// The key of the decision, for example `support.context.injection.v1`.
    pub key: String,
    /// The packs without which no plan is made, in the order in which they are shown.
    pub required_packs: Vec<String>,
    /// The packs that are shown after the required ones, as far as the budget allows.
    pub optional_packs: Vec<String>,
    /// The most tokens that all packs together may have.
    pub budget_tokens: usize,
}

impl DecisionSpec {
    /// A decision without packs.
    pub fn new(key: impl Into<String>, budget_tokens: usize) -> Self {
        let (required_packs, optional_packs) = (Vec::new(), Vec::new());
        Self { key: key.into(), required_packs, optional_packs, budget_tokens }
    }

    /// Adds a required pack.
    #[must_use]
    pub fn with_required_pack(mut self, pack: impl Into<String>) -> Self {
        self.required_packs.push(pack.into());
        self
    }

    /// Adds an optional pack.
    #[must_use]
    pub fn with_optional_pack(mut self, pack: impl Into<String>) -> Self {
        self.optional_packs.push(pack.into());
        self
    }
}

/// The packs that an agent needs for every decision: `required_packs` of the `AgentCapabilities`
/// in a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentNeeds {
    /// The name of the agent.
    pub agent_name: String,
    /// The packs without which the agent is not run.
    pub required_packs: BTreeSet<String>,
}

/// The circumstances of one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEnvelope {
    /// The trace that the decision belongs to. May be empty.
    pub trace_id: String,
    /// The agent that decides, if known.
    pub agent: Option<AgentNeeds>,
    /// A tighter token budget than that of the decision. A looser one has no effect.
    pub budget_tokens: Option<usize>,
    /// The most confidential data that may be shown.
    pub clearance: Confidentiality,
}

impl Default for ContextEnvelope {
    /// No agent, the budget of the decision, and clearance for internal data.
    fn default() -> Self {
        let clearance = Confidentiality::Internal;
        Self { trace_id: String::new(), agent: None, budget_tokens: None, clearance }
    }
}

/// The declared decisions, by key.
#[derive(Debug, Clone, Default)]
pub struct DecisionResolver(BTreeMap<String, DecisionSpec>);

impl DecisionResolver {
    /// A resolver without decisions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a decision.
    ///
    /// # Errors
    /// [`BridgeError`] if the key is taken or malformed, or if the decision names a pack twice.
    pub fn declare(&mut self, spec: DecisionSpec) -> Result<(), BridgeError> {
        check_id("decision", &spec.key)?;
        let mut seen = BTreeSet::new();
        for pack in spec.required_packs.iter().chain(&spec.optional_packs) {
            check_id("pack", pack)?;
            if !seen.insert(pack) {
                return Err(BridgeError::Duplicate { what: "pack", id: printable(pack) });
            }
        }
        if self.0.contains_key(&spec.key) {
            return Err(BridgeError::Duplicate { what: "decision", id: printable(&spec.key) });
        }
        self.0.insert(spec.key.clone(), spec);
        Ok(())
    }

    /// The decision with this key.
    ///
    /// # Errors
    /// [`BridgeError::UnknownDecision`].
    pub fn resolve(&self, key: &str) -> Result<&DecisionSpec, BridgeError> {
        self.0.get(key).ok_or_else(|| BridgeError::UnknownDecision {
            key: printable(key),
            nearest: suggest::nearest(key, self.0.keys().map(String::as_str)).map(str::to_owned),
        })
    }
}
