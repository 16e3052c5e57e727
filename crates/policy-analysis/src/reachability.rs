//! Reachability: whether any request can get a verdict, and which one.
//!
//! A query is answered by a search over everything that the documents distinguish ([`search`]
//! explains why an exhausted search is a proof). A witness is always confirmed by the real
//! decision. If something cannot be searched exhaustively, the answer is undecided, never
//! unreachable.

mod arguments;
mod partial_evaluator;
mod representative_times;
mod request_builder;
mod search;
mod search_gap;
mod search_space;
mod truth_set;
mod variables;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use weaver_policy::{Pattern, PolicySet};
use weaver_types::{
    Capability, Confidentiality, Impact, Integrity, Operation, ReasonCode, Rung, SafetyClass,
    SafetyMode, SinkKind, Timestamp, Verdict,
};

use crate::capability_set::CapabilitySet;
use crate::recorded_request::proposed_capability;
use search::{Search, SearchResult};

/// How many rules and conditions a query may evaluate before it is abandoned.
pub const MAX_STEPS: u64 = 5_000_000;

/// A reachability query: can any request of this kind, for a capability of this kind, get this verdict?
/// A field that is empty or `None` restricts nothing.
///
/// ```
/// use weaver_policy_analysis::{Reachability, CapabilitySet, ReachabilityQuery};
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::{SafetyClass, Timestamp, Verdict};
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let query = ReachabilityQuery {
///     class: [SafetyClass::Destructive].into(),
///     without_roles: ["admin".to_owned()].into(),
///     ..ReachabilityQuery::new(Verdict::Allow, Timestamp::default())
/// };
/// assert!(matches!(query.solve(&set, &CapabilitySet::from_documents(&set)), Reachability::Unreachable { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachabilityQuery {
    /// The verdict to look for. `allow` means allowed without any approval.
    pub verdict: Verdict,
    /// Whether the capability is invoked or a stored result is viewed.
    pub operation: Operation,
    /// The capability's id matches one of these.
    pub capability: Vec<Pattern>,
    /// Its class is one of these.
    pub class: BTreeSet<SafetyClass>,
    /// Its rung is one of these.
    pub rung: BTreeSet<Rung>,
    /// Its impact is one of these.
    pub impact: BTreeSet<Impact>,
    /// Its sink kind is one of these.
    pub sink: BTreeSet<SinkKind>,
    /// The principal's id matches one of these.
    pub principal: Vec<Pattern>,
    /// Whether only the principals that the policy names are considered, with what it grants them.
    pub known_principals: bool,
    /// The principal has all of these roles.
    pub with_roles: BTreeSet<String>,
    /// The principal has none of these roles.
    pub without_roles: BTreeSet<String>,
    /// The run's mode is one of these.
    pub mode: BTreeSet<SafetyMode>,
    /// The run's confidentiality is one of these.
    pub confidentiality: BTreeSet<Confidentiality>,
    /// The run's integrity is one of these.
    pub integrity: BTreeSet<Integrity>,
    /// Whether there is a justification.
    pub justified: Option<bool>,
    /// Whether the arguments are known.
    pub arguments: Option<bool>,
    /// The time. If the documents depend on time, other times are tried too.
    pub now: Timestamp,
}

/// A request that gets the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Witness {
    /// The request, as [`RecordedRequest`](super::RecordedRequest) reads it.
    pub request: Value,
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason.
    pub primary: ReasonCode,
}

/// The answer to a reachability query. Signals, rate limits and approvals are not considered.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Reachability {
    /// Some request gets the verdict; this is an example.
    #[serde(rename = "yes")]
    Reachable {
        /// The request.
        witness: Box<Witness>,
    },
    /// No request gets the verdict: the whole space was searched.
    #[serde(rename = "no")]
    Unreachable {
        /// The number of capabilities that were searched.
        capabilities: usize,
    },
    /// The search was incomplete and found nothing.
    #[serde(rename = "not_decided")]
    Undecided {
        /// Why.
        why: String,
    },
}

impl ReachabilityQuery {
    /// A query about invocations of any capability by anybody.
    #[must_use]
    pub fn new(verdict: Verdict, now: Timestamp) -> Self {
        Self {
            verdict,
            operation: Operation::Invoke,
            capability: Vec::new(),
            class: BTreeSet::new(),
            rung: BTreeSet::new(),
            impact: BTreeSet::new(),
            sink: BTreeSet::new(),
            principal: Vec::new(),
            known_principals: false,
            with_roles: BTreeSet::new(),
            without_roles: BTreeSet::new(),
            mode: BTreeSet::new(),
            confidentiality: BTreeSet::new(),
            integrity: BTreeSet::new(),
            justified: None,
            arguments: None,
            now,
        }
    }

    /// Answers the query for these capabilities, taken as proposed by servers, with their contracts
    /// applied.
    #[must_use]
    pub fn solve(&self, set: &PolicySet, known: &CapabilitySet) -> Reachability {
        let mut steps = MAX_STEPS;
        let mut undecided: Option<String> = None;
        let mut capabilities = 0;
        let principals: Vec<_> = if self.known_principals {
            set.policy().principals.values().map(Some).collect()
        } else {
            vec![None]
        };
        for id in known.ids() {
            // A capability whose contract cannot be applied is never offered.
            let Ok(capability) = proposed_capability(set, id) else { continue };
            if !self.includes(&capability) {
                continue;
            }
            capabilities += 1;
            for principal in &principals {
                match Search::new(self, set, &capability, *principal).run(&mut steps) {
                    SearchResult::Witness(witness) => return Reachability::Reachable { witness },
                    SearchResult::Exhausted => {}
                    SearchResult::Incomplete(what) => {
                        undecided = undecided.or(Some(format!("`{id}`: {what}")));
                    }
                }
            }
        }
        match undecided {
            Some(why) => Reachability::Undecided { why },
            None => Reachability::Unreachable { capabilities },
        }
    }

    /// Whether the query includes this capability.
    fn includes(&self, capability: &Capability) -> bool {
        let id = capability.id().as_str();
        (self.capability.is_empty() || self.capability.iter().any(|p| p.matches(id)))
            && is_empty_or_contains(&self.class, capability.class())
            && is_empty_or_contains(&self.rung, capability.rung())
            && is_empty_or_contains(&self.impact, capability.spec().effects.impact)
            && is_empty_or_contains(&self.sink, capability.sink())
    }
}

fn is_empty_or_contains<T: Ord>(set: &BTreeSet<T>, value: T) -> bool {
    set.is_empty() || set.contains(&value)
}
