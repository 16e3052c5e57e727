//! Reports the progress of one request to its client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::{Progress, ProgressSink};

/// The progress of a heartbeat: tiny, because the protocol requires each notification to be greater
/// than the last, and the server's next value must be greater still.
const MIN_INCREMENT: f64 = 1e-6;

/// Reports the progress of a request. The hold, the call after it and the questions in it all
/// report through here, each counting from its own beginning. A value that is not greater than the
/// last is dropped, or raised by [`MIN_INCREMENT`] if its message is new.
pub(crate) struct ProgressReporter {
    /// Must not wait.
    sink: Box<dyn Fn(Progress) + Send + Sync>,
    last: Mutex<LastReport>,
}

/// The last report.
#[derive(Default)]
struct LastReport {
    furthest: Option<f64>,
    message: Option<String>,
}

impl LastReport {
    /// The smallest value greater than the last.
    fn next_value(&self) -> f64 {
        let furthest = self.furthest.unwrap_or_default();
        (furthest + MIN_INCREMENT).max(furthest.next_up())
    }
}

impl ProgressReporter {
    /// A reporter that sends through this function.
    pub(crate) fn new(sink: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { sink: Box::new(sink), last: Mutex::default() }
    }

    /// Sends a report, if it advances or says something new.
    pub(crate) fn report(&self, progress: Progress) {
        self.send(&mut self.last_report(), progress);
    }

    fn last_report(&self) -> MutexGuard<'_, LastReport> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends under the lock, so that the reports arrive in the order of their values.
    fn send(&self, last: &mut LastReport, mut progress: Progress) {
        if last.furthest.is_some_and(|furthest| progress.progress <= furthest) {
            if progress.message.is_none() || progress.message == last.message {
                return;
            }
            (progress.progress, progress.total) = (last.next_value(), None);
        }
        last.furthest = Some(progress.progress);
        last.message.clone_from(&progress.message);
        (self.sink)(progress);
    }

    /// Reports that the request still runs.
    pub(crate) fn heartbeat(&self, message: &str) {
        let mut last = self.last_report();
        let progress = last.next_value();
        let message = Some(message.to_owned());
        self.send(&mut last, Progress { progress, total: None, message });
    }

    /// The reporter as a sink for the kernel.
    pub(crate) fn sink(self: &Arc<Self>) -> ProgressSink {
        let reporter = Arc::clone(self);
        Arc::new(move |progress| reporter.report(progress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_life_stand_between_what_a_server_tells() {
        let told = Arc::<Mutex<Vec<f64>>>::default();
        let seen = Arc::clone(&told);
        let reporter = Arc::new(ProgressReporter::new(move |progress: Progress| {
            seen.lock().unwrap().push(progress.progress);
        }));
        let said = |progress: f64| (reporter.sink())(Progress { progress, ..Progress::default() });
        reporter.heartbeat("still");
        said(5.0);
        reporter.heartbeat("still");
        said(5.0);
        said(6.0);
        said(1e300);
        reporter.heartbeat("still");
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 6, "what does not grow is dropped: {told:?}");
        assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
        assert!(told[2] > 5.0 && told[2] < 5.001);
    }

    #[test]
    fn no_report_overtakes_another() {
        let reporter = Arc::new_cyclic(|reporter: &std::sync::Weak<ProgressReporter>| {
            let reporter = reporter.clone();
            ProgressReporter::new(move |_| {
                let reporter = reporter.upgrade().unwrap();
                assert!(reporter.last.try_lock().is_err(), "another one could be sent now");
            })
        });
        reporter.report(Progress { progress: 1.0, ..Progress::default() });
        reporter.heartbeat("still");
    }

    #[test]
    fn what_says_something_new_is_told_though_it_counts_from_its_own_beginning() {
        let told = Arc::<Mutex<Vec<Progress>>>::default();
        let seen = Arc::clone(&told);
        let reporter = ProgressReporter::new(move |progress| seen.lock().unwrap().push(progress));
        let say = |progress: f64, message: &str| {
            let message = Some(message.to_owned());
            reporter.report(Progress { progress, total: Some(10.0), message });
        };
        say(3.0, "parsing");
        say(0.001, "reading");
        say(0.002, "reading");
        say(4.0, "reading");
        let told = told.lock().unwrap();
        let words: Vec<&str> = told.iter().filter_map(|one| one.message.as_deref()).collect();
        assert_eq!(words, ["parsing", "reading", "reading"]);
        assert!(told.is_sorted_by(|one, next| one.progress < next.progress), "{told:?}");
        assert_eq!((told[1].total, told[2].total), (None, Some(10.0)));
    }
}
