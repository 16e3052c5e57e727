//! Rules: what they match, what they require, and their effect.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_text::glob::Kind;
use weaver_types::{Authority, Check, Constraints, JustificationSource, ReasonCode};

use crate::enforcement::RuleEnforcement;
use crate::matching::Match;
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;

/// The least length of a justification where a rule does not say another.
pub const MIN_JUSTIFICATION: u32 = 15;

/// The effect of a rule that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call is allowed if the rule's requirements are met.
    Allow,
    /// The call is denied.
    Deny,
    /// The call is held until somebody with the authority releases it.
    RequireApproval,
}

impl Effect {
    /// The word used in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::RequireApproval => "require_approval",
        }
    }
}

/// The justification that a rule requires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct JustificationNeed {
    /// Characters after trimming, at least 1.
    pub min_chars: u32,
    /// The sources that count, at least one.
    pub sources: BTreeSet<JustificationSource>,
}

impl Default for JustificationNeed {
    /// [`MIN_JUSTIFICATION`] characters from a human or the host.
    fn default() -> Self {
        Self {
            min_chars: MIN_JUSTIFICATION,
            sources: BTreeSet::from([JustificationSource::Human, JustificationSource::Host]),
        }
    }
}

/// What must also hold for an allow rule to allow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Require {
    /// Roles.
    #[serde(skip_serializing_if = "NameCondition::is_silent")]
    pub roles: NameCondition,
    /// Permissions, all of them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub permissions: BTreeSet<String>,
    /// Attributes, all of them: each value fits its pattern; `*` is any value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Pattern>,
    /// A justification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<JustificationNeed>,
}

/// The reasons that a deny rule may give, with the check that then speaks.
pub const DENY_CODES: [(ReasonCode, Check); 10] = [
    (ReasonCode::ExplicitDenyRule, Check::Rule),
    (ReasonCode::IntentNotAllowed, Check::Rule),
    (ReasonCode::ScopeNotAllowed, Check::Rule),
    (ReasonCode::MissingRole, Check::Role),
    (ReasonCode::MissingPermission, Check::Permission),
    (ReasonCode::AgentNotAllowed, Check::Permission),
    (ReasonCode::MissingAttribute, Check::Attribute),
    (ReasonCode::MissingTenantAttribute, Check::Attribute),
    (ReasonCode::MemoryWriteRequiresWriter, Check::Sensitivity),
    (ReasonCode::MemorySensitiveReadDenied, Check::Sensitivity),
];

/// One rule.
///
/// ```
/// use weaver_policy::{Effect, Pattern, Rule};
///
/// let docs = Pattern::parse("docs.*")?;
/// let rule = Rule::new("reads", Effect::Allow).on(docs);
/// assert_eq!(rule.matches.capability.len(), 1);
/// # Ok::<(), weaver_text::error::GlobError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Its name, unique in the policy.
    pub name: String,
    /// The requests to which it applies.
    pub matches: Match,
    /// What must also hold; for allow rules only.
    pub require: Require,
    /// What happens when it matches.
    pub effect: Effect,
    /// Why, for people; empty for none.
    pub reason: String,
    /// What it limits; not for deny rules.
    pub constraints: Constraints,
    /// Who may release what it holds; for approval rules only.
    pub authority: Authority,
    /// The reason that a deny rule gives, one of [`DENY_CODES`]; `None` for the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ReasonCode>,
    /// Whether it is enforced; `None` as the policy says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<RuleEnforcement>,
}

impl Rule {
    /// A rule that applies to everything, requires nothing and limits nothing.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: Effect) -> Self {
        Self {
            name: name.into(),
            matches: Match::default(),
            require: Require::default(),
            effect,
            reason: String::new(),
            constraints: Constraints::default(),
            authority: Authority::default(),
            code: None,
            enforcement: None,
        }
    }

    /// Whether the index finds the rule by the capability's id. Any other rule is looked at in every
    /// decision: one about every capability, and one with a pattern that has no fixed head or tail.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        let patterns = &self.matches.capability;
        let general = |p: &Pattern| matches!(p.glob().kind(), Kind::General | Kind::Prefix(""));
        !patterns.is_empty() && !patterns.iter().any(general)
    }

    /// The same for capabilities that fit `pattern` too.
    #[must_use]
    pub fn on(mut self, pattern: Pattern) -> Self {
        self.matches.capability.push(pattern);
        self
    }
}
