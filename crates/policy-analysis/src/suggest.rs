//! Rules suggested from what was done: the smallest readable set that allows it.
//!
//! Calls that information flow, a rule or a person stopped are evidence for nothing. What is left is
//! grouped by tool, and the arguments that say where a call goes (paths, hosts, receivers, amounts)
//! are generalised no further than they repeat: files to their folders, addresses to sets of hosts,
//! receivers to sets, amounts to ranges. Tools with the same pattern share a rule. Of a server of which
//! several tools were used, the others of the kind are suggested too, in a rule of their own. What
//! reaches out or destroys (rung L4) is never allowed by a suggestion: its rule keeps asking.
//!
//! A suggestion is for an operator to read, to replay and to sign.

mod evidence;
mod folders;
mod grouping;
mod pattern;
mod sibling_tools;
mod text;
mod values;
mod widths;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weaver_policy::{PolicySet, Rule};
use weaver_types::CapabilityId;

use crate::history::RecordedCall;
use evidence::Evidence;
pub use evidence::ExclusionReason;
pub use text::{match_text, policy_text, predicate_text, rule_text};
pub use widths::{AllowProposal, AllowWidth, NotAllowable, allow};

/// The most calls that a suggestion names; all are counted.
pub(crate) const MAX_NAMED: usize = 50;

/// A rule that is suggested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedRule {
    /// The rule.
    pub rule: Rule,
    /// How many calls it rests on.
    pub calls: usize,
    /// How many of these came after their run had taken in untrusted data.
    pub after_untrusted: usize,
    /// The first of these calls.
    pub named: Vec<String>,
    /// What it does not cover, in words.
    pub not_covered: String,
    /// The tools of it that nobody called, at a server of which others were called. The calls are then
    /// those of the others.
    pub uncalled: BTreeSet<CapabilityId>,
}

/// What is suggested from a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Suggestions {
    /// The rules: those that allow what was done, those that ask, those for what is like it.
    pub rules: Vec<SuggestedRule>,
    /// The calls that no rule rests on, by the reason: how many, and the first of them.
    pub left_out: BTreeMap<ExclusionReason, ExcludedCalls>,
}

/// Calls that no suggestion rests on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ExcludedCalls {
    /// How many.
    pub calls: usize,
    /// The first of them.
    pub named: Vec<String>,
}

/// Suggests rules that allow what was done. `set` gives the contracts: what each tool can do.
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
    let left_out = std::mem::take(&mut evidence.left_out);
    let others = sibling_tools::suggestions(set, &evidence);
    let mut suggestions = grouping::suggestions(evidence, left_out);
    suggestions.rules.extend(others);
    suggestions
}
