//! Keeps a server connected and the list of its tools current.

use std::time::Duration;

use tokio::time::Instant;
use weaver_agent_kernel::Kernel;
use weaver_drivers::mcp::{ServerList, Upstream};

use super::relist_error::RelistError;
use super::{ListingContext, ManagedServer};

/// How long a call waits for its server to list its tools again, or to come back.
const RELIST_TIMEOUT: Duration = Duration::from_secs(30);
/// The delay before the second listing: some servers register their tools a moment after the
/// handshake.
const SECOND_LIST_DELAY: Duration = Duration::from_millis(150);
/// The most listings in a row: while the list is empty at the start, or keeps changing.
const MAX_POLLS: u32 = 3;
/// How long a client's list waits for a poll of an available server.
const LIST_WAIT: Duration = Duration::from_secs(2);
/// The first pause before an unavailable server is tried again; it doubles with each failure.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

impl ManagedServer {
    /// Keeps the server connected and its tools current until the gateway ends. An unavailable
    /// server is retried after a pause that doubles with each failure, or as soon as somebody needs
    /// it.
    pub(crate) async fn run(&self, context: ListingContext<'_>) {
        let mut closing = self.closing.subscribe();
        let place = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => return,
            place = self.starts.wait(self.is_needed.subscribe()) => place,
        };
        place.hold_during(Box::pin(self.first_listing(context))).await;
        let mut failures = u32::from(self.problem().is_some());
        loop {
            let pause =
                MIN_RETRY_DELAY.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => return,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(pause.min(MAX_RETRY_DELAY)) => {}
            }
            failures = match self.poll(context).await {
                true => 0,
                false => failures.saturating_add(1),
            };
        }
    }

    /// Lists the tools again if the server reported a change or ended. Returns whether it is
    /// available.
    async fn poll(&self, context: ListingContext<'_>) -> bool {
        let is_available = {
            let _one_at_a_time = self.listing.lock().await;
            let upstream = self.upstream();
            if is_stale(&upstream).await {
                if let Some(error) = upstream.end_reason() {
                    self.record_loss(context.kernel, &error).await;
                }
                let is_listed = self.relist(context).await.is_some();
                self.end_first_listing(context.kernel);
                is_listed
            } else {
                true
            }
        };
        self.polls.send_modify(|polls| *polls = polls.wrapping_add(1));
        is_available
    }

    /// The first attempt to connect. The list is read twice, because it may be incomplete at first.
    async fn first_listing(&self, context: ListingContext<'_>) {
        for attempt in 1..=MAX_POLLS {
            let count = self.list_tools(context).await;
            let list_again = match count {
                Some(0) => attempt < MAX_POLLS,
                Some(_) => attempt == 1,
                None => false,
            };
            if !list_again {
                break;
            }
            tokio::time::sleep(SECOND_LIST_DELAY).await;
            if count.is_some_and(|count| count > 0) && !self.upstream().tools_stale() {
                break;
            }
        }
        self.end_first_listing(context.kernel);
        self.first_attempt_done.send_replace(true);
    }

    /// Ends the first listing: tools that appear from now on count as new.
    fn end_first_listing(&self, kernel: &Kernel) {
        // Restored tools are no listing.
        if !self.is_ready() || self.tools().is_empty() {
            return;
        }
        if let Err(error) = kernel.registry().end_first_listing(self.name.as_str()) {
            tracing::error!(upstream = %self.name, %error, "later tools cannot be told from the first ones");
        }
    }

    /// Requests a poll. Waits briefly for an available server, and not at all for one known to be
    /// unavailable, which is retried in the background.
    pub(crate) async fn poll_now(&self) {
        let next_poll = self.next_poll();
        self.wake.notify_one();
        if self.problem().is_none() {
            let _ = tokio::time::timeout(LIST_WAIT, next_poll).await;
        }
    }

    /// Completes when the next poll ends, or the gateway shuts down.
    fn next_poll(&self) -> impl Future<Output = ()> + use<> {
        let (mut polls, mut closing) = (self.polls.subscribe(), self.closing.subscribe());
        async move {
            tokio::select! {
                _ = closing.wait_for(|closing| *closing) => {}
                _ = polls.changed() => {}
            }
        }
    }

    /// Brings the list of tools up to date before a call, so that the call is judged by what its
    /// server describes now. Concurrent callers wait for the same listing.
    ///
    /// On an error the last known list may no longer be true, so the call must not be made.
    pub(crate) async fn ensure_current(&self) -> Result<(), RelistError> {
        if !self.is_first_attempt_done() && !self.is_ready() {
            let unavailability = self.unavailability();
            return Err(unavailability.map_or(RelistError::Starting, |server| {
                RelistError::Unavailable { problem: server.problem.message }
            }));
        }
        self.upstream().end_if_silent().await;
        let end = Instant::now() + RELIST_TIMEOUT;
        // A poll in progress may have begun before the change, so one poll is not enough. A server
        // that reports a change with every listing would never settle: after `MAX_POLLS` its last
        // list counts.
        for _ in 0..MAX_POLLS {
            // Checked under the listing lock: a listing in progress is not in the registry yet.
            if let Ok(_nobody_lists) = self.listing.try_lock()
                && !self.upstream().tools_stale()
            {
                break;
            }
            let next_poll = self.next_poll();
            self.wake.notify_one();
            let timed_out = tokio::time::timeout_at(end, next_poll).await.is_err();
            match self.problem() {
                Some(problem) => {
                    return Err(RelistError::Unavailable { problem: problem.message });
                }
                None if timed_out => return Err(RelistError::TimedOut { limit: RELIST_TIMEOUT }),
                None if *self.closing.borrow() => return Err(RelistError::Closing),
                None => {}
            }
        }
        Ok(())
    }

    /// Lists the tools and registers them; returns their number, or `None` when that failed.
    async fn list_tools(&self, context: ListingContext<'_>) -> Option<usize> {
        let _one_at_a_time = self.listing.lock().await;
        self.relist(context).await
    }
}

/// Whether the server reported a change of a list, or has ended.
async fn is_stale(upstream: &Upstream) -> bool {
    if upstream.tools_stale() {
        return true;
    }
    for list in [ServerList::Resources, ServerList::ResourceTemplates, ServerList::Prompts] {
        if upstream.is_stale(list) {
            return true;
        }
    }
    false
}
