//! Whether an answer is still wanted: a call that waits for a person stops waiting when not.

use tokio::sync::watch;

/// The side of whoever asked. Dropping it says that nobody waits for the answer any more.
#[derive(Debug)]
pub(crate) struct Wanting(watch::Sender<bool>);

/// The side of whoever works on it.
#[derive(Debug, Clone)]
pub(crate) struct Wanted(watch::Receiver<bool>);

/// Both sides of one request.
pub(crate) fn pair() -> (Wanting, Wanted) {
    let (tell, told) = watch::channel(true);
    (Wanting(tell), Wanted(told))
}

impl Wanting {
    /// Says that the answer is wanted at once, such as it is.
    pub(crate) fn hurry(&self) {
        self.0.send_replace(false);
    }
}

impl Wanted {
    /// Done when nobody wants to wait for the answer any more.
    pub(crate) async fn no_more(mut self) {
        // An error means that the other side is gone, which says the same.
        let _ = self.0.wait_for(|patient| !patient).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn dropping_and_hurrying_both_end_the_wait() {
        let (wanting, wanted) = pair();
        drop(wanting);
        wanted.no_more().await;
        let (wanting, wanted) = pair();
        let mut waiting = Box::pin(wanted.clone().no_more());
        tokio::select! {
            biased;
            () = &mut waiting => panic!("it is still wanted"),
            () = tokio::task::yield_now() => {}
        }
        wanting.hurry();
        wanted.no_more().await;
        waiting.await;
    }
}
