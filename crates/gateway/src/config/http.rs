//! `[http]`: the HTTP endpoint for clients.

use std::net::SocketAddr;
use std::path::PathBuf;

use weaver_drivers::oauth::Url;
use weaver_policy::DocumentFinding;

use super::expansion::{ExpansionContext, expand_text};
use super::node::{Node, excerpt};
use super::oauth::{self, OAuthResource};

/// The HTTP endpoint for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// The address.
    pub listen: SocketAddr,
    /// Names of this host, in addition to its address.
    pub hosts: Vec<String>,
    /// Origins of web pages whose requests are accepted.
    pub origins: Vec<String>,
    /// Lets clients without a token act as the configured principal; only at a loopback address.
    pub anonymous: bool,
    /// Also accepts access tokens of issuers that the signed policy trusts.
    pub oauth: Option<OAuthResource>,
    /// The certificate for TLS; without one the endpoint has no TLS.
    pub tls: Option<TlsFiles>,
}

/// The text is not an address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write an address and a port: `127.0.0.1:8700`")]
pub struct ListenAddressError;

/// Certificate and key for TLS, read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

impl HttpSettings {
    /// The default settings for this address, which allow nothing else.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        let (hosts, origins) = (Vec::new(), Vec::new());
        Self { listen, hosts, origins, anonymous: false, oauth: None, tls: None }
    }
}

/// Parses an address with a port.
///
/// # Errors
/// [`ListenAddressError`], if it is invalid.
pub fn listen_address(text: &str) -> Result<SocketAddr, ListenAddressError> {
    text.parse().map_err(|_| ListenAddressError)
}

/// Parses the section.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<HttpSettings> {
    let node = node?;
    let Some(listen) = node.get("listen") else {
        findings.push(node.finding(
            "config.missing_key",
            "`listen` is missing",
            "write `listen = \"127.0.0.1:8700\"`",
        ));
        return None;
    };
    let http = match listen_address(listen.text()?) {
        Ok(address) => HttpSettings::at(address),
        Err(remedy) => {
            let message = format!("`{}` is not an address", excerpt(listen.text()?));
            findings.push(listen.finding("config.http_address", message, remedy.to_string()));
            return None;
        }
    };
    let texts = |name: &str| -> Vec<String> {
        node.get(name).into_iter().flat_map(Node::texts).map(str::to_owned).collect()
    };
    let flag = |name: &str| node.get(name).and_then(Node::flag).unwrap_or(false);
    check_names(node, findings);
    let http = HttpSettings {
        hosts: texts("hosts"),
        origins: texts("origins"),
        anonymous: flag("anonymous"),
        oauth: node.get("oauth").and_then(|node| oauth::read(node, context, findings)),
        tls: tls(node, context, findings),
        ..http
    };
    if !http.listen.ip().is_loopback() {
        check_reach(&http, node, findings);
        if !flag("proxy_ends_tls") && http.tls.is_none() {
            findings.push(without_encryption(&http, listen));
        }
    }
    Some(http)
}

/// Reports hosts and origins that no request can name and that would therefore exclude everybody.
fn check_names(section: &Node, findings: &mut Vec<DocumentFinding>) {
    for host in section.get("hosts").map(Node::list).into_iter().flatten() {
        let is_name = |text: &str| {
            let url = Url::parse(&format!("http://{text}/")).ok();
            url.is_some_and(|url| url.host_str() == Some(&*text.to_ascii_lowercase()))
        };
        if let Some(text) = host.text().filter(|text| !is_name(text)) {
            let message = format!("`{}` is not a name of a host", excerpt(text));
            let remedy =
                "write the name alone, without scheme, port and path: `weaver.example.org`";
            findings.push(host.finding("config.http_host", message, remedy));
        }
    }
    for origin in section.get("origins").map(Node::list).into_iter().flatten() {
        let is_origin = |text: &str| {
            let url = Url::parse(text).ok();
            url.is_some_and(|url| url.origin().ascii_serialization().eq_ignore_ascii_case(text))
        };
        if let Some(text) = origin.text().filter(|text| !is_origin(text)) {
            let message = format!("`{}` is not an origin of a web page", excerpt(text));
            let remedy = "write scheme and host, and the port where it is not the usual one: \
                          `https://app.example.org`";
            findings.push(origin.finding("config.http_origin", message, remedy));
        }
    }
}

/// Reports what is missing or forbidden at an address that other machines can reach.
fn check_reach(http: &HttpSettings, section: &Node, findings: &mut Vec<DocumentFinding>) {
    if let Some(node) = section.get("oauth")
        && http.oauth.as_ref().is_some_and(|oauth| oauth.resource.is_none())
    {
        let remedy = "write `resource`, the address under which clients reach `/mcp`";
        findings.push(node.finding("config.missing_key", "`resource` is missing", remedy));
    }
    if let Some(node) = section.get("anonymous").filter(|_| http.anonymous) {
        let message = "clients without a token are let in at a loopback address only";
        let remedy = "remove it, and give clients tokens";
        findings.push(node.finding("config.http_anonymous", message, remedy));
    }
}

fn without_encryption(http: &HttpSettings, listen: &Node) -> DocumentFinding {
    let message = format!("{} can be reached from other machines, without encryption", http.listen);
    let remedy = "write `cert` and `key`, the files of a certificate; or listen at 127.0.0.1; or \
                  write `proxy_ends_tls = true` where a proxy in front ends TLS and nobody else \
                  reaches the port";
    listen.finding("config.http_open", message, remedy)
}

/// The certificate files; one without the other is an error.
fn tls(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<TlsFiles> {
    let mut path = |name: &str| -> Option<PathBuf> {
        Some(context.base.join(expand_text(node.get(name)?, context, findings)?))
    };
    match (path("cert"), path("key")) {
        (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
        (None, None) => None,
        _ => {
            let remedy = "write both `cert` and `key`, or neither";
            findings.push(node.finding(
                "config.missing_key",
                "one of two files is missing",
                remedy,
            ));
            None
        }
    }
}
