//! The servers behind the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use weaver_drivers::confine::Confinement;
use weaver_drivers::oauth::GrantType;
use weaver_types::UpstreamName;

use super::SecretSource;

/// A server behind the gateway. Its `Debug` form names variables and headers, never their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name, which begins the ids of its capabilities.
    pub name: UpstreamName,
    /// How it is reached.
    pub transport: Transport,
    /// How long one call may take; `None` for the default.
    pub timeout: Option<Duration>,
    /// How long it may take to start and to answer the handshake; `None` for the default.
    pub initialize_timeout: Option<Duration>,
    /// What else it may be asked.
    pub limits: Limits,
    /// Which clients share a process of it, or a session at it.
    pub sharing: Sharing,
}

/// Which clients share an instance of a server: a process, or a session over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// None: each has its own.
    #[default]
    Client,
    /// Those that work in the same folder.
    Folder,
    /// All.
    All,
}

/// What stands for the folder of the clients in the arguments, variables and working directory of a
/// server that is started for each folder.
pub const WORKSPACE_FOLDER: &str = "${workspaceFolder}";

/// What a server may be asked; `None` for the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Most calls that are under way at once.
    pub calls: Option<usize>,
    /// Most calls that wait for one of those places.
    pub waiting: Option<usize>,
    /// Most calls that begin in a second.
    pub calls_per_second: Option<NonZeroU32>,
    /// Longest message in bytes, either way.
    pub message_bytes: Option<usize>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program: a name to look up in `PATH`, or a path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that it gets besides the few that every child gets.
        env: BTreeMap<String, String>,
        /// Its working directory; `None` for ours.
        cwd: Option<PathBuf>,
        /// What is kept from it beside the gateway's state; `None` for nothing.
        confine: Option<Confinement>,
    },
    /// Streamable HTTP.
    Http {
        /// The address, `http` or `https`.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// How a person logs in there, where the server wants that.
        login: ServerLogin,
    },
}

/// How a person logs in at a server: the gateway is an OAuth client of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerLogin {
    /// Who stands behind a token: a person, the gateway itself, or whoever an assertion speaks for.
    pub grant: GrantType,
    /// The id under which the gateway was registered before.
    pub client_id: Option<String>,
    /// The secret of that registration.
    pub client_secret: Option<SecretSource>,
    /// The private key of that registration, in place of a secret.
    pub client_key: Option<SecretSource>,
    /// Which of the registration's keys that is.
    pub client_key_id: Option<String>,
    /// Where the assertion comes from that is exchanged for tokens.
    pub assertion: Option<Assertion>,
    /// Whether tokens must be bound to a key.
    pub dpop_bound_access_tokens: bool,
    /// The address of a public document about the gateway, which is then its id.
    pub client_metadata_url: Option<String>,
    /// Scopes that are asked for in any case.
    pub scopes: BTreeSet<String>,
    /// The port to which the browser is sent back, for servers that want a fixed one.
    pub redirect_port: Option<u16>,
}

/// Where the assertion comes from that the gateway exchanges for tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assertion {
    /// A platform writes it and keeps it fresh.
    Workload(SecretSource),
    /// An identity provider gives it in exchange for an ID token.
    Exchange(IdentityExchange),
}

/// As whom, and with what, the gateway asks an identity provider for assertions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityExchange {
    /// The identity provider.
    pub issuer: String,
    /// The id under which the gateway is registered there.
    pub client_id: String,
    /// The secret of that registration.
    pub client_secret: Option<SecretSource>,
    /// The ID token that is exchanged.
    pub subject_token: SecretSource,
}

impl ServerLogin {
    /// Where all its secrets come from.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretSource> {
        let own = self.client_secret.iter().chain(&self.client_key);
        let (given, exchange) = match &self.assertion {
            Some(Assertion::Workload(source)) => (Some(source), None),
            Some(Assertion::Exchange(exchange)) => (Some(&exchange.subject_token), Some(exchange)),
            None => (None, None),
        };
        own.chain(given).chain(exchange.and_then(|exchange| exchange.client_secret.as_ref()))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, cwd, confine } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &Names(env))
                .field("cwd", cwd)
                .field("confine", confine)
                .finish(),
            Self::Http { url, headers, login } => {
                let url = url.split(['?', '#']).next().unwrap_or_default();
                let mut shown = f.debug_struct("Http");
                shown.field("url", &url).field("headers", &Names(headers)).field("login", login);
                shown.finish()
            }
        }
    }
}

/// The names of a map whose values are secret. Arguments may be secret too: they are counted.
struct Names<'a>(&'a BTreeMap<String, String>);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "redacted"))).finish()
    }
}
