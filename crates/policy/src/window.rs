//! Sliding windows: how often something was allowed in the last seconds.

/// The calls that were allowed of late.
#[derive(Debug, Clone, Default)]
pub struct Windows;

impl Windows {
    /// No call yet.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}
