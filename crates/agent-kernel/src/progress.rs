//! The progress of a running call, on its way from the driver to the caller: in order, complete
//! before the result, at a bounded rate.
//!
//! A driver may report at any time and from any thread, at the cost of a lock. The call's own
//! future takes the first few reports at once, and then the newest at most ten times a second. A
//! flood of reports is therefore neither stored nor redacted nor forwarded, while a call with few
//! steps shows each of them.

mod outlet;

use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use weaver_types::{BoxFuture, Progress, Timer};

pub(crate) use outlet::ProgressOutlet;

/// The least time between two forwarded reports.
const MIN_REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// How many reports are forwarded before the first pause.
const BURST: u32 = 4;
/// The most reports of one call that are forwarded. The last place is kept for the last report.
const MAX_REPORTS: u32 = 1_000;
/// The longest message, in bytes. A longer one is dropped: if it were cut before it is redacted, a
/// secret at the cut would not be recognised.
const MAX_MESSAGE_BYTES: usize = 4_096;

/// How much of skipped messages is kept, in bytes, since the next message may continue them.
const MAX_SKIPPED_BYTES: usize = 1_024;

/// A report, and the end of the messages that were skipped before it.
pub(crate) struct ProgressUpdate {
    pub(crate) report: Progress,
    pub(crate) skipped: String,
}

/// The slot where a driver puts its newest report.
#[derive(Default)]
pub(crate) struct ProgressSlot(Mutex<LatestProgress>);

#[derive(Default)]
struct LatestProgress {
    /// The last accepted progress, and the greatest total.
    last_counted: Option<(f64, f64)>,
    /// The newest report that is not taken yet.
    report: Option<Progress>,
    /// The messages of the reports that a newer one replaced.
    skipped: String,
    /// Wakes the task that takes it.
    waker: Option<Waker>,
}

impl ProgressSlot {
    /// Puts a report in place of one that was not taken. A report that is not a number or has not
    /// grown is dropped.
    pub(crate) fn report(&self, mut report: Progress) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, least_total) =
            newest.last_counted.unwrap_or((f64::NEG_INFINITY, f64::NEG_INFINITY));
        if !report.progress.is_finite() || report.progress <= last {
            return;
        }
        report.total = report.total.filter(|total| total.is_finite() && *total >= least_total);
        report.message = report.message.filter(|message| message.len() <= MAX_MESSAGE_BYTES);
        newest.last_counted = Some((report.progress, report.total.unwrap_or(least_total)));
        // The task that was woken for the replaced report takes this one instead.
        match newest.report.replace(report) {
            Some(Progress { message: Some(message), .. }) => {
                append_bounded(&mut newest.skipped, &message, MAX_SKIPPED_BYTES);
            }
            Some(_) => {}
            None => {
                if let Some(taker) = newest.waker.take() {
                    taker.wake();
                }
            }
        }
    }

    fn take(&self) -> Option<ProgressUpdate> {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let report = newest.report.take()?;
        Some(ProgressUpdate { report, skipped: std::mem::take(&mut newest.skipped) })
    }

    fn register_waker(&self, taker: &Waker) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        newest.waker = Some(taker.clone());
    }
}

/// Appends to a text and keeps only its last `max_bytes` bytes.
pub(crate) fn append_bounded(text: &mut String, more: &str, max_bytes: usize) {
    text.push_str(more);
    let surplus = text.len().saturating_sub(max_bytes);
    text.drain(..text.ceil_char_boundary(surplus));
}

/// Limits the rate at which a call's progress is forwarded.
#[derive(Default)]
pub(crate) struct ProgressThrottle {
    forwarded: u32,
    pause: Option<BoxFuture<'static, ()>>,
}

impl ProgressThrottle {
    /// Awaits `work` and passes the reports in the meantime to `forward`; the last one before this
    /// returns.
    pub(crate) async fn forward_while<F: Future>(
        &mut self,
        work: F,
        slot: &ProgressSlot,
        forward: impl Fn(ProgressUpdate),
        timer: &dyn Timer,
    ) -> F::Output {
        let mut work = pin!(work);
        std::future::poll_fn(move |context| {
            // Registered first, so that no report is missed between reading the slot and
            // registering.
            slot.register_waker(context.waker());
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                if self.forwarded < MAX_REPORTS
                    && let Some(report) = slot.take()
                {
                    self.forwarded += 1;
                    forward(report);
                }
                return Poll::Ready(output);
            }
            loop {
                if let Some(pause) = &mut self.pause {
                    if pause.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                    self.pause = None;
                }
                if self.forwarded + 1 >= MAX_REPORTS {
                    return Poll::Pending;
                }
                let Some(report) = slot.take() else { return Poll::Pending };
                self.forwarded += 1;
                forward(report);
                if self.forwarded >= BURST {
                    self.pause = Some(timer.sleep(MIN_REPORT_INTERVAL));
                }
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Context, Wake};

    use super::*;
    use crate::wait::block_on;

    fn at(progress: f64) -> Progress {
        Progress { progress, ..Progress::default() }
    }

    /// A timer whose pauses are over at the next look.
    struct NextLook;

    impl Timer for NextLook {
        fn sleep(&self, after: Duration) -> BoxFuture<'static, ()> {
            assert_eq!(after, MIN_REPORT_INTERVAL);
            let mut looks = 0;
            Box::pin(std::future::poll_fn(move |context| {
                looks += 1;
                context.waker().wake_by_ref();
                if looks > 1 { Poll::Ready(()) } else { Poll::Pending }
            }))
        }
    }

    /// A timer whose pauses never end.
    struct Never;

    impl Timer for Never {
        fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }
    }

    /// What is shown of these reports, `each` at a look of the work.
    fn shown(reports: Vec<Vec<Progress>>, timer: &dyn Timer) -> Vec<Progress> {
        let (slot, seen) = (ProgressSlot::default(), Mutex::new(Vec::new()));
        let mut looks = reports.into_iter();
        let work = std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            let Some(reports) = looks.next() else { return Poll::Ready(()) };
            reports.into_iter().for_each(|report| slot.report(report));
            Poll::Pending
        });
        let forward = |taken: ProgressUpdate| seen.lock().unwrap().push(taken.report);
        block_on(ProgressThrottle::default().forward_while(work, &slot, forward, timer));
        seen.into_inner().unwrap()
    }

    fn steps(shown: &[Progress]) -> Vec<f64> {
        shown.iter().map(|report| report.progress).collect()
    }

    #[test]
    fn only_what_grows_is_shown_and_only_numbers() {
        let reports = [1.0, 1.0, f64::NAN, 0.5, f64::INFINITY, 2.0, -1.0, 3.0];
        let one_by_one = reports.map(|progress| vec![at(progress), at(progress)]).to_vec();
        // The pause after each takes one look.
        let padded = one_by_one.into_iter().flat_map(|look| [look, Vec::new()]).collect();
        assert_eq!(steps(&shown(padded, &NextLook)), [1.0, 2.0, 3.0]);
        let with = |progress, total| vec![Progress { total: Some(total), ..at(progress) }];
        let totals = vec![
            with(1.0, 10.0),
            vec![],
            with(2.0, 5.0),
            vec![],
            with(3.0, f64::NAN),
            vec![],
            with(4.0, 12.0),
        ];
        let totals: Vec<Option<f64>> =
            shown(totals, &NextLook).iter().map(|report| report.total).collect();
        assert_eq!(totals, [Some(10.0), None, None, Some(12.0)]);
    }

    #[test]
    fn a_flood_comes_to_its_first_and_its_last_report() {
        let mut flood: Vec<Vec<Progress>> = vec![vec![at(0.0)]];
        flood.push((1..100_000).map(|n| at(f64::from(n))).collect());
        flood.push(vec![at(5.0)]);
        assert_eq!(steps(&shown(flood, &Never)), [0.0, 99_999.0]);
    }

    #[test]
    fn a_call_of_few_steps_shows_each_of_them() {
        let few = (1..=4).map(|n| vec![at(f64::from(n))]).collect();
        assert_eq!(steps(&shown(few, &Never)), [1.0, 2.0, 3.0, 4.0]);
        let more = (1..=9).map(|n| vec![at(f64::from(n))]).collect();
        assert_eq!(steps(&shown(more, &Never)), [1.0, 2.0, 3.0, 4.0, 9.0], "then there is a pause");
    }

    #[test]
    fn a_call_shows_so_many_reports_and_the_last_is_one_of_them() {
        let many = (0..5_000).map(|n| vec![at(f64::from(n))]).collect();
        let shown = steps(&shown(many, &NextLook));
        assert_eq!(shown.len(), 1_000);
        assert_eq!(shown.last(), Some(&4_999.0));
    }

    #[test]
    fn what_was_said_between_two_reports_is_handed_on_with_the_second() {
        let slot = ProgressSlot::default();
        let say = |n: i32, message: &str| {
            slot.report(Progress { message: Some(message.to_owned()), ..at(n.into()) });
        };
        say(1, "one");
        assert_eq!(slot.take().unwrap().skipped, "");
        (2..5).for_each(|n| say(n, "more "));
        let taken = slot.take().unwrap();
        assert_eq!((taken.skipped.as_str(), taken.report.progress), ("more more ", 4.0));
        (5..5_000).for_each(|n| say(n, "ü"));
        let skipped = slot.take().unwrap().skipped;
        assert!(skipped.len() <= MAX_SKIPPED_BYTES && skipped.ends_with("üü"));
    }

    #[test]
    fn a_message_that_is_too_long_is_left_out_whole() {
        let says = |length| vec![Progress { message: Some("x".repeat(length)), ..at(1.0) }];
        let message = |length| shown(vec![says(length)], &Never)[0].message.clone();
        assert_eq!(message(4_096).map(|message| message.len()), Some(4_096));
        assert_eq!(message(4_097), None);
    }

    #[test]
    fn a_report_from_elsewhere_wakes_the_call_once() {
        struct Count(std::sync::atomic::AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let count = Arc::new(Count(0.into()));
        let woken = || count.0.load(std::sync::atomic::Ordering::SeqCst);
        let (slot, seen) = (ProgressSlot::default(), Mutex::new(0));
        let mut pace = ProgressThrottle::default();
        let mut future = pin!(pace.forward_while(
            std::future::pending::<()>(),
            &slot,
            |_| *seen.lock().unwrap() += 1,
            &Never,
        ));
        let waker = Waker::from(Arc::clone(&count));
        let mut look =
            || assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        look();
        (1..10).for_each(|n| slot.report(at(f64::from(n))));
        assert_eq!(woken(), 1);
        look();
        assert_eq!(*seen.lock().unwrap(), 1);
    }

    #[test]
    fn what_is_shown_at_the_end_of_one_attempt_counts_for_the_next() {
        let (slot, seen) = (ProgressSlot::default(), Mutex::new(Vec::new()));
        let forward = |taken: ProgressUpdate| seen.lock().unwrap().push(taken.report.progress);
        let mut rate = ProgressThrottle::default();
        for attempt in 0..2 {
            let mut looks = 0;
            let work = std::future::poll_fn(|context| {
                looks += 1;
                slot.report(at(f64::from(attempt * 10 + looks)));
                context.waker().wake_by_ref();
                if looks == 2 { Poll::Ready(()) } else { Poll::Pending }
            });
            block_on(rate.forward_while(work, &slot, forward, &Never));
        }
        assert_eq!(rate.forwarded, 4);
        let mut looks = 20;
        let work = std::future::poll_fn(|context| {
            looks += 1;
            slot.report(at(f64::from(looks)));
            context.waker().wake_by_ref();
            if looks == 25 { Poll::Ready(()) } else { Poll::Pending }
        });
        block_on(rate.forward_while(work, &slot, forward, &Never));
        // The fifth is shown at once, then there is a pause until the last.
        assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 11.0, 12.0, 21.0, 25.0]);
    }

    #[test]
    fn what_comes_after_the_last_report_that_is_passed_on_is_dropped() {
        for (shown, expected) in [(MAX_REPORTS - 1, 1), (MAX_REPORTS, 0)] {
            let (slot, seen) = (ProgressSlot::default(), Mutex::new(0));
            let mut rate = ProgressThrottle { forwarded: shown, pause: None };
            slot.report(at(1.0));
            let work = std::future::ready(());
            block_on(rate.forward_while(work, &slot, |_| *seen.lock().unwrap() += 1, &Never));
            assert_eq!(seen.into_inner().unwrap(), expected, "{shown}");
        }
    }
}
