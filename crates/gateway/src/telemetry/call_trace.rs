//! The trace of one call: its stages, and its place in the client's trace.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weaver_types::{Clock as _, OsRandom, Random as _, SystemClock, Timestamp};

use super::call_metrics::CallStage;
use super::trace_parent::TraceParent;

/// The most stages kept of one call. A call is retried a few times at most.
const MAX_STAGES: usize = 64;
/// The error of a stage whose work was dropped before its end.
const ABANDONED: &str = "abandoned";

tokio::task_local! {
    static CURRENT: Arc<CallTrace>;
}

/// The id of a span.
pub(crate) type SpanId = [u8; 8];

/// A timed stage of a call, which becomes a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StageRecord {
    pub(crate) kind: CallStage,
    pub(crate) span: SpanId,
    pub(crate) parent: SpanId,
    /// The time since the call began; so is `to`.
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) error: Option<&'static str>,
}

impl StageRecord {
    pub(crate) fn duration(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }
}

/// The trace of one call, from the client's request to the answer.
pub(crate) struct CallTrace {
    pub(crate) capability: String,
    pub(crate) trace: [u8; 16],
    pub(crate) root: SpanId,
    pub(crate) parent: Option<TraceParent>,
    pub(crate) started_at: Timestamp,
    begun: Instant,
    /// Whether its spans go to a collector.
    is_exported: bool,
    state: Mutex<TraceState>,
}

#[derive(Default)]
struct TraceState {
    stages: Vec<StageRecord>,
    /// How many span ids are given out.
    spans: u64,
    /// The span of the execution in progress.
    execution: SpanId,
    /// The span of the attempt in progress.
    server: Option<SpanId>,
}

impl CallTrace {
    pub(super) fn begin(
        capability: &str,
        parent: Option<TraceParent>,
        has_collector: bool,
    ) -> Self {
        let is_exported = has_collector && parent.is_none_or(|parent| parent.sampled);
        let (trace, root) = if is_exported { random_ids() } else { ([0; 16], [0; 8]) };
        Self {
            capability: capability.to_owned(),
            trace: parent.map_or(trace, |parent| parent.trace),
            root,
            parent,
            started_at: SystemClock::default().now(),
            begun: Instant::now(),
            // Without randomness there are no ids, so nothing can be exported.
            is_exported: is_exported && root != [0; 8],
            state: Mutex::default(),
        }
    }

    /// The trace of the call that the current task works on.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Runs `work` with this trace as the current one.
    pub(crate) fn scope<T>(
        self: &Arc<Self>,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = T> {
        CURRENT.scope(Arc::clone(self), work)
    }

    pub(crate) fn is_exported(&self) -> bool {
        self.is_exported
    }

    /// How long the call has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The stages of the call, in the order in which they ended.
    pub(super) fn stages(&self) -> Vec<StageRecord> {
        self.state().stages.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, TraceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trace context to send to the server that is called now. If no spans are exported here,
    /// it is the client's own context, so that the server's spans become children of the client's.
    pub(crate) fn server_context(&self) -> Option<TraceParent> {
        let server = self.state().server;
        match server.filter(|_| self.is_exported) {
            Some(span) => Some(TraceParent { trace: self.trace, span, sampled: true }),
            None => self.parent,
        }
    }

    /// Measures the wait for an approval until the returned timer ends or is dropped.
    pub(crate) fn begin_hold(self: &Arc<Self>) -> StageTimer {
        let span = self.state().next_span(self.root);
        self.timer(CallStage::Hold, span, self.root)
    }

    /// Starts the decision and execution of the call. Returns the start time for
    /// [`Self::end_execution`].
    pub(crate) fn begin_execution(&self) -> Duration {
        let mut state = self.state();
        state.execution = state.next_span(self.root);
        self.elapsed()
    }

    /// Divides the time since `begun` into decision, execution and firewall, at the start of the
    /// first attempt and the end of the last. Without attempts all of it is decision.
    pub(crate) fn end_execution(&self, begun: Duration) {
        let ended = self.elapsed();
        let mut state = self.state();
        let attempts = state.stages.iter().filter(|stage| {
            stage.kind == CallStage::Server && stage.from >= begun && stage.to <= ended
        });
        let (first, last) = attempts.fold((None, begun), |(first, last), stage| {
            (Some(first.unwrap_or(stage.from)), last.max(stage.to))
        });
        let execution = state.execution;
        let mut record = |kind, span, [from, to]: [Duration; 2]| {
            let (parent, error) = (self.root, None);
            state.record(StageRecord { kind, span, parent, from, to, error });
        };
        let spans = [1, 2].map(|after| derived_span_id(execution, after));
        let [decision, firewall] = spans;
        match first {
            None => record(CallStage::Decision, decision, [begun, ended]),
            Some(first) => {
                record(CallStage::Decision, decision, [begun, first]);
                record(CallStage::Execution, execution, [first, last]);
                record(CallStage::Firewall, firewall, [last, ended]);
            }
        }
        state.spans += 2;
    }

    /// Measures one attempt at the server until the returned timer ends or is dropped.
    pub(super) fn begin_attempt(self: &Arc<Self>) -> StageTimer {
        let mut state = self.state();
        // The two ids after an execution's id belong to its decision and firewall spans, so
        // attempts are numbered from far above.
        let span = derived_span_id(state.next_span(self.root), ATTEMPT_ID_OFFSET);
        let execution = state.execution;
        state.server = Some(span);
        drop(state);
        self.timer(CallStage::Server, span, execution)
    }

    fn timer(self: &Arc<Self>, kind: CallStage, span: SpanId, parent: SpanId) -> StageTimer {
        let from = self.elapsed();
        let stage = StageRecord { kind, span, parent, from, to: from, error: Some(ABANDONED) };
        StageTimer { trace: Arc::clone(self), stage, is_discarded: false }
    }
}

/// The offset of the ids of attempts.
const ATTEMPT_ID_OFFSET: u64 = 1 << 32;

impl TraceState {
    fn next_span(&mut self, root: SpanId) -> SpanId {
        self.spans += 1;
        derived_span_id(root, self.spans)
    }

    fn record(&mut self, stage: StageRecord) {
        if self.stages.len() < MAX_STAGES {
            self.stages.push(stage);
        }
    }
}

/// The id of a further span of a call. Only the root id is random; the others are consecutive to
/// it, which is unique enough within one trace and costs no randomness.
fn derived_span_id(root: SpanId, number: u64) -> SpanId {
    u64::from_be_bytes(root).wrapping_add(number).to_be_bytes()
}

/// Random ids of a trace and a span; zeros if randomness fails.
fn random_ids() -> ([u8; 16], SpanId) {
    let (mut trace, mut span) = ([0; 16], [0; 8]);
    let filled = OsRandom.fill(&mut trace).and_then(|()| OsRandom.fill(&mut span));
    if filled.is_err() { ([0; 16], [0; 8]) } else { (trace, span) }
}

/// Measures a stage until it is ended or dropped.
pub(crate) struct StageTimer {
    trace: Arc<CallTrace>,
    stage: StageRecord,
    is_discarded: bool,
}

impl StageTimer {
    /// Ends the stage normally. A timer dropped without this records an abandoned stage.
    pub(crate) fn end(mut self, error: Option<&'static str>) {
        self.stage.error = error;
    }

    /// Drops the timer without recording a stage.
    pub(super) fn discard(mut self) {
        self.is_discarded = true;
    }
}

impl Drop for StageTimer {
    fn drop(&mut self) {
        self.stage.to = self.trace.elapsed();
        let mut state = self.trace.state();
        if state.server == Some(self.stage.span) {
            state.server = None;
        }
        if !self.is_discarded {
            state.record(self.stage.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(trace: &CallTrace) -> Vec<CallStage> {
        trace.stages().iter().map(|stage| stage.kind).collect()
    }

    #[test]
    fn the_time_of_an_execution_is_divided_at_its_attempts() {
        let trace = Arc::new(CallTrace::begin("a.b", None, true));
        let begun = trace.begin_execution();
        trace.begin_attempt().end(Some("driver.timeout"));
        trace.begin_attempt().end(None);
        trace.end_execution(begun);
        use CallStage::{Decision, Execution, Firewall, Server};
        assert_eq!(kinds(&trace), [Server, Server, Decision, Execution, Firewall]);
        let stages = trace.stages();
        let execution = &stages[3];
        assert!(stages[..2].iter().all(|stage| stage.parent == execution.span));
        assert!(stages[2..].iter().all(|stage| stage.parent == trace.root));
        let ids: std::collections::BTreeSet<_> = stages.iter().map(|stage| stage.span).collect();
        assert_eq!(ids.len(), 5, "ids of their own");
        let total: Duration = stages[2..].iter().map(StageRecord::duration).sum();
        assert_eq!(total, stages[4].to.saturating_sub(begun), "no time is counted twice or lost");
    }

    #[test]
    fn what_no_server_saw_is_decision_alone() {
        let trace = Arc::new(CallTrace::begin("a.b", None, false));
        let begun = trace.begin_execution();
        trace.end_execution(begun);
        trace.begin_hold().end(None);
        assert_eq!(kinds(&trace), [CallStage::Decision, CallStage::Hold]);
    }

    #[test]
    fn an_attempt_that_is_given_up_says_so() {
        let trace = Arc::new(CallTrace::begin("a.b", None, false));
        drop(trace.begin_attempt());
        assert_eq!(trace.stages()[0].error, Some(ABANDONED));
    }

    #[test]
    fn the_server_is_told_of_its_own_parent_and_of_the_clients_where_no_spans_are_kept() {
        let client = TraceParent { trace: [7; 16], span: [9; 8], sampled: true };
        let kept = Arc::new(CallTrace::begin("a.b", Some(client), true));
        let attempt = kept.begin_attempt();
        let told = kept.server_context().unwrap();
        assert_eq!((told.trace, told.span), (client.trace, attempt.stage.span));
        drop(attempt);
        let none = Arc::new(CallTrace::begin("a.b", Some(client), false));
        let _attempt = none.begin_attempt();
        assert_eq!(none.server_context(), Some(client));
        let off = TraceParent { sampled: false, ..client };
        let off = Arc::new(CallTrace::begin("a.b", Some(off), true));
        let _attempt = off.begin_attempt();
        assert!(!off.is_exported() && off.server_context().is_some_and(|told| !told.sampled));
        assert_eq!(CallTrace::begin("a.b", None, false).server_context(), None);
    }
}
