//! What rules and contracts may say while choices are open.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::{
    Agents, Capability, Integrity, Operation, Rung, SafetyClass, SafetyMode, SinkKind, Verdict,
};

use super::choice::Taken;
use super::possible::Possible;
use super::space::Space;
use crate::decide::about_capability;
use crate::matching::Match;
use crate::rule::{Effect, Pattern, Roles, Rule};
use crate::set::PolicySet;
use crate::truth::Truth;

/// One capability under the documents, seen with the choices made so far.
#[derive(Debug)]
pub(super) struct View<'s> {
    pub(super) set: &'s PolicySet,
    pub(super) capability: &'s Capability,
    pub(super) operation: Operation,
    pub(super) rules: Vec<&'s Rule>,
    pub(super) space: Space<'s>,
}

/// What may be of an allow rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    pub(super) applies: Possible,
    /// Its roles, permissions and attributes.
    pub(super) access: Possible,
    pub(super) justified: Possible,
}

fn fits(patterns: &[Pattern], name: Option<&str>) -> bool {
    patterns.is_empty() || name.is_some_and(|name| patterns.iter().any(|p| p.matches(name)))
}

fn says<T: Ord>(set: &BTreeSet<T>, value: &T) -> bool {
    set.is_empty() || set.contains(value)
}

const YES: Truth = Truth::Yes;

impl View<'_> {
    fn roles(&self, roles: &Roles, taken: &Taken) -> Possible {
        let (choices, mut out) = (&self.space.choices, Possible::only(YES));
        let held = |role: &String| choices.flag(choices.roles.get(role), taken);
        if !roles.any.is_empty() {
            out = roles.any.iter().map(held).fold(Possible::only(Truth::No), Possible::or);
        }
        roles.all.iter().map(held).fold(out, Possible::and)
    }

    fn values(
        &self,
        wanted: &BTreeMap<String, Pattern>,
        at: &BTreeMap<String, usize>,
        taken: &Taken,
    ) -> Possible {
        wanted.iter().fold(Possible::only(YES), |out, (name, pattern)| {
            let one = at.get(name).map_or(Possible::only(Truth::No), |at| {
                let fits = |value: Option<&str>| value.is_some_and(|v| pattern.matches(v));
                self.space.choices.text(*at, taken, fits)
            });
            out.and(one)
        })
    }

    /// Whether a match holds; unknown as the documents have it.
    pub(super) fn matches(&self, matches: &Match, taken: &Taken) -> Possible {
        let choices = &self.space.choices;
        if !about_capability(matches, self.capability) || !says(&matches.operation, &self.operation)
        {
            return Possible::only(Truth::No);
        }
        let mut out = self
            .roles(&matches.roles, taken)
            .and(choices.text(choices.principal, taken, |name| fits(&matches.principal, name)))
            .and(choices.text(choices.agent, taken, |name| fits(&matches.agent, name)))
            .and(self.values(&matches.attributes, &choices.attributes, taken))
            .and(choices.text(choices.intent, taken, |name| fits(&matches.intent, name)))
            .and(self.values(&matches.scope, &choices.scope, taken))
            .and(choices.mode(taken, |mode| says(&matches.mode, &mode)))
            .and(choices.confidentiality(taken, |c| says(&matches.confidentiality, &c)))
            .and(choices.integrity(taken, |i| says(&matches.integrity, &i)));
        if let Some(window) = &matches.time {
            out = out.and(choices.time(taken, |at| window.holds(at)));
        }
        for predicate in &matches.arguments {
            let at = self.space.predicates.iter().find(|(known, _)| *known == predicate);
            out = out
                .and(at.map_or(Possible::only(Truth::No), |(_, at)| choices.predicate(*at, taken)));
        }
        if !matches.any.is_empty() {
            let any = matches.any.iter().map(|one| self.matches(one, taken));
            out = out.and(any.fold(Possible::only(Truth::No), Possible::or));
        }
        for not in [&matches.not, &matches.unless].into_iter().flatten() {
            out = out.and(self.matches(not, taken).negated());
        }
        out
    }

    /// The allow rules that may apply.
    pub(super) fn allowances(&self, taken: &Taken) -> Vec<Allowance> {
        let choices = &self.space.choices;
        let rules = self.rules.iter().filter(|rule| rule.effect == Effect::Allow);
        rules
            .map(|rule| (rule, self.matches(&rule.matches, taken).allows()))
            .filter(|(_, applies)| applies.may(YES))
            .map(|(rule, applies)| {
                let require = &rule.require;
                let permissions = require.permissions.iter();
                let access = permissions
                    .map(|name| choices.flag(choices.permissions.get(name), taken))
                    .fold(self.roles(&require.roles, taken), Possible::and)
                    .and(self.values(&require.attributes, &choices.attributes, taken));
                let justified = match &require.justification {
                    Some(need) if self.operation == Operation::Invoke => choices
                        .justification(taken, |length, source| {
                            length >= need.min_chars && need.sources.contains(&source)
                        }),
                    _ => Possible::only(YES),
                };
                Allowance { applies, access, justified }
            })
            .collect()
    }

    /// Everything else that may have something to say, with what it would say.
    pub(super) fn obstacles(&self, taken: &Taken) -> Vec<(Verdict, Possible)> {
        let mut out = Vec::new();
        self.fixed(taken, &mut out);
        self.access(taken, &mut out);
        for rule in &self.rules {
            let verdict = match rule.effect {
                Effect::Allow => continue,
                Effect::Deny => Verdict::Deny,
                Effect::RequireApproval => Verdict::Hold,
            };
            out.push((verdict, self.matches(&rule.matches, taken).speaks()));
        }
        out
    }

    /// Whether some rule that is no allow rule speaks.
    pub(super) fn spoken(&self, taken: &Taken) -> Possible {
        let rules = self.rules.iter().filter(|rule| rule.effect != Effect::Allow);
        rules
            .map(|rule| self.matches(&rule.matches, taken).speaks())
            .fold(Possible::only(Truth::No), Possible::or)
    }

    /// The floor, the mode, the flow.
    fn fixed(&self, taken: &Taken, out: &mut Vec<(Verdict, Possible)>) {
        let (choices, capability) = (&self.space.choices, self.capability);
        let invoked = self.operation == Operation::Invoke;
        match capability.rung() {
            Rung::L5 => out.push((Verdict::Deny, Possible::only(YES))),
            Rung::L4 if invoked => out.push((Verdict::Hold, Possible::only(YES))),
            _ => {}
        }
        if capability.class() != SafetyClass::ReadOnly || capability.rung() != Rung::L0 {
            let limited = choices.mode(taken, |mode| mode != SafetyMode::Normal);
            out.push((Verdict::Deny, limited));
        }
        if invoked && capability.sink() != SinkKind::None {
            let clearance = capability.spec().clearance;
            out.push((Verdict::Hold, choices.confidentiality(taken, |c| c > clearance)));
            out.push((Verdict::Hold, choices.integrity(taken, |i| i == Integrity::Untrusted)));
        }
    }

    /// Permissions, agents, visibility, expiry.
    fn access(&self, taken: &Taken, out: &mut Vec<(Verdict, Possible)>) {
        let (choices, spec) = (&self.space.choices, self.capability.spec());
        let permitted = spec
            .permissions
            .iter()
            .map(|name| choices.flag(choices.permissions.get(name), taken))
            .fold(Possible::only(YES), Possible::and);
        out.push((Verdict::Deny, permitted.negated()));
        if let Agents::Only(admitted) = &spec.agents {
            let admits = |name: Option<&str>| {
                name.is_some_and(|name| admitted.iter().any(|agent| agent.as_str() == name))
            };
            let among = choices.text(choices.agent, taken, admits);
            out.push((Verdict::Deny, among.negated()));
        }
        out.push((Verdict::Deny, self.visible(taken).negated()));
        self.declared(taken, out);
        for end in [self.set.policy().expires, self.set.contracts().expires].into_iter().flatten() {
            out.push((Verdict::Deny, choices.time(taken, |at| end <= at)));
        }
    }

    /// What the policy declares of agents.
    fn declared(&self, taken: &Taken, out: &mut Vec<(Verdict, Possible)>) {
        let (choices, declared) = (&self.space.choices, &self.set.policy().agents);
        if declared.is_empty() {
            return;
        }
        let of = |name: &str| declared.iter().find(|(id, _)| id.as_str() == name);
        let admitted = choices.text(choices.agent, taken, |name| {
            name.is_none_or(|name| of(name).is_some_and(|(_, one)| one.admits(self.capability)))
        });
        out.push((Verdict::Deny, admitted.negated()));
        if self.operation != Operation::Invoke {
            return;
        }
        for (id, agent) in declared.iter().filter(|(_, agent)| !agent.decision_keys.is_empty()) {
            let acts = choices.text(choices.agent, taken, |name| name == Some(id.as_str()));
            let states = choices.text(choices.intent, taken, |intent| agent.intends(intent));
            out.push((Verdict::Deny, acts.and(states.negated())));
        }
    }

    fn visible(&self, taken: &Taken) -> Possible {
        let (choices, id) = (&self.space.choices, self.capability.id().as_str());
        let entries = &self.set.contracts().visible;
        if self.set.hides(self.capability) {
            return Possible::only(Truth::No);
        }
        if entries.is_empty() {
            return Possible::only(YES);
        }
        let named = |patterns: &[Pattern], name: Option<&str>| {
            name.is_some_and(|name| patterns.iter().any(|p| p.matches(name)))
        };
        let about = entries.iter().filter(|entry| entry.capabilities.iter().any(|p| p.matches(id)));
        about.fold(Possible::only(Truth::No), |out, entry| {
            if entry.principals.is_empty() && entry.roles.is_empty() && entry.agents.is_empty() {
                return Possible::only(YES);
            }
            let roles = entry.roles.iter().map(|role| choices.flag(choices.roles.get(role), taken));
            roles
                .fold(out, Possible::or)
                .or(choices.text(choices.principal, taken, |name| named(&entry.principals, name)))
                .or(choices.text(choices.agent, taken, |name| named(&entry.agents, name)))
        })
    }
}
