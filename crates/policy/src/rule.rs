//! Rules: their match conditions, requirements and effect.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_text::glob::Kind;
use weaver_types::{ApprovalAuthority, CheckKind, Constraints, JustificationSource, ReasonCode};

use crate::enforcement::RuleEnforcement;
use crate::match_conditions::MatchConditions;
use crate::name_condition::NameCondition;
use crate::pattern::Pattern;

/// The default minimum length of a justification.
pub const MIN_JUSTIFICATION_CHARS: u32 = 15;

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

weaver_types::words! { Effect: "The keyword used in documents.";
    Allow = "allow", Deny = "deny", RequireApproval = "require_approval",
}

/// The justification that a rule requires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct JustificationRequirement {
    /// The minimum number of characters after trimming; at least 1.
    pub min_chars: u32,
    /// The accepted sources; at least one.
    pub sources: BTreeSet<JustificationSource>,
}

impl Default for JustificationRequirement {
    /// [`MIN_JUSTIFICATION_CHARS`] characters from a human or the host.
    fn default() -> Self {
        Self {
            min_chars: MIN_JUSTIFICATION_CHARS,
            sources: BTreeSet::from([JustificationSource::Human, JustificationSource::Host]),
        }
    }
}

/// Further requirements for an allow rule to allow a call that matches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Requirements {
    /// Roles.
    #[serde(skip_serializing_if = "NameCondition::is_empty")]
    pub roles: NameCondition,
    /// Permissions, all of which are required.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub permissions: BTreeSet<String>,
    /// Attributes, all of which are required with a value that matches the pattern; `*` matches any
    /// value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Pattern>,
    /// A justification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub justification: Option<JustificationRequirement>,
}

/// The reason codes that a deny rule may use, each with the check that it belongs to.
pub const DENY_RULE_CODES: [(ReasonCode, CheckKind); 10] = [
    (ReasonCode::ExplicitDenyRule, CheckKind::Rule),
    (ReasonCode::IntentNotAllowed, CheckKind::Rule),
    (ReasonCode::ScopeNotAllowed, CheckKind::Rule),
    (ReasonCode::MissingRole, CheckKind::Role),
    (ReasonCode::MissingPermission, CheckKind::Permission),
    (ReasonCode::AgentNotAllowed, CheckKind::Permission),
    (ReasonCode::MissingAttribute, CheckKind::Attribute),
    (ReasonCode::MissingTenantAttribute, CheckKind::Attribute),
    (ReasonCode::MemoryWriteRequiresWriter, CheckKind::Sensitivity),
    (ReasonCode::MemorySensitiveReadDenied, CheckKind::Sensitivity),
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
    /// The name, unique in the policy.
    pub name: String,
    /// The requests to which it applies.
    pub matches: MatchConditions,
    /// Further requirements; only for allow rules.
    pub require: Requirements,
    /// What happens when it matches.
    pub effect: Effect,
    /// The reason, for people; may be empty.
    pub reason: String,
    /// The constraints that it imposes; not for deny rules.
    pub constraints: Constraints,
    /// Who may release the calls that it holds; only for approval rules.
    pub authority: ApprovalAuthority,
    /// The reason code of a deny rule, one of [`DENY_RULE_CODES`]; `None` for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ReasonCode>,
    /// Whether it is enforced; `None` to follow the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<RuleEnforcement>,
}

impl Rule {
    /// A rule that applies to everything, requires nothing and limits nothing.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: Effect) -> Self {
        Self {
            name: name.into(),
            matches: MatchConditions::default(),
            require: Requirements::default(),
            effect,
            reason: String::new(),
            constraints: Constraints::default(),
            authority: ApprovalAuthority::default(),
            code: None,
            enforcement: None,
        }
    }

    /// Whether the index can find the rule by a capability's id. Other rules are evaluated in every
    /// decision: those about all capabilities, and those with a pattern that has no fixed prefix or
    /// suffix.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        let patterns = &self.matches.capability;
        let general = |p: &Pattern| matches!(p.glob().kind(), Kind::General | Kind::Prefix(""));
        !patterns.is_empty() && !patterns.iter().any(general)
    }

    /// Extends the rule to capabilities that match `pattern`.
    #[must_use]
    pub fn on(mut self, pattern: Pattern) -> Self {
        self.matches.capability.push(pattern);
        self
    }
}
