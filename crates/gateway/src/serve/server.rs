//! A running gateway, independent of its clients and their transport.

mod ledger_probe;
mod measurements;
mod message_session;
mod open_sessions;
mod status;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weaver_policy::{PolicySet, TokenIdentity};
use weaver_types::{EventKind, PrincipalId, Timestamp};

use super::client::{Client, ClientScope};
use super::client_principal::{ClientPrincipal, PrincipalSource};
use super::client_process::ClientKey;
use super::client_tokens;
use super::error::ServeError;
use super::event::{self, fields};
use super::gateway::Gateway;
use super::gateway_parts;
use super::message;
use super::notice_forwarder::NoticeForwarder;
use super::requests::Requests;
use super::stream_session::StreamSession;
use super::{
    ServeOptions, approvals, protected_file_watch, reload, run_watch, server_changes,
    server_requests,
};
use crate::client_journal::ClientJournal;
use crate::client_registry::ClientRegistry;
use crate::config::{ClientProfile, Config};
use crate::publish::{self, CheckpointPublisher, PublisherTask};
use crate::telemetry::{self, ExporterTask, Measurements, Telemetry};
pub(crate) use ledger_probe::LedgerProbeError;
pub use message_session::MessageSession;
use message_session::SessionNotices;
use open_sessions::{OpenSession, OpenSessions};
pub use status::{ServerStatus, SessionStatus, UpstreamStatus};

/// The grace period of calls in flight after the only client has gone. Clients commonly kill a
/// server after two seconds, and then the outcomes of its calls would not be recorded.
const ENDING_GRACE: Duration = Duration::from_millis(800);
/// How long requests may still wait for a starting server after the only client has gone.
const STARTUP_GRACE: Duration = Duration::from_millis(700);
/// The most queued lines in answer to one message, for a slow reader.
const MAX_QUEUED_LINES: usize = 64;
/// The time limit for recording the ends of calls and writing the last answers.
const LAST_WRITES_TIMEOUT: Duration = Duration::from_secs(10);

/// The method of the notification that tells a client's shim that the gateway is about to end.
pub const DRAINING_METHOD: &str = "notifications/weaver/draining";

/// What follows the gateway's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterShutdown {
    /// Another gateway takes its place.
    Restarting,
    /// Nothing, until somebody starts one.
    Stopped,
}

/// A running gateway.
pub struct Server {
    gateway: Arc<Gateway>,
    background_tasks: Vec<JoinHandle<()>>,
    publisher: Mutex<Option<PublisherTask>>,
    exporter: Mutex<Option<ExporterTask>>,
    sessions: Arc<OpenSessions>,
}

/// The owner of a session, and what it sees.
#[derive(Debug, Clone)]
pub struct SessionOwner {
    /// The client whose runs it uses.
    pub client: ClientKey,
    /// The principal it acts as; `None` for the principal of the configuration.
    pub principal: Option<PrincipalId>,
    /// The identity from a token, which the policy maps to a principal; it takes precedence over
    /// `principal`.
    pub identity: Option<Arc<TokenIdentity>>,
    /// The name of its profile; `None` for the settings of `[gateway]`.
    pub profile: Option<String>,
    /// The folder in which its client was started, for a local client.
    pub folder: Option<PathBuf>,
    /// The session's name for operators.
    pub label: String,
}

impl Server {
    /// Opens documents and store, and starts connecting the servers.
    ///
    /// # Errors
    /// [`ServeError`], when the documents or the store cannot be opened. An unreachable server is
    /// no error: calls to its tools report it.
    pub async fn open(config: Config, options: ServeOptions) -> Result<Self, ServeError> {
        let mut parts = gateway_parts::open(&config, options)?;
        let (publisher, pruning) = (parts.publisher.take(), parts.pruning.take());
        let exporter = parts.exporter.take();
        let gateway = Arc::new(Box::pin(Gateway::new(config, parts)).await?);
        let publisher = publisher.map(CheckpointPublisher::start);
        let pruning = pruning.map(|(ledger, rules)| {
            let (tenant, timed) = (gateway.tenant.clone(), Arc::clone(&gateway));
            tokio::spawn(publish::prune(ledger, rules, tenant, move || timed.kernel.trusted_time()))
        });
        let client_tokens = {
            let clients = ClientRegistry::of_store(&gateway.config.store_path);
            let mut journal = ClientJournal::new(clients, gateway.tenant.clone());
            // Before anybody can connect: a token whose removal is in the log is refused.
            client_tokens::record(&gateway, &mut journal).await;
            Some(tokio::spawn(client_tokens::watch(Arc::clone(&gateway), journal)))
        };
        gateway.start_upstreams();
        let background_tasks = [
            tokio::spawn(approvals::watch(Arc::clone(&gateway))),
            tokio::spawn(reload::watch(Arc::clone(&gateway))),
            tokio::spawn(protected_file_watch::watch(Arc::clone(&gateway))),
            tokio::spawn(run_watch::watch(Arc::clone(&gateway))),
            tokio::spawn(server_requests::serve(Arc::clone(&gateway))),
            tokio::spawn(server_requests::forward_roots_changes(Arc::clone(&gateway))),
        ];
        let background_tasks =
            background_tasks.into_iter().chain(pruning).chain(client_tokens).collect();
        let sessions = Arc::new(OpenSessions::default());
        let exporter = exporter.map(|exporter| {
            let (seen, open) = (Arc::clone(&gateway), Arc::clone(&sessions));
            let gather = move || {
                let (status, measured) =
                    (ServerStatus::of(&seen, &open), measurements::measure(&seen));
                telemetry::gather(&seen.telemetry, &status, &measured)
            };
            exporter.start(Arc::clone(&gateway.telemetry), Box::new(gather))
        });
        let (publisher, exporter) = (Mutex::new(publisher), Mutex::new(exporter));
        Ok(Self { gateway, background_tasks, publisher, exporter, sessions })
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.gateway.upstreams.config()
    }

    /// Puts another configuration into force, if it differs in its servers only. Sessions, calls and
    /// unchanged servers go on. False if it needs another gateway.
    pub(crate) async fn replace_servers(&self, config: Config) -> bool {
        let fits = server_changes::differs_in_servers_only(&self.config(), &config);
        if fits {
            Box::pin(server_changes::apply(&self.gateway, config)).await;
        }
        fits
    }

    /// Creates the client of a session.
    fn open_client(&self, owner: &SessionOwner) -> Result<Arc<Client>, ServeError> {
        let config = self.config();
        let profile: &ClientProfile = match &owner.profile {
            None => &config.profile,
            Some(name) => config.profiles.get(name).ok_or_else(|| ServeError::Profile {
                name: message::excerpt(name),
                known: config.profiles.keys().cloned().collect(),
            })?,
        };
        let source = match (&owner.identity, &owner.principal) {
            (Some(identity), _) => PrincipalSource::Token(Arc::clone(identity)),
            (None, Some(id)) => PrincipalSource::Named(id.clone()),
            (None, None) => PrincipalSource::Named(config.principal.clone()),
        };
        let policy = self.gateway.kernel.policy();
        let runs = self.gateway.runs.tracker_for(&source.resolve(&policy)?, owner.client.clone());
        let principal = ClientPrincipal::new(source, runs, policy)?;
        let scope = ClientScope { profile: profile.clone(), folder: owner.folder.clone() };
        Ok(Arc::new(Client::new(&self.gateway, scope, principal)))
    }

    /// The time against which expiry is checked.
    pub(crate) fn expiry_time(&self) -> Timestamp {
        self.gateway.kernel.expiry_time()
    }

    /// The policy in force.
    pub(crate) fn policy(&self) -> Arc<PolicySet> {
        self.gateway.kernel.policy()
    }

    /// Checks whether a session of this owner could begin.
    ///
    /// # Errors
    /// [`ServeError`], for an unknown profile or principal.
    pub fn check(&self, owner: &SessionOwner) -> Result<(), ServeError> {
        self.open_client(owner).map(drop)
    }

    /// Serves the only client on a stream, until the stream ends and its remaining calls have
    /// ended.
    ///
    /// # Errors
    /// [`ServeError`], for an owner that the configuration or the policy does not know, and when
    /// the stream fails.
    pub async fn serve_only_client(
        &self,
        owner: &SessionOwner,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<(), ServeError> {
        let client = self.open_client(owner)?;
        let session = StreamSession::begin(&client, writer);
        let ended = session.read(reader, &CancellationToken::new()).await;
        let requests = Arc::clone(&session.requests);
        requests.stop_waiting();
        // Every call in flight must end and be recorded before the pipes close: first those that
        // wait for a starting server, then running ones get a grace period; what is left loses its
        // server.
        let _ = tokio::time::timeout(STARTUP_GRACE, requests.wait_until_idle()).await;
        self.gateway.upstreams.stop_waiting();
        let _ = tokio::time::timeout(ENDING_GRACE, requests.wait_until_idle()).await;
        self.gateway.upstreams.close().await;
        let _ = tokio::time::timeout(LAST_WRITES_TIMEOUT, requests.wait_until_idle()).await;
        drop(requests);
        let _ = tokio::time::timeout(LAST_WRITES_TIMEOUT, session.finish()).await;
        close_client(client).await;
        ended
    }

    /// Serves one of many clients on a stream, until the stream ends or `stopped` is cancelled. Its
    /// calls in flight then run to their ends, which are recorded.
    ///
    /// # Errors
    /// As [`serve_only_client`](Self::serve_only_client).
    pub async fn serve(
        &self,
        owner: &SessionOwner,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stopped: &CancellationToken,
    ) -> Result<(), ServeError> {
        let client = self.open_client(owner)?;
        let session = StreamSession::begin(&client, writer);
        let number = self.sessions.begin(OpenSession {
            requests: Arc::downgrade(&session.requests),
            announcements: Some(session.announcements()),
            status: SessionStatus::of(owner, &client)?,
        });
        let ended = session.read(reader, stopped).await;
        session.requests.stop_waiting();
        session.requests.wait_until_idle().await;
        session.finish().await;
        self.sessions.end(number);
        close_client(client).await;
        ended
    }

    /// Begins a session that receives single messages.
    ///
    /// # Errors
    /// [`ServeError`], for an owner that the configuration or the policy does not know.
    pub fn begin(self: &Arc<Self>, owner: &SessionOwner) -> Result<MessageSession, ServeError> {
        let client = self.open_client(owner)?;
        let requests = Arc::new(Requests::new(Arc::clone(&client), Arc::default()));
        let (outbox, lines) = mpsc::channel(MAX_QUEUED_LINES);
        client.link.require_listeners();
        let forwarder = NoticeForwarder::start(&client, &outbox);
        let forwarder = tokio::sync::Mutex::new(Some(forwarder));
        let notices =
            SessionNotices { lines, tool_list_changes: client.gateway.tool_list_changes() };
        let notices = tokio::sync::Mutex::new(notices);
        let number = self.sessions.begin(OpenSession {
            requests: Arc::downgrade(&requests),
            announcements: None,
            status: SessionStatus::of(owner, &client)?,
        });
        let server = Arc::clone(self);
        Ok(MessageSession { server, client, requests, number, forwarder, notices, _outbox: outbox })
    }

    /// Notifies every session that the gateway is about to end, and waits for all of them. Their
    /// clients send nothing more; requests in flight are answered first, but waits for approvals
    /// end: an approval request lives on in the store.
    ///
    /// False when sessions are left after `patience`, for example of a client that reads nothing.
    pub async fn drain(&self, farewell: AfterShutdown, patience: Duration) -> bool {
        let line =
            message::notification_with(DRAINING_METHOD, serde_json::json!({ "then": farewell }));
        self.sessions.drain(&line, patience).await
    }

    /// Waits until no session is left; false when some are left after `patience`. A message session
    /// counts as finished when nothing is in flight.
    pub async fn sessions_over(&self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.sessions.wait_until_finished()).await.is_ok()
    }

    /// Answers the calls that have not ended: each may have run. False when answers are left after
    /// `patience`.
    pub(crate) async fn cut_off_calls(&self, patience: Duration) -> bool {
        let requests = self.sessions.all().into_iter().filter_map(|one| one.requests.upgrade());
        requests.for_each(|requests| requests.cut_off());
        self.sessions_over(patience).await
    }

    /// True while a client is connected, or a request waits for an answer.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// The status for operators.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        ServerStatus::of(&self.gateway, &self.sessions)
    }

    /// What is measured for the metrics.
    pub(crate) fn measurements(&self) -> Measurements {
        measurements::measure(&self.gateway)
    }

    /// Notes whether the configuration on disk can be used, and why not.
    pub(crate) fn note_refused_configuration(&self, problem: Option<String>) {
        self.gateway.note_refused_configuration(problem);
    }

    /// Records that the gateway ends, and why.
    pub(crate) async fn record_end(&self, reason: &str) {
        let fields = fields([
            ("reason", serde_json::json!(reason)),
            ("version", serde_json::json!(env!("CARGO_PKG_VERSION"))),
        ]);
        event::record(&self.gateway.kernel, EventKind::GatewayEnded, fields).await;
    }

    /// Checks whether the ledger accepts writes.
    ///
    /// # Errors
    /// [`LedgerProbeError`], when it does not.
    pub(crate) async fn probe_ledger(&self) -> Result<(), LedgerProbeError> {
        ledger_probe::probe(&self.gateway).await
    }

    /// The metrics and traces.
    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.gateway.telemetry
    }

    /// Closes the servers, and signs the end of the log. Later calls find no server.
    pub async fn close(&self) {
        self.gateway.upstreams.stop_waiting();
        self.gateway.upstreams.close().await;
        self.background_tasks.iter().for_each(JoinHandle::abort);
        // Abandoned calls have ends to record, too.
        self.gateway.kernel.sweep().await;
        let publisher = self.publisher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(publisher) = publisher {
            publisher.end().await;
        }
        let exporter = self.exporter.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(exporter) = exporter {
            exporter.end().await;
        }
    }
}

/// Ends a client's session; a failure is only logged.
async fn close_client(client: Arc<Client>) {
    if let Err(error) = client.close().await {
        tracing::warn!(%error, "the end of the run was not recorded");
    }
}
