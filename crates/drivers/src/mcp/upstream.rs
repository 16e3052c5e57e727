//! An upstream server that is connected on demand, with longer pauses after repeated failures.

mod confinement;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use weaver_types::{OsRandom, Random};

use super::call::{CallOutcome, CallRequest};
use super::config::UpstreamConfig;
use super::connection::Connection;
use super::connection_preferences::{self, ConnectionPreferences};
use super::error::{McpError, McpErrorKind};
use super::fault::HttpFault;
use super::listing::ListedTool;
use super::notification::LogLevel;
use super::reconnect_backoff::ReconnectBackoff;
use super::rpc_channel::RpcChannel;
use super::server_list::ServerList;
use super::started_child::StartedChild;
use super::token_bucket::TokenBucket;

/// The generation of the next connection. It is unique in the process, so that a call bound to the connection whose
/// tools were compared never goes to another one, not even if another [`Upstream`] has replaced this one.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// A server that is connected when it is first needed, and again after the connection ended.
///
/// After one failure the next use reconnects. After two or more consecutive failures, uses within the pause fail at
/// once and say when the next attempt is possible. Any reply resets the count.
pub struct Upstream {
    config: Arc<UpstreamConfig>,
    /// Held during the whole connection attempt, which may take long. Users of a live connection never wait for it.
    connecting: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// True once the owner has closed the upstream; this also cancels an attempt in progress.
    shutdown: watch::Sender<bool>,
    call_bucket: TokenBucket,
    random: Arc<dyn Random>,
}

weaver_types::opaque_debug!(Upstream);

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    /// The child that was started last, whether it has answered already or not.
    child: Option<StartedChild>,
    backoff: ReconnectBackoff,
    preferences: ConnectionPreferences,
    /// Files that are denied to the child beside those of the configuration.
    denied: BTreeSet<PathBuf>,
}

impl Upstream {
    /// An upstream that is not connected yet.
    #[must_use]
    pub fn new(config: UpstreamConfig) -> Self {
        let (config, random) = (Arc::new(config), Arc::new(OsRandom));
        let shutdown = watch::Sender::new(false);
        let (connecting, state) = (tokio::sync::Mutex::default(), Mutex::default());
        Self { config, connecting, state, shutdown, call_bucket: TokenBucket::default(), random }
    }

    /// The same, with another source of randomness for the jitter of pauses.
    #[must_use]
    pub fn with_random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// The same, with the lowest level of log messages to ask for on every connection.
    #[must_use]
    pub fn with_log_level(mut self, level: LogLevel) -> Self {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.preferences.log_level = Some(level);
        self
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// The live connection; connects if there is none. Concurrent callers share one successful attempt.
    ///
    /// # Errors
    ///
    /// [`McpError`] of the attempt, or [`McpErrorKind::Backoff`] when it is too early for one.
    pub async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut shutdown = self.shutdown.subscribe();
        tokio::select! {
            biased;
            // Dropping the attempt kills its child.
            _ = shutdown.wait_for(|shutdown| *shutdown) => {
                Err(self.error(McpErrorKind::Shutdown))
            }
            // Boxed: a handshake is long, and rarely needed.
            connected = Box::pin(self.connect_once()) => connected,
        }
    }

    async fn connect_once(&self) -> Result<Arc<Connection>, McpError> {
        if let Some(live) = self.live_connection() {
            return Ok(live);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(live) = self.live_connection() {
            return Ok(live);
        }
        self.check_backoff()?;
        let connected = match self.open_channel() {
            Ok(channel) => Connection::over(channel).await,
            Err(error) => Err(error),
        };
        let mut state = self.state();
        // `close` sets `shutdown` before it takes the connection, so one of the two always sees the other.
        if *self.shutdown.borrow() {
            return Err(self.error(McpErrorKind::Shutdown));
        }
        match connected {
            Ok(connection) => {
                let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
                let connection = Arc::new(connection.with_generation(generation));
                state.connection = Some(Arc::clone(&connection));
                state.preferences.apply(&connection);
                Ok(connection)
            }
            Err(error) => {
                state.backoff.record_failure(error.code(), self.random.as_ref());
                Err(error)
            }
        }
    }

    /// Starts or reaches the server. Under the lock, so that a child either is denied the files that
    /// are denied by now, or is found when others are.
    fn open_channel(&self) -> Result<RpcChannel, McpError> {
        let mut state = self.state();
        let channel = RpcChannel::open(self.current_config(&state))?;
        state.child = channel.child().cloned();
        Ok(channel)
    }

    fn live_connection(&self) -> Option<Arc<Connection>> {
        self.state().connection.clone().filter(|live| live.close_reason().is_none())
    }

    /// Discards a connection that has ended. Fails if it is too early for another attempt.
    fn check_backoff(&self) -> Result<(), McpError> {
        let mut state = self.state();
        let ended = state.connection.take().and_then(|connection| connection.close_reason());
        if let Some(reason) = ended {
            state.backoff.record_failure(reason.code(), self.random.as_ref());
        }
        match state.backoff.remaining_pause() {
            Some(retry_in) => {
                let last = state.backoff.last_failure_code();
                Err(self.error(McpErrorKind::Backoff { retry_in, last }))
            }
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists all tools.
    ///
    /// # Errors
    ///
    /// [`McpError`] of connecting or listing.
    pub async fn list_tools(&self) -> Result<Vec<ListedTool>, McpError> {
        self.list_tools_with_connection().await.map(|(_, tools)| tools)
    }

    /// Lists all tools, and returns the connection on which they were listed.
    ///
    /// # Errors
    ///
    /// [`McpError`] of connecting or listing.
    pub async fn list_tools_with_connection(
        &self,
    ) -> Result<(Arc<Connection>, Vec<ListedTool>), McpError> {
        let mut connection = self.connection().await?;
        let mut listed = connection.list_tools().await;
        if self.drop_lost_session(&connection, listed.as_ref().err()) {
            connection = self.connection().await?;
            listed = connection.list_tools().await;
        }
        if listed.is_ok() {
            self.state().backoff.reset();
        }
        Ok((connection, listed?))
    }

    /// Makes a request once: most often a tool call. It is sent a second time only if an HTTP server no longer knows
    /// the session, because then the call was not executed.
    ///
    /// # Errors
    ///
    /// [`McpError`] of connecting or calling.
    pub async fn call(&self, request: CallRequest) -> Result<CallOutcome, McpError> {
        let connection = self.connection().await?;
        self.check_rate()?;
        let mut outcome = connection.call_to_completion(request.clone()).await;
        if self.drop_lost_session(&connection, outcome.as_ref().err()) {
            let connection = self.connection().await?;
            self.check_rate()?;
            outcome = connection.call_to_completion(request).await;
        }
        if outcome.is_ok() {
            self.state().backoff.reset();
        }
        outcome
    }

    /// Makes a request once on the connection of this generation. It never connects and never sends a second time.
    /// `None` if that connection is no longer live.
    pub(crate) async fn call_on(
        &self,
        generation: u64,
        request: CallRequest,
    ) -> Option<Result<CallOutcome, McpError>> {
        self.end_if_silent().await;
        let connection = self.live_connection().filter(|live| live.generation() == generation)?;
        if let Err(error) = self.check_rate() {
            return Some(Err(error));
        }
        let outcome = connection.call_to_completion(request).await;
        if !self.drop_lost_session(&connection, outcome.as_ref().err()) && outcome.is_ok() {
            self.state().backoff.reset();
        }
        Some(outcome)
    }

    /// Gives up the connection of a server that has fallen silent, and kills its process: it let an
    /// earlier request wait in vain, and does not answer a ping. The next use connects again.
    pub async fn end_if_silent(&self) {
        let Some(live) = self.live_connection() else { return };
        let channel = live.channel();
        if !channel.is_answering(live.server().era()).await {
            let error = channel.error(McpErrorKind::Silent);
            tracing::warn!(upstream = %channel.config.name, "{error}");
            channel.inbox.pending.close(&error);
            live.kill();
        }
    }

    /// Subscribes to changes of a resource, on this and every later connection, also where there is none now.
    ///
    /// # Errors
    ///
    /// [`McpError`] of connecting, or when the server refuses.
    pub async fn subscribe(&self, uri: &str) -> Result<(), McpError> {
        let connection = self.connection().await;
        // Recorded before the request, so that a connection made in the meantime subscribes too.
        self.state().preferences.subscribed.insert(uri.to_owned());
        let connection = connection?;
        let outcome = connection.subscribe(uri).await;
        if outcome.as_ref().is_err_and(McpError::is_refusal) {
            self.state().preferences.subscribed.remove(uri);
        }
        outcome
    }

    /// Cancels a subscription. A server that is not connected needs no request.
    ///
    /// # Errors
    ///
    /// [`McpError`], when the server refuses.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), McpError> {
        self.state().preferences.subscribed.remove(uri);
        match self.live_connection() {
            Some(live) => live.unsubscribe(uri).await,
            None => Ok(()),
        }
    }

    /// Sets the lowest level of log messages to receive, on this and every later connection. A server without logging
    /// is not asked.
    ///
    /// # Errors
    ///
    /// [`McpError`], when the server refuses.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), McpError> {
        self.state().preferences.log_level = Some(level);
        match self.live_connection().filter(|live| connection_preferences::has_log(live)) {
            Some(live) => live.set_log_level(level).await,
            None => Ok(()),
        }
    }

    /// Tells the server that the roots of its client have changed. A server that is not connected will ask later
    /// anyway.
    ///
    /// # Errors
    ///
    /// [`McpError`], when the server is gone.
    pub async fn tell_roots_changed(&self) -> Result<(), McpError> {
        match self.live_connection() {
            Some(live) => live.tell_roots_changed().await,
            None => Ok(()),
        }
    }

    /// Whether the server has reported a change of the list since it was last requested, or is not connected.
    #[must_use]
    pub fn is_stale(&self, list: ServerList) -> bool {
        self.live_connection().is_none_or(|live| live.is_stale(list))
    }

    /// Whether the tools may have changed: the server has reported a change, is not connected, or has not listed them
    /// on this connection.
    #[must_use]
    pub fn tools_stale(&self) -> bool {
        self.live_connection().is_none_or(|live| live.tools_stale() || !live.tools_listed())
    }

    /// How many requests wait for an answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.live_connection().map_or(0, |live| live.channel().inbox.pending.open_count())
    }

    /// Why the last connection ended by itself; `None` while it lives and if there is none.
    #[must_use]
    pub fn end_reason(&self) -> Option<McpError> {
        self.state().connection.as_ref().and_then(|live| live.close_reason())
    }

    /// Closes the connection gracefully and forever. An attempt in progress is cancelled at once.
    pub async fn close(&self) {
        self.shutdown.send_replace(true);
        let connection = self.take_connection().await;
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Ends the connection forever and kills its child at once.
    pub async fn kill(&self) {
        self.shutdown.send_replace(true);
        if let Some(connection) = self.take_connection().await {
            connection.kill();
        }
    }

    /// Takes the last connection, after an attempt in progress has given up.
    async fn take_connection(&self) -> Option<Arc<Connection>> {
        let _nobody_connects = self.connecting.lock().await;
        self.state().connection.take()
    }

    /// Takes a token from the per-second limit of calls.
    fn check_rate(&self) -> Result<(), McpError> {
        let Some(limit) = self.config.limits.calls_per_second else { return Ok(()) };
        self.call_bucket.try_take(limit).map_err(|retry_in| {
            self.error(McpErrorKind::CallsPerSecond { limit: limit.get(), retry_in })
        })
    }

    fn error(&self, kind: McpErrorKind) -> McpError {
        kind.at(&self.config.name)
    }

    /// Discards a connection whose HTTP session the server no longer knows. This is not a failure.
    fn drop_lost_session(&self, connection: &Arc<Connection>, error: Option<&McpError>) -> bool {
        let is_lost = |error: &&McpError| {
            matches!(error.kind, McpErrorKind::Http { fault: HttpFault::SessionGone })
        };
        let Some(error) = error.filter(is_lost) else { return false };
        connection.retire(error);
        let mut state = self.state();
        if state.connection.as_ref().is_some_and(|live| Arc::ptr_eq(live, connection)) {
            state.connection = None;
        }
        true
    }
}
