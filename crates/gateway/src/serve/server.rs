//! A gateway that serves, whoever its clients are and however they reach it.

mod message_session;
mod open_sessions;
mod status;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{self, WeakSender};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weaver_policy::{PolicySet, TokenIdentity};
use weaver_types::PrincipalId;
use weaver_types::ledger::{Batch, Durability, LedgerError, Namespace, Put, RecordKey};

use super::client::{Client, ClientView};
use super::client_principal::{ClientPrincipal, PrincipalSource};
use super::client_process::ClientKey;
use super::error::ServeError;
use super::gateway::Gateway;
use super::message;
use super::notices::LinkedClient;
use super::open;
use super::requests::Requests;
use super::stream::StreamSession;
use super::{ServeOptions, approvals, cover_watch, reload, server_requests};
use crate::config::{Config, Profile};
use crate::publish::{self, CheckpointPublisher, PublisherTask};
use crate::telemetry::{self, ExporterTask, Telemetry};
pub use message_session::MessageSession;
use message_session::SessionNotices;
use open_sessions::{OpenSession, Sessions};
pub use status::{ServerStatus, SessionStatus, UpstreamStatus};

/// How long calls under way may take after the only client has gone. Clients commonly kill a server
/// that is still there after two seconds, and what came of its calls would not be recorded.
const GRACE: Duration = Duration::from_millis(800);
/// How long a request may go on waiting for a server that starts.
const STARTING: Duration = Duration::from_millis(700);
/// How often the runs of clients that are gone are looked for.
const RUN_LOOK: Duration = Duration::from_secs(30);
/// How many lines that answer one message are queued for a slow reader.
const MAX_ANSWERS: usize = 64;
/// How long their ends may take to be recorded, and answers to be written.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// How long the ledger may take to answer a probe.
const PROBE_PATIENCE: Duration = Duration::from_secs(2);

/// The message to a client's shim that the gateway is about to end.
pub const DRAINING: &str = "notifications/weaver/draining";

/// What comes after the gateway's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Farewell {
    /// Another gateway takes its place.
    Restarting,
    /// None, until somebody starts one.
    Stopped,
}

/// Why the ledger takes nothing now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerProbeError {
    /// It says so.
    #[error("{0}")]
    Refused(#[source] LedgerError),
    /// It does not say anything.
    #[error("the ledger has not answered within {} seconds", PROBE_PATIENCE.as_secs())]
    Silent,
}

/// A gateway that serves.
pub struct Server {
    gateway: Arc<Gateway>,
    watching: Vec<JoinHandle<()>>,
    keeper: Mutex<Option<PublisherTask>>,
    exporter: Mutex<Option<ExporterTask>>,
    sessions: Arc<Sessions>,
}

/// Who a session belongs to, and what it sees.
#[derive(Debug, Clone)]
pub struct SessionOwner {
    /// Whose runs it works in.
    pub client: ClientKey,
    /// Who it acts as; without a name, the principal of the configuration.
    pub principal: Option<PrincipalId>,
    /// What a token says of whoever comes, of which the policy makes the principal in its place.
    pub identity: Option<Arc<TokenIdentity>>,
    /// The name of its profile; without one, what `[gateway]` says.
    pub profile: Option<String>,
    /// The folder that its client was started in, where it runs on this machine.
    pub folder: Option<PathBuf>,
    /// What the session is called where an operator sees it.
    pub label: String,
}

impl Server {
    /// Opens documents and store, and begins to start the servers.
    ///
    /// # Errors
    /// [`ServeError`], when the documents or the store cannot be opened. Servers that cannot be
    /// reached are no error: their tools say so when they are called.
    pub async fn open(config: Config, options: ServeOptions) -> Result<Self, ServeError> {
        let mut opened = open::open(&config, options)?;
        let (keeper, pruning) = (opened.keeper.take(), opened.pruning.take());
        let exporter = opened.exporter.take();
        let gateway = Arc::new(Gateway::new(config, opened).await?);
        let keeper = keeper.map(CheckpointPublisher::start);
        let pruning = pruning.map(|(ledger, rules)| {
            let (tenant, clock) = (gateway.tenant.clone(), Arc::clone(&gateway.clock));
            tokio::spawn(publish::prune(ledger, rules, tenant, clock))
        });
        gateway.start_upstreams();
        let watching = [
            tokio::spawn(approvals::watch(Arc::clone(&gateway))),
            tokio::spawn(reload::watch(Arc::clone(&gateway))),
            tokio::spawn(cover_watch::watch(Arc::clone(&gateway))),
            tokio::spawn(watch_runs(Arc::clone(&gateway))),
            tokio::spawn(server_requests::serve(Arc::clone(&gateway))),
        ];
        let watching = watching.into_iter().chain(pruning).collect();
        let sessions = Arc::new(Sessions::default());
        let exporter = exporter.map(|exporter| {
            let (seen, open) = (Arc::clone(&gateway), Arc::clone(&sessions));
            let gather = move || telemetry::gather(&seen.telemetry, &status(&seen, &open));
            exporter.start(Arc::clone(&gateway.telemetry), Box::new(gather))
        });
        let (keeper, exporter) = (Mutex::new(keeper), Mutex::new(exporter));
        Ok(Self { gateway, watching, keeper, exporter, sessions })
    }

    /// The configuration that it serves.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.gateway.config
    }

    /// The client of a session.
    fn client(&self, owner: &SessionOwner) -> Result<Arc<Client>, ServeError> {
        let config = &self.gateway.config;
        let profile: &Profile = match &owner.profile {
            None => &config.profile,
            Some(name) => config.profiles.get(name).ok_or_else(|| ServeError::Profile {
                name: message::shown(name),
                known: config.profiles.keys().cloned().collect(),
            })?,
        };
        let source = match (&owner.identity, &owner.principal) {
            (Some(identity), _) => PrincipalSource::Token(Arc::clone(identity)),
            (None, Some(id)) => PrincipalSource::Named(id.clone()),
            (None, None) => PrincipalSource::Named(config.principal.clone()),
        };
        let policy = self.gateway.kernel.policy();
        let runs = self.gateway.runs.of(&source.principal(&policy)?, owner.client.clone());
        let principal = ClientPrincipal::new(source, runs, policy)?;
        let view = ClientView { profile: profile.clone(), folder: owner.folder.clone() };
        Ok(Arc::new(Client::new(&self.gateway, view, principal)))
    }

    /// The policy in force.
    pub(crate) fn policy(&self) -> Arc<PolicySet> {
        self.gateway.kernel.policy()
    }

    /// Looks whether a session of this owner could begin.
    ///
    /// # Errors
    /// [`ServeError`], for a profile that the configuration, or a principal that the policy does
    /// not know.
    pub fn check(&self, owner: &SessionOwner) -> Result<(), ServeError> {
        self.client(owner).map(drop)
    }

    /// Serves the only client on a stream, until the stream ends, and then whatever it left behind.
    ///
    /// # Errors
    /// [`ServeError`], for an owner that the configuration or the policy does not know, and when
    /// the stream fails.
    pub async fn serve_alone(
        &self,
        owner: &SessionOwner,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<(), ServeError> {
        let client = self.client(owner)?;
        let session = StreamSession::begin(&client, writer);
        let ended = session.read(reader, &CancellationToken::new()).await;
        let requests = Arc::clone(&session.requests);
        requests.stop_waiting();
        // Every call under way ends, and its end is recorded, before the pipes close. What has not
        // ended by itself loses its server.
        let _ = tokio::time::timeout(STARTING, requests.all_done()).await;
        self.gateway.upstreams.stop_waiting();
        let _ = tokio::time::timeout(GRACE, requests.all_done()).await;
        self.gateway.upstreams.close().await;
        let _ = tokio::time::timeout(LAST_WRITES, requests.all_done()).await;
        drop(requests);
        let _ = tokio::time::timeout(LAST_WRITES, session.finish()).await;
        left(client).await;
        ended
    }

    /// Serves one of many clients on a stream, until the stream ends or `stopped` is cancelled. Its
    /// calls that are under way then go on to their ends, which are recorded; nobody waits for them.
    ///
    /// # Errors
    /// As [`serve_alone`](Self::serve_alone).
    pub async fn serve(
        &self,
        owner: &SessionOwner,
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        stopped: &CancellationToken,
    ) -> Result<(), ServeError> {
        let client = self.client(owner)?;
        let session = StreamSession::begin(&client, writer);
        let number = self.sessions.begin(OpenSession {
            requests: Arc::downgrade(&session.requests),
            announcements: Some(session.announcements()),
            status: status_of(owner, &client)?,
        });
        let ended = session.read(reader, stopped).await;
        session.requests.stop_waiting();
        session.requests.all_done().await;
        session.finish().await;
        self.sessions.end(number);
        left(client).await;
        ended
    }

    /// Begins a session that is fed message by message.
    ///
    /// # Errors
    /// [`ServeError`], for an owner that the configuration or the policy does not know.
    pub fn begin(self: &Arc<Self>, owner: &SessionOwner) -> Result<MessageSession, ServeError> {
        let client = self.client(owner)?;
        let requests = Arc::new(Requests::new(Arc::clone(&client), Arc::default()));
        let (outbox, lines) = mpsc::channel(MAX_ANSWERS);
        client.link.await_listeners();
        let linked = LinkedClient::of(&client, &outbox);
        let linked = tokio::sync::Mutex::new(Some(linked));
        let notices = SessionNotices { lines, changes: client.gateway.changes() };
        let notices = tokio::sync::Mutex::new(notices);
        let number = self.sessions.begin(OpenSession {
            requests: Arc::downgrade(&requests),
            announcements: None,
            status: status_of(owner, &client)?,
        });
        let server = Arc::clone(self);
        Ok(MessageSession { server, client, requests, number, linked, notices, _outbox: outbox })
    }

    /// Tells every session that the gateway is about to end, and waits until all of them are over.
    /// Their clients send nothing more then; what is under way is answered first, except that nobody
    /// waits for an approval any more: its request lives on in the store.
    ///
    /// False when sessions are left after `patience`.
    pub async fn drain(&self, farewell: Farewell, patience: Duration) -> bool {
        let line = message::notification_with(DRAINING, serde_json::json!({ "then": farewell }));
        for session in self.sessions.all() {
            let announcements = session.announcements.as_ref().and_then(WeakSender::upgrade);
            if let Some(announcements) = announcements {
                let _ = announcements.send(line.clone()).await;
            }
            if let Some(requests) = session.requests.upgrade() {
                requests.stop_waiting();
            }
        }
        self.sessions_over(patience).await
    }

    /// Waits until no session is left; false when some are after `patience`. One that is fed message
    /// by message is over when nothing is under way.
    pub async fn sessions_over(&self, patience: Duration) -> bool {
        let over = async {
            while !self.sessions.are_over() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(patience, over).await.is_ok()
    }

    /// True while a client is there, or a request waits for an answer.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// What an operator sees.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        status(&self.gateway, &self.sessions)
    }

    /// Looks whether the ledger takes anything. A small record is written, since reading works on a
    /// full disk too, and a batch with nothing in it may write nothing.
    ///
    /// # Errors
    /// [`LedgerProbeError`], when it does not.
    pub(crate) async fn probe_ledger(&self) -> Result<(), LedgerProbeError> {
        let key = RecordKey::new(self.gateway.tenant.clone(), Namespace::Probe, "ready");
        let mut batch = Batch::new(Durability::Os);
        batch.put.push(Put { key, value: b"{\"v\":1}".to_vec(), expires_at: None });
        let ticket = self.gateway.kernel.ledger().commit(batch);
        let answer = tokio::time::timeout(PROBE_PATIENCE, ticket).await;
        answer.map_err(|_| LedgerProbeError::Silent)?.map(drop).map_err(LedgerProbeError::Refused)
    }

    /// What is counted.
    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.gateway.telemetry
    }

    /// Ends the servers, and signs the last of the log. What is asked after it finds no server.
    pub async fn close(&self) {
        self.gateway.upstreams.stop_waiting();
        self.gateway.upstreams.close().await;
        self.watching.iter().for_each(JoinHandle::abort);
        // Calls that were given up have ends, too.
        self.gateway.kernel.sweep().await;
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            keeper.end().await;
        }
        let exporter = self.exporter.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(exporter) = exporter {
            exporter.end().await;
        }
    }
}

fn status(gateway: &Gateway, sessions: &Sessions) -> ServerStatus {
    let sessions = sessions.all().into_iter().map(|session| SessionStatus {
        requests: session.requests.upgrade().map_or(0, |requests| requests.under_way()),
        ..session.status
    });
    let servers = gateway.upstreams.entries();
    let servers = servers.map(|entry| (entry.name.to_string(), UpstreamStatus::of(gateway, entry)));
    ServerStatus {
        sessions: sessions.collect(),
        servers: servers.collect(),
        held: gateway.kernel.open_requests().len(),
    }
}

fn status_of(owner: &SessionOwner, client: &Client) -> Result<SessionStatus, ServeError> {
    Ok(SessionStatus {
        label: owner.label.clone(),
        principal: client.principal()?.id.clone(),
        client: owner.client.shown(),
        requests: 0,
    })
}

/// Ends the runs of clients that are gone, for as long as the gateway serves.
async fn watch_runs(gateway: Arc<Gateway>) {
    loop {
        tokio::time::sleep(RUN_LOOK).await;
        if let Err(error) = gateway.runs.end_gone(&gateway.kernel).await {
            tracing::warn!(%error, "the ends of runs whose clients are gone are not recorded");
        }
        let noted = gateway.upstreams.callers.runs.runs();
        let runs = gateway.runs.current().await;
        let runs = gateway.upstreams.callers.runs.keep(&noted, runs);
        gateway.upstreams.end_unused(&runs).await;
    }
}

/// Records that a client's session is over.
async fn left(client: Arc<Client>) {
    if let Err(error) = client.leave().await {
        tracing::warn!(%error, "the end of the run is not recorded");
    }
}
