//! The handshake with the daemon: the first line of a connection and its answer. After it a session
//! exchanges MCP messages, one per line.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::fingerprint;
use crate::serve::{AfterShutdown, ServerStatus};

/// The version of the handshake. It changes only if an older side could misunderstand a newer one.
pub(super) const PROTOCOL: u32 = 1;
/// The longest handshake line.
pub(super) const MAX_HANDSHAKE_BYTES: usize = 64 * 1024;

/// The first line of a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The version of the handshake.
    pub(super) protocol: u32,
    /// The version of the connecting program.
    pub(super) version: String,
    /// The fingerprint of the connecting program's file, which differs between builds.
    #[serde(default)]
    pub(super) program: String,
    /// What the connection is for.
    pub(super) purpose: Purpose,
}

/// The purpose of a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    /// A client's session.
    Session(SessionRequest),
    /// Report the status.
    Status,
    /// End the daemon once current requests are answered.
    End(AfterShutdown),
    /// The same, and its process starts the installed program in its place.
    Restart,
    /// Release the store once current requests are answered. Who asks holds the lock of those who
    /// start daemons, and the daemon returns once the store is free again.
    Borrow,
}

/// The session that a client requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// The client's configuration file.
    pub config: PathBuf,
    /// Whether the client wants document signatures not to be verified.
    pub unsigned_development: bool,
    /// The profile.
    pub profile: Option<String>,
    /// The folder in which the client was started.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// The session's name for operators. It grants nothing.
    pub label: String,
    /// The client's token, if it does not act as the configured principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<ClientToken>,
}

/// A client's token; its `Debug` output is redacted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientToken(Zeroizing<String>);

impl ClientToken {
    /// Makes a token of a text without surrounding whitespace.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Zeroizing::new(text.trim().to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientToken(redacted)")
    }
}

/// The answer to the first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Welcome {
    pub(super) protocol: u32,
    pub(super) version: String,
    pub(super) outcome: WelcomeOutcome,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WelcomeOutcome {
    /// The session has started; MCP messages follow.
    Session,
    /// The status.
    Status(Box<DaemonStatus>),
    /// The daemon ends.
    Ending,
    /// The daemon releases the store, and returns once it is free again.
    Lending,
    /// The daemon is about to be replaced because its configuration or program changed; the next
    /// one will serve.
    MakingWay,
    /// The connection is refused.
    Refused { code: String, problem: String },
}

/// The status of a daemon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DaemonStatus {
    /// The version of the program.
    pub version: String,
    /// The process id.
    pub pid: u32,
    /// The configuration file that it serves.
    pub config: PathBuf,
    /// The arguments of the command line with which it was started.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The address for clients over HTTP.
    #[serde(default)]
    pub http: Option<SocketAddr>,
    /// Whether TLS is used there.
    #[serde(default)]
    pub https: bool,
    /// The uptime in seconds.
    pub uptime_s: u64,
    /// Sessions, servers and held calls.
    #[serde(flatten)]
    pub server: ServerStatus,
}

impl Hello {
    pub(super) fn new(purpose: Purpose) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { protocol: PROTOCOL, version, program: fingerprint::running_program(), purpose }
    }
}

impl Welcome {
    pub(super) fn new(outcome: WelcomeOutcome) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { protocol: PROTOCOL, version, outcome }
    }

    pub(super) fn refused(code: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::new(WelcomeOutcome::Refused { code: code.into(), problem: problem.into() })
    }
}

/// The version part of the first line, parsed before the rest, whose format may be newer.
#[derive(Debug, Deserialize)]
pub(super) struct ProtocolHeader {
    pub(super) protocol: u32,
    #[serde(default)]
    pub(super) version: String,
}
