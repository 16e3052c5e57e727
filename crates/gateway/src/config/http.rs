//! `[http]`: where the gateway listens for clients over HTTP, and for whom.

use std::net::SocketAddr;
use std::path::PathBuf;

use weaver_policy::Finding;

use super::expansion::{ExpansionContext, expanded};
use super::node::{Node, shown};
use super::oauth::{self, OAuthResource};

/// Where the gateway listens for clients over HTTP, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// The address.
    pub listen: SocketAddr,
    /// The names of this host beside those of its address.
    pub hosts: Vec<String>,
    /// The web pages whose requests are served, by their origins.
    pub origins: Vec<String>,
    /// Clients without a token act as the principal of the configuration; at a loopback address only.
    pub anonymous: bool,
    /// Clients with an access token of an issuer that the signed policy trusts are let in too.
    pub oauth: Option<OAuthResource>,
    /// The certificate that TLS is ended with here; without one, there is none.
    pub tls: Option<TlsFiles>,
}

/// A text that is no address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write an address and a port: `127.0.0.1:8700`")]
pub struct ListenAddressError;

/// The files that TLS is ended with, which are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those above it, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

impl Http {
    /// The settings for this address, and nothing else allowed.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        let (hosts, origins) = (Vec::new(), Vec::new());
        Self { listen, hosts, origins, anonymous: false, oauth: None, tls: None }
    }
}

/// Reads an address with a port.
///
/// # Errors
/// [`ListenAddressError`], when it is none.
pub fn listen_address(text: &str) -> Result<SocketAddr, ListenAddressError> {
    text.parse().map_err(|_| ListenAddressError)
}

/// Reads the section.
pub(super) fn read(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Http> {
    let node = node?;
    let Some(listen) = node.get("listen") else {
        out.push(node.finding(
            "config.missing_key",
            "`listen` is missing",
            "write `listen = \"127.0.0.1:8700\"`",
        ));
        return None;
    };
    let http = match listen_address(listen.text()?) {
        Ok(address) => Http::at(address),
        Err(remedy) => {
            let message = format!("`{}` is no address", shown(listen.text()?));
            out.push(listen.finding("config.http_address", message, remedy.to_string()));
            return None;
        }
    };
    let texts = |name: &str| -> Vec<String> {
        node.get(name).into_iter().flat_map(Node::texts).map(str::to_owned).collect()
    };
    let flag = |name: &str| node.get(name).and_then(Node::flag).unwrap_or(false);
    let http = Http {
        hosts: texts("hosts"),
        origins: texts("origins"),
        anonymous: flag("anonymous"),
        oauth: node.get("oauth").and_then(|node| oauth::read(node, context, out)),
        tls: tls(node, context, out),
        ..http
    };
    if !http.listen.ip().is_loopback() {
        check_reach(&http, node, out);
        if !flag("proxy_ends_tls") && http.tls.is_none() {
            out.push(without_encryption(&http, listen));
        }
    }
    Some(http)
}

/// What is wrong with an address that other machines can reach.
fn check_reach(http: &Http, section: &Node, out: &mut Vec<Finding>) {
    if let Some(node) = section.get("oauth")
        && http.oauth.as_ref().is_some_and(|oauth| oauth.resource.is_none())
    {
        let remedy = "write `resource`, the address under which clients reach `/mcp`";
        out.push(node.finding("config.missing_key", "`resource` is missing", remedy));
    }
    if let Some(node) = section.get("anonymous").filter(|_| http.anonymous) {
        let message = "clients without a token are let in at a loopback address only";
        let remedy = "remove it, and give clients tokens";
        out.push(node.finding("config.http_anonymous", message, remedy));
    }
}

fn without_encryption(http: &Http, listen: &Node) -> Finding {
    let message = format!("{} can be reached from other machines, without encryption", http.listen);
    let remedy = "write `cert` and `key`, the files of a certificate; or listen at 127.0.0.1; or \
                  write `proxy_ends_tls = true` where a proxy in front ends TLS and nobody else \
                  reaches the port";
    listen.finding("config.http_open", message, remedy)
}

/// The files of a certificate, of which neither is of use alone.
fn tls(node: &Node, context: &ExpansionContext<'_>, out: &mut Vec<Finding>) -> Option<TlsFiles> {
    let mut path = |name: &str| -> Option<PathBuf> {
        Some(context.base.join(expanded(node.get(name)?, context, out)?))
    };
    match (path("cert"), path("key")) {
        (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
        (None, None) => None,
        _ => {
            let remedy = "write both `cert` and `key`, or neither";
            out.push(node.finding("config.missing_key", "one of two files is missing", remedy));
            None
        }
    }
}
