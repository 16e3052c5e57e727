//! The variables that describe a request, their domains, and partial assignments.

use std::collections::BTreeMap;

use weaver_policy::Truth;
use weaver_types::{
    Confidentiality, Integrity, JustificationSource, Operation, SafetyMode, Timestamp,
};

use super::truth_set::TruthSet;

/// The properties of a justification that a decision depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JustificationShape {
    /// The number of characters after trimming.
    pub(super) length: u32,
    pub(super) source: JustificationSource,
}

/// The values of one variable, the simplest first.
#[derive(Debug, Clone)]
pub(super) enum Domain {
    /// A name, a value, or none.
    Text(Vec<Option<String>>),
    /// A boolean, such as whether a role is held or the arguments are known.
    Flag(Vec<bool>),
    Mode(Vec<SafetyMode>),
    Confidentiality(Vec<Confidentiality>),
    Integrity(Vec<Integrity>),
    Operation(Vec<Operation>),
    Time(Vec<Timestamp>),
    Justification(Vec<Option<JustificationShape>>),
    /// The truth value of a condition on arguments.
    Predicate(Vec<Truth>),
}

impl Domain {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(all) => all.len(),
            Self::Flag(all) => all.len(),
            Self::Mode(all) => all.len(),
            Self::Confidentiality(all) => all.len(),
            Self::Integrity(all) => all.len(),
            Self::Operation(all) => all.len(),
            Self::Time(all) => all.len(),
            Self::Justification(all) => all.len(),
            Self::Predicate(all) => all.len(),
        }
    }

    /// The bit of a keyword, as in [`FieldCondition::Keywords`](weaver_policy::FieldCondition).
    fn keyword_bit(&self, index: usize) -> Option<u64> {
        let variant = match self {
            Self::Mode(all) => *all.get(index)? as u32,
            Self::Confidentiality(all) => *all.get(index)? as u32,
            Self::Integrity(all) => *all.get(index)? as u32,
            Self::Operation(all) => *all.get(index)? as u32,
            Self::Text(_)
            | Self::Flag(_)
            | Self::Time(_)
            | Self::Justification(_)
            | Self::Predicate(_) => return None,
        };
        Some(1 << variant)
    }
}

/// The variables that conditions on one field are compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldVariables<'v> {
    /// The variable of the field's value.
    One(usize),
    /// The variables of a set of names, or of named values.
    ByName(&'v BTreeMap<String, usize>),
}

/// For each variable, the index of its value in the domain; `None` while unassigned.
pub(super) type Assignment = Vec<Option<usize>>;

/// All variables, by what they describe.
#[derive(Debug, Default)]
pub(super) struct Variables {
    pub(super) domains: Vec<Domain>,
    pub(super) principal: usize,
    pub(super) agent: usize,
    pub(super) intent: usize,
    pub(super) mode: usize,
    pub(super) confidentiality: usize,
    pub(super) integrity: usize,
    pub(super) operation: usize,
    pub(super) time: usize,
    pub(super) arguments: usize,
    pub(super) justification: usize,
    pub(super) human: usize,
    /// Whether information flow clears the call of an untrusted run, because its values are vouched
    /// for or because it names no receiver. Requests of the search cannot express where values come
    /// from.
    pub(super) flow_cleared: usize,
    pub(super) roles: BTreeMap<String, usize>,
    pub(super) permissions: BTreeMap<String, usize>,
    pub(super) attributes: BTreeMap<String, usize>,
    pub(super) scope: BTreeMap<String, usize>,
}

impl Variables {
    pub(super) fn add_variable(&mut self, domain: Domain) -> usize {
        self.domains.push(domain);
        self.domains.len() - 1
    }

    /// The variables of a field of match conditions that does not concern the capability alone.
    pub(super) fn of_field(&self, name: &str) -> Option<FieldVariables<'_>> {
        use FieldVariables::{ByName, One};
        Some(match name {
            "intent" => One(self.intent),
            "scope" => ByName(&self.scope),
            "mode" => One(self.mode),
            "confidentiality" => One(self.confidentiality),
            "integrity" => One(self.integrity),
            "principal" => One(self.principal),
            "roles" => ByName(&self.roles),
            "attributes" => ByName(&self.attributes),
            "agent" => One(self.agent),
            "time" => One(self.time),
            "operation" => One(self.operation),
            _ => return None,
        })
    }

    /// The indexes of the values that are still possible.
    fn candidates(&self, at: usize, assignment: &Assignment) -> std::ops::Range<usize> {
        match assignment.get(at).copied().flatten() {
            Some(index) => index..index + 1,
            None => 0..self.domains.get(at).map_or(0, Domain::len),
        }
    }

    /// Whether the test holds for the value of the variable, which is one of `all`.
    fn holds<T>(
        &self,
        at: usize,
        assignment: &Assignment,
        all: &[T],
        test: impl Fn(&T) -> bool,
    ) -> TruthSet {
        let values = self.candidates(at, assignment).filter_map(|index| all.get(index));
        TruthSet::any_of(values.map(|value| Truth::from(test(value))), at)
    }

    /// Whether the test holds for the text.
    pub(super) fn text(
        &self,
        at: usize,
        assignment: &Assignment,
        test: impl Fn(Option<&str>) -> bool,
    ) -> TruthSet {
        let Some(Domain::Text(all)) = self.domains.get(at) else { return TruthSet::NO };
        self.holds(at, assignment, all, |value| test(value.as_deref()))
    }

    /// Whether the flag is set; a name without a variable is never set.
    pub(super) fn flag(&self, at: Option<&usize>, assignment: &Assignment) -> TruthSet {
        let Some((at, Domain::Flag(all))) = at.and_then(|at| Some((*at, self.domains.get(*at)?)))
        else {
            return TruthSet::NO;
        };
        self.holds(at, assignment, all, |value| *value)
    }

    /// Whether the keyword is one of these bits.
    pub(super) fn keyword(&self, at: usize, assignment: &Assignment, admitted: u64) -> TruthSet {
        let Some(domain) = self.domains.get(at) else { return TruthSet::NO };
        let bits = self.candidates(at, assignment).filter_map(|index| domain.keyword_bit(index));
        TruthSet::any_of(bits.map(|bit| Truth::from(bit & admitted != 0)), at)
    }

    pub(super) fn mode(
        &self,
        assignment: &Assignment,
        test: impl Fn(SafetyMode) -> bool,
    ) -> TruthSet {
        let Some(Domain::Mode(all)) = self.domains.get(self.mode) else { return TruthSet::NO };
        self.holds(self.mode, assignment, all, |value| test(*value))
    }

    pub(super) fn confidentiality(
        &self,
        assignment: &Assignment,
        test: impl Fn(Confidentiality) -> bool,
    ) -> TruthSet {
        let at = self.confidentiality;
        let Some(Domain::Confidentiality(all)) = self.domains.get(at) else { return TruthSet::NO };
        self.holds(at, assignment, all, |value| test(*value))
    }

    pub(super) fn integrity(
        &self,
        assignment: &Assignment,
        test: impl Fn(Integrity) -> bool,
    ) -> TruthSet {
        let at = self.integrity;
        let Some(Domain::Integrity(all)) = self.domains.get(at) else { return TruthSet::NO };
        self.holds(at, assignment, all, |value| test(*value))
    }

    pub(super) fn time(
        &self,
        assignment: &Assignment,
        test: impl Fn(Timestamp) -> bool,
    ) -> TruthSet {
        let Some(Domain::Time(all)) = self.domains.get(self.time) else { return TruthSet::NO };
        self.holds(self.time, assignment, all, |value| test(*value))
    }

    pub(super) fn justification(
        &self,
        assignment: &Assignment,
        test: impl Fn(JustificationShape) -> bool,
    ) -> TruthSet {
        let at = self.justification;
        let Some(Domain::Justification(all)) = self.domains.get(at) else { return TruthSet::NO };
        self.holds(at, assignment, all, |value| value.is_some_and(&test))
    }

    /// The possible truth values of a condition on arguments; unknown without arguments.
    pub(super) fn predicate(&self, at: usize, assignment: &Assignment) -> TruthSet {
        let given = self.flag(Some(&self.arguments), assignment);
        let Some(Domain::Predicate(all)) = self.domains.get(at) else { return TruthSet::NO };
        let values = self.candidates(at, assignment).filter_map(|index| all.get(index)).copied();
        if given.is_exactly(Truth::No) {
            return TruthSet::exactly(Truth::Unknown);
        }
        if given.is_exactly(Truth::Yes) {
            return TruthSet::any_of(values, at);
        }
        TruthSet::any_of(values.chain([Truth::Unknown]), self.arguments)
    }

    /// The assigned text, or the simplest one.
    pub(super) fn assigned_text(&self, at: usize, assignment: &Assignment) -> Option<&str> {
        let Some(Domain::Text(all)) = self.domains.get(at) else { return None };
        all.get(self.candidates(at, assignment).start)?.as_deref()
    }

    /// The names of the flags that are set.
    pub(super) fn names_of_set_flags(
        &self,
        flags: &BTreeMap<String, usize>,
        assignment: &Assignment,
    ) -> Vec<String> {
        let set = |at: usize| match self.domains.get(at) {
            Some(Domain::Flag(all)) => {
                all.get(self.candidates(at, assignment).start) == Some(&true)
            }
            _ => false,
        };
        flags.iter().filter(|(_, at)| set(**at)).map(|(name, _)| name.clone()).collect()
    }

    /// The index of the assigned value, or of the simplest one.
    pub(super) fn value_index(&self, at: usize, assignment: &Assignment) -> usize {
        self.candidates(at, assignment).start
    }
}

#[cfg(test)]
mod tests {
    use weaver_policy::MatchConditions;

    use super::*;

    #[test]
    fn every_field_of_a_call_has_variables() {
        let (conditions, variables) = (MatchConditions::default(), Variables::default());
        for (field, _) in conditions.fields() {
            let known = variables.of_field(field.name).is_some();
            assert_eq!(known, !field.of_capability, "{}", field.name);
        }
    }
}
