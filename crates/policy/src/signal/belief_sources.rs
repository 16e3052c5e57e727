//! Signal sources that examine the beliefs behind a call: weak ones, and those from external
//! documents.

use super::belief::{Belief, BeliefOrigin, Confidence};
use super::call_context::CallContext;
use super::dependencies::BeliefDependencies;
use super::signal_source::{SignalError, SignalSource};
use super::{Severity, Signal, SignalKind, SignalSubject};

/// A doubtful belief and the reason.
struct DoubtfulBelief {
    subject: SignalSubject,
    detail: String,
}

/// Finds the first doubtful belief and counts the others. Forgotten beliefs are doubtful too.
fn first_doubtful_belief(
    dependencies: &BeliefDependencies,
    doubt: impl Fn(&Belief) -> bool,
    what: &str,
) -> Option<DoubtfulBelief> {
    let mut found = dependencies.beliefs().iter().filter(|belief| doubt(belief));
    let Some(first) = found.next() else {
        let forgot = || format!("beliefs were forgotten and may be {what}");
        return (!dependencies.is_complete())
            .then(|| DoubtfulBelief { subject: SignalSubject::ToolSequence, detail: forgot() });
    };
    let more = match found.count() {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let state = if first.verified { "verified" } else { "not verified" };
    let (confidence, origin) = (first.confidence, first.origin.as_str());
    let detail = format!("{what}: confidence {confidence}, {state}, from {origin}{more}");
    Some(DoubtfulBelief { subject: SignalSubject::Belief(first.id.clone()), detail })
}

/// Signals that a call depends on a weak belief: below the floor, or unverified.
#[derive(Debug, Clone, Copy)]
pub struct WeakBeliefSource {
    /// The confidence below which a belief is weak.
    pub floor: Confidence,
}

impl Default for WeakBeliefSource {
    /// One half.
    fn default() -> Self {
        Self { floor: Confidence::HALF }
    }
}

impl SignalSource for WeakBeliefSource {
    fn name(&self) -> &str {
        "belief-floor"
    }

    fn signals(&self, context: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let weak = first_doubtful_belief(context.dependencies, |b| b.is_weak(self.floor), "weak");
        let signal = |DoubtfulBelief { subject, detail }| Signal {
            source: self.name().to_owned(),
            kind: SignalKind::LowConfidenceBelief,
            severity: Severity::Warning,
            subject,
            detail,
        };
        Ok(weak.map(signal).into_iter().collect())
    }
}

/// A sentinel against acting on a guess: alerts on a call that depends on a belief below the floor,
/// before the call is made.
#[derive(Debug, Clone, Copy)]
pub struct LowConfidenceSentinel {
    /// The confidence below which a belief is a guess.
    pub floor: Confidence,
}

impl Default for LowConfidenceSentinel {
    /// One half.
    fn default() -> Self {
        Self { floor: Confidence::HALF }
    }
}

impl SignalSource for LowConfidenceSentinel {
    fn name(&self) -> &str {
        "low-confidence-action"
    }

    fn signals(&self, context: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let guess = |belief: &Belief| belief.confidence < self.floor;
        Ok(alert(
            self.name(),
            first_doubtful_belief(context.dependencies, guess, "a guess"),
            context,
        ))
    }
}

/// A sentinel against planted memories: alerts on a call that depends on a belief from an external
/// document. The alert affects only calls that depend on that belief, so reading one external text
/// does not stop the whole run.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryOriginSentinel;

impl SignalSource for MemoryOriginSentinel {
    fn name(&self) -> &str {
        "suspicious-memory-origin"
    }

    fn signals(&self, context: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let planted = |belief: &Belief| belief.origin == BeliefOrigin::ExternalDocument;
        let found = first_doubtful_belief(context.dependencies, planted, "of doubtful origin");
        Ok(alert(self.name(), found, context))
    }
}

/// A warning about the declared decision, or about the belief if none was declared.
fn alert(source: &str, found: Option<DoubtfulBelief>, context: &CallContext<'_>) -> Vec<Signal> {
    let decided = context.dependencies.decision();
    let signal = |DoubtfulBelief { subject, detail }| Signal {
        source: source.to_owned(),
        kind: SignalKind::SentinelAlert,
        severity: Severity::Warning,
        subject: decided.map_or(subject, |decision| SignalSubject::Decision(decision.clone())),
        detail,
    };
    found.map(signal).into_iter().collect()
}
