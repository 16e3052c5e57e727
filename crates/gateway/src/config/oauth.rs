//! `[http.oauth]`: the gateway as a resource server of OAuth 2.1. Which issuers count, and for whom
//! they speak, stands in the signed policy.

use std::collections::BTreeMap;
use std::time::Duration;

use weaver_drivers::http::Authority;
use weaver_policy::Finding;

use super::credential::{authority, source};
use super::expansion::{ExpansionContext, expanded};
use super::node::Node;
use super::server::is_address;
use super::tool::SecretSource;

/// How much clocks may differ, unless the file says so.
const LEEWAY: Duration = Duration::from_secs(60);

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
    let mut read = OAuthResource::default();
    if let Some(node) = node.get("resource") {
        let resource = expanded(node, context, out)?;
        if !is_address(&resource) || resource.contains(['#', '?', '"']) {
            let remedy = "write the address under which clients reach `/mcp`: https:// and a host";
            out.push(node.finding("config.url", "this is no address of this gateway", remedy));
        }
        read.resource = Some(resource);
    }
    if let Some(seconds) = node.get("leeway_s").and_then(Node::whole) {
        read.leeway = Duration::from_secs(seconds);
    }
    read.profile = node.get("profile").and_then(Node::text).map(str::to_owned);
    read.authority = node.get("authority").and_then(|node| authority(node, context, out));
    for (name, node) in node.get("introspection").and_then(Node::table).into_iter().flatten() {
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
    let (Some(id), Some(secret)) = (node.get("client_id"), node.get("client_secret")) else {
        let remedy = "write `client_id` and `client_secret = { env = \"NAME\" }`";
        out.push(node.finding("config.missing_key", "an id or a secret is missing", remedy));
        return None;
    };
    let client_id = expanded(id, context, out)?;
    Some(IntrospectionClient { client_id, secret: source(secret, context, out)? })
}
