//! `[mcpServers.NAME.oauth]`: how a person, or the gateway itself, logs in at a server. Nothing of it is needed where the
//! server's authorization server registers clients by itself.

use std::collections::BTreeSet;

use weaver_drivers::oauth::GrantType;
use weaver_policy::Finding;

use super::credential::source;
use super::expansion::{ExpansionContext, expanded};
use super::node::Node;
use super::upstream::ServerLogin;

pub(super) const GRANTS: [(&str, GrantType); 2] = [
    ("authorization_code", GrantType::AuthorizationCode),
    ("client_credentials", GrantType::ClientCredentials),
];

/// Reads the section.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<ServerLogin> {
    let mut text = |name: &str| node.get(name).and_then(|node| expanded(node, context, out));
    let (client_id, document) = (text("client_id"), text("client_metadata_url"));
    let client_secret = node.get("client_secret").and_then(|node| source(node, context, out));
    if let Some(node) = node.get("client_metadata_url")
        && document.as_ref().is_some_and(|url| !url.starts_with("https://"))
    {
        let remedy = "write the https:// address of a public document";
        out.push(node.finding("config.url", "this is no address of a document", remedy));
    }
    if let Some(node) = node.get("client_secret").filter(|_| client_id.is_none()) {
        let remedy = "write the `client_id` that it belongs to";
        out.push(node.finding("config.missing_key", "`client_id` is missing", remedy));
    }
    let grant = node.get("grant").and_then(|node| node.word(&GRANTS)).unwrap_or_default();
    if grant == GrantType::ClientCredentials && (client_id.is_none() || client_secret.is_none()) {
        let message =
            "`client_id` and `client_secret` are missing, by which the gateway gets tokens";
        let remedy = "register a client with the grant `client_credentials`, and write both";
        out.push(node.finding("config.missing_key", message, remedy));
    }
    let scopes: BTreeSet<String> =
        node.get("scopes").into_iter().flat_map(Node::texts).map(str::to_owned).collect();
    let port = node.get("redirect_port").and_then(Node::whole);
    Some(ServerLogin {
        grant,
        client_id,
        client_secret,
        client_metadata_url: document,
        scopes,
        redirect_port: port.and_then(|port| u16::try_from(port).ok()),
    })
}
