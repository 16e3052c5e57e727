//! Suggests rules from recorded calls: the smallest readable set of rules that allows them.
//!
//! Calls that information flow, a rule or a person stopped are not used as evidence. The others are
//! grouped by tool. Arguments that decide where a call goes (paths, hosts, receivers, amounts) are
//! generalised only as far as they repeat: files to their folders, URLs to sets of hosts, receivers
//! to sets, amounts to ranges. Such arguments that no call of a rule had must be absent, if a contract
//! or another call names them. Tools with the same pattern share a rule. If several tools of a
//! server were used, its other tools of the same kind are suggested too, in a separate rule. Calls
//! that reach out or destroy (rung L4) are never allowed by a suggestion; their rule requires
//! approval.
//!
//! A suggestion is a draft for an operator to review, replay and sign.

mod absent_arguments;
mod allow_proposal;
mod argument_pattern;
mod destination_values;
mod evidence;
mod folders;
mod free_texts;
mod grouping;
mod policy_text;
mod sibling_tools;
mod unchanged_arguments;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_policy::{PolicySet, Rule};
use weaver_types::CapabilityId;

use crate::history::RecordedCall;
pub use allow_proposal::{AllowProposal, AllowScope, NotAllowable, propose_allow_rules};
use evidence::Evidence;
pub use evidence::ExclusionReason;
pub use policy_text::{
    PatternLists, match_text, policy_text, predicate_text, rule_text, rule_text_with_lists,
};

/// The maximum number of calls that a suggestion lists; all are counted.
pub(crate) const MAX_EXAMPLE_CALLS: usize = 50;

/// A suggested rule with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedRule {
    /// The rule.
    pub rule: Rule,
    /// The number of calls that it is based on.
    pub calls: usize,
    /// How many of these were made after their run had taken in untrusted data.
    pub after_untrusted: usize,
    /// The ids of the first of these calls.
    pub example_calls: Vec<String>,
    /// What it does not cover, for people.
    pub not_covered: String,
    /// The tools in the rule that were never called. The calls are then those of other tools of the
    /// same server.
    pub uncalled: BTreeSet<CapabilityId>,
}

/// The suggestions for a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suggestions {
    /// The rules: first those that allow recorded calls or require approval for them, then those
    /// for similar tools.
    pub rules: Vec<SuggestedRule>,
    /// The calls that were not used as evidence, by reason.
    pub excluded: BTreeMap<ExclusionReason, ExcludedCalls>,
}

/// Calls that were not used as evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ExcludedCalls {
    /// The number of calls.
    pub calls: usize,
    /// The ids of the first of them.
    pub named: Vec<String>,
}

/// Suggests rules that allow recorded calls. The contracts in `set` define what each tool can do.
///
/// ```
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_policy_analysis::suggest::suggest;
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// assert!(suggest(&set, &[]).rules.is_empty());
/// # Ok::<(), weaver_policy::LoadError>(())
/// ```
#[must_use]
pub fn suggest<'c>(
    set: &PolicySet,
    calls: impl IntoIterator<Item = &'c RecordedCall>,
) -> Suggestions {
    let mut evidence = Evidence::default();
    for call in calls {
        evidence.add(set, call);
    }
    let excluded = std::mem::take(&mut evidence.excluded);
    let others = sibling_tools::suggestions(set, &evidence);
    let mut suggestions = grouping::suggestions(evidence, excluded);
    suggestions.rules.extend(others);
    suggestions
}
