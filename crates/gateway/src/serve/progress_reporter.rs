//! Progress of one request, told to its client.

use std::sync::{Arc, Mutex, PoisonError};

use weaver_types::{Progress, ProgressSink};

/// How much progress a sign of life makes: what a server tells next is greater, as the protocol
/// demands of each notification after another.
const STEP: f64 = 1e-6;

/// Tells a client how far its request is. A hold, the call after it and the questions in it tell one
/// after the other, each from its own beginning: what is no further than what was told is dropped, or
/// told as a step further where it says something new.
pub(crate) struct ProgressReporter {
    tell: Box<dyn Fn(Progress) + Send + Sync>,
    last: Mutex<LastReport>,
}

/// What was told last.
#[derive(Default)]
struct LastReport {
    furthest: Option<f64>,
    message: Option<String>,
}

impl LastReport {
    /// A step further than what was told.
    fn next(&self) -> f64 {
        let furthest = self.furthest.unwrap_or_default();
        (furthest + STEP).max(furthest.next_up())
    }
}

impl ProgressReporter {
    /// A reporter that tells by this.
    pub(crate) fn new(tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { tell: Box::new(tell), last: Mutex::default() }
    }

    /// Tells it, where it goes on from what was told before.
    pub(crate) fn report(&self, mut progress: Progress) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.furthest.is_some_and(|furthest| progress.progress <= furthest) {
            if progress.message.is_none() || progress.message == last.message {
                return;
            }
            (progress.progress, progress.total) = (last.next(), None);
        }
        last.furthest = Some(progress.progress);
        last.message.clone_from(&progress.message);
        drop(last);
        (self.tell)(progress);
    }

    /// Tells that the request still goes on.
    pub(crate) fn sign_of_life(&self, message: &str) {
        let progress = self.last.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.report(Progress { progress, total: None, message: Some(message.to_owned()) });
    }

    /// The same as the kernel takes it.
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
        reporter.sign_of_life("still");
        said(5.0);
        reporter.sign_of_life("still");
        said(5.0);
        said(6.0);
        said(1e300);
        reporter.sign_of_life("still");
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 6, "what does not grow is dropped: {told:?}");
        assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
        assert!(told[2] > 5.0 && told[2] < 5.001);
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
