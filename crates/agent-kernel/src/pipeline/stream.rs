//! Streaming: chunks are read as fast as their frames are taken; one outcome at the end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::json;
use weaver_firewall::{FrameStream, StreamEnd, StreamItem};
use weaver_types::{EventKind, ResponseMode, Timestamp};

use super::attempt::attempt_needs;
use super::authorized_invocation::AuthorizedInvocation;
use super::finish::{CallEnd, CallFailure, answered};
use super::token_allotment::TokenAllotment;
use super::unfinished_calls::OpenCallGuard;
use crate::budget_reservation::AttemptNeeds;
use crate::call_stream::Outlet;
use crate::driver::{AuthorizedCall, ChunkSource, DriverError, StreamSummary};
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::wait::{contained, within};

/// How a stream came to its end.
struct StreamResult {
    how: StreamEnd,
    error: Option<DriverError>,
    summary: StreamSummary,
}

impl StreamResult {
    fn complete(source: &mut dyn ChunkSource) -> Self {
        // All chunks came: a driver that panics here takes none of them back.
        let summary = catch_unwind(AssertUnwindSafe(|| source.summary())).unwrap_or_default();
        Self { how: StreamEnd::Complete, error: None, summary }
    }

    fn broken(how: StreamEnd, error: DriverError) -> Self {
        Self { how, error: Some(error), summary: StreamSummary::default() }
    }
}

/// The time of a call: when it began, before its source was opened, and how long it may last.
#[derive(Debug, Clone, Copy)]
struct CallTime {
    began: Duration,
    limit: Duration,
}

impl Kernel {
    /// Executes a committed call, shows what comes of it, and records its end.
    pub(crate) async fn stream_to_end(
        &self,
        mut ready: Box<AuthorizedInvocation<'_>>,
        mut watch: Box<OpenCallGuard<'_>>,
        outlet: &Outlet,
    ) -> Box<Invocation> {
        let (limit, inner) = (attempt_needs(&ready).time, self.authorized(&ready, &watch.slot));
        let call = AuthorizedCall { inner, attempt: 0, timeout: watch.time_left(limit) };
        let entry = ready.target.entry.clone();
        // A driver that panics here has not begun; `execute` then says what is wrong with it. What
        // has to fit a schema is shown as a whole or not at all.
        let time = CallTime { began: self.clock.monotonic(), limit };
        let opened = match entry.results.is_declared() {
            true => None,
            false => {
                catch_unwind(AssertUnwindSafe(|| entry.driver.execute_stream(&call))).ok().flatten()
            }
        };
        let Some(source) = opened else {
            watch.open.tokens = 0;
            let done = self.run_to_end(ready, watch).await;
            if let Some(frame) = done.result.as_ref().and_then(|result| result.data.clone()) {
                outlet.leave(StreamItem::End(frame));
            }
            return done;
        };
        let mut share = std::mem::take(&mut ready.share);
        let mode = ready.effective_mode().max(share.floor());
        let spec = self.frame_spec(&ready, mode, self.now());
        let firewall = self.firewall_for(&ready, None);
        let mut stream = FrameStream::new(&firewall, spec, share.take());
        let over = self.pump(&ready, &mut watch, source, time, &mut stream, outlet).await;
        let now = self.now();
        let ended = Box::new(self.stream_ended(&ready, mode, now, stream, over, &mut share));
        let end = ended.result.data.clone();
        let done = self.conclude(ready, watch, ended, now, share).await;
        // The outcome stands in the log; now the last frame may be seen.
        if let Some(frame) = end.filter(|_| done.result.as_ref().is_some_and(|r| r.data.is_some()))
        {
            outlet.leave(StreamItem::End(frame));
        }
        done
    }

    /// Reads the source to its end, and shows the parts.
    async fn pump(
        &self,
        ready: &AuthorizedInvocation<'_>,
        watch: &mut OpenCallGuard<'_>,
        mut source: Box<dyn ChunkSource + '_>,
        time: CallTime,
        stream: &mut FrameStream<'_>,
        outlet: &Outlet,
    ) -> StreamResult {
        let spec = ready.target.capability.spec();
        watch.harmless = !spec.effects.writes() || spec.idempotent;
        watch.open.tokens = 0;
        let price = attempt_needs(ready).price;
        let over = self.read(ready, watch, source.as_mut(), time, stream, outlet).await;
        let unknown = over.error.as_ref().is_some_and(DriverError::is_ambiguous);
        watch.paid = match over.summary.cost {
            Some(cost) => cost,
            // The tool may have done all that it is paid for.
            None if unknown || over.how == StreamEnd::Cancelled => price,
            None => watch.paid,
        };
        over
    }

    /// Reads until the source is over, or its time.
    async fn read(
        &self,
        ready: &AuthorizedInvocation<'_>,
        watch: &mut OpenCallGuard<'_>,
        source: &mut dyn ChunkSource,
        time: CallTime,
        stream: &mut FrameStream<'_>,
        outlet: &Outlet,
    ) -> StreamResult {
        let price = attempt_needs(ready).price;
        let CallTime { began, limit } = time;
        loop {
            let time = limit.saturating_sub(self.clock.monotonic().saturating_sub(began));
            let spent = watch.spent_amounts();
            let reservation = watch.reservation.as_mut().map_or(Ok(()), |reservation| {
                reservation.again(spent, AttemptNeeds { time, price })
            });
            if let Err(reached) = reservation {
                let error = DriverError::Failed(reached.to_string());
                return StreamResult::broken(StreamEnd::Cancelled, error);
            }
            let left = watch.time_left(time);
            if left.is_zero() {
                return StreamResult::broken(StreamEnd::TimedOut, DriverError::Timeout(limit));
            }
            watch.begin();
            let next = within(contained(|| source.next()), left, self.timer.as_ref()).await;
            watch.end(next.is_none().then_some(left));
            let (how, error) = match next {
                Some(Some(Some(Ok(chunk)))) if !self.is_revoked(ready.claims) => {
                    if let Some(part) = stream.push(chunk) {
                        watch.open.tokens = stream.tokens();
                        outlet.show(StreamItem::Part(part)).await;
                    }
                    continue;
                }
                Some(Some(Some(Ok(_)))) => {
                    let revoked = DriverError::Failed("the grant was revoked".to_owned());
                    (StreamEnd::Cancelled, revoked)
                }
                Some(Some(Some(Err(error)))) => (StreamEnd::Failed, error),
                Some(Some(None)) => return StreamResult::complete(source),
                Some(None) => {
                    let panicked = DriverError::Lost("the tool's function panicked".to_owned());
                    (StreamEnd::Failed, panicked)
                }
                None => (StreamEnd::TimedOut, DriverError::Timeout(limit)),
            };
            return StreamResult::broken(how, error);
        }
    }

    /// The last frame, and what is to be recorded.
    fn stream_ended(
        &self,
        ready: &AuthorizedInvocation<'_>,
        mode: ResponseMode,
        now: Timestamp,
        mut stream: FrameStream<'_>,
        over: StreamResult,
        share: &mut TokenAllotment,
    ) -> CallEnd {
        let StreamResult { how, error, summary } = over;
        let (chunks, parts) = (stream.chunks(), stream.parts());
        let came = stream.whole();
        let mut whole = summary.whole.unwrap_or(came);
        whole.is_error |= summary.is_error;
        whole.findings.extend(summary.findings);
        whole.findings.extend(share.finding());
        let stored = self.keep(ready, &self.frame_spec(ready, mode, now), &mut whole);
        let handle = stored.as_ref().map(|stored| &stored.handle);
        let (frame, reserved) = stream.end(how, &whole, handle);
        share.put(reserved);
        let shown = Some(frame.label.clone());
        let mut ended = match &error {
            Some(error) => {
                // One that the kernel itself cut off was in the middle of what it does.
                let is_ambiguous = how == StreamEnd::Cancelled || error.is_ambiguous();
                self.failed_in(ready, CallFailure { error, is_ambiguous })
            }
            None => {
                let (result, failure) = answered(ready, frame.clone());
                CallEnd { failure, ..CallEnd::new(result, EventKind::Outcome) }
            }
        };
        let said = ended.shown.take().map(|said| match &shown {
            Some(shown) => said.join(shown),
            None => said,
        });
        ended.shown = said.or(shown);
        ended.kept = stored.map(|stored| Box::new((stored, whole)));
        ended.tokens = share.tokens();
        ended.stream = Some(json!({
            "chunks": chunks, "parts": parts, "complete": how == StreamEnd::Complete,
        }));
        ended.result.provenance.clone_from(&frame.provenance);
        ended.result.data = Some(frame);
        ended
    }
}
