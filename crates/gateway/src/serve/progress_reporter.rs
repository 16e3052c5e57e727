//! Progress of one request, told to its client.

use std::sync::{Arc, Mutex, PoisonError};

use weaver_types::{Progress, ProgressSink};

/// How much progress a sign of life makes: what a server tells next is greater, as the protocol
/// demands of each notification after another.
const STEP: f64 = 1e-6;

/// Tells a client how far its request is. A hold, the call after it and the questions in it tell one
/// after the other; what does not grow is dropped.
pub(crate) struct ProgressReporter {
    tell: Box<dyn Fn(Progress) + Send + Sync>,
    furthest: Mutex<Option<f64>>,
}

impl ProgressReporter {
    /// A reporter that tells by this.
    pub(crate) fn new(tell: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { tell: Box::new(tell), furthest: Mutex::default() }
    }

    /// Tells it, where it goes on from what was told before.
    pub(crate) fn report(&self, progress: Progress) {
        let mut furthest = self.furthest.lock().unwrap_or_else(PoisonError::into_inner);
        if furthest.is_none_or(|furthest| progress.progress > furthest) {
            *furthest = Some(progress.progress);
            drop(furthest);
            (self.tell)(progress);
        }
    }

    /// Tells that the request still goes on.
    pub(crate) fn sign_of_life(&self, message: &str) {
        let furthest = *self.furthest.lock().unwrap_or_else(PoisonError::into_inner);
        let furthest = furthest.unwrap_or_default();
        let progress = (furthest + STEP).max(furthest.next_up());
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
}
