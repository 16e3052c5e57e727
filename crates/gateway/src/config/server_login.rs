//! `[mcpServers.NAME.oauth]`: how a person, or the gateway itself, logs in at a server. Nothing of it is needed where the
//! server's authorization server registers clients by itself.

use std::collections::BTreeSet;

use weaver_drivers::oauth::{AllowedAddresses, GrantType, OAuthHttpClient};
use weaver_policy::Finding;

use super::credential::source;
use super::expansion::{ExpansionContext, expanded};
use super::node::Node;
use super::upstream::{Assertion, IdentityExchange, ServerLogin};

pub(super) const GRANTS: [(&str, GrantType); 3] = [
    ("authorization_code", GrantType::AuthorizationCode),
    ("client_credentials", GrantType::ClientCredentials),
    ("jwt_bearer", GrantType::JwtBearer),
];

/// Reads the section.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<ServerLogin> {
    let mut text = |name: &str| node.get(name).and_then(|node| expanded(node, context, out));
    let (client_id, document) = (text("client_id"), text("client_metadata_url"));
    let client_key_id = text("client_key_id");
    let mut secret = |name: &str| node.get(name).and_then(|node| source(node, context, &mut *out));
    let (client_secret, client_key) = (secret("client_secret"), secret("client_key"));
    let grant = node.get("grant").and_then(|node| node.word(&GRANTS)).unwrap_or_default();
    if let Some(node) = node.get("client_metadata_url")
        && document.as_ref().is_some_and(|url| !url.starts_with("https://"))
    {
        let remedy = "write the https:// address of a public document";
        out.push(node.finding("config.url", "this is no address of a document", remedy));
    }
    check_client(node, grant, out);
    let assertion = assertion(node, grant, context, out);
    let scopes: BTreeSet<String> =
        node.get("scopes").into_iter().flat_map(Node::texts).map(str::to_owned).collect();
    let port = node.get("redirect_port").and_then(Node::whole);
    let bound = node.get("dpop_bound_access_tokens").and_then(Node::flag);
    Some(ServerLogin {
        grant,
        client_id,
        client_secret,
        client_key,
        client_key_id,
        assertion,
        dpop_bound_access_tokens: bound.unwrap_or(false),
        client_metadata_url: document,
        scopes,
        redirect_port: port.and_then(|port| u16::try_from(port).ok()),
    })
}

/// Notes what is missing of the client, or stands there twice.
fn check_client(node: &Node, grant: GrantType, out: &mut Vec<Finding>) {
    let (id, secret) = (node.get("client_id"), node.get("client_secret"));
    let key = node.get("client_key");
    for node in [secret, key].into_iter().flatten().filter(|_| id.is_none()) {
        let remedy = "write the `client_id` that it belongs to";
        out.push(node.finding("config.missing_key", "`client_id` is missing", remedy));
    }
    if let Some(key) = key.filter(|_| secret.is_some()) {
        let message = "a client proves who it is by `client_secret` or by `client_key`";
        out.push(key.finding("config.server", message, "remove one of the two"));
    }
    if let Some(id) = node.get("client_key_id").filter(|_| key.is_none()) {
        let remedy = "write the `client_key` that it names";
        out.push(id.finding("config.missing_key", "`client_key` is missing", remedy));
    }
    let (message, remedy) = match grant {
        GrantType::ClientCredentials if id.is_none() || (secret.is_none() && key.is_none()) => (
            "`client_id` and `client_secret` or `client_key` are missing, by which the gateway gets tokens",
            "register a client with the grant `client_credentials`, and write both",
        ),
        GrantType::JwtBearer if id.is_none() => (
            "`client_id` is missing, for which the gateway gets tokens",
            "write the id of the client that may use assertions",
        ),
        _ => return,
    };
    out.push(node.finding("config.missing_key", message, remedy));
}

/// Where assertions come from, which the grant `jwt_bearer` wants and no other does.
fn assertion(
    node: &Node,
    grant: GrantType,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<Assertion> {
    let (given, exchange) = (node.get("assertion"), node.get("token_exchange"));
    if grant != GrantType::JwtBearer {
        for node in [given, exchange].into_iter().flatten() {
            let message = "this has no meaning without `grant = \"jwt_bearer\"`";
            out.push(node.finding("config.server", message, "write the grant, or remove this"));
        }
        return None;
    }
    match (given, exchange) {
        (Some(given), None) => source(given, context, out).map(Assertion::Workload),
        (None, Some(exchange)) => self::exchange(exchange, context, out).map(Assertion::Exchange),
        _ => {
            let message = "the grant `jwt_bearer` takes its assertion from one place";
            let remedy = "write `assertion = { file = \"…\" }`, or the table `token_exchange`";
            out.push(node.finding("config.missing_key", message, remedy));
            None
        }
    }
}

fn exchange(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<IdentityExchange> {
    let mut text = |name: &str| node.get(name).and_then(|node| expanded(node, context, out));
    let (issuer, client_id) = (text("issuer"), text("client_id"));
    if let Some(node) = node.get("issuer")
        && issuer
            .as_ref()
            .is_some_and(|url| !OAuthHttpClient::new(AllowedAddresses::Anywhere).accepts(url))
    {
        let remedy = "write the https:// address that the identity provider calls itself";
        out.push(node.finding("config.url", "this is no address of an issuer", remedy));
    }
    let mut secret = |name: &str| node.get(name).and_then(|node| source(node, context, &mut *out));
    let (client_secret, subject_token) = (secret("client_secret"), secret("subject_token"));
    Some(IdentityExchange {
        issuer: issuer?,
        client_id: client_id?,
        client_secret,
        subject_token: subject_token?,
    })
}
