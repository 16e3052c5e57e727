//! Streams a result: chunks are read only as fast as their frames are consumed, and one outcome is
//! recorded at the end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::json;
use weaver_firewall::{FrameStream, StreamEnd, StreamItem};
use weaver_types::{EventKind, ResponseMode, Timestamp};

use super::CallExecutor;
use super::attempt::attempt_needs;
use crate::authorized_invocation::AuthorizedInvocation;
use crate::budget_reservation::AttemptNeeds;
use crate::call_stream::StreamOutlet;
use crate::driver::{AuthorizedCall, ChunkSource, DriverError, StreamSummary};
use crate::invocation::Invocation;
use crate::recorder::OpenCallGuard;
use crate::results::{CallEnd, CallFailure, tool_result_of};
use crate::token_allotment::TokenAllotment;
use crate::wait::{catch_future_panic, with_timeout};

/// How reading a stream ended.
struct StreamReadResult {
    end: StreamEnd,
    error: Option<DriverError>,
    summary: StreamSummary,
}

impl StreamReadResult {
    fn complete(source: &mut dyn ChunkSource) -> Self {
        // All chunks have arrived: a driver that panics here cannot undo them.
        let summary = catch_unwind(AssertUnwindSafe(|| source.summary())).unwrap_or_default();
        Self { end: StreamEnd::Complete, error: None, summary }
    }

    fn interrupted(stream_end: StreamEnd, error: DriverError) -> Self {
        Self { end: stream_end, error: Some(error), summary: StreamSummary::default() }
    }
}

/// The deadline of a call: when it started, before its source was opened, and how long it may last.
#[derive(Debug, Clone, Copy)]
struct CallDeadline {
    started_at: Duration,
    limit: Duration,
}

impl CallExecutor {
    /// Executes a committed call, shows its result as it arrives, and records its end.
    pub(crate) async fn stream_to_end(
        &self,
        mut invocation: Box<AuthorizedInvocation<'_>>,
        mut guard: Box<OpenCallGuard<'_>>,
        outlet: &StreamOutlet,
    ) -> Box<Invocation> {
        let (limit, parts) =
            (attempt_needs(&invocation).time, self.call_parts(&invocation, &guard.slot));
        let call = AuthorizedCall { parts, attempt: 0, timeout: guard.time_left(limit) };
        let entry = invocation.target.entry.clone();
        // A driver that panics here has not started, so `execute` reports what is wrong with it. A
        // result that has to fit a schema is shown as a whole or not at all, so it is not streamed.
        let time = CallDeadline { started_at: self.context.clock.monotonic(), limit };
        let opened = match entry.results.is_declared() {
            true => None,
            false => {
                catch_unwind(AssertUnwindSafe(|| entry.driver.execute_stream(&call))).ok().flatten()
            }
        };
        let Some(source) = opened else {
            guard.open.tokens = 0;
            let done = self.run_to_end(invocation, guard).await;
            if let Some(frame) = done.result.as_ref().and_then(|result| result.data.clone()) {
                outlet.put(StreamItem::End(frame));
            }
            return done;
        };
        let mut allotment = std::mem::take(&mut invocation.token_allotment);
        let mode = invocation.effective_mode().max(allotment.min_mode());
        let spec = self.results.frame_spec(&invocation, mode, self.context.now());
        let firewall = self.results.result_firewall(&invocation, None);
        let mut stream = FrameStream::new(&firewall, spec, allotment.take_reservation());
        let read_result =
            self.read_and_price(&invocation, &mut guard, source, time, &mut stream, outlet).await;
        let now = self.context.now();
        let call_end = Box::new(
            self.end_with_stream(&invocation, mode, now, stream, read_result, &mut allotment),
        );
        let end = call_end.result.data.clone();
        let done = self.record_and_answer(invocation, guard, call_end, now, allotment).await;
        // The outcome is recorded, so the last frame may be shown.
        if let Some(frame) = end.filter(|_| done.result.as_ref().is_some_and(|r| r.data.is_some()))
        {
            outlet.put(StreamItem::End(frame));
        }
        done
    }

    /// Reads the source to its end, shows the parts, and computes the cost.
    async fn read_and_price(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        guard: &mut OpenCallGuard<'_>,
        mut source: Box<dyn ChunkSource + '_>,
        time: CallDeadline,
        stream: &mut FrameStream<'_>,
        outlet: &StreamOutlet,
    ) -> StreamReadResult {
        let spec = invocation.target.capability.spec();
        guard.is_cancellable = !spec.effects.writes() || spec.idempotent;
        guard.open.tokens = 0;
        let max_cost = attempt_needs(invocation).max_cost;
        let read_result =
            self.read_chunks(invocation, guard, source.as_mut(), time, stream, outlet).await;
        let unknown = read_result.error.as_ref().is_some_and(DriverError::is_ambiguous);
        guard.cost = match read_result.summary.cost {
            Some(cost) => cost,
            // The tool may have done all the work that it charges for.
            None if unknown || read_result.end == StreamEnd::Cancelled => max_cost,
            None => guard.cost,
        };
        read_result
    }

    /// Reads until the source ends or its time is up.
    async fn read_chunks(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        guard: &mut OpenCallGuard<'_>,
        source: &mut dyn ChunkSource,
        time: CallDeadline,
        stream: &mut FrameStream<'_>,
        outlet: &StreamOutlet,
    ) -> StreamReadResult {
        let max_cost = attempt_needs(invocation).max_cost;
        let CallDeadline { started_at, limit } = time;
        loop {
            let time =
                limit.saturating_sub(self.context.clock.monotonic().saturating_sub(started_at));
            let spent = guard.spent_amounts();
            let reservation = guard.reservation.as_mut().map_or(Ok(()), |reservation| {
                reservation.renew_for_attempt(spent, AttemptNeeds { time, max_cost })
            });
            if let Err(reached) = reservation {
                let error = DriverError::Failed(reached.to_string());
                return StreamReadResult::interrupted(StreamEnd::Cancelled, error);
            }
            let left = guard.time_left(time);
            if left.is_zero() {
                return StreamReadResult::interrupted(
                    StreamEnd::TimedOut,
                    DriverError::Timeout(limit),
                );
            }
            guard.start_attempt();
            let next = with_timeout(
                catch_future_panic(|| source.next()),
                left,
                self.context.timer.as_ref(),
            )
            .await;
            guard.end_attempt(next.is_none().then_some(left));
            let (stream_end, error) = match next {
                Some(Some(Some(Ok(chunk))))
                    if !self.decision_point.is_revoked(invocation.claims) =>
                {
                    if let Some(part) = stream.push(chunk) {
                        guard.open.tokens = stream.tokens();
                        outlet.put_and_wait(StreamItem::Part(part)).await;
                    }
                    continue;
                }
                Some(Some(Some(Ok(_)))) => {
                    let revoked = DriverError::Failed("the grant was revoked".to_owned());
                    (StreamEnd::Cancelled, revoked)
                }
                Some(Some(Some(Err(error)))) => (StreamEnd::Failed, error),
                Some(Some(None)) => return StreamReadResult::complete(source),
                Some(None) => {
                    let panicked = DriverError::Lost("the tool's function panicked".to_owned());
                    (StreamEnd::Failed, panicked)
                }
                None => (StreamEnd::TimedOut, DriverError::Timeout(limit)),
            };
            return StreamReadResult::interrupted(stream_end, error);
        }
    }

    /// Builds the last frame and the end to record.
    fn end_with_stream(
        &self,
        invocation: &AuthorizedInvocation<'_>,
        mode: ResponseMode,
        now: Timestamp,
        mut stream: FrameStream<'_>,
        read_result: StreamReadResult,
        allotment: &mut TokenAllotment,
    ) -> CallEnd {
        let StreamReadResult { end: stream_end, error, summary } = read_result;
        let (chunks, parts) = (stream.chunks(), stream.parts());
        let received = stream.take_result();
        let mut raw_result = summary.result.unwrap_or(received);
        raw_result.is_error |= summary.is_error;
        raw_result.findings.extend(summary.findings);
        raw_result.findings.extend(allotment.finding());
        let stored = self.results.store_result(
            invocation,
            &self.results.frame_spec(invocation, mode, now),
            &mut raw_result,
        );
        let handle = stored.as_ref().map(|stored| &stored.handle);
        let (frame, reserved) = stream.end(stream_end, &raw_result, handle);
        allotment.put_back_reservation(reserved);
        let shown = Some(frame.label.clone());
        let mut call_end = match &error {
            Some(error) => {
                // A stream that the kernel cut off was interrupted in the middle of its work.
                let is_ambiguous = stream_end == StreamEnd::Cancelled || error.is_ambiguous();
                self.results.end_with_failure(invocation, CallFailure { error, is_ambiguous })
            }
            None => {
                let (result, failure) = tool_result_of(invocation, frame.clone());
                CallEnd { failure, ..CallEnd::new(result, EventKind::Outcome) }
            }
        };
        let label = call_end.shown_label.take().map(|label| match &shown {
            Some(shown) => label.join(shown),
            None => label,
        });
        call_end.shown_label = label.or(shown);
        call_end.stored = stored.map(|stored| Box::new((stored, raw_result)));
        call_end.tokens = allotment.shown_tokens();
        call_end.stream = Some(json!({
            "chunks": chunks, "parts": parts, "complete": stream_end == StreamEnd::Complete,
        }));
        call_end.result.provenance.clone_from(&frame.provenance);
        call_end.result.data = Some(frame);
        call_end
    }
}
