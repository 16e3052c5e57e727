//! One connection to the daemon: its first line, and what it is for.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::UCred;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use weaver_types::{Clock as _, SystemClock};

use super::error::DaemonError;
use super::hello::{
    ClientToken, DaemonStatus, Hello, MAX_LINE, Outcome, PROTOCOL, ProtocolOnly, Purpose,
    SessionRequest, Welcome,
};
use super::stamp::ConfigStamp;
use crate::config::{self, ConfigErrors};
use crate::http::{Clients, HttpClient};
use crate::serve::{ClientKey, Farewell, Server, SessionOwner};

/// How long the first line may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What all connections share.
pub(super) struct Daemon {
    pub(super) server: Arc<Server>,
    pub(super) unsigned_development: bool,
    pub(super) started: Instant,
    /// Who may come with a token.
    pub(super) clients: Clients,
    /// The configuration's files as they were read.
    pub(super) config: ConfigStamp,
    /// The program that runs.
    pub(super) program: String,
    /// Where clients are served over HTTP.
    pub(super) http: OnceLock<SocketAddr>,
    /// Where a connection says that the daemon is to end.
    pub(super) end: mpsc::Sender<Farewell>,
    /// Cancelled when clients over HTTP are taken no more.
    pub(super) closing: CancellationToken,
    /// Cancelled when sessions are cut off.
    pub(super) cut: CancellationToken,
}

impl Daemon {
    /// Serves one connection.
    pub(super) async fn serve(self: Arc<Self>, stream: UnixStream) {
        if let Err(error) = self.answer(stream).await {
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn answer(&self, stream: UnixStream) -> Result<(), DaemonError> {
        let peer = stream.peer_cred().map_err(DaemonError::connection)?;
        // The folder lets in this user alone already; systems differ in what a socket's mode means.
        if peer.uid() != rustix::process::getuid().as_raw() {
            tracing::warn!(uid = peer.uid(), "a connection of another user was refused");
            return Ok(());
        }
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::with_capacity(64 * 1024, reader);
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(MAX_LINE as u64);
        tokio::time::timeout(PATIENCE, bounded.read_until(b'\n', &mut line))
            .await
            .map_err(|_| DaemonError::connection("no first line came"))?
            .map_err(DaemonError::connection)?;
        let hello = match read(&line) {
            Ok(hello) => hello,
            Err(refusal) => return write(&mut writer, &refusal).await,
        };
        match hello.purpose {
            Purpose::Status => {
                write(&mut writer, &Welcome::new(Outcome::Status(Box::new(self.status())))).await
            }
            Purpose::End(farewell) => {
                write(&mut writer, &Welcome::new(Outcome::Ending)).await?;
                let _ = self.end.send(farewell).await;
                // Whoever asked sees the end of the daemon in the end of this connection.
                std::future::pending().await
            }
            Purpose::Session(request) => match self.owner(&request, &peer, &hello.program) {
                Err(refusal) => write(&mut writer, &refusal).await,
                Ok(owner) => {
                    if let Err(error) = self.server.check(&owner) {
                        let refusal = Welcome::refused(error.code(), error.to_string());
                        return write(&mut writer, &refusal).await;
                    }
                    write(&mut writer, &Welcome::new(Outcome::Session)).await?;
                    self.server.serve(&owner, reader, writer, &self.cut).await?;
                    Ok(())
                }
            },
        }
    }

    fn status(&self) -> DaemonStatus {
        DaemonStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            config: self.server.config().file.clone(),
            http: self.http.get().copied(),
            https: self.server.config().http.as_ref().is_some_and(|http| http.tls.is_some()),
            uptime_s: self.started.elapsed().as_secs(),
            server: self.server.status(),
        }
    }

    /// Whether the configuration was replaced since it was read. One that cannot be read is no reason
    /// to end: whoever is connected goes on, and whoever comes is told what is wrong.
    pub(super) fn replaced(&self) -> Result<bool, ConfigErrors> {
        let config = self.server.config();
        if ConfigStamp::of(config) == self.config {
            return Ok(false);
        }
        config::load(&config.file).map(|_| true)
    }

    /// Whether this daemon should serve a session, or make way for one of the configuration and the
    /// program as they are now.
    fn is_current(&self, program: &str) -> Result<bool, Welcome> {
        let replaced = self.replaced().map_err(|errors| {
            let problem =
                format!("{} cannot be used: {errors}", self.server.config().file.display());
            Welcome::refused(errors.code(), problem)
        })?;
        // A daemon of another build goes on for the clients that it has.
        let other_build = program != self.program && !self.server.is_busy();
        Ok(!replaced && !other_build)
    }

    /// Whose session it is. The client is found by the process at the other end, not by what it
    /// says of itself.
    fn owner(
        &self,
        request: &SessionRequest,
        peer: &UCred,
        program: &str,
    ) -> Result<SessionOwner, Welcome> {
        let here = &self.server.config().file;
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
        if !self.is_current(program)? {
            // There is room for one word, and it is the same that is there.
            let _ = self.end.try_send(Farewell::Restarting);
            return Err(Welcome::new(Outcome::MakingWay));
        }
        let client = match peer.pid().and_then(|pid| u32::try_from(pid).ok()) {
            Some(pid) => ClientKey::of_starter(pid),
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

    /// Whose token it is. A client that names one never comes as anybody else.
    fn holder(&self, token: &ClientToken) -> Result<HttpClient, Welcome> {
        let refused = |problem: &str| Welcome::refused("daemon.token", problem);
        match self.clients.find(token.as_str(), SystemClock::default().now()) {
            Ok(Some(holder)) => Ok(holder),
            Ok(None) => Err(refused(
                "the token is not known, was removed, or has expired; `weaver clients add NAME` \
                 makes one",
            )),
            Err(error) => Err(refused(&format!("the clients cannot be read: {error}"))),
        }
    }
}

/// The first line, or the refusal of one that cannot be read.
fn read(line: &[u8]) -> Result<Hello, Welcome> {
    let malformed = |problem: String| Welcome::refused("daemon.hello", problem);
    let said: ProtocolOnly =
        serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))?;
    if said.protocol != PROTOCOL {
        let (other, own) = (said.version, env!("CARGO_PKG_VERSION"));
        let problem = format!(
            "the daemon is of version {own}, this client of {other}, and they do not understand \
             each other; `weaver restart` brings a daemon of the installed version"
        );
        return Err(Welcome::refused("daemon.version", problem));
    }
    serde_json::from_slice(line).map_err(|error| malformed(error.to_string()))
}

async fn write(
    writer: &mut (impl tokio::io::AsyncWrite + Unpin),
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
        let refused = read(newer).unwrap_err();
        let Outcome::Refused { code, problem } = refused.outcome else { panic!("not refused") };
        assert_eq!(code, "daemon.version");
        assert!(problem.contains("9.0") && problem.contains("weaver restart"), "{problem}");
    }

    #[test]
    fn what_is_no_first_line_is_named() {
        for line in [&b""[..], b"{}", b"GET / HTTP/1.1", br#"{"protocol":1,"purpose":"x"}"#] {
            let Outcome::Refused { code, .. } = read(line).unwrap_err().outcome else {
                panic!("not refused")
            };
            assert_eq!(code, "daemon.hello");
        }
    }
}
