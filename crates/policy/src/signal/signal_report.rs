//! The combined report of all signal sources about one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_text::escape;
use weaver_types::MAX_DETAIL;

use super::call_context::CallContext;
use super::signal_source::{SignalError, SignalSource};
use super::{Signal, SignalSubject};

/// How many signals of one kind and severity a report stores; further ones are only counted.
pub const MAX_SIGNALS: usize = 16;

/// A source that could not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignalSourceFailure {
    /// The name of the source.
    pub source: String,
    /// The stable code of the error.
    pub code: &'static str,
    /// The error message.
    pub message: String,
}

/// The signals of all sources for one call: those that affect it, those that do not, and the
/// sources that failed. Sorted, so the order of the sources has no influence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalReport {
    signals: Vec<Signal>,
    unrelated: Vec<Signal>,
    failed: Vec<SignalSourceFailure>,
    dropped: usize,
}

impl SignalReport {
    /// No signals and no failures.
    #[must_use]
    pub const fn none() -> Self {
        Self { signals: Vec::new(), unrelated: Vec::new(), failed: Vec::new(), dropped: 0 }
    }

    /// Collects the signals of every source, separated by whether they affect this call.
    #[must_use]
    pub fn collect(sources: &[Arc<dyn SignalSource>], context: &CallContext<'_>) -> Self {
        let mut report = Self::none();
        for source in sources {
            match source.signals(context) {
                Ok(signals) => {
                    for signal in signals {
                        let source = source.name().to_owned();
                        report.add(Signal { source, ..signal }, context);
                    }
                }
                Err(error) => report = report.with_failure(source.name(), &error),
            }
        }
        report.truncate();
        report
    }

    /// A report with these signals, all of which affect the call.
    #[must_use]
    pub fn from_signals(signals: Vec<Signal>) -> Self {
        let mut report = Self { signals, ..Self::none() };
        report.truncate();
        report
    }

    /// Adds a signal that affects the call.
    #[must_use]
    pub fn with_signal(mut self, signal: Signal) -> Self {
        self.signals.push(signal);
        self.truncate();
        self
    }

    /// Adds a failed source.
    #[must_use]
    pub fn with_failure(mut self, source: &str, error: &SignalError) -> Self {
        let (code, message) = (error.code(), error.to_string());
        self.failed.push(SignalSourceFailure { source: source.to_owned(), code, message });
        self.failed.sort();
        self
    }

    /// The signals that affect the call.
    #[must_use]
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// The signals that do not affect the call; only for the log.
    #[must_use]
    pub fn unrelated_signals(&self) -> &[Signal] {
        &self.unrelated
    }

    /// The sources that failed.
    #[must_use]
    pub fn failures(&self) -> &[SignalSourceFailure] {
        &self.failed
    }

    /// How many signals were dropped. At least one of the same kind and severity is stored.
    #[must_use]
    pub fn dropped_count(&self) -> usize {
        self.dropped
    }

    /// Whether there are no signals and no failures.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.signals.is_empty() && self.unrelated.is_empty() && self.failed.is_empty()
    }

    fn add(&mut self, signal: Signal, context: &CallContext<'_>) {
        if context.dependencies.is_affected_by(&signal.subject) {
            self.signals.push(signal);
        } else {
            self.unrelated.push(signal);
        }
    }

    fn truncate(&mut self) {
        self.dropped += truncate_signals(&mut self.signals);
        self.dropped += truncate_signals(&mut self.unrelated);
    }
}

/// Sorts the signals, truncates texts, and stores only the first few of each kind and severity. The
/// effect of a signal depends on these alone, so a dropped signal is never stricter than a stored
/// one.
fn truncate_signals(signals: &mut Vec<Signal>) -> usize {
    for signal in signals.iter_mut() {
        for text in [&mut signal.source, &mut signal.detail] {
            let cut = escape::truncate(text, MAX_DETAIL);
            if cut.len() < text.len() {
                *text = cut.to_owned();
            }
        }
    }
    signals.sort();
    signals.dedup();
    let before = signals.len();
    let mut kept = BTreeMap::new();
    signals.retain(|signal| {
        let over = matches!(signal.subject, SignalSubject::Action(_));
        let count = kept.entry((over, signal.kind, signal.severity)).or_insert(0_usize);
        *count += 1;
        *count <= MAX_SIGNALS
    });
    before - signals.len()
}
