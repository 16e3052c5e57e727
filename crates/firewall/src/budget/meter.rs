//! The meter of a session: used and reserved tokens, packed into one atomic 64-bit word.
//!
//! Both halves change in one compare-and-exchange, so two concurrent calls can never reserve the
//! same tokens. The word is a type parameter so that the model checker (loom) can substitute its
//! own atomic.

use std::sync::atomic::{AtomicU64, Ordering};

/// An atomic word of 64 bits.
pub(crate) trait AtomicWord {
    fn new(value: u64) -> Self;
    fn load(&self) -> u64;
    /// Replaces `current` by `new`; fails with the value found if that was not `current`.
    fn exchange(&self, current: u64, new: u64) -> Result<(), u64>;
}

impl AtomicWord for AtomicU64 {
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

/// Tokens used and tokens reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BudgetUsage {
    used: u32,
    reserved: u32,
}

impl BudgetUsage {
    fn unpack(word: u64) -> Self {
        let low = u32::try_from(word & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        Self { used: u32::try_from(word >> 32).unwrap_or(u32::MAX), reserved: low }
    }

    fn pack(self) -> u64 {
        u64::from(self.used) << 32 | u64::from(self.reserved)
    }
}

/// A part of the budget that a call reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetGrant {
    pub(crate) tokens: u32,
    /// Tokens that were free before the grant.
    pub(crate) remaining_before: u32,
}

/// The meter of one session.
#[derive(Debug)]
pub(crate) struct Meter<W = AtomicU64> {
    total: u32,
    word: W,
}

impl<W: AtomicWord> Meter<W> {
    pub(crate) fn new(total: u32, used: u32) -> Self {
        let taken = BudgetUsage { used: used.min(total), reserved: 0 };
        Self { total, word: W::new(taken.pack()) }
    }

    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    pub(crate) fn used(&self) -> u32 {
        BudgetUsage::unpack(self.word.load()).used
    }

    /// Tokens that are neither used nor reserved.
    pub(crate) fn remaining(&self) -> u32 {
        self.unreserved(BudgetUsage::unpack(self.word.load()))
    }

    /// Reserves `want` tokens, or as many as are left; `None` if none are left.
    pub(crate) fn reserve(&self, want: u32) -> Option<BudgetGrant> {
        self.update(|usage| {
            let remaining_before = self.unreserved(usage);
            let tokens = want.min(remaining_before);
            let reserved = usage.reserved.saturating_add(tokens);
            (remaining_before > 0).then_some((
                BudgetUsage { reserved, ..usage },
                BudgetGrant { tokens, remaining_before },
            ))
        })
    }

    /// Reserves `by` more tokens, all or none of them.
    pub(crate) fn try_grow(&self, by: u32) -> bool {
        let grown = self.update(|usage| {
            let reserved = usage.reserved.saturating_add(by);
            (by <= self.unreserved(usage)).then_some((BudgetUsage { reserved, ..usage }, ()))
        });
        grown.is_some()
    }

    /// Releases a reservation and counts `used` tokens instead.
    pub(crate) fn settle(&self, reserved: u32, used: u32) {
        self.update(|taken| {
            let reserved = taken.reserved.saturating_sub(reserved);
            let used = taken.used.saturating_add(used).min(self.total);
            Some((BudgetUsage { used, reserved }, ()))
        });
    }

    /// Raises the count of used tokens to at least `used`.
    pub(crate) fn raise_used(&self, used: u32) {
        self.update(|taken| {
            let used = taken.used.max(used.min(self.total));
            Some((BudgetUsage { used, ..taken }, ()))
        });
    }

    fn unreserved(&self, taken: BudgetUsage) -> u32 {
        self.total.saturating_sub(taken.used).saturating_sub(taken.reserved)
    }

    /// Updates both halves at once. A lock-free loop: `next` is recomputed until no other thread
    /// changed the word between the load and the exchange, so it must be pure.
    fn update<T>(&self, next: impl Fn(BudgetUsage) -> Option<(BudgetUsage, T)>) -> Option<T> {
        let mut current = self.word.load();
        loop {
            let (usage, answer) = next(BudgetUsage::unpack(current))?;
            match self.word.exchange(current, usage.pack()) {
                Ok(()) => return Some(answer),
                Err(found) => current = found,
            }
        }
    }
}
