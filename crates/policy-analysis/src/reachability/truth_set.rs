//! Sets of truth values: the possible values of a condition while variables are unassigned.
//!
//! Abstract interpretation over the powerset of the three truth values. The connectives are lifted
//! pointwise, so the resulting set contains every value that some completion of the assignment can
//! produce. It may contain more, because operands are treated as independent. This can only delay
//! pruning and never causes a wrong answer.

use weaver_policy::Truth;

/// The possible truth values, and the first unassigned variable that they depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TruthSet {
    bits: u8,
    /// The variable to assign next; `None` if only one value is left.
    pub(super) branch: Option<usize>,
}

const ALL: [Truth; 3] = [Truth::No, Truth::Unknown, Truth::Yes];

const fn bit(truth: Truth) -> u8 {
    match truth {
        Truth::No => 1,
        Truth::Unknown => 2,
        Truth::Yes => 4,
    }
}

fn bits(truths: impl IntoIterator<Item = Truth>) -> u8 {
    truths.into_iter().fold(0, |bits, truth| bits | bit(truth))
}

impl TruthSet {
    pub(super) const NO: Self = Self::exactly(Truth::No);
    pub(super) const YES: Self = Self::exactly(Truth::Yes);

    /// Exactly this value.
    pub(super) const fn exactly(truth: Truth) -> Self {
        Self { bits: bit(truth), branch: None }
    }

    /// Any of these values, depending on the variable.
    pub(super) fn any_of(truths: impl IntoIterator<Item = Truth>, variable: usize) -> Self {
        Self { bits: bits(truths), branch: Some(variable) }.normalized()
    }

    /// A single value does not depend on any variable.
    fn normalized(mut self) -> Self {
        if self.bits.count_ones() <= 1 {
            self.branch = None;
        }
        self
    }

    fn values(self) -> impl Iterator<Item = Truth> {
        ALL.into_iter().filter(move |truth| self.contains(*truth))
    }

    pub(super) fn contains(self, truth: Truth) -> bool {
        self.bits & bit(truth) != 0
    }

    pub(super) fn is_exactly(self, truth: Truth) -> bool {
        self.bits == bit(truth)
    }

    /// Applies the connective to every pair of possible values.
    fn combine(self, other: Self, connective: fn(Truth, Truth) -> Truth) -> Self {
        let pairs = self.values().flat_map(|a| other.values().map(move |b| connective(a, b)));
        Self { bits: bits(pairs), branch: self.branch.or(other.branch) }.normalized()
    }

    pub(super) fn and(self, other: Self) -> Self {
        self.combine(other, Truth::min)
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.combine(other, Truth::max)
    }

    pub(super) fn negated(self) -> Self {
        Self { bits: bits(self.values().map(|truth| !truth)), branch: self.branch }
    }

    /// Reads unknown as yes, as a decision does for deny and approval rules.
    pub(super) fn unknown_as_yes(self) -> Self {
        let read = |truth| if truth == Truth::No { Truth::No } else { Truth::Yes };
        Self { bits: bits(self.values().map(read)), branch: self.branch }.normalized()
    }

    /// Reads unknown as no, as a decision does for allow rules.
    pub(super) fn unknown_as_no(self) -> Self {
        self.negated().unknown_as_yes().negated()
    }
}
