//! Limits on a call: what it may return, and how long it may take.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::frame::ResponseMode;

/// Limits on what a call may return, and on how long it may take. Joining takes the tighter limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// The only fields that may be returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_fields: Option<BTreeSet<String>>,
    /// The most characters in the frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<u32>,
    /// The most fields in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_fields: Option<u32>,
    /// The most rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u32>,
    /// The most tokens of content in the frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The most revealing response mode allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ResponseMode>,
    /// The longest time that the call may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u32>,
}

fn tighter<T: Ord + Copy>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Constraints {
    /// The tighter of both in each component.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.max_rows = tighter(self.max_rows, other.max_rows);
        self.max_fields = tighter(self.max_fields, other.max_fields);
        self.max_tokens = tighter(self.max_tokens, other.max_tokens);
        self.max_chars = tighter(self.max_chars, other.max_chars);
        self.timeout_ms = tighter(self.timeout_ms, other.timeout_ms);
        self.mode = self.mode.max(other.mode);
        self.allowed_fields = match (self.allowed_fields, &other.allowed_fields) {
            (Some(a), Some(b)) => Some(a.intersection(b).cloned().collect()),
            (a, b) => a.or_else(|| b.clone()),
        };
        self
    }
}
