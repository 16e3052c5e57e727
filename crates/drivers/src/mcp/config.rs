//! The configuration of an upstream server: how it is reached, and its limits.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::known_secrets::KnownSecrets;
use super::notification::NotificationSink;
use super::server_request::RequestHandler;
use crate::child_config::{ChildConfinement, Redactor, StdioConfig};
use crate::http::CertificateAuthority;
use crate::oauth::OAuthClient;

/// The newest protocol version of the legacy era, which its handshake requests.
pub const LEGACY_VERSION: &str = "2025-11-25";
/// The protocol version of the modern era.
pub const MODERN_VERSION: &str = "2026-07-28";
/// All versions of the legacy era, newest first.
pub const LEGACY_VERSIONS: [&str; 4] = [LEGACY_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// `initialize` opens a connection; versions up to 2025-11-25.
    Legacy,
    /// No handshake; each request names version, client and capabilities; 2026-07-28.
    Modern,
}

/// Which era to use with an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EraChoice {
    /// Legacy first, then modern if the server refuses.
    #[default]
    Auto,
    /// Legacy only.
    Legacy,
    /// Modern only.
    Modern,
}

/// A server reached over Streamable HTTP.
#[derive(Clone, Default)]
pub struct HttpConfig {
    /// The endpoint, `http` or `https`. Redirects are not followed.
    pub url: String,
    /// Headers added to each request, such as `Authorization`. Not shown in `Debug`.
    pub headers: BTreeMap<String, String>,
    /// The OAuth client whose tokens the requests carry; none by default.
    pub oauth: Option<Arc<OAuthClient>>,
    /// Certificates that count beside the platform's for this server. `oauth` has its own.
    pub certificate_authority: Option<CertificateAuthority>,
}

/// How the server is reached.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each server")]
pub enum Endpoint {
    /// Over the pipes of a child process.
    Stdio(StdioConfig),
    /// Over HTTP.
    Http(HttpConfig),
}

/// Bounds on the resources that an upstream may use. All have defaults.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Largest message in bytes, in either direction: 16 MiB.
    pub message_bytes: usize,
    /// Most requests in flight at once: 64.
    pub in_flight: usize,
    /// Most requests that wait until they may be sent: 256.
    pub queued_calls: usize,
    /// Most calls per second, also in bursts: no limit.
    pub calls_per_second: Option<NonZeroU32>,
    /// Most consecutive lines that are not messages: 100.
    pub garbage_lines: usize,
    /// Most pages of a list: 1,000.
    pub list_pages: usize,
    /// Most items (tools, resources, templates or prompts) of one list: 10,000.
    pub tools: usize,
    /// Most bytes of one list, over all its pages: 32 MiB.
    pub list_bytes: usize,
    /// Time for the whole handshake: 60 s, because some programs install themselves first.
    pub initialize_timeout: Duration,
    /// Time for each page of a list: 30 s.
    pub list_page_timeout: Duration,
    /// Time for one list with all its pages: 60 s.
    pub list_total_timeout: Duration,
    /// Time for a call that sets no limit of its own: 60 s.
    pub call_timeout: Duration,
    /// How long a request that is given up has to have waited, without anything heard of the server, until the server
    /// is pinged before it is used again: 30 s.
    pub silent_wait: Duration,
    /// Time for the answer to such a ping, after which the server is started anew: 5 s.
    pub ping_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 16 * 1024 * 1024,
            in_flight: 64,
            queued_calls: 256,
            calls_per_second: None,
            garbage_lines: 100,
            list_pages: 1_000,
            tools: 10_000,
            list_bytes: 32 * 1024 * 1024,
            initialize_timeout: Duration::from_secs(60),
            list_page_timeout: Duration::from_secs(30),
            list_total_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(60),
            silent_wait: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(5),
        }
    }
}

/// One upstream server.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    /// The name used in errors.
    pub name: String,
    /// How it is reached.
    pub endpoint: Endpoint,
    /// Which era to speak.
    pub era: EraChoice,
    /// Its bounds.
    pub limits: Limits,
    /// Masks secrets in what a child writes to standard error. The values of its own variables are masked in any case.
    pub redactor: Option<Redactor>,
    /// The secrets that it was given, which are hidden in its results.
    pub secrets: KnownSecrets,
    /// The capabilities that this client declares to the server, in the protocol's form; none by default.
    pub client_capabilities: Map<String, Value>,
    /// Answers requests from the server. Without it the list of roots is empty and all other requests are refused.
    pub request_handler: Option<RequestHandler>,
    /// Receives the server's notifications.
    pub notifications: Option<NotificationSink>,
    /// The name that this client gives itself.
    pub client_name: String,
    /// The version that this client gives itself.
    pub client_version: String,
}

impl UpstreamConfig {
    /// An upstream with default bounds that speaks either era.
    #[must_use]
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            era: EraChoice::Auto,
            limits: Limits::default(),
            redactor: None,
            secrets: KnownSecrets::default(),
            client_capabilities: Map::new(),
            request_handler: None,
            notifications: None,
            client_name: "weaver".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// How its child process is confined, if it has one.
    #[must_use]
    pub fn confinement(&self) -> Option<&ChildConfinement> {
        match &self.endpoint {
            Endpoint::Stdio(stdio) => stdio.confinement.as_ref(),
            Endpoint::Http(_) => None,
        }
    }

    /// The command, or the URL without user, query and fragment: safe to show.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.endpoint {
            Endpoint::Stdio(stdio) => stdio.command.clone(),
            Endpoint::Http(http) => url_without_secrets(&http.url),
        }
    }
}

fn url_without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let plain = url.get(..end).unwrap_or_default();
    let Some((scheme, rest)) = plain.split_once("://") else { return plain.to_owned() };
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, Some(path)),
        None => (rest, None),
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    path.map_or_else(|| format!("{scheme}://{host}"), |p| format!("{scheme}://{host}/{p}"))
}

impl fmt::Debug for HttpConfig {
    /// Header values may be secrets: only names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig")
            .field("url", &url_without_secrets(&self.url))
            .field("headers", &self.headers.keys())
            .field("oauth", &self.oauth.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_shown() {
        let mut http = HttpConfig {
            url: "https://joe:hunter2@example.org/mcp?key=hunter2#hunter2".to_owned(),
            ..HttpConfig::default()
        };
        http.headers.insert("Authorization".to_owned(), "Bearer hunter2".to_owned());
        let mut stdio = StdioConfig { args: vec!["hunter2".to_owned()], ..StdioConfig::default() };
        stdio.env.insert("TOKEN".to_owned(), "hunter2".to_owned());
        let config = UpstreamConfig::new("x", Endpoint::Http(http.clone()));
        let shown = format!("{http:?} {stdio:?} {config:?} {}", config.target());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(config.target(), "https://example.org/mcp");
    }
}
