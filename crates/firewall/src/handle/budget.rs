//! Limits on stored results: size, number and lifetime.

use std::time::Duration;

use crate::error::HandleError;

/// Default lifetime of a handle: one hour.
pub const DEFAULT_TTL: Duration = Duration::from_secs(3_600);
/// Default maximum number of entries.
pub const DEFAULT_MAX_ENTRIES: usize = 10_000;

/// How much is stored behind handles, and for how long. When a new entry would exceed the number of
/// entries or the total size, the oldest entries are evicted. A result that is larger than one
/// entry, or all entries together, may be gets no handle.
///
/// ```
/// use weaver_firewall::handle::HandleBudget;
///
/// let budget = HandleBudget::default().with_max_total_bytes(512 << 20)?;
/// assert!(HandleBudget::default().with_max_total_bytes(0).is_err());
/// # Ok::<(), weaver_firewall::HandleError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandleBudget {
    pub(super) ttl: Duration,
    pub(super) max_entries: usize,
    pub(super) max_total_bytes: Option<u64>,
    pub(super) max_entry_bytes: Option<u64>,
}

impl Default for HandleBudget {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            max_entries: DEFAULT_MAX_ENTRIES,
            max_total_bytes: None,
            max_entry_bytes: None,
        }
    }
}

impl HandleBudget {
    /// Sets the lifetime of a handle.
    ///
    /// # Errors
    /// [`HandleError::Config`] for zero.
    pub fn with_ttl(self, ttl: Duration) -> Result<Self, HandleError> {
        positive("ttl", ttl).map(|()| Self { ttl, ..self })
    }

    /// The lifetime of a handle.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Limits the number of entries.
    ///
    /// # Errors
    /// [`HandleError::Config`] for zero.
    pub fn with_max_entries(self, max: usize) -> Result<Self, HandleError> {
        positive("max_entries", max).map(|()| Self { max_entries: max, ..self })
    }

    /// Limits the total bytes of all entries; unlimited by default.
    ///
    /// # Errors
    /// [`HandleError::Config`] for zero.
    pub fn with_max_total_bytes(self, max: u64) -> Result<Self, HandleError> {
        positive("max_total_bytes", max).map(|()| Self { max_total_bytes: Some(max), ..self })
    }

    /// Limits the bytes of one entry; unlimited by default.
    ///
    /// # Errors
    /// [`HandleError::Config`] for zero.
    pub fn with_max_entry_bytes(self, max: u64) -> Result<Self, HandleError> {
        positive("max_entry_bytes", max).map(|()| Self { max_entry_bytes: Some(max), ..self })
    }

    /// Refuses a result that exceeds the limits on its own.
    pub(super) fn check_size(&self, size: u64) -> Result<(), HandleError> {
        let bounds = [self.max_entry_bytes, self.max_total_bytes];
        match bounds.into_iter().flatten().find(|max| size > *max) {
            Some(max) => Err(HandleError::TooLarge { size, max }),
            None => Ok(()),
        }
    }
}

fn positive<T: Default + PartialEq>(what: &str, value: T) -> Result<(), HandleError> {
    if value != T::default() {
        return Ok(());
    }
    Err(HandleError::Config { detail: format!("`{what}` must be greater than zero") })
}
