//! One connection to the daemon: its first line, and what it is for.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::config_watch::{self, ConfigState};
use super::end_reason::EndReason;
use super::error::DaemonError;
use super::fingerprint::ConfigFingerprint;
use super::hello::{
    ClientToken, DaemonStatus, Hello, MAX_HANDSHAKE_BYTES, PROTOCOL, ProtocolHeader, Purpose,
    SessionRequest, Welcome, WelcomeOutcome,
};
use super::transport::{DaemonStream, PeerError, SystemTransport, Transport as _};
use crate::http::{ClientAccess, ClientRegistry, HttpClient, HttpConnections};
use crate::serve::{AfterShutdown, ClientKey, Server, SessionOwner};

/// Time limit for the first line.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The state that all connections share.
pub(super) struct Daemon {
    pub(super) server: Arc<Server>,
    pub(super) unsigned_development: bool,
    pub(super) started: Instant,
    /// The clients that may identify themselves by a token.
    pub(super) clients: ClientRegistry,
    /// The fingerprint of the configuration in force when it was read.
    pub(super) config: Mutex<ConfigFingerprint>,
    /// Held while a changed configuration comes into force.
    pub(super) config_change: tokio::sync::Mutex<()>,
    /// The fingerprint of the running program.
    pub(super) program: String,
    /// The HTTP address of the command line, which replaces the configured one.
    pub(super) http_override: Option<SocketAddr>,
    /// The time without a client after which it ends; `None` means never.
    pub(super) idle_exit: Option<Duration>,
    pub(super) arguments: Vec<String>,
    /// The address for clients over HTTP, once it listens.
    pub(super) http: OnceLock<SocketAddr>,
    /// Tells the daemon to end.
    pub(super) end: mpsc::Sender<EndReason>,
    /// The connections of clients over HTTP.
    pub(super) http_connections: Arc<HttpConnections>,
    /// Cancelled when sessions are aborted.
    pub(super) cut_off: CancellationToken,
}

impl Daemon {
    /// Serves one connection.
    pub(super) async fn serve(self: Arc<Self>, stream: DaemonStream) {
        if let Err(error) = self.handle(stream).await {
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn handle(&self, stream: DaemonStream) -> Result<(), DaemonError> {
        let peer = match SystemTransport::peer(&stream) {
            Ok(peer) => peer,
            Err(PeerError::OtherUser(user)) => {
                tracing::warn!(user, "a connection of another user was refused");
                return Ok(());
            }
            Err(error) => return Err(DaemonError::connection(error)),
        };
        let (reader, mut writer) = SystemTransport::split(stream);
        let mut reader = BufReader::with_capacity(64 * 1024, reader);
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(MAX_HANDSHAKE_BYTES as u64);
        tokio::time::timeout(HANDSHAKE_TIMEOUT, bounded.read_until(b'\n', &mut line))
            .await
            .map_err(|_| DaemonError::connection("no first line came"))?
            .map_err(DaemonError::connection)?;
        let hello = match parse_hello(&line) {
            Ok(hello) => hello,
            Err(refusal) => return write_welcome(&mut writer, &refusal).await,
        };
        match hello.purpose {
            Purpose::Status => {
                write_welcome(
                    &mut writer,
                    &Welcome::new(WelcomeOutcome::Status(Box::new(self.status()))),
                )
                .await
            }
            Purpose::End(AfterShutdown::Stopped) => self.end(&mut writer, EndReason::Stopped).await,
            Purpose::End(AfterShutdown::Restarting) => {
                self.end(&mut writer, EndReason::NotNeeded).await
            }
            Purpose::Restart => self.end(&mut writer, EndReason::Restarted).await,
            Purpose::Borrow => self.end(&mut writer, EndReason::Lent).await,
            Purpose::Session(request) => match self.owner(&request, peer, &hello.program).await {
                Err(refusal) => write_welcome(&mut writer, &refusal).await,
                Ok(owner) => {
                    if let Err(error) = self.server.check(&owner) {
                        let refusal = Welcome::refused(error.code(), error.to_string());
                        return write_welcome(&mut writer, &refusal).await;
                    }
                    write_welcome(&mut writer, &Welcome::new(WelcomeOutcome::Session)).await?;
                    self.server.serve(&owner, reader, writer, &self.cut_off).await?;
                    Ok(())
                }
            },
        }
    }

    /// Ends the daemon. The end of the connection tells the requester that it has ended.
    async fn end(
        &self,
        writer: &mut (impl AsyncWrite + Unpin),
        reason: EndReason,
    ) -> Result<(), DaemonError> {
        let outcome = match reason {
            // A client-started daemon leaves it to the next client to start another.
            EndReason::Lent if self.idle_exit.is_none() => WelcomeOutcome::Lending,
            _ => WelcomeOutcome::Ending,
        };
        write_welcome(writer, &Welcome::new(outcome)).await?;
        let _ = self.end.send(reason).await;
        std::future::pending().await
    }

    /// The fingerprint of the configuration in force.
    pub(super) fn fingerprint(&self) -> ConfigFingerprint {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_fingerprint(&self, fingerprint: ConfigFingerprint) {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = fingerprint;
    }

    fn status(&self) -> DaemonStatus {
        DaemonStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            config: self.server.config().file.clone(),
            arguments: self.arguments.clone(),
            http: self.http.get().copied(),
            https: self.server.config().http.as_ref().is_some_and(|http| http.tls.is_some()),
            uptime_s: self.started.elapsed().as_secs(),
            server: self.server.status(),
        }
    }

    /// Why this daemon should not serve a new session, but be replaced by one with the current
    /// configuration or program. A configuration that cannot be used does not end the daemon:
    /// existing sessions go on, and new ones are told the problem.
    async fn replacement(&self, program: &str) -> Result<Option<EndReason>, Welcome> {
        let state = config_watch::follow(self).await.map_err(|error| {
            let config = self.server.config();
            let problem = format!("{} cannot be used: {error}", config.file.display());
            Welcome::refused(error.code(), problem)
        })?;
        if state == ConfigState::NeedsRestart {
            return Ok(Some(EndReason::Reconfigured));
        }
        // A daemon of another build goes on while it has clients.
        let is_replaced = program != self.program && !self.server.is_busy();
        Ok(is_replaced.then_some(EndReason::NotNeeded))
    }

    /// The owner of a session. The client is identified by the process at the other end, not by its
    /// own claims.
    async fn owner(
        &self,
        request: &SessionRequest,
        peer: Option<u32>,
        program: &str,
    ) -> Result<SessionOwner, Welcome> {
        let config = self.server.config();
        let here = &config.file;
        if request.config != *here {
            return Err(Welcome::refused(
                "daemon.other_config",
                format!(
                    "the daemon of this store serves {}; give `[store] path` another value in {}, \
                     or end the daemon with `weaver stop --config {}`",
                    here.display(),
                    request.config.display(),
                    here.display()
                ),
            ));
        }
        if request.unsigned_development != self.unsigned_development {
            let problem = "the daemon that runs and this client differ in `--unsigned-development`; \
                           end it with `weaver stop`";
            return Err(Welcome::refused("daemon.other_options", problem));
        }
        let holder = request.token.as_ref().map(|token| self.holder(token)).transpose()?;
        if let Some(request) = self.replacement(program).await? {
            // The channel holds one message; when it is full, the daemon ends anyway.
            let _ = self.end.try_send(request);
            return Err(Welcome::new(WelcomeOutcome::MakingWay));
        }
        let client = match peer {
            Some(pid) => ClientKey::for_starter_of(pid),
            None => ClientKey::unknown(),
        };
        let client =
            client.map_err(|error| Welcome::refused("daemon.random", error.to_string()))?;
        Ok(SessionOwner {
            client,
            principal: holder.as_ref().map(|holder| holder.principal.clone()),
            identity: None,
            profile: holder.and_then(|holder| holder.profile).or_else(|| request.profile.clone()),
            folder: request.folder.clone(),
            label: request.label.chars().take(64).collect(),
        })
    }

    /// The client that a token belongs to. A client that presents a token never acts as anybody
    /// else.
    fn holder(&self, token: &ClientToken) -> Result<HttpClient, Welcome> {
        let refused = |problem: &str| Welcome::refused("daemon.token", problem);
        match self.clients.find(token.as_str(), self.server.expiry_time()) {
            Ok(Some(holder)) if holder.access == ClientAccess::Metrics => {
                Err(refused("the token is for metrics alone"))
            }
            Ok(Some(holder)) => Ok(holder),
            Ok(None) => Err(refused(
                "the token is not known, was removed, or has expired; `weaver clients add NAME` \
                 makes one",
            )),
            Err(error) => Err(refused(&format!("the clients cannot be read: {error}"))),
        }
    }
}

/// Parses the first line, or returns the refusal of an invalid one.
fn parse_hello(line: &[u8]) -> Result<Hello, Welcome> {
    let malformed = |problem: String| Welcome::refused("daemon.hello", problem);
    let header: ProtocolHeader =
        serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))?;
    if header.protocol != PROTOCOL {
        let (other, own) = (header.version, env!("CARGO_PKG_VERSION"));
        let problem = format!(
            "the daemon is of version {own}, this client of {other}, and they do not understand \
             each other; `weaver restart` brings a daemon of the installed version"
        );
        return Err(Welcome::refused("daemon.version", problem));
    }
    serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))
}

async fn write_welcome(
    writer: &mut (impl AsyncWrite + Unpin),
    welcome: &Welcome,
) -> Result<(), DaemonError> {
    let mut line = serde_json::to_vec(welcome).map_err(DaemonError::connection)?;
    line.push(b'\n');
    writer.write_all(&line).await.map_err(DaemonError::connection)?;
    writer.flush().await.map_err(DaemonError::connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused_before_the_rest_is_read() {
        let newer = br#"{"protocol":99,"version":"9.0","purpose":{"dance":1}}"#;
        let refused = parse_hello(newer).unwrap_err();
        let WelcomeOutcome::Refused { code, problem } = refused.outcome else {
            panic!("not refused")
        };
        assert_eq!(code, "daemon.version");
        assert!(problem.contains("9.0") && problem.contains("weaver restart"), "{problem}");
    }

    #[test]
    fn what_is_no_first_line_is_named() {
        for line in [&b""[..], b"{}", b"GET / HTTP/1.1", br#"{"protocol":1,"purpose":"x"}"#] {
            let WelcomeOutcome::Refused { code, .. } = parse_hello(line).unwrap_err().outcome
            else {
                panic!("not refused")
            };
            assert_eq!(code, "daemon.hello");
        }
    }
}
