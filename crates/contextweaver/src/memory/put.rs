//! The options of a write to memory.

use std::time::Duration;

use weaver_types::{Label, RunId};

use super::entry::{Confidence, Origin};

/// What goes with a value: its source, how long it holds, how sure and how trustworthy it is.
///
/// What says nothing of its label is internal and untrusted. Nothing in memory is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOptions {
    /// Where the value came from, for example `tool.vault_read`. May be empty.
    pub source: String,
    /// For how long it holds; `None` for ever.
    pub ttl: Option<Duration>,
    /// How sure its source is.
    pub confidence: Confidence,
    /// How confidential and how trustworthy it is: the join of all that it was made from.
    pub label: Label,
    /// Where it is written; session and trace of the bundle stand in for those left empty.
    pub origin: Origin,
}

impl PutOptions {
    /// From this source, for ever, certain, internal and untrusted.
    pub fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            ttl: None,
            confidence: Confidence::CERTAIN,
            label: Label::undeclared_output(),
            origin: Origin::default(),
        }
    }

    /// The same for this long.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// The same with this label.
    #[must_use]
    pub fn labelled(mut self, label: Label) -> Self {
        self.label = label;
        self
    }

    /// The same with this confidence.
    #[must_use]
    pub fn confident(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// The same, written in this session.
    #[must_use]
    pub fn in_session(mut self, session: impl Into<String>) -> Self {
        self.origin.session = session.into();
        self
    }

    /// The same, written in this run.
    #[must_use]
    pub fn in_run(mut self, run: RunId) -> Self {
        self.origin.run = Some(run);
        self
    }
}

impl Default for PutOptions {
    fn default() -> Self {
        Self::new("")
    }
}
