//! What something may come out as, while choices are open.

use crate::truth::Truth;

/// Which truths are possible, and the first open choice that they hang on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Possible {
    bits: u8,
    /// A choice to make next; `None` where only one truth is left.
    pub(super) open: Option<usize>,
}

const ALL: [Truth; 3] = [Truth::No, Truth::Unknown, Truth::Yes];

fn bit(truth: Truth) -> u8 {
    match truth {
        Truth::No => 1,
        Truth::Unknown => 2,
        Truth::Yes => 4,
    }
}

impl Possible {
    /// Certainly this.
    pub(super) fn only(truth: Truth) -> Self {
        Self { bits: bit(truth), open: None }
    }

    /// Any of these, which hangs on the choice.
    pub(super) fn among(truths: impl IntoIterator<Item = Truth>, choice: usize) -> Self {
        let bits = truths.into_iter().fold(0, |bits, truth| bits | bit(truth));
        Self { bits, open: Some(choice) }.settled()
    }

    fn settled(mut self) -> Self {
        if self.bits.count_ones() <= 1 {
            self.open = None;
        }
        self
    }

    pub(super) fn may(self, truth: Truth) -> bool {
        self.bits & bit(truth) != 0
    }

    pub(super) fn must(self, truth: Truth) -> bool {
        self.bits == bit(truth)
    }

    fn with(self, other: Self, join: fn(Truth, Truth) -> Truth) -> Self {
        let mut bits = 0;
        for a in ALL.into_iter().filter(|a| self.may(*a)) {
            for b in ALL.into_iter().filter(|b| other.may(*b)) {
                bits |= bit(join(a, b));
            }
        }
        Self { bits, open: self.open.or(other.open) }.settled()
    }

    pub(super) fn and(self, other: Self) -> Self {
        self.with(other, Truth::min)
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.with(other, Truth::max)
    }

    /// What is not known counts as yes, as for everything that tightens.
    pub(super) fn speaks(self) -> Self {
        let spoken = |t| if t == Truth::No { Truth::No } else { Truth::Yes };
        let bits =
            ALL.into_iter().filter(|t| self.may(*t)).fold(0, |bits, t| bits | bit(spoken(t)));
        Self { bits, open: self.open }.settled()
    }

    /// What is not known counts as no, as for everything that loosens.
    pub(super) fn allows(self) -> Self {
        self.negated().speaks().negated()
    }

    pub(super) fn negated(self) -> Self {
        let bits = ALL.into_iter().filter(|t| self.may(*t)).fold(0, |bits, t| bits | bit(!t));
        Self { bits, open: self.open }
    }
}
