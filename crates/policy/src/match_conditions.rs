//! The conditions under which a rule or a rate limit applies.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weaver_types::{
    Confidentiality, Impact, Integrity, Operation, Rung, SafetyClass, SafetyMode, SensitivityTag,
    SinkKind, World,
};

use crate::argument::ArgumentPredicate;
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;
use crate::time_window::TimeWindow;

/// A condition on the sensitivity of a capability: a kind of sensitive data, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitivityCondition {
    /// The capability has no sensitivity tag.
    None,
    /// The agent's memory.
    Memory,
    /// Personal data.
    Pii,
    /// Payment card data.
    Pci,
    /// Credentials and keys.
    Secrets,
}

impl SensitivityCondition {
    /// Whether the sensitivity tags of a capability meet this condition.
    pub(crate) fn is_met_by(self, tags: &BTreeSet<SensitivityTag>) -> bool {
        match self {
            Self::None => tags.is_empty(),
            Self::Memory => tags.contains(&SensitivityTag::Memory),
            Self::Pii => tags.contains(&SensitivityTag::Pii),
            Self::Pci => tags.contains(&SensitivityTag::Pci),
            Self::Secrets => tags.contains(&SensitivityTag::Secrets),
        }
    }
}

/// A conjunction of conditions: every non-empty field must hold. An empty field imposes no
/// condition. Without any conditions, they apply to everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MatchConditions {
    /// The capability's id matches one of these patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capability: Vec<Pattern>,
    /// Its impact is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub impact: BTreeSet<Impact>,
    /// Its reach is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub world: BTreeSet<World>,
    /// Its class is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub class: BTreeSet<SafetyClass>,
    /// Its rung is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub rung: BTreeSet<Rung>,
    /// Its sink kind is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub sink: BTreeSet<SinkKind>,
    /// Conditions on its tags.
    #[serde(skip_serializing_if = "NameCondition::is_empty")]
    pub tags: NameCondition,
    /// Its sensitivity is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub sensitivity: BTreeSet<SensitivityCondition>,
    /// The request's intent matches one of these patterns. A request without an intent does not
    /// match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intent: Vec<Pattern>,
    /// The request's scope has each of these names, with a matching value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scope: BTreeMap<String, Pattern>,
    /// The run mode is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub mode: BTreeSet<SafetyMode>,
    /// The run's confidentiality is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub confidentiality: BTreeSet<Confidentiality>,
    /// The run's integrity is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub integrity: BTreeSet<Integrity>,
    /// The principal's id matches one of these patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub principal: Vec<Pattern>,
    /// Conditions on the principal's roles.
    #[serde(skip_serializing_if = "NameCondition::is_empty")]
    pub roles: NameCondition,
    /// The principal has each of these attributes, with a matching value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Pattern>,
    /// The agent's id matches one of these patterns. A call without an agent does not match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent: Vec<Pattern>,
    /// The time is in this window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeWindow>,
    /// The operation is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub operation: BTreeSet<Operation>,
    /// Conditions on the arguments, all of which hold; unknown while the arguments are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentPredicate>,
    /// At least one of these holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<MatchConditions>,
    /// This does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<MatchConditions>>,
    /// This does not hold either. Same as `not`; meant for exceptions to a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<Box<MatchConditions>>,
}

impl MatchConditions {
    /// Weakens the conditions to those that the log can answer: the capability, the principal's id,
    /// the agent, the time and the operation, and the roles if they are known. The result applies
    /// to every call to which the full conditions may have applied.
    pub(crate) fn restricted_to_logged_fields(&self, roles_are_known: bool) -> Self {
        let roles = if roles_are_known { self.roles.clone() } else { NameCondition::default() };
        Self {
            intent: Vec::new(),
            scope: BTreeMap::new(),
            mode: BTreeSet::new(),
            confidentiality: BTreeSet::new(),
            integrity: BTreeSet::new(),
            attributes: BTreeMap::new(),
            arguments: Vec::new(),
            roles,
            any: self
                .any
                .iter()
                .map(|one| one.restricted_to_logged_fields(roles_are_known))
                .collect(),
            // Under a negation, dropping a condition would exclude more calls, so an exclusion is
            // dropped as a whole unless the log answers all of it.
            not: self.not.clone().filter(|one| one.is_logged(roles_are_known)),
            unless: self.unless.clone().filter(|one| one.is_logged(roles_are_known)),
            ..self.clone()
        }
    }

    /// Whether the log answers all of these conditions.
    fn is_logged(&self, roles_are_known: bool) -> bool {
        self.restricted_to_logged_fields(roles_are_known) == *self
    }

    /// Whether these conditions ask for more of the capability than its id.
    pub(crate) fn read_capability(&self) -> bool {
        let Self { impact, world, class, rung, sink, tags, sensitivity, .. } = self;
        let own = impact.is_empty()
            && world.is_empty()
            && class.is_empty()
            && rung.is_empty()
            && sink.is_empty()
            && tags.is_empty()
            && sensitivity.is_empty();
        !own || self.nested().any(Self::read_capability)
    }

    /// The directly nested conditions, under `any`, `not` and `unless`.
    pub fn nested(&self) -> impl Iterator<Item = &MatchConditions> {
        let excluded = [&self.not, &self.unless].into_iter().flatten().map(|one| &**one);
        self.any.iter().chain(excluded)
    }
}
