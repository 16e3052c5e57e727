//! The choices that make up a request, and how far they are made.

use std::collections::BTreeMap;

use weaver_types::{Confidentiality, Integrity, JustificationSource, SafetyMode, Timestamp};

use super::possible::Possible;
use crate::truth::Truth;

/// One choice with everything that may be chosen; the plainest comes first.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    /// A name, a value, or none.
    Text(Vec<Option<String>>),
    /// Whether something is so: a role is held, the arguments are known.
    Flag(Vec<bool>),
    Mode(Vec<SafetyMode>),
    Confidentiality(Vec<Confidentiality>),
    Integrity(Vec<Integrity>),
    Time(Vec<Timestamp>),
    Justification(Vec<Option<(u32, JustificationSource)>>),
    /// How a condition on arguments comes out.
    Predicate(Vec<Truth>),
}

impl Choice {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(all) => all.len(),
            Self::Flag(all) => all.len(),
            Self::Mode(all) => all.len(),
            Self::Confidentiality(all) => all.len(),
            Self::Integrity(all) => all.len(),
            Self::Time(all) => all.len(),
            Self::Justification(all) => all.len(),
            Self::Predicate(all) => all.len(),
        }
    }
}

/// Which value of each choice was taken; `None` while it is open.
pub(super) type Taken = Vec<Option<usize>>;

/// Every choice, by what it is about.
#[derive(Debug, Default)]
pub(super) struct Choices {
    pub(super) all: Vec<Choice>,
    pub(super) principal: usize,
    pub(super) agent: usize,
    pub(super) intent: usize,
    pub(super) mode: usize,
    pub(super) confidentiality: usize,
    pub(super) integrity: usize,
    pub(super) time: usize,
    pub(super) arguments: usize,
    pub(super) justification: usize,
    pub(super) human: usize,
    pub(super) roles: BTreeMap<String, usize>,
    pub(super) permissions: BTreeMap<String, usize>,
    pub(super) attributes: BTreeMap<String, usize>,
    pub(super) scope: BTreeMap<String, usize>,
}

impl Choices {
    pub(super) fn add(&mut self, choice: Choice) -> usize {
        self.all.push(choice);
        self.all.len() - 1
    }

    /// The places of the values that may still be taken.
    fn places(&self, at: usize, taken: &Taken) -> std::ops::Range<usize> {
        match taken.get(at).copied().flatten() {
            Some(place) => place..place + 1,
            None => 0..self.all.get(at).map_or(0, Choice::len),
        }
    }

    /// Whether the test holds for the text chosen.
    pub(super) fn text(
        &self,
        at: usize,
        taken: &Taken,
        test: impl Fn(Option<&str>) -> bool,
    ) -> Possible {
        let Some(Choice::Text(all)) = self.all.get(at) else { return never() };
        let values = self.places(at, taken).filter_map(|place| all.get(place));
        Possible::among(values.map(|value| Truth::from(test(value.as_deref()))), at)
    }

    /// Whether the flag is set; a name without a choice is never held.
    pub(super) fn flag(&self, at: Option<&usize>, taken: &Taken) -> Possible {
        let Some((at, Choice::Flag(all))) = at.and_then(|at| Some((*at, self.all.get(*at)?)))
        else {
            return never();
        };
        let values = self.places(at, taken).filter_map(|place| all.get(place));
        Possible::among(values.map(|value| Truth::from(*value)), at)
    }

    pub(super) fn mode(&self, taken: &Taken, test: impl Fn(SafetyMode) -> bool) -> Possible {
        let Some(Choice::Mode(all)) = self.all.get(self.mode) else { return never() };
        let values = self.places(self.mode, taken).filter_map(|place| all.get(place));
        Possible::among(values.map(|value| Truth::from(test(*value))), self.mode)
    }

    pub(super) fn confidentiality(
        &self,
        taken: &Taken,
        test: impl Fn(Confidentiality) -> bool,
    ) -> Possible {
        let at = self.confidentiality;
        let Some(Choice::Confidentiality(all)) = self.all.get(at) else { return never() };
        let values = self.places(at, taken).filter_map(|place| all.get(place));
        Possible::among(values.map(|value| Truth::from(test(*value))), at)
    }

    pub(super) fn integrity(&self, taken: &Taken, test: impl Fn(Integrity) -> bool) -> Possible {
        let at = self.integrity;
        let Some(Choice::Integrity(all)) = self.all.get(at) else { return never() };
        let values = self.places(at, taken).filter_map(|place| all.get(place));
        Possible::among(values.map(|value| Truth::from(test(*value))), at)
    }

    pub(super) fn time(&self, taken: &Taken, test: impl Fn(Timestamp) -> bool) -> Possible {
        let Some(Choice::Time(all)) = self.all.get(self.time) else { return never() };
        let values = self.places(self.time, taken).filter_map(|place| all.get(place));
        Possible::among(values.map(|value| Truth::from(test(*value))), self.time)
    }

    pub(super) fn justification(
        &self,
        taken: &Taken,
        test: impl Fn(u32, JustificationSource) -> bool,
    ) -> Possible {
        let at = self.justification;
        let Some(Choice::Justification(all)) = self.all.get(at) else { return never() };
        let values = self.places(at, taken).filter_map(|place| all.get(place));
        let holds = |value: &Option<(u32, JustificationSource)>| {
            Truth::from(value.is_some_and(|(length, source)| test(length, source)))
        };
        Possible::among(values.map(holds), at)
    }

    /// How a condition on arguments comes out; unknown while there are none.
    pub(super) fn predicate(&self, at: usize, taken: &Taken) -> Possible {
        let given = self.flag(Some(&self.arguments), taken);
        let Some(Choice::Predicate(all)) = self.all.get(at) else { return never() };
        let values = self.places(at, taken).filter_map(|place| all.get(place)).copied();
        if given.must(Truth::No) {
            return Possible::only(Truth::Unknown);
        }
        if given.must(Truth::Yes) {
            return Possible::among(values, at);
        }
        Possible::among(values.chain([Truth::Unknown]), self.arguments)
    }

    /// The text taken, or the plainest one.
    pub(super) fn text_of(&self, at: usize, taken: &Taken) -> Option<&str> {
        let Some(Choice::Text(all)) = self.all.get(at) else { return None };
        all.get(self.places(at, taken).start)?.as_deref()
    }

    /// The names of the flags that are set.
    pub(super) fn held(&self, flags: &BTreeMap<String, usize>, taken: &Taken) -> Vec<String> {
        let set = |at: usize| match self.all.get(at) {
            Some(Choice::Flag(all)) => all.get(self.places(at, taken).start) == Some(&true),
            _ => false,
        };
        flags.iter().filter(|(_, at)| set(**at)).map(|(name, _)| name.clone()).collect()
    }

    /// The place that was taken, or that of the plainest value.
    pub(super) fn place(&self, at: usize, taken: &Taken) -> usize {
        self.places(at, taken).start
    }
}

fn never() -> Possible {
    Possible::only(Truth::No)
}
