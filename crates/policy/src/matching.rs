//! Matches: the conditions under which a rule or a limit applies.

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

/// A kind of sensitive data, or the word for none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
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

impl Sensitivity {
    /// Whether the tags of a capability are of this kind.
    pub(crate) fn among(self, tags: &BTreeSet<SensitivityTag>) -> bool {
        match self {
            Self::None => tags.is_empty(),
            Self::Memory => tags.contains(&SensitivityTag::Memory),
            Self::Pii => tags.contains(&SensitivityTag::Pii),
            Self::Pci => tags.contains(&SensitivityTag::Pci),
            Self::Secrets => tags.contains(&SensitivityTag::Secrets),
        }
    }
}

/// A conjunction of conditions: every field with content must hold. An empty field is no condition, and
/// a match without any condition applies to everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Match {
    /// The capability's id fits one of these patterns.
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
    /// Its tags.
    #[serde(skip_serializing_if = "NameCondition::is_silent")]
    pub tags: NameCondition,
    /// Its sensitivity is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub sensitivity: BTreeSet<Sensitivity>,
    /// The request's intent fits one of these patterns; without an intent this does not match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intent: Vec<Pattern>,
    /// The request's scope has each of these names, with a value that fits.
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
    /// The principal's id fits one of these patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub principal: Vec<Pattern>,
    /// The principal's roles.
    #[serde(skip_serializing_if = "NameCondition::is_silent")]
    pub roles: NameCondition,
    /// The principal has each of these attributes, with a value that fits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Pattern>,
    /// The agent's id fits one of these patterns; without an agent this does not match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent: Vec<Pattern>,
    /// The time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeWindow>,
    /// The operation is one of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub operation: BTreeSet<Operation>,
    /// The arguments; unknown before they are there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentPredicate>,
    /// At least one of these holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<Match>,
    /// This does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Match>>,
    /// This does not hold either; the same as `not`, for exceptions to a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unless: Option<Box<Match>>,
}

impl Match {
    /// What is left of this match for a call of which only the log tells: the conditions on the
    /// capability, the principal's id, the agent, the time and the operation, and on the roles where
    /// they are known. It applies to every call to which the whole match may have applied.
    pub(crate) fn as_far_as_logged(&self, roles_are_known: bool) -> Self {
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
            any: self.any.iter().map(|one| one.as_far_as_logged(roles_are_known)).collect(),
            // To leave a condition out of what is excluded would exclude more.
            not: self.not.clone().filter(|one| one.is_logged(roles_are_known)),
            unless: self.unless.clone().filter(|one| one.is_logged(roles_are_known)),
            ..self.clone()
        }
    }

    /// Whether the log tells all that the match looks at.
    fn is_logged(&self, roles_are_known: bool) -> bool {
        self.as_far_as_logged(roles_are_known) == *self
    }

    /// The matches nested directly in this one, under `any`, `not` and `unless`.
    pub fn nested(&self) -> impl Iterator<Item = &Match> {
        let excluded = [&self.not, &self.unless].into_iter().flatten().map(|one| &**one);
        self.any.iter().chain(excluded)
    }
}
