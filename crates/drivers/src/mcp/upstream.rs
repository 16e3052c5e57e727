//! An upstream that comes back: connects on demand, and waits longer after each failure.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weaver_types::{OsRandom, Random};

use super::call::{CallOutcome, CallRequest};
use super::config::UpstreamConfig;
use super::connection::Connection;
use super::error::McpError;
use super::fault::HttpFault;
use super::listing::ListedTool;
use super::notification::LogLevel;
use super::rate::Rate;
use super::server_list::ServerList;
use crate::confine::EnforcedConfinement;

/// How long an upstream is left alone after 1, 2, 3, 4, and 5 or more failures in a row.
const PAUSES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(10),
];

/// The number of the next connection. No two of a process have the same, so that a call for the
/// connection whose tools were compared goes to no other, also where another [`Upstream`] has taken
/// the place of this one.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// A server that is connected when it is first needed and again after it ended.
///
/// After a failure the next use connects anew; from the second failure in a row on, uses within
/// the pause fail at once and say when the next attempt is. A reply ends the row.
pub struct Upstream {
    config: Arc<UpstreamConfig>,
    /// Held by whoever connects, which may take long. Nobody waits for it who has a connection.
    connecting: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// True once the owner wants no connection any more, also not the one that is being made.
    shut: watch::Sender<bool>,
    rate: Rate,
    random: Arc<dyn Random>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    was_connected: bool,
    failures: usize,
    not_before: Option<Instant>,
    last: &'static str,
    /// The resources that are watched, on every connection to come too.
    watched: BTreeSet<String>,
    /// The level of log messages that is wanted, likewise.
    log_level: Option<LogLevel>,
}

impl Upstream {
    /// An upstream that is not connected yet.
    #[must_use]
    pub fn new(config: UpstreamConfig) -> Self {
        let (config, random) = (Arc::new(config), Arc::new(OsRandom));
        let shut = watch::Sender::new(false);
        let (connecting, state) = (tokio::sync::Mutex::default(), Mutex::default());
        Self { config, connecting, state, shut, rate: Rate::default(), random }
    }

    /// The same with another source of the chance by which pauses are spread.
    #[must_use]
    pub fn with_random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// Its configuration.
    #[must_use]
    pub fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    /// The live connection; connects where there is none. Callers at the same time share one
    /// attempt.
    ///
    /// # Errors
    ///
    /// [`McpError`] of the attempt, or [`McpError::Backoff`] when it is too early for one.
    pub async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut shut = self.shut.subscribe();
        tokio::select! {
            biased;
            // Dropping the other attempt ends its child.
            _ = shut.wait_for(|shut| *shut) => {
                Err(McpError::Shutdown { upstream: self.config.name.clone() })
            }
            connected = self.connected() => connected,
        }
    }

    async fn connected(&self) -> Result<Arc<Connection>, McpError> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(live) = self.live() {
            return Ok(live);
        }
        self.may_connect()?;
        let connected = Connection::connect(Arc::clone(&self.config)).await;
        let mut state = self.state();
        // Whoever closes says so before it takes the connection away: one of the two sees the other.
        if *self.shut.borrow() {
            return Err(McpError::Shutdown { upstream: self.config.name.clone() });
        }
        match connected {
            Ok(connection) => {
                let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
                let connection = Arc::new(connection.numbered(generation));
                state.was_connected = true;
                state.connection = Some(Arc::clone(&connection));
                state.restore(&connection);
                Ok(connection)
            }
            Err(error) => {
                state.failed(error.code(), self.random.as_ref());
                Err(error)
            }
        }
    }

    fn live(&self) -> Option<Arc<Connection>> {
        self.state().connection.clone().filter(|live| live.closed().is_none())
    }

    /// Lets go of a connection that has ended. An error, when it is too early for another one.
    fn may_connect(&self) -> Result<(), McpError> {
        let mut state = self.state();
        let ended = state.connection.take().and_then(|connection| connection.closed());
        if let Some(reason) = ended {
            state.failed(reason.code(), self.random.as_ref());
        }
        let now = Instant::now();
        match state.not_before.filter(|at| *at > now) {
            Some(at) => {
                let (upstream, retry_in) = (self.config.name.clone(), at.duration_since(now));
                Err(McpError::Backoff { upstream, retry_in, last: state.last })
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
        self.listing().await.map(|(_, tools)| tools)
    }

    /// Lists all tools, and says on which connection.
    ///
    /// # Errors
    ///
    /// [`McpError`] of connecting or listing.
    pub async fn listing(&self) -> Result<(Arc<Connection>, Vec<ListedTool>), McpError> {
        let mut connection = self.connection().await?;
        let mut listed = connection.list_tools().await;
        if self.lost_session(&connection, listed.as_ref().err()) {
            connection = self.connection().await?;
            listed = connection.list_tools().await;
        }
        if listed.is_ok() {
            self.forget_failures();
        }
        Ok((connection, listed?))
    }

    /// Makes a request once: most often, calls a tool. Sent a second time only when an HTTP server answers that it no longer
    /// knows the session, for then the call was not executed.
    ///
    /// # Errors
    ///
    /// [`McpError`] of connecting or calling.
    pub async fn call(&self, request: CallRequest) -> Result<CallOutcome, McpError> {
        let connection = self.connection().await?;
        self.in_turn()?;
        let mut outcome = connection.call_answering(request.clone()).await;
        if self.lost_session(&connection, outcome.as_ref().err()) {
            let connection = self.connection().await?;
            self.in_turn()?;
            outcome = connection.call_answering(request).await;
        }
        if outcome.is_ok() {
            self.forget_failures();
        }
        outcome
    }

    /// Makes a request once on the connection of this generation, and on no other: nothing connects,
    /// and nothing is sent a second time. `None` when that connection is not the live one.
    pub(crate) async fn call_on(
        &self,
        generation: u64,
        request: CallRequest,
    ) -> Option<Result<CallOutcome, McpError>> {
        let connection = self.live().filter(|live| live.generation() == generation)?;
        if let Err(error) = self.in_turn() {
            return Some(Err(error));
        }
        let outcome = connection.call_answering(request).await;
        if !self.lost_session(&connection, outcome.as_ref().err()) && outcome.is_ok() {
            self.forget_failures();
        }
        Some(outcome)
    }

    /// Asks to be told when a resource changes, now and on every later connection.
    ///
    /// # Errors
    ///
    /// [`McpError`] of connecting, or when the server refuses.
    pub async fn subscribe(&self, uri: &str) -> Result<(), McpError> {
        let connection = self.connection().await?;
        // Noted first, so that a connection that takes the place of this one meanwhile asks too.
        self.state().watched.insert(uri.to_owned());
        let asked = connection.subscribe(uri).await;
        if matches!(asked, Err(McpError::Refused { .. })) {
            self.state().watched.remove(uri);
        }
        asked
    }

    /// Asks no longer to be told of a resource. A server that is away has nothing to be told.
    ///
    /// # Errors
    ///
    /// [`McpError`], when the server refuses.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), McpError> {
        self.state().watched.remove(uri);
        match self.live() {
            Some(live) => live.unsubscribe(uri).await,
            None => Ok(()),
        }
    }

    /// Names the level from which on log messages are wanted, now and on every later connection. A
    /// server without a log is not told.
    ///
    /// # Errors
    ///
    /// [`McpError`], when the server refuses.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), McpError> {
        self.state().log_level = Some(level);
        match self.live().filter(|live| has_log(live)) {
            Some(live) => live.set_log_level(level).await,
            None => Ok(()),
        }
    }

    /// Tells the server that the roots of its client are no longer as they were. One that is away
    /// asks when it is there.
    ///
    /// # Errors
    ///
    /// [`McpError`], when the server is gone.
    pub async fn tell_roots_changed(&self) -> Result<(), McpError> {
        match self.live() {
            Some(live) => live.tell_roots_changed().await,
            None => Ok(()),
        }
    }

    /// Whether it was not connected yet, and nobody connects it now.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        self.connecting.try_lock().is_ok() && !self.state().was_connected
    }

    /// Whether the server said that the list changed since it was last asked for, or is not
    /// connected now.
    pub async fn is_stale(&self, list: ServerList) -> bool {
        self.live().is_none_or(|live| live.is_stale(list))
    }

    /// Whether the server said that its tools changed since they were last listed, or is not
    /// connected now, or its tools were not listed since it was connected.
    pub async fn tools_stale(&self) -> bool {
        self.live().is_none_or(|live| live.tools_stale() || !live.tools_listed())
    }

    /// What is kept from the child of the live connection, or of the one that is being made; `None`
    /// where there is no such child.
    pub async fn enforced(&self) -> Option<EnforcedConfinement> {
        let _nobody_connects = self.connecting.lock().await;
        let state = self.state();
        state.connection.as_ref().and_then(|live| live.enforced().cloned())
    }

    /// Why the last connection ended by itself; `None` while it lives and while there is none.
    pub async fn ended(&self) -> Option<McpError> {
        self.state().connection.as_ref().and_then(|live| live.closed())
    }

    /// Ends the connection in good order, for ever. One that is being made is given up at once.
    pub async fn close(&self) {
        self.shut.send_replace(true);
        let connection = self.taken().await;
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// Ends the connection for ever and its child at once, without good order.
    pub async fn kill(&self) {
        self.shut.send_replace(true);
        if let Some(connection) = self.taken().await {
            connection.kill();
        }
    }

    /// The connection, which is the last one: whoever was connecting has given up.
    async fn taken(&self) -> Option<Arc<Connection>> {
        let _nobody_connects = self.connecting.lock().await;
        self.state().connection.take()
    }

    /// Whether another call may begin in this second.
    fn in_turn(&self) -> Result<(), McpError> {
        let Some(limit) = self.config.limits.calls_per_second else { return Ok(()) };
        self.rate.take(limit).map_err(|retry_in| McpError::CallsPerSecond {
            upstream: self.config.name.clone(),
            limit: limit.get(),
            retry_in,
        })
    }

    /// The server has answered: what failed before counts no more.
    fn forget_failures(&self) {
        let mut state = self.state();
        (state.failures, state.not_before) = (0, None);
    }

    /// Drops a connection whose HTTP session the server has forgotten. That is no failure.
    fn lost_session(&self, connection: &Arc<Connection>, error: Option<&McpError>) -> bool {
        let Some(error @ McpError::Http { fault: HttpFault::SessionGone, .. }) = error else {
            return false;
        };
        connection.retire(error);
        let mut state = self.state();
        if state.connection.as_ref().is_some_and(|live| Arc::ptr_eq(live, connection)) {
            state.connection = None;
        }
        true
    }
}

impl State {
    /// Asks a fresh connection for what the one before was asked for. In the background: nobody
    /// who needs the connection waits for it.
    fn restore(&self, connection: &Arc<Connection>) {
        let (watched, level) = (self.watched.clone(), self.log_level);
        if watched.is_empty() && level.is_none() {
            return;
        }
        let connection = Arc::clone(connection);
        tokio::spawn(async move {
            if let Some(level) = level.filter(|_| has_log(&connection)) {
                let _ = connection.set_log_level(level).await;
            }
            for uri in watched {
                let _ = connection.subscribe(&uri).await;
            }
        });
    }

    fn failed(&mut self, code: &'static str, random: &dyn Random) {
        self.failures = self.failures.saturating_add(1);
        let pause = PAUSES.get(self.failures.saturating_sub(1)).or(PAUSES.last());
        let pause = spread(pause.copied().unwrap_or_default(), random);
        self.not_before = Instant::now().checked_add(pause);
        self.last = code;
    }
}

/// Whether the server says that it sends log messages.
fn has_log(connection: &Connection) -> bool {
    connection.server().capability("logging").is_some()
}

/// Half of a pause is certain and half of it by chance, so that many who lost the same server do
/// not come back together. Without randomness it is the whole.
fn spread(pause: Duration, random: &dyn Random) -> Duration {
    let mut chance = [0_u8; 4];
    if random.fill(&mut chance).is_err() {
        return pause;
    }
    let share = f64::from(u32::from_le_bytes(chance)) / f64::from(u32::MAX);
    pause.div_f64(2.0) + pause.div_f64(2.0).mul_f64(share)
}

#[cfg(test)]
mod tests {
    use weaver_types::SeededRandom;

    use super::*;

    #[test]
    fn pauses_are_bounded_and_spread_by_chance() {
        let pauses = |seed| -> Vec<Duration> {
            let random = SeededRandom::new(seed);
            PAUSES.iter().map(|pause| spread(*pause, &random)).collect()
        };
        for seed in 1..50 {
            for (pause, whole) in pauses(seed).iter().zip(PAUSES) {
                assert!(*pause >= whole / 2 && *pause <= whole, "{pause:?} {whole:?}");
            }
        }
        assert_ne!(pauses(1), pauses(2));
        assert_eq!(pauses(1), pauses(1));
    }
}
