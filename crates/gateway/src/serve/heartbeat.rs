//! Progress notifications while a call waits for a person, so that a client with an inactivity
//! timeout does not give it up.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::progress_reporter::ProgressReporter;

/// The interval of heartbeats while a call waits for a person.
pub(super) const INTERVAL: Duration = Duration::from_secs(10);

/// Runs work, and reports at every interval that it goes on.
pub(crate) async fn during<T>(
    work: impl Future<Output = T>,
    interval: Duration,
    reporters: &[Arc<ProgressReporter>],
    message: &str,
) -> T {
    if reporters.is_empty() {
        return work.await;
    }
    let mut work = std::pin::pin!(work);
    let mut beats = tokio::time::interval(interval);
    // The first tick is immediate.
    beats.tick().await;
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            _ = beats.tick() => reporters.iter().for_each(|reporter| reporter.heartbeat(message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use weaver_types::Progress;

    use super::*;

    #[tokio::test]
    async fn progress_grows_while_the_work_goes_on_and_ends_with_it() {
        let told = Arc::<Mutex<Vec<Progress>>>::default();
        let seen = Arc::clone(&told);
        let (enough, done) = tokio::sync::oneshot::channel();
        let enough = Mutex::new(Some(enough));
        let reporter = ProgressReporter::new(move |progress| {
            let mut seen = seen.lock().unwrap();
            seen.push(progress);
            if seen.len() == 3
                && let Some(enough) = enough.lock().unwrap().take()
            {
                enough.send(7).unwrap();
            }
        });
        let every = Duration::from_millis(1);
        assert_eq!(during(done, every, &[Arc::new(reporter)], "waiting for apr_1").await, Ok(7));
        let told = told.lock().unwrap();
        assert!(told.is_sorted_by(|one, next| one.progress < next.progress), "{told:?}");
        assert!(told.iter().all(|one| one.progress < 1.0));
        assert!(told[0].message.as_ref().unwrap().contains("apr_1"));
    }
}
