//! Searches for a witness by backtracking over partial assignments.
//!
//! The variables of a request and their finite domains form a constraint-satisfaction problem. The
//! search assigns one variable at a time, depth first, and after each assignment evaluates the
//! documents by abstract interpretation ([`super::partial_evaluator`]). It prunes assignments under
//! which the verdict is no longer possible, and branches only on variables that the verdict still
//! depends on.
//!
//! *Sound:* a witness is a request for which [`PolicySet::decide`] returned the verdict; the
//! abstraction alone never answers yes. *Complete within its bounds:* the domains represent every
//! value that the documents distinguish, and the abstraction includes every outcome of every
//! completion, so an exhausted search proves that there is no such request. Anything that breaks
//! one of these premises is recorded as a [`SearchGap`], and the answer is then *undecided*.

use weaver_policy::{PolicySet, Rule, Truth};
use weaver_types::{Capability, Principal, Verdict};

use super::arguments::{self, Synthesis};
use super::partial_evaluator::{AllowRuleOutcome, Obstacle, PartialEvaluator};
use super::request_builder::RequestBuilder;
use super::search_gap::SearchGap;
use super::search_space::SearchSpace;
use super::truth_set::TruthSet;
use super::variables::Assignment;
use super::{ReachabilityQuery, Witness};

/// The cost of synthesising arguments for one condition, in evaluated rules.
const CONDITION_COST: usize = 16;

/// How a search ended.
pub(super) enum SearchResult {
    /// A request gets the verdict.
    Witness(Box<Witness>),
    /// The whole space was searched, and no request gets the verdict.
    Exhausted,
    /// The search was incomplete.
    Incomplete(SearchGap),
}

/// The next step under an assignment.
enum SearchStep {
    /// The verdict is no longer possible.
    Prune,
    /// Everything that matters is assigned: decide the resulting request.
    Evaluate(Certainty),
    /// Assign this variable next.
    Branch(usize),
}

/// What the abstraction predicts for the request that an assignment describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// It gets the verdict.
    Certain,
    /// It may get another verdict.
    Possible,
}

/// A search for one capability.
pub(super) struct Search<'s> {
    documents: PartialEvaluator<'s>,
    verdict: Verdict,
    request: RequestBuilder,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        query: &ReachabilityQuery,
        set: &'s PolicySet,
        capability: &'s Capability,
        fixed_principal: Option<&Principal>,
    ) -> Self {
        let candidates = set.candidate_rules(capability.id().as_str());
        let rules: Vec<&'s Rule> =
            candidates.filter(|rule| rule.matches.matches_capability(capability)).collect();
        let space = SearchSpace::new(query, set, capability, &rules, fixed_principal);
        let operation = query.operation;
        Self {
            documents: PartialEvaluator { set, capability, operation, rules, space },
            verdict: query.verdict,
            request: RequestBuilder {
                fixed_principal: fixed_principal.cloned(),
                with_roles: query.with_roles.clone(),
            },
        }
    }

    fn space(&self) -> &SearchSpace<'s> {
        &self.documents.space
    }

    /// Searches until a witness is found, the space is exhausted, or `steps` run out.
    pub(super) fn run(&self, steps: &mut u64) -> SearchResult {
        let sizes = &self.space().variables.sizes;
        if sizes.contains(&0) {
            return SearchResult::Exhausted;
        }
        let mut assignment: Assignment = vec![None; sizes.len()];
        let mut path: Vec<usize> = Vec::new();
        let mut incomplete = self.space().incomplete.clone();
        let cost = self.step_cost();
        loop {
            if *steps < cost {
                return SearchResult::Incomplete(SearchGap::Steps);
            }
            *steps -= cost;
            match self.next_step(&assignment) {
                SearchStep::Branch(variable) => {
                    path.push(variable);
                    set_value(&mut assignment, variable, Some(0));
                    continue;
                }
                SearchStep::Evaluate(expectation) => match self.witness(&assignment) {
                    Ok(Some(witness)) => return SearchResult::Witness(Box::new(witness)),
                    Ok(None) if self.depends_on_provenance(&assignment) => {
                        incomplete = incomplete.or(Some(SearchGap::Provenance));
                    }
                    Ok(None) if expectation == Certainty::Certain => {
                        incomplete = incomplete.or(Some(SearchGap::Disagreement));
                    }
                    Ok(None) => {}
                    Err(gap) => incomplete = incomplete.or(Some(gap)),
                },
                SearchStep::Prune => {}
            }
            if !self.backtrack(&mut assignment, &mut path) {
                return incomplete.map_or(SearchResult::Exhausted, SearchResult::Incomplete);
            }
        }
    }

    /// Whether the assignment assumes values that are vouched for, which no request of the search
    /// can express.
    fn depends_on_provenance(&self, assignment: &Assignment) -> bool {
        self.space().variables.flow_cleared.is_set(assignment).is_exactly(Truth::Yes)
    }

    /// The cost of one step: roughly the number of rules that it evaluates.
    fn step_cost(&self) -> u64 {
        let conditions = self.space().predicates.len().saturating_mul(CONDITION_COST);
        let cost = self.documents.rules.len().saturating_add(conditions).saturating_add(1);
        u64::try_from(cost).unwrap_or(u64::MAX)
    }

    /// Advances the last variable that has another value; false if there is none.
    fn backtrack(&self, assignment: &mut Assignment, path: &mut Vec<usize>) -> bool {
        while let Some(variable) = path.last().copied() {
            let next = assignment.get(variable).copied().flatten().map_or(0, |index| index + 1);
            if next < self.space().variables.sizes.get(variable).copied().unwrap_or(0) {
                set_value(assignment, variable, Some(next));
                return true;
            }
            set_value(assignment, variable, None);
            path.pop();
        }
        false
    }

    fn next_step(&self, assignment: &Assignment) -> SearchStep {
        let outcomes = self.space().predicate_outcomes(assignment);
        if matches!(arguments::synthesize(&outcomes), Synthesis::Impossible) {
            return SearchStep::Prune;
        }
        let obstacles = self.documents.obstacles(assignment);
        let certain = obstacles.iter().filter(|one| one.applies.is_exactly(Truth::Yes));
        let strictest = certain.map(|one| one.verdict).max().unwrap_or(Verdict::Allow);
        if strictest > self.verdict {
            return SearchStep::Prune;
        }
        if self.verdict == Verdict::Deny && strictest == Verdict::Deny {
            return SearchStep::Evaluate(Certainty::Certain);
        }
        let rules = self.documents.allow_rules(assignment);
        let allow = AllowRulesOutcome::from_rules(&rules);
        if self.verdict == Verdict::Allow && !allow.possible {
            return SearchStep::Prune;
        }
        let reached = strictest == self.verdict;
        let reachable =
            |one: &Obstacle| one.verdict == self.verdict && one.applies.contains(Truth::Yes);
        if self.verdict != Verdict::Allow && !obstacles.iter().any(reachable) && allow.certain {
            return SearchStep::Prune;
        }
        let matters = |one: &&Obstacle| {
            one.verdict > self.verdict || (one.verdict == self.verdict && !reached)
        };
        let obstacle = obstacles.iter().filter(matters).find_map(|one| one.applies.branch);
        let next = if self.verdict == Verdict::Allow {
            allow.branch.filter(|_| !allow.certain).or(obstacle)
        } else {
            obstacle.or_else(|| self.branch_of_allow_rules(&rules, &allow, assignment))
        };
        let expectation = if allow.certain { Certainty::Certain } else { Certainty::Possible };
        next.map_or(SearchStep::Evaluate(expectation), SearchStep::Branch)
    }

    /// The variable to branch on for the allow rules, if the verdict to look for is not `allow`.
    fn branch_of_allow_rules(
        &self,
        rules: &[AllowRuleOutcome],
        allow: &AllowRulesOutcome,
        assignment: &Assignment,
    ) -> Option<usize> {
        if allow.certain {
            return None;
        }
        let branch = rules.iter().find_map(|rule| {
            let justified = rule.justified.branch.filter(|_| rule.access.contains(Truth::Yes));
            rule.applies.branch.or(rule.access.branch).or(justified)
        });
        let human = self.space().variables.human_channel.unassigned(assignment);
        let restricting = || self.documents.restricting_rule_applies(assignment).branch;
        branch.or_else(restricting).or(human.filter(|_| !rules.is_empty()))
    }

    /// The request that the assignment describes, if the real decision gives it the verdict.
    fn witness(&self, assignment: &Assignment) -> Result<Option<Witness>, SearchGap> {
        let request = self.request.build(&self.documents, assignment)?;
        let decision = self.documents.set.decide(&request.query(self.documents.capability));
        Ok((decision.verdict() == self.verdict).then(|| Witness {
            request: request.to_json(),
            verdict: decision.verdict(),
            primary: decision.primary_reason(),
        }))
    }
}

fn set_value(assignment: &mut Assignment, variable: usize, index: Option<usize>) {
    if let Some(slot) = assignment.get_mut(variable) {
        *slot = index;
    }
}

/// The combined outcome of the allow rules.
struct AllowRulesOutcome {
    /// Some rule allows the call under every completion.
    certain: bool,
    /// Some rule allows the call under some completion.
    possible: bool,
    /// The variable on which the first possibly allowing rule depends.
    branch: Option<usize>,
}

impl AllowRulesOutcome {
    fn from_rules(rules: &[AllowRuleOutcome]) -> Self {
        let allows = |rule: &AllowRuleOutcome| -> TruthSet {
            rule.applies.and(rule.access).and(rule.justified)
        };
        let possible: Vec<_> =
            rules.iter().map(allows).filter(|one| one.contains(Truth::Yes)).collect();
        Self {
            certain: possible.iter().any(|one| one.is_exactly(Truth::Yes)),
            possible: !possible.is_empty(),
            branch: possible.iter().find_map(|one| one.branch),
        }
    }
}
