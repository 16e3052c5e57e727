//! The report of all signal sources about one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use weaver_text::escape;
use weaver_types::MAX_DETAIL;

use super::call_context::CallContext;
use super::source::{SignalError, SignalSource};
use super::{Signal, Subject};

/// How many signals of one kind and severity a report keeps; of the others it keeps the number.
pub const MAX_SIGNALS: usize = 16;

/// A source that could not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceFailure {
    /// The name of the source.
    pub source: String,
    /// The stable code of the error.
    pub code: &'static str,
    /// The error in words.
    pub message: String,
}

/// What all sources say about one call: the signals that concern it, those that do not, and the
/// sources that failed. Sorted, so that the order of the sources does not show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalReport {
    signals: Vec<Signal>,
    aside: Vec<Signal>,
    failed: Vec<SourceFailure>,
    more: usize,
}

impl SignalReport {
    /// Nothing was noticed and nothing failed.
    #[must_use]
    pub const fn none() -> Self {
        Self { signals: Vec::new(), aside: Vec::new(), failed: Vec::new(), more: 0 }
    }

    /// Asks every source about this call and keeps apart what does not concern it.
    #[must_use]
    pub fn gather(sources: &[Arc<dyn SignalSource>], situation: &CallContext<'_>) -> Self {
        let mut report = Self::none();
        for source in sources {
            match source.signals(situation) {
                Ok(signals) => {
                    for signal in signals {
                        let source = source.name().to_owned();
                        report.sort_in(Signal { source, ..signal }, situation);
                    }
                }
                Err(error) => report = report.with_failure(source.name(), &error),
            }
        }
        report.bound();
        report
    }

    /// A report of these signals, all of which concern the call.
    #[must_use]
    pub fn of(signals: Vec<Signal>) -> Self {
        let mut report = Self { signals, ..Self::none() };
        report.bound();
        report
    }

    /// The same with one more signal that concerns the call.
    #[must_use]
    pub fn with(mut self, signal: Signal) -> Self {
        self.signals.push(signal);
        self.bound();
        self
    }

    /// The same with one more source that failed.
    #[must_use]
    pub fn with_failure(mut self, source: &str, error: &SignalError) -> Self {
        let (code, message) = (error.code(), error.to_string());
        self.failed.push(SourceFailure { source: source.to_owned(), code, message });
        self.failed.sort();
        self
    }

    /// The signals that concern the call.
    #[must_use]
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// The signals that do not, for the log.
    #[must_use]
    pub fn aside(&self) -> &[Signal] {
        &self.aside
    }

    /// The sources that failed.
    #[must_use]
    pub fn failed(&self) -> &[SourceFailure] {
        &self.failed
    }

    /// How many signals were not kept. At least one of their kind and severity was.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.signals.is_empty() && self.aside.is_empty() && self.failed.is_empty()
    }

    fn sort_in(&mut self, signal: Signal, situation: &CallContext<'_>) {
        if situation.dependencies.concerned_by(&signal.subject) {
            self.signals.push(signal);
        } else {
            self.aside.push(signal);
        }
    }

    fn bound(&mut self) {
        self.more += bound(&mut self.signals);
        self.more += bound(&mut self.aside);
    }
}

/// Sorts, cuts texts, and keeps the first of each sort. What a signal does follows from its sort
/// alone, so that nothing which is dropped was stricter than what is kept.
fn bound(signals: &mut Vec<Signal>) -> usize {
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
        let over = matches!(signal.subject, Subject::Action(_));
        let count = kept.entry((over, signal.kind, signal.severity)).or_insert(0_usize);
        *count += 1;
        *count <= MAX_SIGNALS
    });
    before - signals.len()
}
