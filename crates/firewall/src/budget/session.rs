//! A session's budget, and a session that is under way.

use std::fmt;
use std::sync::Arc;

use weaver_text::error::TokenError;
use weaver_text::token::{self, TokenCounter};
use weaver_types::ResponseMode;

use super::meter::Meter;
use super::reservation::Reservation;

/// How many tokens the frames of one session may come to, and by which counter.
///
/// ```
/// use weaver_firewall::SessionBudget;
/// use weaver_types::ResponseMode;
///
/// let session = SessionBudget::named("chars4")?.with_total(10_000).open(9_000);
/// assert_eq!(session.remaining(), 1_000);
/// assert_eq!(session.mode(ResponseMode::Table), ResponseMode::Summary);
/// # Ok::<(), weaver_text::error::TokenError>(())
/// ```
#[derive(Clone)]
pub struct SessionBudget {
    total: u32,
    reservation: u32,
    counter: Arc<dyn TokenCounter>,
}

impl SessionBudget {
    /// Tokens of a session unless told otherwise: 100,000.
    pub const TOTAL: u32 = 100_000;
    /// Tokens that are set aside for one call unless told otherwise: 4,000.
    pub const RESERVATION: u32 = 4_000;

    /// The default budget, counted by this counter.
    #[must_use]
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { total: Self::TOTAL, reservation: Self::RESERVATION, counter }
    }

    /// The default budget, counted by the counter of this name.
    ///
    /// # Errors
    /// When there is no counter of that name.
    pub fn named(counter: &str) -> Result<Self, TokenError> {
        token::counter(counter).map(Self::new)
    }

    /// The same with another total, in tokens. `u32::MAX` counts and, in practice, bounds nothing.
    #[must_use]
    pub fn with_total(mut self, tokens: u32) -> Self {
        self.total = tokens;
        self
    }

    /// The same with another reservation, in tokens, at least 1.
    #[must_use]
    pub fn with_reservation(mut self, tokens: u32) -> Self {
        self.reservation = tokens.max(1);
        self
    }

    /// A session that has used `used` tokens before.
    #[must_use]
    pub fn open(&self, used: u64) -> Session {
        let meter = Arc::new(Meter::new(self.total, saturated(used)));
        Session { budget: self.clone(), meter }
    }
}

/// Equal when total and reservation are and the counters have one name.
impl PartialEq for SessionBudget {
    fn eq(&self, other: &Self) -> bool {
        let of = |budget: &Self| (budget.total, budget.reservation);
        of(self) == of(other) && self.counter.name() == other.counter.name()
    }
}

impl Eq for SessionBudget {}

impl fmt::Debug for SessionBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBudget")
            .field("total", &self.total)
            .field("reservation", &self.reservation)
            .field("counter", &self.counter.name())
            .finish()
    }
}

/// A session under way. Clones share one meter; any number of threads may reserve at once, and
/// what they reserve never exceeds what is left.
#[derive(Debug, Clone)]
pub struct Session {
    budget: SessionBudget,
    meter: Arc<Meter>,
}

impl Session {
    /// Tokens of the whole session.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.meter.total()
    }

    /// Tokens that were given out. Never more than the total.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.meter.used()
    }

    /// Tokens that are neither used nor reserved.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.meter.remaining()
    }

    /// The mode in which a call that asks for `asked` is answered, with what is left now.
    #[must_use]
    pub fn mode(&self, asked: ResponseMode) -> ResponseMode {
        self.mode_at(asked, self.remaining())
    }

    /// The same with `remaining` tokens left: at most half of the total and nothing is raw, at most a
    /// fifth and nothing is a table, less than a twentieth and there are only handles.
    #[must_use]
    pub fn mode_at(&self, asked: ResponseMode, remaining: u32) -> ResponseMode {
        let (left, total) = (u64::from(remaining), u64::from(self.total()));
        let floor = if left * 20 < total || total == 0 {
            ResponseMode::HandleOnly
        } else if left * 5 <= total {
            ResponseMode::Summary
        } else if left * 2 <= total {
            ResponseMode::Table
        } else {
            ResponseMode::Raw
        };
        asked.max(floor)
    }

    /// Sets tokens aside for one call: the budget's reservation, or what is left of it. `None`
    /// when nothing is left.
    #[must_use]
    pub fn reserve(&self) -> Option<Reservation> {
        self.reserve_up_to(self.budget.reservation)
    }

    /// Sets `want` tokens aside, or what is left of them. `None` when nothing is left.
    #[must_use]
    pub fn reserve_up_to(&self, want: u32) -> Option<Reservation> {
        let granted = self.meter.reserve(want)?;
        Some(Reservation::new(self.clone(), granted))
    }

    /// Sets `want` tokens aside, or what is left of them, for frames that may come to that and to
    /// nothing more, whatever else is left. `None` when nothing is left.
    #[must_use]
    pub fn reserve_at_most(&self, want: u32) -> Option<Reservation> {
        self.reserve_up_to(want).map(Reservation::fixed)
    }

    /// Tokens that are set aside for one call.
    #[must_use]
    pub fn reservation(&self) -> u32 {
        self.budget.reservation
    }

    /// Counts tokens that were given out without a reservation.
    pub fn charge(&self, tokens: u64) {
        self.meter.settle(0, saturated(tokens));
    }

    /// Raises the count of used tokens to what a store knows of the session.
    pub fn at_least(&self, used: u64) {
        self.meter.raise(saturated(used));
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(super) fn counter(&self) -> &dyn TokenCounter {
        self.budget.counter.as_ref()
    }
}

pub(super) fn saturated(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
