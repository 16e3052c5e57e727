//! The servers behind the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weaver_drivers::confine::Confinement;
use weaver_drivers::http::CertificateAuthority;
use weaver_drivers::mcp::KnownSecrets;
use weaver_drivers::oauth::GrantType;
use weaver_types::UpstreamName;

use super::SecretSource;

/// The settings of a server. Its `Debug` form shows names of variables and headers, never values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Its name, which prefixes the ids of its capabilities.
    pub name: UpstreamName,
    /// How it is reached.
    pub transport: TransportSettings,
    /// The time limit of a call; `None` for the default.
    pub timeout: Option<Duration>,
    /// The time limit for start and handshake; `None` for the default.
    pub initialize_timeout: Option<Duration>,
    /// Limits on calls.
    pub limits: CallLimits,
    /// Which clients share an instance of it.
    pub sharing: InstanceSharing,
    /// The folders of its projects: only clients that work in one of them see it. Empty: all do.
    pub projects: Vec<PathBuf>,
    /// The secrets of the file of variables and of the keychain that it is given.
    pub secrets: KnownSecrets,
}

impl UpstreamSettings {
    /// Whether a client that works in this folder sees the server. One whose folder is not known,
    /// as over HTTP, sees the servers of all projects.
    #[must_use]
    pub fn is_offered_in(&self, folder: Option<&Path>) -> bool {
        let Some(folder) = folder else { return true };
        self.projects.is_empty() || self.projects.iter().any(|one| folder.starts_with(one))
    }

    /// Notes which of these secrets the server is given.
    pub(super) fn note_secrets(&mut self, secrets: &BTreeSet<String>) {
        let given: Vec<&String> = match &self.transport {
            TransportSettings::Stdio { args, env, .. } => args.iter().chain(env.values()).collect(),
            TransportSettings::Http { url, headers, .. } => headers.values().chain([url]).collect(),
        };
        let is_given = |secret: &&String| given.iter().any(|text| text.contains(secret.as_str()));
        self.secrets = KnownSecrets::new(secrets.iter().filter(is_given).cloned());
    }
}

/// Which clients share an instance of a server: a process, or a session over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstanceSharing {
    /// None: each has its own.
    #[default]
    Client,
    /// Clients that work in the same folder.
    Folder,
    /// All.
    All,
}

/// Stands for the clients' folder in arguments, variables and working directory of a server that is
/// started once per folder.
pub const WORKSPACE_FOLDER: &str = "${workspaceFolder}";

/// Limits on calls to a server; `None` for the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallLimits {
    /// Most calls in flight at once.
    pub calls: Option<usize>,
    /// Most calls that wait until they may be sent.
    pub queued_calls: Option<usize>,
    /// Most calls per second.
    pub calls_per_second: Option<NonZeroU32>,
    /// Largest message in bytes, in either direction.
    pub message_bytes: Option<usize>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum TransportSettings {
    /// A child process that communicates over standard input and output.
    Stdio {
        /// The program: a name to look up in `PATH`, or a path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables in addition to the few that every child inherits.
        env: BTreeMap<String, String>,
        /// Its working directory; `None` for ours.
        cwd: Option<PathBuf>,
        /// Its confinement beyond the gateway's state; `None` adds nothing.
        confine: Option<Confinement>,
    },
    /// Streamable HTTP.
    Http {
        /// The address, `http` or `https`.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// How to log in, if the server requires it.
        login: ServerLogin,
        /// Certificates that count beside the platform's, for the server and its logins.
        certificate_authority: Option<CertificateAuthority>,
    },
}

/// How the gateway logs in at a server as an OAuth client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerLogin {
    /// On whose behalf tokens are issued.
    pub grant: GrantType,
    /// The only authorization server that gets the credentials.
    pub issuer: Option<String>,
    /// The client id of an existing registration.
    pub client_id: Option<String>,
    /// The secret of that registration.
    pub client_secret: Option<SecretSource>,
    /// The private key of that registration, used instead of a secret.
    pub client_key: Option<SecretSource>,
    /// The id of that key.
    pub client_key_id: Option<String>,
    /// The source of the assertion that is exchanged for tokens.
    pub assertion: Option<Assertion>,
    /// Whether tokens must be bound to a key.
    pub dpop_bound_access_tokens: bool,
    /// The URL of a public client metadata document, which is then the client id.
    pub client_metadata_url: Option<String>,
    /// Scopes that are always requested.
    pub scopes: BTreeSet<String>,
    /// The redirect port, for servers that require a fixed one.
    pub redirect_port: Option<u16>,
}

/// The source of the assertion that the gateway exchanges for tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assertion {
    /// A platform writes and renews it.
    Workload(SecretSource),
    /// An identity provider issues it in exchange for an ID token.
    Exchange(IdentityExchange),
}

/// How the gateway requests assertions from an identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityExchange {
    /// The identity provider.
    pub issuer: String,
    /// The client id registered there.
    pub client_id: String,
    /// The secret of that registration.
    pub client_secret: Option<SecretSource>,
    /// The ID token that is exchanged.
    pub subject_token: SecretSource,
}

impl ServerLogin {
    /// The sources of all its secrets.
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

impl fmt::Debug for TransportSettings {
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
            Self::Http { url, headers, login, certificate_authority } => {
                let url = url.split(['?', '#']).next().unwrap_or_default();
                let mut shown = f.debug_struct("Http");
                shown.field("url", &url).field("headers", &Names(headers)).field("login", login);
                shown.field("certificate_authority", certificate_authority).finish()
            }
        }
    }
}

/// Shows the keys of a map whose values are secret.
struct Names<'a>(&'a BTreeMap<String, String>);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "redacted"))).finish()
    }
}
