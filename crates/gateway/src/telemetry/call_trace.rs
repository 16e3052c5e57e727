//! One call from its request to its answer: what its time is spent on, and its place in a trace.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weaver_types::{Clock as _, OsRandom, Random as _, SystemClock, Timestamp};

use super::call_metrics::CallStage;
use super::trace_parent::TraceParent;

/// The most stages that are kept of one call: a call is tried a few times at most.
const MAX_STAGES: usize = 64;
/// The error of a stage whose work was given up.
const ABANDONED: &str = "abandoned";

tokio::task_local! {
    static CURRENT: Arc<CallTrace>;
}

/// The id of a span.
pub(crate) type SpanId = [u8; 8];

/// A stretch of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) kind: CallStage,
    pub(crate) span: SpanId,
    pub(crate) parent: SpanId,
    /// Since the call began.
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) error: Option<&'static str>,
}

impl Stage {
    pub(crate) fn took(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }
}

/// One call from its request to its answer.
pub(crate) struct CallTrace {
    pub(crate) capability: String,
    pub(crate) trace: [u8; 16],
    pub(crate) root: SpanId,
    pub(crate) parent: Option<TraceParent>,
    pub(crate) started_at: Timestamp,
    begun: Instant,
    /// True when its spans go to a collector.
    is_exported: bool,
    state: Mutex<TraceState>,
}

#[derive(Default)]
struct TraceState {
    stages: Vec<Stage>,
    /// How many spans have an id.
    spans: u64,
    /// The span of the attempts that are made now.
    execution: SpanId,
    /// The span of the attempt that is made now.
    server: Option<SpanId>,
}

impl CallTrace {
    pub(super) fn begin(
        capability: &str,
        parent: Option<TraceParent>,
        has_collector: bool,
    ) -> Self {
        let is_exported = has_collector && parent.is_none_or(|parent| parent.sampled);
        let (trace, root) = if is_exported { fresh_ids() } else { ([0; 16], [0; 8]) };
        Self {
            capability: capability.to_owned(),
            trace: parent.map_or(trace, |parent| parent.trace),
            root,
            parent,
            started_at: SystemClock::default().now(),
            begun: Instant::now(),
            // Without randomness there are no ids.
            is_exported: is_exported && root != [0; 8],
            state: Mutex::default(),
        }
    }

    /// The call that this task works on.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Does the work of this call.
    pub(crate) async fn scope<T>(self: &Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(Arc::clone(self), work).await
    }

    pub(crate) fn is_exported(&self) -> bool {
        self.is_exported
    }

    /// How long it has taken up to now.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// What its time was spent on, in the order of their ends.
    pub(super) fn stages(&self) -> Vec<Stage> {
        self.state().stages.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, TraceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The context for a message to the server that is called now. Where no spans are kept here, the
    /// server's are children of the client's.
    pub(crate) fn outgoing(&self) -> Option<TraceParent> {
        let server = self.state().server;
        match server.filter(|_| self.is_exported) {
            Some(span) => Some(TraceParent { trace: self.trace, span, sampled: true }),
            None => self.parent,
        }
    }

    /// Measures a wait for a person until what is given back is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> StageTimer {
        let span = self.state().next_span(self.root);
        self.timer(CallStage::Hold, span, self.root)
    }

    /// Begins to decide and execute.
    pub(crate) fn begin_execution(&self) -> Duration {
        let mut state = self.state();
        state.execution = state.next_span(self.root);
        self.elapsed()
    }

    /// Divides the time since `begun` at the attempts that were made.
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
        let mut put = |kind, span, [from, to]: [Duration; 2]| {
            let (parent, error) = (self.root, None);
            state.put(Stage { kind, span, parent, from, to, error });
        };
        let spans = [1, 2].map(|after| numbered(execution, after));
        let [decision, firewall] = spans;
        match first {
            None => put(CallStage::Decision, decision, [begun, ended]),
            Some(first) => {
                put(CallStage::Decision, decision, [begun, first]);
                put(CallStage::Execution, execution, [first, last]);
                put(CallStage::Firewall, firewall, [last, ended]);
            }
        }
        state.spans += 2;
    }

    /// Measures one attempt at the server until what is given back is dropped.
    pub(super) fn begin_server(self: &Arc<Self>) -> StageTimer {
        let mut state = self.state();
        // Numbers up to two after the execution are those of its neighbours.
        let span = numbered(state.next_span(self.root), ATTEMPTS);
        let execution = state.execution;
        state.server = Some(span);
        drop(state);
        self.timer(CallStage::Server, span, execution)
    }

    fn timer(self: &Arc<Self>, kind: CallStage, span: SpanId, parent: SpanId) -> StageTimer {
        let from = self.elapsed();
        let stage = Stage { kind, span, parent, from, to: from, error: Some(ABANDONED) };
        StageTimer { trace: Arc::clone(self), stage, is_discarded: false }
    }
}

/// Where the numbers of attempts begin.
const ATTEMPTS: u64 = 1 << 32;

impl TraceState {
    fn next_span(&mut self, root: SpanId) -> SpanId {
        self.spans += 1;
        numbered(root, self.spans)
    }

    fn put(&mut self, stage: Stage) {
        if self.stages.len() < MAX_STAGES {
            self.stages.push(stage);
        }
    }
}

/// The id of a further span of a call. Only the first one is drawn at random.
fn numbered(root: SpanId, number: u64) -> SpanId {
    u64::from_be_bytes(root).wrapping_add(number).to_be_bytes()
}

/// The ids of a trace and a span; zero where there is no randomness.
fn fresh_ids() -> ([u8; 16], SpanId) {
    let (mut trace, mut span) = ([0; 16], [0; 8]);
    let drawn = OsRandom.fill(&mut trace).and_then(|()| OsRandom.fill(&mut span));
    if drawn.is_err() { ([0; 16], [0; 8]) } else { (trace, span) }
}

/// Measures a stage until it is dropped.
pub(crate) struct StageTimer {
    trace: Arc<CallTrace>,
    stage: Stage,
    is_discarded: bool,
}

impl StageTimer {
    /// The work of the stage was done; one that is dropped without this was given up.
    pub(crate) fn end(mut self, error: Option<&'static str>) {
        self.stage.error = error;
    }

    /// There was no such stage.
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
            state.put(self.stage.clone());
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
        trace.begin_server().end(Some("driver.timeout"));
        trace.begin_server().end(None);
        trace.end_execution(begun);
        use CallStage::{Decision, Execution, Firewall, Server};
        assert_eq!(kinds(&trace), [Server, Server, Decision, Execution, Firewall]);
        let stages = trace.stages();
        let execution = &stages[3];
        assert!(stages[..2].iter().all(|stage| stage.parent == execution.span));
        assert!(stages[2..].iter().all(|stage| stage.parent == trace.root));
        let ids: std::collections::BTreeSet<_> = stages.iter().map(|stage| stage.span).collect();
        assert_eq!(ids.len(), 5, "ids of their own");
        let whole: Duration = stages[2..].iter().map(Stage::took).sum();
        assert_eq!(whole, stages[4].to.saturating_sub(begun), "no time is counted twice or lost");
    }

    #[test]
    fn what_no_server_saw_is_decision_alone() {
        let trace = Arc::new(CallTrace::begin("a.b", None, false));
        let begun = trace.begin_execution();
        trace.end_execution(begun);
        trace.hold().end(None);
        assert_eq!(kinds(&trace), [CallStage::Decision, CallStage::Hold]);
    }

    #[test]
    fn an_attempt_that_is_given_up_says_so() {
        let trace = Arc::new(CallTrace::begin("a.b", None, false));
        drop(trace.begin_server());
        assert_eq!(trace.stages()[0].error, Some(ABANDONED));
    }

    #[test]
    fn the_server_is_told_of_its_own_parent_and_of_the_clients_where_no_spans_are_kept() {
        let client = TraceParent { trace: [7; 16], span: [9; 8], sampled: true };
        let kept = Arc::new(CallTrace::begin("a.b", Some(client), true));
        let attempt = kept.begin_server();
        let told = kept.outgoing().unwrap();
        assert_eq!((told.trace, told.span), (client.trace, attempt.stage.span));
        drop(attempt);
        let none = Arc::new(CallTrace::begin("a.b", Some(client), false));
        let _attempt = none.begin_server();
        assert_eq!(none.outgoing(), Some(client));
        let off = TraceParent { sampled: false, ..client };
        let off = Arc::new(CallTrace::begin("a.b", Some(off), true));
        let _attempt = off.begin_server();
        assert!(!off.is_exported() && off.outgoing().is_some_and(|told| !told.sampled));
        assert_eq!(CallTrace::begin("a.b", None, false).outgoing(), None);
    }
}
