//! What the documents tell apart about one capability, as choices.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::{
    AgentId, Agents, Capability, Confidentiality, Integrity, JustificationSource, Principal,
    PrincipalId, SafetyMode, Timestamp,
};

use super::choice::{Choice, Choices};
use super::{Question, moment};
use crate::agents::AgentCapabilities;
use crate::analysis::names;
use crate::argument::ArgumentPredicate;
use crate::matching::Match;
use crate::rule::{MIN_JUSTIFICATION, Pattern, Require, Roles, Rule};
use crate::set::PolicySet;
use crate::time_window::TimeWindow;
use crate::truth::Truth;

/// Everything that occurs in the rules about one capability.
#[derive(Debug, Default)]
struct Atoms<'s> {
    principal: Vec<&'s Pattern>,
    agent: Vec<&'s Pattern>,
    intent: Vec<&'s Pattern>,
    roles: BTreeSet<&'s str>,
    permissions: BTreeSet<&'s str>,
    attributes: BTreeMap<&'s str, Vec<&'s Pattern>>,
    scope: BTreeMap<&'s str, Vec<&'s Pattern>>,
    windows: Vec<&'s TimeWindow>,
    predicates: Vec<&'s ArgumentPredicate>,
    lengths: BTreeSet<u32>,
}

impl<'s> Atoms<'s> {
    fn roles(&mut self, roles: &'s Roles) {
        self.roles.extend(roles.any.iter().chain(&roles.all).map(String::as_str));
    }

    fn matches(&mut self, matches: &'s Match) {
        self.principal.extend(&matches.principal);
        self.agent.extend(&matches.agent);
        self.intent.extend(&matches.intent);
        self.roles(&matches.roles);
        for (name, pattern) in &matches.attributes {
            self.attributes.entry(name).or_default().push(pattern);
        }
        for (name, pattern) in &matches.scope {
            self.scope.entry(name).or_default().push(pattern);
        }
        self.windows.extend(&matches.time);
        for predicate in &matches.arguments {
            if !self.predicates.contains(&predicate) {
                self.predicates.push(predicate);
            }
        }
        for (_, _, nested) in matches.nested() {
            self.matches(nested);
        }
    }

    fn require(&mut self, require: &'s Require) {
        self.roles(&require.roles);
        self.permissions.extend(require.permissions.iter().map(String::as_str));
        for (name, pattern) in &require.attributes {
            self.attributes.entry(name).or_default().push(pattern);
        }
        self.lengths.extend(require.justification.iter().map(|need| need.min_chars));
    }
}

/// The choices about one capability.
#[derive(Debug)]
pub(super) struct Space<'s> {
    pub(super) choices: Choices,
    pub(super) predicates: Vec<(&'s ArgumentPredicate, usize)>,
    /// Why something may be left out of the search.
    pub(super) gap: Option<String>,
}

struct Builder<'q, 's> {
    question: &'q Question,
    whom: Option<&'q Principal>,
    space: Space<'s>,
}

impl<'s> Space<'s> {
    /// The choices; the rules are those that may speak of the capability.
    pub(super) fn new(
        question: &Question,
        set: &'s PolicySet,
        capability: &'s Capability,
        rules: &[&'s Rule],
        whom: Option<&Principal>,
    ) -> Self {
        let mut atoms = Atoms::default();
        for rule in rules {
            atoms.matches(&rule.matches);
            atoms.require(&rule.require);
        }
        for entry in &set.contracts().visible {
            atoms.principal.extend(&entry.principals);
            atoms.agent.extend(&entry.agents);
            atoms.roles.extend(entry.roles.iter().map(String::as_str));
        }
        let spec = capability.spec();
        atoms.permissions.extend(spec.permissions.iter().map(String::as_str));
        let space = Self { choices: Choices::default(), predicates: Vec::new(), gap: None };
        let mut builder = Builder { question, whom, space };
        let mut agents: BTreeSet<&AgentId> = set.policy().agents.keys().collect();
        if let Agents::Only(admitted) = &spec.agents {
            agents.extend(admitted);
        }
        builder.caller(&atoms, &agents);
        builder.request(&atoms, &set.policy().agents);
        let ends = [set.policy().expires, set.contracts().expires];
        builder.run(&atoms, &ends.into_iter().flatten().collect::<Vec<_>>());
        builder.space
    }
}

impl<'s> Builder<'_, 's> {
    fn gap(&mut self, why: &str) {
        self.space.gap.get_or_insert_with(|| why.to_owned());
    }

    fn add(&mut self, choice: Choice) -> usize {
        self.space.choices.add(choice)
    }

    fn names(&mut self, patterns: &[&Pattern], what: &str) -> Vec<String> {
        let names = names::representatives(patterns);
        if !names.complete {
            self.gap(&format!("the patterns of {what} have more combinations than were tried"));
        }
        names.all
    }

    fn texts(&mut self, patterns: &[&Pattern], what: &str) -> Vec<Option<String>> {
        let names = self.names(patterns, what);
        std::iter::once(None).chain(names.into_iter().map(Some)).collect()
    }

    fn caller(&mut self, atoms: &Atoms<'s>, agents: &BTreeSet<&AgentId>) {
        let asked = &self.question.principal;
        let principals: Vec<_> = match self.whom {
            Some(known) => vec![known.id.as_str().to_owned()],
            None => {
                let patterns: Vec<_> = atoms.principal.iter().copied().chain(asked).collect();
                let names = self.names(&patterns, "principals");
                names.into_iter().filter(|name| PrincipalId::parse(name).is_ok()).collect()
            }
        };
        let fits = |name: &str| asked.is_empty() || asked.iter().any(|p| p.matches(name));
        let principals = principals.into_iter().filter(|name| fits(name)).map(Some).collect();
        self.space.choices.principal = self.add(Choice::Text(principals));
        let mut acting: Vec<_> = match self.whom {
            Some(known) => vec![known.agent.as_ref().map(|agent| agent.as_str().to_owned())],
            None => self.texts(&atoms.agent, "agents"),
        };
        if self.whom.is_none() {
            acting.extend(agents.iter().map(|agent| Some(agent.as_str().to_owned())));
        }
        acting.retain(|name| name.as_ref().is_none_or(|name| AgentId::parse(name).is_ok()));
        self.space.choices.agent = self.add(Choice::Text(acting));
        self.granted(atoms);
    }

    fn granted(&mut self, atoms: &Atoms<'s>) {
        let mut roles: BTreeSet<String> = atoms.roles.iter().map(|r| (*r).to_owned()).collect();
        roles.extend(self.question.with_roles.iter().cloned());
        for role in roles {
            let mut may = match self.whom {
                Some(known) => vec![known.roles.contains(&role)],
                None => vec![false, true],
            };
            may.retain(|held| *held || !self.question.with_roles.contains(&role));
            may.retain(|held| !*held || !self.question.without_roles.contains(&role));
            let at = self.add(Choice::Flag(may));
            self.space.choices.roles.insert(role, at);
        }
        for permission in &atoms.permissions {
            let may = match self.whom {
                Some(known) => vec![known.permissions.contains(*permission)],
                None => vec![false, true],
            };
            let at = self.add(Choice::Flag(may));
            self.space.choices.permissions.insert((*permission).to_owned(), at);
        }
        for (name, patterns) in &atoms.attributes {
            let values = match self.whom {
                Some(known) => vec![known.attributes.get(*name).cloned()],
                None => self.texts(patterns, "attributes"),
            };
            let at = self.add(Choice::Text(values));
            self.space.choices.attributes.insert((*name).to_owned(), at);
        }
    }

    fn request(&mut self, atoms: &Atoms<'s>, declared: &BTreeMap<AgentId, AgentCapabilities>) {
        let mut intents = self.texts(&atoms.intent, "intents");
        let keys: BTreeSet<&String> =
            declared.values().flat_map(|agent| &agent.decision_keys).collect();
        intents.extend(keys.into_iter().map(|key| Some(key.clone())));
        self.space.choices.intent = self.add(Choice::Text(intents));
        for (name, patterns) in &atoms.scope {
            let values = self.texts(patterns, "scopes");
            let at = self.add(Choice::Text(values));
            self.space.choices.scope.insert((*name).to_owned(), at);
        }
        let given = self.question.arguments.map_or(vec![true, false], |given| vec![given]);
        self.space.choices.arguments = self.add(Choice::Flag(given));
        for predicate in &atoms.predicates {
            let may = if predicate.provenance.is_empty() {
                vec![Truth::No, Truth::Yes]
            } else {
                self.gap("where values of arguments come from is not searched");
                vec![Truth::No, Truth::Unknown]
            };
            let at = self.add(Choice::Predicate(may));
            self.space.predicates.push((predicate, at));
        }
        let mut lengths = atoms.lengths.clone();
        lengths.insert(MIN_JUSTIFICATION);
        let all =
            [JustificationSource::Human, JustificationSource::Host, JustificationSource::Model];
        let mut given: Vec<Option<(u32, JustificationSource)>> = vec![None];
        for length in lengths {
            given.extend(all.map(|source| Some((length, source))));
        }
        given.retain(|one| self.question.justified.is_none_or(|wanted| wanted == one.is_some()));
        self.space.choices.justification = self.add(Choice::Justification(given));
        self.space.choices.human = self.add(Choice::Flag(vec![true, false]));
    }

    fn run(&mut self, atoms: &Atoms<'s>, ends: &[Timestamp]) {
        fn asked<T: Ord + Copy>(all: &[T], wanted: &BTreeSet<T>) -> Vec<T> {
            all.iter().copied().filter(|t| wanted.is_empty() || wanted.contains(t)).collect()
        }
        let q = self.question;
        let modes = asked(&[SafetyMode::Normal, SafetyMode::Safe, SafetyMode::Strict], &q.mode);
        self.space.choices.mode = self.add(Choice::Mode(modes));
        let levels = [
            Confidentiality::Public,
            Confidentiality::Internal,
            Confidentiality::Confidential,
            Confidentiality::Restricted,
        ];
        let levels = asked(&levels, &q.confidentiality);
        self.space.choices.confidentiality = self.add(Choice::Confidentiality(levels));
        let trust = asked(&[Integrity::Trusted, Integrity::Untrusted], &q.integrity);
        self.space.choices.integrity = self.add(Choice::Integrity(trust));
        let (times, enough) = moment::representatives(&atoms.windows, ends, q.now);
        if !enough {
            self.gap("the windows of time have more combinations than were tried");
        }
        self.space.choices.time = self.add(Choice::Time(times));
    }
}
