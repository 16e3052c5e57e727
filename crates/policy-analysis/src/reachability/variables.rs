//! The variables that describe a request, their domains, and partial assignments.

use std::collections::{BTreeMap, BTreeSet};

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

/// A variable with the values that it can have, the simplest first.
#[derive(Debug)]
pub(super) struct Variable<T> {
    /// Its place in an [`Assignment`].
    index: usize,
    values: Vec<T>,
}

impl<T> Default for Variable<T> {
    fn default() -> Self {
        Self { index: 0, values: Vec::new() }
    }
}

impl<T> Variable<T> {
    /// The values that are still possible.
    fn candidates(&self, assignment: &Assignment) -> &[T] {
        match assignment.get(self.index).copied().flatten() {
            Some(value) => self.values.get(value..=value).unwrap_or_default(),
            None => &self.values,
        }
    }

    /// Whether the test holds for the value.
    pub(super) fn holds(&self, assignment: &Assignment, test: impl Fn(&T) -> bool) -> TruthSet {
        let values = self.candidates(assignment).iter();
        TruthSet::any_of(values.map(|value| Truth::from(test(value))), self.index)
    }

    /// The assigned value; `None` while unassigned.
    pub(super) fn assigned(&self, assignment: &Assignment) -> Option<&T> {
        assignment.get(self.index).copied().flatten().and_then(|value| self.values.get(value))
    }

    /// Its place, if it has no value yet.
    pub(super) fn unassigned(&self, assignment: &Assignment) -> Option<usize> {
        assignment.get(self.index)?.is_none().then_some(self.index)
    }

    /// The assigned value, or the simplest one.
    pub(super) fn assigned_or_simplest(&self, assignment: &Assignment) -> Option<&T> {
        self.candidates(assignment).first()
    }
}

/// A name, a value, or none.
impl Variable<Option<String>> {
    /// Whether the test holds for the text.
    pub(super) fn text_holds(
        &self,
        assignment: &Assignment,
        test: impl Fn(Option<&str>) -> bool,
    ) -> TruthSet {
        self.holds(assignment, |text| test(text.as_deref()))
    }

    /// The assigned text, or the simplest one.
    pub(super) fn text(&self, assignment: &Assignment) -> Option<&str> {
        self.assigned_or_simplest(assignment)?.as_deref()
    }
}

/// A flag, such as whether a role is held or the arguments are known.
impl Variable<bool> {
    pub(super) fn is_set(&self, assignment: &Assignment) -> TruthSet {
        self.holds(assignment, |value| *value)
    }
}

/// Whether the flag of this name is set; a name without a variable is never set.
pub(super) fn is_flag_set(
    flags: &BTreeMap<String, Variable<bool>>,
    name: &str,
    assignment: &Assignment,
) -> TruthSet {
    flags.get(name).map_or(TruthSet::NO, |flag| flag.is_set(assignment))
}

/// The names of the flags that are set.
pub(super) fn names_of_set_flags(
    flags: &BTreeMap<String, Variable<bool>>,
    assignment: &Assignment,
) -> BTreeSet<String> {
    let is_set = |flag: &Variable<bool>| flag.assigned_or_simplest(assignment) == Some(&true);
    flags.iter().filter(|(_, flag)| is_set(flag)).map(|(name, _)| name.clone()).collect()
}

/// The names with their assigned texts, or the simplest ones.
pub(super) fn named_texts(
    texts: &BTreeMap<String, Variable<Option<String>>>,
    assignment: &Assignment,
) -> BTreeMap<String, String> {
    let texts = texts.iter();
    texts
        .filter_map(|(name, text)| Some((name.clone(), text.text(assignment)?.to_owned())))
        .collect()
}

/// What conditions on one field are compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldVariables<'v> {
    Text(&'v Variable<Option<String>>),
    NamedTexts(&'v BTreeMap<String, Variable<Option<String>>>),
    Flags(&'v BTreeMap<String, Variable<bool>>),
    Mode(&'v Variable<SafetyMode>),
    Confidentiality(&'v Variable<Confidentiality>),
    Integrity(&'v Variable<Integrity>),
    Operation(&'v Variable<Operation>),
    Time(&'v Variable<Timestamp>),
}

/// For each variable, the index of its value in the domain; `None` while unassigned.
pub(super) type Assignment = Vec<Option<usize>>;

/// All variables, by what they describe.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// How many values each variable can have.
    pub(super) sizes: Vec<usize>,
    pub(super) principal: Variable<Option<String>>,
    pub(super) agent: Variable<Option<String>>,
    pub(super) intent: Variable<Option<String>>,
    pub(super) mode: Variable<SafetyMode>,
    pub(super) confidentiality: Variable<Confidentiality>,
    pub(super) integrity: Variable<Integrity>,
    pub(super) operation: Variable<Operation>,
    pub(super) time: Variable<Timestamp>,
    /// Whether the arguments are known.
    pub(super) arguments: Variable<bool>,
    pub(super) justification: Variable<Option<JustificationShape>>,
    pub(super) human_channel: Variable<bool>,
    /// Whether information flow clears the call of an untrusted run, because its values are vouched
    /// for or because it names no receiver. Requests of the search cannot express where values come
    /// from.
    pub(super) flow_cleared: Variable<bool>,
    pub(super) roles: BTreeMap<String, Variable<bool>>,
    pub(super) permissions: BTreeMap<String, Variable<bool>>,
    pub(super) attributes: BTreeMap<String, Variable<Option<String>>>,
    pub(super) scope: BTreeMap<String, Variable<Option<String>>>,
}

impl Variables {
    pub(super) fn add<T>(&mut self, values: Vec<T>) -> Variable<T> {
        self.sizes.push(values.len());
        Variable { index: self.sizes.len() - 1, values }
    }

    /// The variables of a field of match conditions that does not concern the capability alone.
    pub(super) fn of_field(&self, name: &str) -> Option<FieldVariables<'_>> {
        Some(match name {
            "intent" => FieldVariables::Text(&self.intent),
            "scope" => FieldVariables::NamedTexts(&self.scope),
            "mode" => FieldVariables::Mode(&self.mode),
            "confidentiality" => FieldVariables::Confidentiality(&self.confidentiality),
            "integrity" => FieldVariables::Integrity(&self.integrity),
            "principal" => FieldVariables::Text(&self.principal),
            "roles" => FieldVariables::Flags(&self.roles),
            "attributes" => FieldVariables::NamedTexts(&self.attributes),
            "agent" => FieldVariables::Text(&self.agent),
            "time" => FieldVariables::Time(&self.time),
            "operation" => FieldVariables::Operation(&self.operation),
            _ => return None,
        })
    }

    /// The possible truth values of a condition on arguments; unknown without arguments.
    pub(super) fn predicate(
        &self,
        predicate: &Variable<Truth>,
        assignment: &Assignment,
    ) -> TruthSet {
        let given = self.arguments.is_set(assignment);
        let values = predicate.candidates(assignment).iter().copied();
        if given.is_exactly(Truth::No) {
            return TruthSet::exactly(Truth::Unknown);
        }
        if given.is_exactly(Truth::Yes) {
            return TruthSet::any_of(values, predicate.index);
        }
        TruthSet::any_of(values.chain([Truth::Unknown]), self.arguments.index)
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
