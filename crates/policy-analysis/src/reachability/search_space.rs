//! The search space of one capability: everything that its documents distinguish, as variables.
//!
//! A decision compares the values of a request only with values in the documents, so values with
//! the same results in all comparisons are interchangeable. Each domain contains a representative
//! of every class of interchangeable values: every name that occurs, a name that matches no
//! pattern, the boundaries of every time window. This is equivalence partitioning, as in test
//! design, and the small-model argument that makes an exhausted search a proof.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::{
    AgentCapabilities, ArgumentPredicate, FieldCondition, MIN_JUSTIFICATION_CHARS, MatchConditions,
    Pattern, PolicySet, Requirements, Rule, TimeWindow, Truth,
};
use weaver_types::{
    AgentId, AllowedAgents, Capability, Confidentiality, Integrity, JustificationSource, Principal,
    PrincipalId, SafetyMode, Timestamp,
};

use super::arguments::PredicateOutcome;
use super::search_gap::SearchGap;
use super::variables::{Assignment, JustificationShape, Variable, Variables};
use super::{ReachabilityQuery, representative_times};
use crate::representative_names;

/// Everything that is mentioned in the rules about one capability; what conditions mention, by the
/// name of their field.
#[derive(Debug, Default)]
struct MentionedValues<'s> {
    patterns: BTreeMap<&'static str, Vec<&'s Pattern>>,
    names: BTreeMap<&'static str, BTreeSet<&'s str>>,
    named_patterns: BTreeMap<&'static str, BTreeMap<&'s str, Vec<&'s Pattern>>>,
    permissions: BTreeSet<&'s str>,
    windows: Vec<&'s TimeWindow>,
    predicates: Vec<&'s ArgumentPredicate>,
    lengths: BTreeSet<u32>,
}

impl<'s> MentionedValues<'s> {
    fn patterns(&self, field: &str) -> &[&'s Pattern] {
        self.patterns.get(field).map_or(&[], Vec::as_slice)
    }

    fn add_patterns(&mut self, field: &'static str, patterns: &'s [Pattern]) {
        self.patterns.entry(field).or_default().extend(patterns);
    }

    fn add_names(&mut self, field: &'static str, names: impl Iterator<Item = &'s String>) {
        self.names.entry(field).or_default().extend(names.map(String::as_str));
    }

    fn add_named_patterns(&mut self, field: &'static str, required: &'s BTreeMap<String, Pattern>) {
        let named = self.named_patterns.entry(field).or_default();
        for (name, pattern) in required {
            named.entry(name).or_default().push(pattern);
        }
    }

    fn add_conditions(&mut self, matches: &'s MatchConditions) {
        for (field, condition) in matches.fields().filter(|(field, _)| !field.of_capability) {
            match condition {
                FieldCondition::Patterns(patterns) => self.add_patterns(field.name, patterns),
                FieldCondition::Names(names) => {
                    self.add_names(field.name, names.any.iter().chain(&names.all));
                }
                FieldCondition::NamedPatterns(required) => {
                    self.add_named_patterns(field.name, required);
                }
                FieldCondition::Time(window) => self.windows.extend(window),
                // All keywords are tried.
                _ => {}
            }
        }
        for predicate in &matches.arguments {
            if !self.predicates.contains(&predicate) {
                self.predicates.push(predicate);
            }
        }
        for nested in matches.nested() {
            self.add_conditions(nested);
        }
    }

    fn add_requirements(&mut self, require: &'s Requirements) {
        self.add_names("roles", require.roles.any.iter().chain(&require.roles.all));
        self.permissions.extend(require.permissions.iter().map(String::as_str));
        self.add_named_patterns("attributes", &require.attributes);
        self.lengths.extend(require.justification.iter().map(|need| need.min_chars));
    }
}

/// A condition on arguments, and the variable for its truth value.
#[derive(Debug)]
pub(super) struct PredicateVariable<'s> {
    pub(super) predicate: &'s ArgumentPredicate,
    pub(super) variable: Variable<Truth>,
}

/// The search space of one capability.
#[derive(Debug)]
pub(super) struct SearchSpace<'s> {
    pub(super) variables: Variables,
    pub(super) predicates: Vec<PredicateVariable<'s>>,
    /// The first thing that is missing from the space, if any.
    pub(super) incomplete: Option<SearchGap>,
}

struct SearchSpaceBuilder<'q, 's> {
    query: &'q ReachabilityQuery,
    fixed_principal: Option<&'q Principal>,
    space: SearchSpace<'s>,
}

impl<'s> SearchSpace<'s> {
    /// Builds the space from the rules that may apply to the capability.
    pub(super) fn new(
        query: &ReachabilityQuery,
        set: &'s PolicySet,
        capability: &'s Capability,
        rules: &[&'s Rule],
        fixed_principal: Option<&Principal>,
    ) -> Self {
        let mut mentioned = MentionedValues::default();
        for rule in rules {
            mentioned.add_conditions(&rule.matches);
            mentioned.add_requirements(&rule.require);
        }
        for entry in &set.contracts().visible {
            mentioned.add_patterns("principal", &entry.principals);
            mentioned.add_patterns("agent", &entry.agents);
            mentioned.add_names("roles", entry.roles.iter());
        }
        let spec = capability.spec();
        mentioned.permissions.extend(spec.permissions.iter().map(String::as_str));
        let space =
            Self { variables: Variables::default(), predicates: Vec::new(), incomplete: None };
        let mut builder = SearchSpaceBuilder { query, fixed_principal, space };
        let mut agents: BTreeSet<&AgentId> = set.policy().agents.keys().collect();
        if let AllowedAgents::Only(admitted) = &spec.agents {
            agents.extend(admitted);
        }
        builder.add_caller_variables(&mentioned, &agents);
        builder.add_request_variables(&mentioned, &set.policy().agents);
        let ends = [set.policy().expires, set.contracts().expires];
        builder.add_run_variables(&mentioned, &ends.into_iter().flatten().collect::<Vec<_>>());
        builder.space
    }

    /// The truth values that the assignment requires of the conditions on arguments.
    pub(super) fn predicate_outcomes(&self, assignment: &Assignment) -> Vec<PredicateOutcome<'s>> {
        let outcomes = self.predicates.iter().filter_map(|one| {
            let truth = *one.variable.assigned(assignment)?;
            Some(PredicateOutcome { predicate: one.predicate, truth })
        });
        outcomes.collect()
    }
}

impl<'s> SearchSpaceBuilder<'_, 's> {
    fn record_gap(&mut self, what: SearchGap) {
        self.space.incomplete.get_or_insert(what);
    }

    fn add_variable<T>(&mut self, values: Vec<T>) -> Variable<T> {
        self.space.variables.add(values)
    }

    fn representative_names_of(
        &mut self,
        patterns: &[&Pattern],
        subject: &'static str,
    ) -> Vec<String> {
        let names = representative_names::representative_names(patterns);
        if !names.complete {
            self.record_gap(SearchGap::Patterns { subject });
        }
        names.all
    }

    fn optional_texts(
        &mut self,
        patterns: &[&Pattern],
        subject: &'static str,
    ) -> Vec<Option<String>> {
        let names = self.representative_names_of(patterns, subject);
        std::iter::once(None).chain(names.into_iter().map(Some)).collect()
    }

    fn add_caller_variables(
        &mut self,
        mentioned: &MentionedValues<'s>,
        agents: &BTreeSet<&AgentId>,
    ) {
        let wanted = &self.query.principal;
        let principals: Vec<_> = match self.fixed_principal {
            Some(known) => vec![known.id.as_str().to_owned()],
            None => {
                let named = mentioned.patterns("principal").iter().copied();
                let patterns: Vec<_> = named.chain(wanted).collect();
                let names = self.representative_names_of(&patterns, "principals");
                names.into_iter().filter(|name| PrincipalId::parse(name).is_ok()).collect()
            }
        };
        let fits = |name: &str| wanted.is_empty() || wanted.iter().any(|p| p.matches(name));
        let principals = principals.into_iter().filter(|name| fits(name)).map(Some).collect();
        self.space.variables.principal = self.add_variable(principals);
        let mut acting: Vec<_> = match self.fixed_principal {
            Some(known) => vec![known.agent.as_ref().map(|agent| agent.as_str().to_owned())],
            None => self.optional_texts(mentioned.patterns("agent"), "agents"),
        };
        if self.fixed_principal.is_none() {
            acting.extend(agents.iter().map(|agent| Some(agent.as_str().to_owned())));
        }
        acting.retain(|name| name.as_ref().is_none_or(|name| AgentId::parse(name).is_ok()));
        self.space.variables.agent = self.add_variable(acting);
        self.add_grant_variables(mentioned);
    }

    fn add_grant_variables(&mut self, mentioned: &MentionedValues<'s>) {
        let named = mentioned.names.get("roles").into_iter().flatten();
        let mut roles: BTreeSet<String> = named.map(|role| (*role).to_owned()).collect();
        roles.extend(self.query.with_roles.iter().cloned());
        for role in roles {
            let mut may = match self.fixed_principal {
                Some(known) => vec![known.roles.contains(&role)],
                None => vec![false, true],
            };
            may.retain(|has_role| *has_role || !self.query.with_roles.contains(&role));
            may.retain(|has_role| !*has_role || !self.query.without_roles.contains(&role));
            let variable = self.add_variable(may);
            self.space.variables.roles.insert(role, variable);
        }
        for permission in &mentioned.permissions {
            let may = match self.fixed_principal {
                Some(known) => vec![known.permissions.contains(*permission)],
                None => vec![false, true],
            };
            let variable = self.add_variable(may);
            self.space.variables.permissions.insert((*permission).to_owned(), variable);
        }
        for (name, patterns) in mentioned.named_patterns.get("attributes").into_iter().flatten() {
            let values = match self.fixed_principal {
                Some(known) => vec![known.attributes.get(*name).cloned()],
                None => self.optional_texts(patterns, "attributes"),
            };
            let variable = self.add_variable(values);
            self.space.variables.attributes.insert((*name).to_owned(), variable);
        }
    }

    fn add_request_variables(
        &mut self,
        mentioned: &MentionedValues<'s>,
        declared: &BTreeMap<AgentId, AgentCapabilities>,
    ) {
        let mut intents = self.optional_texts(mentioned.patterns("intent"), "intents");
        let keys: BTreeSet<&String> =
            declared.values().flat_map(|agent| &agent.decision_keys).collect();
        intents.extend(keys.into_iter().map(|key| Some(key.clone())));
        self.space.variables.intent = self.add_variable(intents);
        for (name, patterns) in mentioned.named_patterns.get("scope").into_iter().flatten() {
            let values = self.optional_texts(patterns, "scopes");
            let variable = self.add_variable(values);
            self.space.variables.scope.insert((*name).to_owned(), variable);
        }
        let given = self.query.arguments.map_or(vec![true, false], |given| vec![given]);
        self.space.variables.arguments = self.add_variable(given);
        for predicate in &mentioned.predicates {
            let may = if predicate.provenance.is_empty() {
                vec![Truth::No, Truth::Yes]
            } else {
                self.record_gap(SearchGap::Provenance);
                vec![Truth::No, Truth::Unknown]
            };
            let variable = self.add_variable(may);
            self.space.predicates.push(PredicateVariable { predicate, variable });
        }
        let mut lengths = mentioned.lengths.clone();
        lengths.insert(MIN_JUSTIFICATION_CHARS);
        let all =
            [JustificationSource::Human, JustificationSource::Host, JustificationSource::Model];
        let mut given: Vec<Option<JustificationShape>> = vec![None];
        for length in lengths {
            given.extend(all.map(|source| Some(JustificationShape { length, source })));
        }
        given.retain(|one| self.query.justified.is_none_or(|wanted| wanted == one.is_some()));
        self.space.variables.justification = self.add_variable(given);
        self.space.variables.human_channel = self.add_variable(vec![true, false]);
        self.space.variables.flow_cleared = self.add_variable(vec![false, true]);
    }

    fn add_run_variables(&mut self, mentioned: &MentionedValues<'s>, ends: &[Timestamp]) {
        fn restrict<T: Ord + Copy>(all: &[T], wanted: &BTreeSet<T>) -> Vec<T> {
            all.iter().copied().filter(|t| wanted.is_empty() || wanted.contains(t)).collect()
        }
        let q = self.query;
        let modes = restrict(&[SafetyMode::Normal, SafetyMode::Safe, SafetyMode::Strict], &q.mode);
        self.space.variables.mode = self.add_variable(modes);
        let levels = [
            Confidentiality::Public,
            Confidentiality::Internal,
            Confidentiality::Confidential,
            Confidentiality::Restricted,
        ];
        let levels = restrict(&levels, &q.confidentiality);
        self.space.variables.confidentiality = self.add_variable(levels);
        let trust = restrict(&[Integrity::Trusted, Integrity::Untrusted], &q.integrity);
        self.space.variables.integrity = self.add_variable(trust);
        self.space.variables.operation = self.add_variable(vec![q.operation]);
        let times = representative_times::representative_times(&mentioned.windows, ends, q.now);
        if !times.complete {
            self.record_gap(SearchGap::Times);
        }
        self.space.variables.time = self.add_variable(times.all);
    }
}
