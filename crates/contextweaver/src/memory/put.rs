//! The options of a write to memory.

use std::time::Duration;

use weaver_types::{Label, RunId};

use super::entry::{Confidence, EntryOrigin};

/// The options of a write: source, time to live, confidence, label and origin.
///
/// The default label is internal and untrusted. No entry of memory is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOptions {
    /// Where the value came from, for example `tool.vault_read`. May be empty.
    pub source: String,
    /// The time to live; `None` for no expiry.
    pub ttl: Option<Duration>,
    /// The confidence of the source.
    pub confidence: Confidence,
    /// The label: the join of the labels of everything that the value was made from.
    pub label: Label,
    /// Where the entry is written. An empty session or trace is replaced by that of the bundle.
    pub origin: EntryOrigin,
}

impl PutOptions {
    /// Options with this source: no expiry, full confidence, internal and untrusted.
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            ttl: None,
            confidence: Confidence::CERTAIN,
            label: Label::undeclared_output(),
            origin: EntryOrigin::default(),
        }
    }

    /// Sets the time to live.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets the label.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.label = label;
        self
    }

    /// Sets the confidence.
    #[must_use]
    pub fn with_confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        self.origin.session = session.into();
        self
    }

    /// Sets the run.
    #[must_use]
    pub fn with_run(mut self, run: RunId) -> Self {
        self.origin.run = Some(run);
        self
    }
}

impl Default for PutOptions {
    fn default() -> Self {
        Self::new("")
    }
}
