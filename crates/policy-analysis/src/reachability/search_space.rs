//! The search space of one capability: everything that its documents tell apart, as variables.
//!
//! A decision compares the values of a request with what the documents name and with nothing else, so
//! values that compare alike everywhere are interchangeable. Each domain holds a representative of
//! every class of interchangeable values: every name that occurs, one that fits no pattern, the ends
//! of every window of time. This is equivalence partitioning, as in test design, and the small-model
//! argument that makes an exhausted search a proof.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::{
    AgentCapabilities, ArgumentPredicate, MIN_JUSTIFICATION, Match, NameCondition, Pattern,
    PolicySet, Require, Rule, TimeWindow, Truth,
};
use weaver_types::{
    AgentId, Agents, Capability, Confidentiality, Integrity, JustificationSource, Principal,
    PrincipalId, SafetyMode, Timestamp,
};

use super::search_gap::SearchGap;
use super::variables::{Domain, JustificationShape, Variables};
use super::{ReachabilityQuery, representative_times};
use crate::representative_names;

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
    fn roles(&mut self, roles: &'s NameCondition) {
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
        for nested in matches.nested() {
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

/// A condition on arguments and the variable that stands for its outcome.
#[derive(Debug)]
pub(super) struct PredicateVariable<'s> {
    pub(super) predicate: &'s ArgumentPredicate,
    pub(super) variable: usize,
}

/// The variables of one capability.
#[derive(Debug)]
pub(super) struct SearchSpace<'s> {
    pub(super) variables: Variables,
    pub(super) predicates: Vec<PredicateVariable<'s>>,
    /// The first thing that the space leaves out.
    pub(super) incomplete: Option<SearchGap>,
}

struct Builder<'q, 's> {
    query: &'q ReachabilityQuery,
    fixed_principal: Option<&'q Principal>,
    space: SearchSpace<'s>,
}

impl<'s> SearchSpace<'s> {
    /// The variables; the rules are those that may speak of the capability.
    pub(super) fn new(
        query: &ReachabilityQuery,
        set: &'s PolicySet,
        capability: &'s Capability,
        rules: &[&'s Rule],
        fixed_principal: Option<&Principal>,
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
        let space =
            Self { variables: Variables::default(), predicates: Vec::new(), incomplete: None };
        let mut builder = Builder { query, fixed_principal, space };
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
    fn leave_out(&mut self, what: SearchGap) {
        self.space.incomplete.get_or_insert(what);
    }

    fn add(&mut self, domain: Domain) -> usize {
        self.space.variables.add(domain)
    }

    fn names(&mut self, patterns: &[&Pattern], subject: &'static str) -> Vec<String> {
        let names = representative_names::covering(patterns);
        if !names.complete {
            self.leave_out(SearchGap::Patterns { subject });
        }
        names.all
    }

    fn texts(&mut self, patterns: &[&Pattern], subject: &'static str) -> Vec<Option<String>> {
        let names = self.names(patterns, subject);
        std::iter::once(None).chain(names.into_iter().map(Some)).collect()
    }

    fn caller(&mut self, atoms: &Atoms<'s>, agents: &BTreeSet<&AgentId>) {
        let asked = &self.query.principal;
        let principals: Vec<_> = match self.fixed_principal {
            Some(known) => vec![known.id.as_str().to_owned()],
            None => {
                let patterns: Vec<_> = atoms.principal.iter().copied().chain(asked).collect();
                let names = self.names(&patterns, "principals");
                names.into_iter().filter(|name| PrincipalId::parse(name).is_ok()).collect()
            }
        };
        let fits = |name: &str| asked.is_empty() || asked.iter().any(|p| p.matches(name));
        let principals = principals.into_iter().filter(|name| fits(name)).map(Some).collect();
        self.space.variables.principal = self.add(Domain::Text(principals));
        let mut acting: Vec<_> = match self.fixed_principal {
            Some(known) => vec![known.agent.as_ref().map(|agent| agent.as_str().to_owned())],
            None => self.texts(&atoms.agent, "agents"),
        };
        if self.fixed_principal.is_none() {
            acting.extend(agents.iter().map(|agent| Some(agent.as_str().to_owned())));
        }
        acting.retain(|name| name.as_ref().is_none_or(|name| AgentId::parse(name).is_ok()));
        self.space.variables.agent = self.add(Domain::Text(acting));
        self.granted(atoms);
    }

    fn granted(&mut self, atoms: &Atoms<'s>) {
        let mut roles: BTreeSet<String> = atoms.roles.iter().map(|r| (*r).to_owned()).collect();
        roles.extend(self.query.with_roles.iter().cloned());
        for role in roles {
            let mut may = match self.fixed_principal {
                Some(known) => vec![known.roles.contains(&role)],
                None => vec![false, true],
            };
            may.retain(|held| *held || !self.query.with_roles.contains(&role));
            may.retain(|held| !*held || !self.query.without_roles.contains(&role));
            let at = self.add(Domain::Flag(may));
            self.space.variables.roles.insert(role, at);
        }
        for permission in &atoms.permissions {
            let may = match self.fixed_principal {
                Some(known) => vec![known.permissions.contains(*permission)],
                None => vec![false, true],
            };
            let at = self.add(Domain::Flag(may));
            self.space.variables.permissions.insert((*permission).to_owned(), at);
        }
        for (name, patterns) in &atoms.attributes {
            let values = match self.fixed_principal {
                Some(known) => vec![known.attributes.get(*name).cloned()],
                None => self.texts(patterns, "attributes"),
            };
            let at = self.add(Domain::Text(values));
            self.space.variables.attributes.insert((*name).to_owned(), at);
        }
    }

    fn request(&mut self, atoms: &Atoms<'s>, declared: &BTreeMap<AgentId, AgentCapabilities>) {
        let mut intents = self.texts(&atoms.intent, "intents");
        let keys: BTreeSet<&String> =
            declared.values().flat_map(|agent| &agent.decision_keys).collect();
        intents.extend(keys.into_iter().map(|key| Some(key.clone())));
        self.space.variables.intent = self.add(Domain::Text(intents));
        for (name, patterns) in &atoms.scope {
            let values = self.texts(patterns, "scopes");
            let at = self.add(Domain::Text(values));
            self.space.variables.scope.insert((*name).to_owned(), at);
        }
        let given = self.query.arguments.map_or(vec![true, false], |given| vec![given]);
        self.space.variables.arguments = self.add(Domain::Flag(given));
        for predicate in &atoms.predicates {
            let may = if predicate.provenance.is_empty() {
                vec![Truth::No, Truth::Yes]
            } else {
                self.leave_out(SearchGap::Provenance);
                vec![Truth::No, Truth::Unknown]
            };
            let at = self.add(Domain::Predicate(may));
            self.space.predicates.push(PredicateVariable { predicate, variable: at });
        }
        let mut lengths = atoms.lengths.clone();
        lengths.insert(MIN_JUSTIFICATION);
        let all =
            [JustificationSource::Human, JustificationSource::Host, JustificationSource::Model];
        let mut given: Vec<Option<JustificationShape>> = vec![None];
        for length in lengths {
            given.extend(all.map(|source| Some(JustificationShape { length, source })));
        }
        given.retain(|one| self.query.justified.is_none_or(|wanted| wanted == one.is_some()));
        self.space.variables.justification = self.add(Domain::Justification(given));
        self.space.variables.human = self.add(Domain::Flag(vec![true, false]));
        self.space.variables.vouched = self.add(Domain::Flag(vec![false, true]));
    }

    fn run(&mut self, atoms: &Atoms<'s>, ends: &[Timestamp]) {
        fn asked<T: Ord + Copy>(all: &[T], wanted: &BTreeSet<T>) -> Vec<T> {
            all.iter().copied().filter(|t| wanted.is_empty() || wanted.contains(t)).collect()
        }
        let q = self.query;
        let modes = asked(&[SafetyMode::Normal, SafetyMode::Safe, SafetyMode::Strict], &q.mode);
        self.space.variables.mode = self.add(Domain::Mode(modes));
        let levels = [
            Confidentiality::Public,
            Confidentiality::Internal,
            Confidentiality::Confidential,
            Confidentiality::Restricted,
        ];
        let levels = asked(&levels, &q.confidentiality);
        self.space.variables.confidentiality = self.add(Domain::Confidentiality(levels));
        let trust = asked(&[Integrity::Trusted, Integrity::Untrusted], &q.integrity);
        self.space.variables.integrity = self.add(Domain::Integrity(trust));
        let times = representative_times::covering(&atoms.windows, ends, q.now);
        if !times.complete {
            self.leave_out(SearchGap::Times);
        }
        self.space.variables.time = self.add(Domain::Time(times.all));
    }
}
