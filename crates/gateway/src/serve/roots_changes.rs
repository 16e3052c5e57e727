//! Changes of the clients' roots, of which servers are notified.

use std::time::Duration;

use tokio::sync::Notify;

/// How long servers may take to accept a notification.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);

/// Changes of the clients' roots. However many are reported while servers are being notified of
/// one, they are notified once more: a notification only says that the roots have changed.
#[derive(Default)]
pub(crate) struct RootsChanges(Notify);

impl RootsChanges {
    /// Reports a change.
    pub(crate) fn report(&self) {
        self.0.notify_one();
    }

    /// Notifies servers with `tell` of every change, for as long as the gateway serves. A server
    /// that accepts nothing does not keep the others from hearing of later changes.
    pub(crate) async fn notify_servers<F: Future<Output = ()>>(&self, tell: impl Fn() -> F) {
        loop {
            self.0.notified().await;
            if tokio::time::timeout(NOTIFY_TIMEOUT, tell()).await.is_err() {
                tracing::debug!("a server has not accepted that the roots changed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn servers_that_take_nothing_hold_up_one_notification_however_many_changes_there_are() {
        let (changes, told) = (RootsChanges::default(), Cell::new(0));
        let notifying = changes.notify_servers(|| {
            told.set(told.get() + 1);
            std::future::pending()
        });
        let reporting = async {
            for _ in 0..1_000 {
                changes.report();
                tokio::task::yield_now().await;
            }
            assert_eq!(told.get(), 1);
            tokio::time::sleep(10 * NOTIFY_TIMEOUT).await;
            assert_eq!(told.get(), 2, "once more, since the roots have changed meanwhile");
            changes.report();
            tokio::time::sleep(NOTIFY_TIMEOUT).await;
            assert_eq!(told.get(), 3);
        };
        tokio::select! {
            () = notifying => {}
            () = reporting => {}
        }
    }
}
