//! Signs of life while a call waits for a person: a client that counts them does not give it up.

use std::future::Future;
use std::time::Duration;

use weaver_types::{Progress, ProgressSink, RequestId};

/// How much progress each of them makes. What a server tells later is greater, as the protocol
/// demands of each notification after another.
const STEP: f64 = 1e-6;

/// Does the work, and tells every so often that it still goes on.
pub(crate) async fn during<T>(
    work: impl Future<Output = T>,
    every: Duration,
    progress: Option<&ProgressSink>,
    request: &RequestId,
) -> T {
    let Some(tell) = progress else { return work.await };
    let mut work = std::pin::pin!(work);
    let mut beats = tokio::time::interval(every);
    let mut told = 0.0;
    // The first tick is at once.
    beats.tick().await;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = beats.tick() => {
                told += STEP;
                let message = Some(format!("waiting for a person: request {request}"));
                tell(Progress { progress: told, total: None, message });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test]
    async fn progress_grows_while_the_work_goes_on_and_ends_with_it() {
        let told = Arc::<Mutex<Vec<Progress>>>::default();
        let seen = Arc::clone(&told);
        let (enough, done) = tokio::sync::oneshot::channel();
        let enough = Mutex::new(Some(enough));
        let sink: ProgressSink = Arc::new(move |progress| {
            let mut seen = seen.lock().unwrap();
            seen.push(progress);
            if seen.len() == 3
                && let Some(enough) = enough.lock().unwrap().take()
            {
                enough.send(7).unwrap();
            }
        });
        let request = RequestId::parse("apr_1").unwrap();
        let every = Duration::from_millis(1);
        assert_eq!(during(done, every, Some(&sink), &request).await, Ok(7));
        let told = told.lock().unwrap();
        assert!(told.is_sorted_by(|one, next| one.progress < next.progress), "{told:?}");
        assert!(told.iter().all(|one| one.progress < 1.0));
        assert!(told[0].message.as_ref().unwrap().contains("apr_1"));
    }
}
