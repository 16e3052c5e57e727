//! The meter of a session: tokens used and tokens reserved, in one atomic word.
//!
//! Both halves change together or not at all, so that no interleaving of calls reserves what
//! another one holds. The word is generic for the sake of the model checker, which brings its own.

use std::sync::atomic::{AtomicU64, Ordering};

/// An atomic word of 64 bits.
pub(crate) trait Word {
    fn new(value: u64) -> Self;
    fn load(&self) -> u64;
    /// The value that was found where it is not `current`.
    fn exchange(&self, current: u64, new: u64) -> Result<(), u64>;
}

impl Word for AtomicU64 {
    fn new(value: u64) -> Self {
        Self::new(value)
    }

    fn load(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    fn exchange(&self, current: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).map(|_| ())
    }
}

/// What is used up and what is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BudgetUse {
    used: u32,
    reserved: u32,
}

impl BudgetUse {
    fn unpack(word: u64) -> Self {
        let low = u32::try_from(word & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        Self { used: u32::try_from(word >> 32).unwrap_or(u32::MAX), reserved: low }
    }

    fn pack(self) -> u64 {
        u64::from(self.used) << 32 | u64::from(self.reserved)
    }
}

/// A part of the budget that was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetGrant {
    pub(crate) tokens: u32,
    /// What was left before.
    pub(crate) before: u32,
}

/// The meter of one session.
#[derive(Debug)]
pub(crate) struct Meter<W = AtomicU64> {
    total: u32,
    word: W,
}

impl<W: Word> Meter<W> {
    pub(crate) fn new(total: u32, used: u32) -> Self {
        let taken = BudgetUse { used: used.min(total), reserved: 0 };
        Self { total, word: W::new(taken.pack()) }
    }

    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    pub(crate) fn used(&self) -> u32 {
        BudgetUse::unpack(self.word.load()).used
    }

    /// What is neither used nor reserved.
    pub(crate) fn remaining(&self) -> u32 {
        self.left(BudgetUse::unpack(self.word.load()))
    }

    /// Sets aside `want` tokens, or what is left of them; `None` when nothing is left.
    pub(crate) fn reserve(&self, want: u32) -> Option<BudgetGrant> {
        self.change(|taken| {
            let before = self.left(taken);
            let tokens = want.min(before);
            let reserved = taken.reserved.saturating_add(tokens);
            (before > 0)
                .then_some((BudgetUse { reserved, ..taken }, BudgetGrant { tokens, before }))
        })
    }

    /// Sets aside `by` more tokens, all of them or none.
    pub(crate) fn grow(&self, by: u32) -> bool {
        let grown = self.change(|taken| {
            let reserved = taken.reserved.saturating_add(by);
            (by <= self.left(taken)).then_some((BudgetUse { reserved, ..taken }, ()))
        });
        grown.is_some()
    }

    /// Gives back a reservation and counts what was used in its place.
    pub(crate) fn settle(&self, reserved: u32, used: u32) {
        self.change(|taken| {
            let reserved = taken.reserved.saturating_sub(reserved);
            let used = taken.used.saturating_add(used).min(self.total);
            Some((BudgetUse { used, reserved }, ()))
        });
    }

    /// Raises the count of used tokens to at least `used`.
    pub(crate) fn raise(&self, used: u32) {
        self.change(|taken| {
            let used = taken.used.max(used.min(self.total));
            Some((BudgetUse { used, ..taken }, ()))
        });
    }

    fn left(&self, taken: BudgetUse) -> u32 {
        self.total.saturating_sub(taken.used).saturating_sub(taken.reserved)
    }

    fn change<T>(&self, next: impl Fn(BudgetUse) -> Option<(BudgetUse, T)>) -> Option<T> {
        let mut current = self.word.load();
        loop {
            let (taken, answer) = next(BudgetUse::unpack(current))?;
            match self.word.exchange(current, taken.pack()) {
                Ok(()) => return Some(answer),
                Err(found) => current = found,
            }
        }
    }
}
