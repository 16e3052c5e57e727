//! Limits on the size of memory.

use serde_json::Value;
use weaver_text::escape;
use weaver_types::canonical::{self, Profile};

use super::entry::EntryKind;
use super::error::MemoryError;
use super::put::PutOptions;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;
/// The longest source, session or trace of an entry, in bytes.
pub const MAX_SOURCE_BYTES: usize = 1_024;
/// The most claims about one fact.
pub const MAX_CLAIMS: usize = 16;
/// The longest summary of an episode, in bytes.
pub const MAX_SUMMARY_BYTES: usize = 2_000;
/// The most entries in one page of a list.
pub const MAX_PAGE: usize = 1_000;

/// How much one tier may hold. Each process that opens a durable file enforces its own limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most values; default 100,000.
    pub values: u64,
    /// The most facts; default 10,000.
    pub facts: u64,
    /// The most episodes, after which the oldest are removed; default and maximum 1,000.
    pub episodes: u64,
    /// The most bytes of one value as canonical JSON; default and maximum 32 KiB.
    pub value_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { values: 100_000, facts: 10_000, episodes: 1_000, value_bytes: 32 * 1024 }
    }
}

impl Limits {
    /// These limits, reduced to what the stored form allows.
    pub(super) fn within(self) -> Self {
        let most = Self::default();
        Self {
            episodes: self.episodes.min(most.episodes),
            value_bytes: self.value_bytes.min(most.value_bytes),
            ..self
        }
    }

    pub(super) fn max_entries(&self, kind: EntryKind) -> u64 {
        match kind {
            EntryKind::Value => self.values,
            EntryKind::Episode => self.episodes,
            EntryKind::Fact => self.facts,
        }
    }

    pub(super) fn check_put(
        &self,
        key: &str,
        value: &Value,
        put: &PutOptions,
    ) -> Result<(), MemoryError> {
        check_key(key)?;
        let bytes = canonical::to_bytes(value, Profile::Foreign).map_err(|error| {
            MemoryError::Value { key: printable(key), problem: error.to_string() }
        })?;
        check_size("value", key, bytes.len(), self.value_bytes)?;
        for text in [&put.source, &put.origin.session, &put.origin.trace] {
            check_size("source", key, text.len(), MAX_SOURCE_BYTES)?;
        }
        Ok(())
    }
}

/// Checks a key: 1 to 256 bytes, without control characters, no blank at either end.
pub(super) fn check_key(key: &str) -> Result<(), MemoryError> {
    let malformed = |rule| Err(MemoryError::Key { key: printable(key), rule });
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return malformed("it has 1 to 256 bytes");
    }
    if key.chars().any(char::is_control) {
        return malformed("it has no control characters");
    }
    if key.trim() != key {
        return malformed("it neither begins nor ends with a blank");
    }
    Ok(())
}

pub(super) fn check_size(
    what: &'static str,
    key: &str,
    size: usize,
    max: usize,
) -> Result<(), MemoryError> {
    if size > max {
        return Err(MemoryError::TooLarge { what, key: printable(key), size, max });
    }
    Ok(())
}

/// A key for a message: escaped and shortened.
pub(super) fn printable(key: &str) -> String {
    escape::line(&escape::shorten(key, 80)).into_owned()
}
