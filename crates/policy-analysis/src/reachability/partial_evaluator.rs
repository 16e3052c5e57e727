//! Partial evaluation: the possible results of rules and contracts under a partial assignment.
//!
//! Each check of the decision has an abstraction here. It must be sound: it includes every result
//! that the decision can have under some completion of the assignment. The search relies on this
//! for every answer of *unreachable*. A missing check would be detected by the property tests,
//! which compare answers with decisions on random requests.

use std::collections::BTreeMap;

use weaver_policy::{
    Effect, FieldCondition, MatchConditions, MatchField, NameCondition, Pattern, PolicySet, Rule,
    Truth,
};
use weaver_types::{
    AllowedAgents, Capability, Integrity, Operation, Rung, SafetyClass, SafetyMode, SinkKind,
    Verdict,
};

use super::search_space::SearchSpace;
use super::truth_set::TruthSet;
use super::variables::{Assignment, FieldVariables, Variable, is_flag_set};

/// Evaluates the documents for one capability under partial assignments.
#[derive(Debug)]
pub(super) struct PartialEvaluator<'s> {
    pub(super) set: &'s PolicySet,
    pub(super) capability: &'s Capability,
    pub(super) operation: Operation,
    pub(super) rules: Vec<&'s Rule>,
    pub(super) space: SearchSpace<'s>,
}

/// The possible outcomes of an allow rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllowRuleOutcome {
    pub(super) applies: TruthSet,
    /// Whether its required roles, permissions and attributes are met.
    pub(super) access: TruthSet,
    pub(super) justified: TruthSet,
}

/// A check that can restrict the call, with its verdict if it applies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Obstacle {
    pub(super) verdict: Verdict,
    pub(super) applies: TruthSet,
}

const YES: TruthSet = TruthSet::YES;
const NO: TruthSet = TruthSet::NO;

impl PartialEvaluator<'_> {
    fn names_met(
        &self,
        names: &NameCondition,
        flags: &BTreeMap<String, Variable<bool>>,
        assignment: &Assignment,
    ) -> TruthSet {
        let is_held = |name: &String| is_flag_set(flags, name, assignment);
        let any = match names.any.is_empty() {
            true => YES,
            false => names.any.iter().map(is_held).fold(NO, TruthSet::or),
        };
        names.all.iter().map(is_held).fold(any, TruthSet::and)
    }

    fn values_match(
        &self,
        required: &BTreeMap<String, Pattern>,
        texts: &BTreeMap<String, Variable<Option<String>>>,
        assignment: &Assignment,
    ) -> TruthSet {
        required.iter().fold(YES, |out, (name, pattern)| {
            let fits = |value: Option<&str>| value.is_some_and(|v| pattern.matches(v));
            let text = texts.get(name);
            out.and(text.map_or(NO, |text| text.text_holds(assignment, fits)))
        })
    }

    /// Whether match conditions can apply; unknown where the real evaluation is unknown.
    pub(super) fn conditions_apply(
        &self,
        matches: &MatchConditions,
        assignment: &Assignment,
    ) -> TruthSet {
        if !matches.matches_capability(self.capability) {
            return NO;
        }
        let mut out = matches
            .fields()
            .filter(|(field, condition)| !field.of_capability && !condition.is_empty())
            .map(|(field, condition)| self.condition_holds(field, condition, assignment))
            .fold(YES, TruthSet::and);
        for predicate in &matches.arguments {
            let known = self.space.predicates.iter().find(|known| known.predicate == predicate);
            let variables = &self.space.variables;
            out = out.and(known.map_or(NO, |one| variables.predicate(&one.variable, assignment)));
        }
        if !matches.any.is_empty() {
            let any = matches.any.iter().map(|one| self.conditions_apply(one, assignment));
            out = out.and(any.fold(NO, TruthSet::or));
        }
        for excluded in [&matches.not, &matches.unless].into_iter().flatten() {
            out = out.and(self.conditions_apply(excluded, assignment).negated());
        }
        out
    }

    /// Whether a non-empty condition on a field of the call holds.
    fn condition_holds(
        &self,
        field: MatchField,
        condition: FieldCondition<'_>,
        assignment: &Assignment,
    ) -> TruthSet {
        use FieldVariables as Of;
        let Some(variables) = self.space.variables.of_field(field.name) else { return NO };
        match (condition, variables) {
            (FieldCondition::Keywords(admitted), keyword) => {
                let is_admitted = |variant: u32| admitted >> variant & 1 == 1;
                match keyword {
                    Of::Mode(all) => all.holds(assignment, |one| is_admitted(*one as u32)),
                    Of::Confidentiality(all) => {
                        all.holds(assignment, |one| is_admitted(*one as u32))
                    }
                    Of::Integrity(all) => all.holds(assignment, |one| is_admitted(*one as u32)),
                    Of::Operation(all) => all.holds(assignment, |one| is_admitted(*one as u32)),
                    _ => NO,
                }
            }
            (FieldCondition::Patterns(patterns), Of::Text(text)) => text
                .text_holds(assignment, |name| {
                    name.is_some_and(|name| patterns.iter().any(|one| one.matches(name)))
                }),
            (FieldCondition::Time(Some(window)), Of::Time(time)) => {
                time.holds(assignment, |at| window.contains(*at))
            }
            (FieldCondition::Names(names), Of::Flags(flags)) => {
                self.names_met(names, flags, assignment)
            }
            (FieldCondition::NamedPatterns(required), Of::NamedTexts(texts)) => {
                self.values_match(required, texts, assignment)
            }
            _ => NO,
        }
    }

    /// Whether a rule takes effect. Where the real evaluation is unknown, a call reads a rule the
    /// strict way, and a view as its call was let through.
    fn takes_effect(&self, rule: &Rule, assignment: &Assignment) -> TruthSet {
        let applies = self.conditions_apply(&rule.matches, assignment);
        match (rule.effect, self.operation) {
            (Effect::Allow, Operation::Invoke) | (Effect::Deny, Operation::View) => {
                applies.unknown_as_no()
            }
            (Effect::Allow, Operation::View)
            | (Effect::Deny, Operation::Invoke)
            | (Effect::RequireApproval, _) => applies.unknown_as_yes(),
        }
    }

    /// The rules that can apply and allow: allow rules and, for a view, approval rules, unless an
    /// allow rule lacks something.
    pub(super) fn allow_rules(&self, assignment: &Assignment) -> Vec<AllowRuleOutcome> {
        let mut outcomes = self.allow_rule_outcomes(assignment);
        if self.operation == Operation::View {
            let lacks = outcomes.iter().map(|rule| rule.applies.and(rule.access.negated()));
            let complete = lacks.fold(NO, TruthSet::or).negated();
            let rules = self.rules.iter().filter(|rule| rule.effect == Effect::RequireApproval);
            let applies = rules
                .map(|rule| self.takes_effect(rule, assignment).and(complete))
                .filter(|applies| applies.contains(Truth::Yes));
            outcomes.extend(applies.map(|applies| AllowRuleOutcome {
                applies,
                access: YES,
                justified: YES,
            }));
        }
        outcomes
    }

    fn allow_rule_outcomes(&self, assignment: &Assignment) -> Vec<AllowRuleOutcome> {
        let variables = &self.space.variables;
        let rules = self.rules.iter().filter(|rule| rule.effect == Effect::Allow);
        rules
            .map(|rule| (rule, self.takes_effect(rule, assignment)))
            .filter(|(_, applies)| applies.contains(Truth::Yes))
            .map(|(rule, applies)| {
                let require = &rule.require;
                let permissions = require.permissions.iter();
                let roles = self.names_met(&require.roles, &variables.roles, assignment);
                let access = permissions
                    .map(|name| is_flag_set(&variables.permissions, name, assignment))
                    .fold(roles, TruthSet::and)
                    .and(self.values_match(&require.attributes, &variables.attributes, assignment));
                let justified = match &require.justification {
                    Some(need) if self.operation == Operation::Invoke => {
                        variables.justification.holds(assignment, |given| {
                            given.is_some_and(|given| {
                                given.length >= need.min_chars
                                    && need.sources.contains(&given.source)
                            })
                        })
                    }
                    _ => YES,
                };
                AllowRuleOutcome { applies, access, justified }
            })
            .collect()
    }

    /// All other checks that can restrict the call.
    pub(super) fn obstacles(&self, assignment: &Assignment) -> Vec<Obstacle> {
        let mut out = Vec::new();
        self.floor_mode_and_flow(assignment, &mut out);
        self.access_obstacles(assignment, &mut out);
        for rule in &self.rules {
            let verdict = match rule.effect {
                Effect::Allow => continue,
                Effect::Deny => Verdict::Deny,
                Effect::RequireApproval if self.operation == Operation::View => continue,
                Effect::RequireApproval => Verdict::Hold,
            };
            let applies = self.takes_effect(rule, assignment);
            out.push(Obstacle { verdict, applies });
        }
        out
    }

    /// Whether some deny or approval rule applies.
    pub(super) fn restricting_rule_applies(&self, assignment: &Assignment) -> TruthSet {
        let rules = self.rules.iter().filter(|rule| rule.effect != Effect::Allow);
        rules.map(|rule| self.takes_effect(rule, assignment)).fold(NO, TruthSet::or)
    }

    fn floor_mode_and_flow(&self, assignment: &Assignment, out: &mut Vec<Obstacle>) {
        let (variables, capability) = (&self.space.variables, self.capability);
        let invoked = self.operation == Operation::Invoke;
        match capability.rung() {
            Rung::L5 => out.push(Obstacle { verdict: Verdict::Deny, applies: YES }),
            Rung::L4 if invoked => out.push(Obstacle { verdict: Verdict::Hold, applies: YES }),
            _ => {}
        }
        if capability.class() != SafetyClass::ReadOnly || capability.rung() != Rung::L0 {
            let limited = variables.mode.holds(assignment, |mode| *mode != SafetyMode::Normal);
            out.push(Obstacle { verdict: Verdict::Deny, applies: limited });
        }
        if invoked && capability.sink() != SinkKind::None {
            let clearance = capability.spec().clearance;
            let above = variables.confidentiality.holds(assignment, |c| *c > clearance);
            let untrusted = variables.integrity.holds(assignment, |i| *i == Integrity::Untrusted);
            let unvouched = variables.flow_cleared.is_set(assignment).negated();
            // The clearance is that of the receiver. A call that names no receiver is exempt.
            let above = match capability.spec().sends_to.is_empty() {
                true => above,
                false => above.and(unvouched),
            };
            out.push(Obstacle { verdict: Verdict::Hold, applies: above });
            out.push(Obstacle { verdict: Verdict::Hold, applies: untrusted.and(unvouched) });
        }
    }

    /// The checks that deny: permissions, agents, visibility and expiry.
    fn access_obstacles(&self, assignment: &Assignment, out: &mut Vec<Obstacle>) {
        let (variables, spec) = (&self.space.variables, self.capability.spec());
        let mut deny = |applies| out.push(Obstacle { verdict: Verdict::Deny, applies });
        let permitted = spec
            .permissions
            .iter()
            .map(|name| is_flag_set(&variables.permissions, name, assignment))
            .fold(YES, TruthSet::and);
        deny(permitted.negated());
        if let AllowedAgents::Only(admitted) = &spec.agents {
            let is_admitted = |name: Option<&str>| {
                name.is_some_and(|name| admitted.iter().any(|agent| agent.as_str() == name))
            };
            deny(variables.agent.text_holds(assignment, is_admitted).negated());
        }
        deny(self.is_visible(assignment).negated());
        self.agent_obstacles(assignment, out);
        for end in [self.set.policy().expires, self.set.contracts().expires].into_iter().flatten() {
            let applies = variables.time.holds(assignment, |at| end <= *at);
            out.push(Obstacle { verdict: Verdict::Deny, applies });
        }
    }

    /// The checks of the policy's agent declarations.
    fn agent_obstacles(&self, assignment: &Assignment, out: &mut Vec<Obstacle>) {
        let (variables, declared) = (&self.space.variables, &self.set.policy().agents);
        if declared.is_empty() {
            return;
        }
        let mut deny = |applies| out.push(Obstacle { verdict: Verdict::Deny, applies });
        let find = |name: &str| declared.iter().find(|(id, _)| id.as_str() == name);
        let admitted = variables.agent.text_holds(assignment, |name| {
            name.is_none_or(|name| find(name).is_some_and(|(_, one)| one.may_use(self.capability)))
        });
        deny(admitted.negated());
        if self.operation != Operation::Invoke {
            return;
        }
        for (id, agent) in declared.iter().filter(|(_, agent)| !agent.decision_keys.is_empty()) {
            let acts = |name: Option<&str>| name == Some(id.as_str());
            let acts = variables.agent.text_holds(assignment, acts);
            let intends = |intent: Option<&str>| agent.may_state_intent(intent);
            let intends = variables.intent.text_holds(assignment, intends);
            deny(acts.and(intends.negated()));
        }
    }

    fn is_visible(&self, assignment: &Assignment) -> TruthSet {
        let (variables, id) = (&self.space.variables, self.capability.id().as_str());
        let entries = &self.set.contracts().visible;
        if self.set.is_hidden_from_everybody(self.capability) {
            return NO;
        }
        if entries.is_empty() {
            return YES;
        }
        let named = |text: &Variable<Option<String>>, patterns: &[Pattern]| {
            text.text_holds(assignment, |name| {
                name.is_some_and(|name| patterns.iter().any(|p| p.matches(name)))
            })
        };
        let about = entries.iter().filter(|entry| entry.capabilities.iter().any(|p| p.matches(id)));
        about.fold(NO, |out, entry| {
            if entry.principals.is_empty() && entry.roles.is_empty() && entry.agents.is_empty() {
                return YES;
            }
            let role = |role: &String| is_flag_set(&variables.roles, role, assignment);
            entry
                .roles
                .iter()
                .map(role)
                .fold(out, TruthSet::or)
                .or(named(&variables.principal, &entry.principals))
                .or(named(&variables.agent, &entry.agents))
        })
    }
}
