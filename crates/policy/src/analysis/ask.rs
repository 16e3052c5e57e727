//! Static questions: can anybody get this verdict, and how.
//!
//! The search is over everything that the documents tell apart: each role, permission, attribute,
//! name, mode, label, time and argument condition that occurs, and one value that does not occur.
//! It works with what may be, for as long as a choice is open, and cuts where the verdict can no
//! longer be had. A witness is decided for real before it is given. Where something cannot be
//! searched through, the answer is that it was not decided, never that it cannot be.

mod argument;
mod choice;
mod moment;
mod possible;
mod search;
mod space;
mod view;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use weaver_types::{
    Capability, Confidentiality, Impact, Integrity, Operation, ReasonCode, Rung, SafetyClass,
    SafetyMode, SinkKind, Timestamp, Verdict,
};

use super::catalogue::Catalogue;
use super::request::proposed;
use crate::rule::Pattern;
use crate::set::PolicySet;
use search::{End, Search};

/// How many rules and conditions are looked at before a question is given up.
pub const MAX_STEPS: u64 = 5_000_000;

/// A question: can anybody of whom this holds get this verdict for a capability of which this
/// holds? What is empty or `None` says nothing.
///
/// ```
/// use weaver_policy::analysis::{Answered, Catalogue, Question};
/// use weaver_policy::{Contracts, Policy, PolicySet};
/// use weaver_types::{SafetyClass, Timestamp, Verdict};
///
/// let set = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// let question = Question {
///     class: [SafetyClass::Destructive].into(),
///     without_roles: ["admin".to_owned()].into(),
///     ..Question::new(Verdict::Allow, Timestamp::default())
/// };
/// assert!(matches!(question.ask(&set, &Catalogue::of(&set)), Answered::No { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The verdict that is looked for. `allow` is without any approval.
    pub verdict: Verdict,
    /// What is to happen.
    pub operation: Operation,
    /// The capability's id fits one of these.
    pub capability: Vec<Pattern>,
    /// Its class is one of these.
    pub class: BTreeSet<SafetyClass>,
    /// Its rung is one of these.
    pub rung: BTreeSet<Rung>,
    /// Its impact is one of these.
    pub impact: BTreeSet<Impact>,
    /// Its sink kind is one of these.
    pub sink: BTreeSet<SinkKind>,
    /// The principal's id fits one of these.
    pub principal: Vec<Pattern>,
    /// True: only the principals that the policy names, with what it grants them.
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
    /// A time; others are tried too, where the documents speak of time.
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

/// The answer to a question. Signals, limits of calls and approvals are left out of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answered {
    /// Yes, for example by this request.
    Yes {
        /// The request.
        witness: Box<Witness>,
    },
    /// Nobody can: everything that the documents tell apart was looked at.
    No {
        /// How many capabilities the answer speaks of.
        capabilities: usize,
    },
    /// It was not decided.
    NotDecided {
        /// Why.
        why: String,
    },
}

impl Question {
    /// A question about invocations, of anybody and everything.
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

    /// Answers it for the capabilities of the catalogue, read as servers' proposals under the
    /// contracts.
    #[must_use]
    pub fn ask(&self, set: &PolicySet, catalogue: &Catalogue) -> Answered {
        let mut left = MAX_STEPS;
        let mut open: Option<String> = None;
        let mut asked = 0;
        let whom: Vec<_> = if self.known_principals {
            set.policy().principals.values().map(Some).collect()
        } else {
            vec![None]
        };
        for id in catalogue.ids() {
            // One whose contract cannot be applied is not offered to anybody.
            let Ok(capability) = proposed(set, id) else { continue };
            if !self.is_about(&capability) {
                continue;
            }
            asked += 1;
            for principal in &whom {
                match Search::new(self, set, &capability, *principal).run(&mut left) {
                    End::Found(witness) => return Answered::Yes { witness },
                    End::Nothing => {}
                    End::Open(why) => open = open.or(Some(format!("`{id}`: {why}"))),
                }
            }
        }
        match open {
            Some(why) => Answered::NotDecided { why },
            None => Answered::No { capabilities: asked },
        }
    }

    fn is_about(&self, capability: &Capability) -> bool {
        let id = capability.id().as_str();
        (self.capability.is_empty() || self.capability.iter().any(|p| p.matches(id)))
            && says(&self.class, capability.class())
            && says(&self.rung, capability.rung())
            && says(&self.impact, capability.spec().effects.impact)
            && says(&self.sink, capability.sink())
    }
}

fn says<T: Ord>(set: &BTreeSet<T>, value: T) -> bool {
    set.is_empty() || set.contains(&value)
}
