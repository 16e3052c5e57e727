//! `[http.oauth]`: the gateway as a resource server of OAuth 2.1. Which issuers count, and for whom
//! they speak, stands in the signed policy.

use std::collections::BTreeMap;
use std::time::Duration;

use weaver_drivers::http::Authority;
use weaver_policy::Finding;

use super::expansion::{ExpansionContext, expanded};
use super::node::Node;
use super::server::is_address;
use super::tool::SecretSource;
use super::tool_section::source;
use crate::bounded_file;

/// How much clocks may differ, unless the file says so.
const LEEWAY: Duration = Duration::from_secs(60);
/// The most that the file can say, in seconds.
const MAX_LEEWAY: u64 = 300;
/// The largest file of certificates, in bytes.
const MAX_PEM: usize = 1024 * 1024;

/// The gateway as a resource server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthResource {
    /// The gateway's own identifier, for which tokens must be meant; without one, its address.
    pub resource: Option<String>,
    /// How much clocks may differ.
    pub leeway: Duration,
    /// What clients see that come with a token of an issuer.
    pub profile: Option<String>,
    /// How the gateway introspects tokens, by the names that the policy gives to issuers.
    pub introspection: BTreeMap<String, IntrospectionClient>,
    /// Certificates that count beside the platform's, for issuers with an authority of their own.
    pub authority: Option<Authority>,
}

/// As whom tokens are introspected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntrospectionClient {
    /// The gateway's id at the issuer.
    pub client_id: String,
    /// Its secret there.
    pub secret: SecretSource,
}

impl Default for OAuthResource {
    fn default() -> Self {
        Self {
            resource: None,
            leeway: LEEWAY,
            profile: None,
            introspection: BTreeMap::new(),
            authority: None,
        }
    }
}

/// Reads the section.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<OAuthResource> {
    let known = ["resource", "leeway_s", "profile", "introspection", "authority"];
    let section = node.section(&known, out)?;
    let mut read = OAuthResource::default();
    if let Some(node) = section.get("resource") {
        let resource = expanded(node, context, out)?;
        if !is_address(&resource) || resource.contains(['#', '?', '"']) {
            let remedy = "write the address under which clients reach `/mcp`: https:// and a host";
            out.push(node.finding("config.url", "this is no address of this gateway", remedy));
        }
        read.resource = Some(resource);
    }
    if let Some(seconds) = section.get("leeway_s").and_then(|node| node.whole(0..=MAX_LEEWAY, out))
    {
        read.leeway = Duration::from_secs(seconds);
    }
    if let Some(node) = section.get("profile") {
        read.profile = node.text(out).map(str::to_owned);
    }
    if let Some(node) = section.get("authority") {
        read.authority = authority(node, context, out);
    }
    for (name, node) in
        section.get("introspection").and_then(|node| node.table(out)).into_iter().flatten()
    {
        if let Some(client) = introspection(node, context, out) {
            read.introspection.insert(name.clone(), client);
        }
    }
    Some(read)
}

fn introspection(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<IntrospectionClient> {
    let table = node.section(&["client_id", "client_secret"], out)?;
    let (Some(id), Some(secret)) = (table.get("client_id"), table.get("client_secret")) else {
        let remedy = "write `client_id` and `client_secret = { env = \"NAME\" }`";
        out.push(node.finding("config.missing_key", "an id or a secret is missing", remedy));
        return None;
    };
    let client_id = expanded(id, context, out)?;
    let sources = secret.section(&["env", "file", "command"], out)?;
    Some(IntrospectionClient { client_id, secret: source(secret, sources, context, out)? })
}

/// A file of certificates.
pub(super) fn authority(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Authority> {
    let path = context.base.join(expanded(node, context, out)?);
    let read = bounded_file::bytes(&path, MAX_PEM).map_err(|error| error.to_string());
    let read = read.and_then(|pem| Authority::from_pem(&pem).map_err(|error| error.to_string()));
    read.inspect_err(|problem| {
        let message = format!("{}: {problem}", path.display());
        out.push(node.finding("config.authority", message, "name a file of certificates in PEM"));
    })
    .ok()
}
