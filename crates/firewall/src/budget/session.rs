//! The budget of a session, and a running session.

use std::fmt;
use std::sync::Arc;

use weaver_text::error::TokenError;
use weaver_text::token::{self, TokenCounter};
use weaver_types::ResponseMode;

use super::meter::Meter;
use super::reservation::Reservation;

/// How many tokens the frames of one session may use, and which counter counts them.
///
/// ```
/// use weaver_firewall::SessionBudget;
/// use weaver_types::ResponseMode;
///
/// let session = SessionBudget::from_counter_name("chars4")?.with_total(10_000).open(9_000);
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
    /// Default tokens of a session: 100,000.
    pub const DEFAULT_TOTAL: u32 = 100_000;
    /// Default tokens reserved for one call: 4,000.
    pub const DEFAULT_RESERVATION: u32 = 4_000;

    /// The default budget with this counter.
    #[must_use]
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { total: Self::DEFAULT_TOTAL, reservation: Self::DEFAULT_RESERVATION, counter }
    }

    /// The default budget with the counter of this name.
    ///
    /// # Errors
    /// When there is no counter of that name.
    pub fn from_counter_name(counter: &str) -> Result<Self, TokenError> {
        token::counter(counter).map(Self::new)
    }

    /// Sets the total, in tokens. With `u32::MAX` tokens are counted but in practice not limited.
    #[must_use]
    pub fn with_total(mut self, tokens: u32) -> Self {
        self.total = tokens;
        self
    }

    /// Sets the size of a reservation, in tokens; at least 1.
    #[must_use]
    pub fn with_reservation(mut self, tokens: u32) -> Self {
        self.reservation = tokens.max(1);
        self
    }

    /// Opens a session that has already used `used` tokens.
    #[must_use]
    pub fn open(&self, used: u64) -> Session {
        let meter = Arc::new(Meter::new(self.total, saturating_u32(used)));
        Session { budget: self.clone(), meter }
    }
}

/// Two budgets are equal if total, reservation and counter name are equal.
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

/// A running session. Clones share one meter. Any number of threads may reserve at once; together
/// they never reserve more than is left.
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

    /// Tokens that frames have used; never more than the total.
    #[must_use]
    pub fn used(&self) -> u32 {
        self.meter.used()
    }

    /// Tokens that are neither used nor reserved.
    #[must_use]
    pub fn remaining(&self) -> u32 {
        self.meter.remaining()
    }

    /// The mode for a call that requests `requested`, given what is left now.
    #[must_use]
    pub fn mode(&self, requested: ResponseMode) -> ResponseMode {
        self.mode_at(requested, self.remaining())
    }

    /// The mode with `remaining` tokens left. With half of the total or less, nothing is raw; with
    /// a fifth or less, nothing is a table; below a twentieth, only handles are given.
    #[must_use]
    pub fn mode_at(&self, requested: ResponseMode, remaining: u32) -> ResponseMode {
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
        requested.max(floor)
    }

    /// Reserves tokens for one call: the budget's reservation, or what is left of it. `None` if
    /// nothing is left.
    #[must_use]
    pub fn reserve(&self) -> Option<Reservation> {
        self.reserve_up_to(self.budget.reservation)
    }

    /// Reserves `want` tokens, or what is left of them. `None` if nothing is left.
    #[must_use]
    pub fn reserve_up_to(&self, want: u32) -> Option<Reservation> {
        let granted = self.meter.reserve(want)?;
        Some(Reservation::new(self.clone(), granted))
    }

    /// Reserves `want` tokens, or what is left of them, for frames that may use no more than that,
    /// even if the session has tokens left. `None` if nothing is left.
    #[must_use]
    pub fn reserve_at_most(&self, want: u32) -> Option<Reservation> {
        self.reserve_up_to(want).map(Reservation::without_growth)
    }

    /// Tokens reserved for one call.
    #[must_use]
    pub fn reservation_tokens(&self) -> u32 {
        self.budget.reservation
    }

    /// Counts tokens that were used without a reservation.
    pub fn charge(&self, tokens: u64) {
        self.meter.settle(0, saturating_u32(tokens));
    }

    /// Raises the count of used tokens to at least what a store recorded for the session.
    pub fn raise_used(&self, used: u64) {
        self.meter.raise_used(saturating_u32(used));
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(super) fn counter(&self) -> &dyn TokenCounter {
        self.budget.counter.as_ref()
    }
}

pub(super) fn saturating_u32(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
