//! The sources that look at the beliefs behind a call: weak ones, and those from somebody else.

use super::belief::{Belief, BeliefOrigin, Confidence};
use super::call_context::{CallContext, FinishedCall};
use super::dependencies::Dependencies;
use super::source::{SignalError, SignalSource};
use super::{Severity, Signal, SignalKind, Subject};

/// What a source finds doubtful, and why.
struct Doubt {
    subject: Subject,
    detail: String,
}

/// The first belief that is doubtful, with the number of them; nothing where there is none.
fn doubtful(
    dependencies: &Dependencies,
    doubt: impl Fn(&Belief) -> bool,
    what: &str,
) -> Option<Doubt> {
    let mut found = dependencies.beliefs().iter().filter(|belief| doubt(belief));
    let Some(first) = found.next() else {
        let forgot = || format!("beliefs were forgotten and may be {what}");
        return (!dependencies.complete())
            .then(|| Doubt { subject: Subject::ToolSequence, detail: forgot() });
    };
    let more = match found.count() {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let state = if first.verified { "verified" } else { "not verified" };
    let (confidence, origin) = (first.confidence, first.origin.as_str());
    let detail = format!("{what}: confidence {confidence}, {state}, from {origin}{more}");
    Some(Doubt { subject: Subject::Belief(first.id.clone()), detail })
}

/// Says that a call depends on a weak belief: below the floor or not verified.
#[derive(Debug, Clone, Copy)]
pub struct BeliefFloor {
    /// The confidence below which a belief is weak.
    pub floor: Confidence,
}

impl Default for BeliefFloor {
    /// One half.
    fn default() -> Self {
        Self { floor: Confidence::HALF }
    }
}

impl SignalSource for BeliefFloor {
    fn name(&self) -> &str {
        "belief-floor"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, situation: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let weak = doubtful(situation.dependencies, |b| b.is_weak(self.floor), "weak");
        let signal = |Doubt { subject, detail }| Signal {
            source: self.name().to_owned(),
            kind: SignalKind::LowConfidenceBelief,
            severity: Severity::Warning,
            subject,
            detail,
        };
        Ok(weak.map(signal).into_iter().collect())
    }
}

/// The sentinel against acting on a guess: an alert on a call that depends on a belief below the
/// floor. It speaks before the call, not after it.
#[derive(Debug, Clone, Copy)]
pub struct LowConfidenceAction {
    /// The confidence below which a belief is a guess.
    pub floor: Confidence,
}

impl Default for LowConfidenceAction {
    /// One half.
    fn default() -> Self {
        Self { floor: Confidence::HALF }
    }
}

impl SignalSource for LowConfidenceAction {
    fn name(&self) -> &str {
        "low-confidence-action"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, situation: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let guess = |belief: &Belief| belief.confidence < self.floor;
        Ok(alert(self.name(), doubtful(situation.dependencies, guess, "a guess"), situation))
    }
}

/// The sentinel against planted memories: an alert on a call that depends on a belief from an
/// external document. It concerns the calls that depend on that belief and no others, so that
/// one text which was read does not stop the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct SuspiciousMemoryOrigin;

impl SignalSource for SuspiciousMemoryOrigin {
    fn name(&self) -> &str {
        "suspicious-memory-origin"
    }

    fn observe(&self, _: &FinishedCall<'_>) {}

    fn signals(&self, situation: &CallContext<'_>) -> Result<Vec<Signal>, SignalError> {
        let planted = |belief: &Belief| belief.origin == BeliefOrigin::ExternalDocument;
        let found = doubtful(situation.dependencies, planted, "of doubtful origin");
        Ok(alert(self.name(), found, situation))
    }
}

/// A warning about the declared decision, or about the belief where none was declared.
fn alert(source: &str, found: Option<Doubt>, situation: &CallContext<'_>) -> Vec<Signal> {
    let decided = situation.dependencies.decision();
    let signal = |Doubt { subject, detail }| Signal {
        source: source.to_owned(),
        kind: SignalKind::SentinelAlert,
        severity: Severity::Warning,
        subject: decided.map_or(subject, |decision| Subject::Decision(decision.clone())),
        detail,
    };
    found.map(signal).into_iter().collect()
}
