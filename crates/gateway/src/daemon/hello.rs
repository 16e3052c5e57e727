//! The first line on a connection to the daemon, and the answer to it. After it a session speaks
//! MCP, line by line.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::stamp;
use crate::serve::{Farewell, ServerStatus};

/// The version of what is said here. It changes only when an older side could misunderstand a newer
/// one.
pub(super) const PROTOCOL: u32 = 1;
/// The longest first line, in bytes.
pub(super) const MAX_LINE: usize = 64 * 1024;

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The version of this exchange.
    pub(super) protocol: u32,
    /// The version of the program that says it.
    pub(super) version: String,
    /// The program's file, which differs from build to build.
    #[serde(default)]
    pub(super) program: String,
    /// What the connection is for.
    pub(super) purpose: Purpose,
}

/// What a connection is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    /// The session of a client.
    Session(SessionRequest),
    /// Tell what an operator sees.
    Status,
    /// End, once what is under way is answered.
    End(Farewell),
}

/// The session that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRequest {
    /// The configuration that the client was told to use.
    pub config: PathBuf,
    /// True when the client wants the signatures of the documents not to be looked at.
    pub unsigned_development: bool,
    /// The profile.
    pub profile: Option<String>,
    /// The folder that the client was started in.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// What the session is called where an operator sees it. It gives no right.
    pub label: String,
    /// As whom the client comes, where not as the principal of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<ClientToken>,
}

/// The token of a client, which shows nothing of itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientToken(Zeroizing<String>);

impl ClientToken {
    /// Takes a text as a token; blanks around it do not count.
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

/// The answer to a first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Welcome {
    pub(super) protocol: u32,
    pub(super) version: String,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The session has begun; what follows is MCP.
    Session,
    /// What an operator sees.
    Status(Box<DaemonStatus>),
    /// It is ending.
    Ending,
    /// It is about to end, since its configuration or its program was replaced; the next one serves.
    MakingWay,
    /// It was refused.
    Refused { code: String, problem: String },
}

/// What an operator sees of a daemon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DaemonStatus {
    /// The version of the program.
    pub version: String,
    /// The number of the process.
    pub pid: u32,
    /// The configuration that it serves.
    pub config: PathBuf,
    /// Where it serves clients over HTTP.
    #[serde(default)]
    pub http: Option<SocketAddr>,
    /// Whether TLS is ended there.
    #[serde(default)]
    pub https: bool,
    /// For how many seconds it has been running.
    pub uptime_s: u64,
    /// Sessions, servers and held calls.
    #[serde(flatten)]
    pub server: ServerStatus,
}

impl Hello {
    pub(super) fn new(purpose: Purpose) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { protocol: PROTOCOL, version, program: stamp::program(), purpose }
    }
}

impl Welcome {
    pub(super) fn new(outcome: Outcome) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { protocol: PROTOCOL, version, outcome }
    }

    pub(super) fn refused(code: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::new(Outcome::Refused { code: code.into(), problem: problem.into() })
    }
}

/// The version of a first line, which is read before the rest: the rest may be of a later form.
#[derive(Debug, Deserialize)]
pub(super) struct ProtocolOnly {
    pub(super) protocol: u32,
    #[serde(default)]
    pub(super) version: String,
}
