//! `[mcpServers.NAME.oauth]`: how a person or the gateway itself logs in at a server. Nothing here
//! is needed if the authorization server registers clients dynamically.

use std::collections::BTreeSet;

use weaver_drivers::oauth::{AllowedAddresses, GrantType, OAuthHttpClient};
use weaver_policy::DocumentFinding;

use super::credential::read_secret_source;
use super::expansion::{ExpansionContext, expand_text};
use super::node::Node;
use super::upstream::{Assertion, IdentityExchange, ServerLogin};

pub(super) const GRANTS: [(&str, GrantType); 3] = [
    ("authorization_code", GrantType::AuthorizationCode),
    ("client_credentials", GrantType::ClientCredentials),
    ("jwt_bearer", GrantType::JwtBearer),
];

/// Parses the section.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<ServerLogin> {
    let mut text =
        |name: &str| node.get(name).and_then(|node| expand_text(node, context, findings));
    let issuer = text("issuer");
    let (client_id, document) = (text("client_id"), text("client_metadata_url"));
    let client_key_id = text("client_key_id");
    let mut secret = |name: &str| {
        node.get(name).and_then(|node| read_secret_source(node, context, &mut *findings))
    };
    let (client_secret, client_key) = (secret("client_secret"), secret("client_key"));
    let grant = node.get("grant").and_then(|node| node.word(&GRANTS)).unwrap_or_default();
    if let Some(node) = node.get("client_metadata_url")
        && document.as_ref().is_some_and(|url| !url.starts_with("https://"))
    {
        let remedy = "write the https:// address of a public document";
        findings.push(node.finding("config.url", "this is not an address of a document", remedy));
    }
    check_issuer(node, issuer.as_deref(), findings);
    check_client(node, grant, findings);
    let assertion = read_assertion(node, grant, context, findings);
    let scopes: BTreeSet<String> =
        node.get("scopes").into_iter().flat_map(Node::texts).map(str::to_owned).collect();
    let port = node.get("redirect_port").and_then(Node::integer);
    let bound = node.get("dpop_bound_access_tokens").and_then(Node::flag);
    Some(ServerLogin {
        grant,
        issuer,
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

/// Reports an issuer whose address must not be requested.
fn check_issuer(section: &Node, issuer: Option<&str>, findings: &mut Vec<DocumentFinding>) {
    let client = OAuthHttpClient::new(AllowedAddresses::Anywhere);
    if let Some(node) = section.get("issuer")
        && issuer.is_some_and(|url| !client.is_allowed(url))
    {
        let remedy = "write the https:// address by which it calls itself";
        findings.push(node.finding("config.url", "this is not an address of an issuer", remedy));
    }
}

/// Reports missing and conflicting client settings.
fn check_client(node: &Node, grant: GrantType, findings: &mut Vec<DocumentFinding>) {
    let (id, secret) = (node.get("client_id"), node.get("client_secret"));
    let key = node.get("client_key");
    for node in [secret, key].into_iter().flatten().filter(|_| id.is_none()) {
        let remedy = "write the `client_id` that it belongs to";
        findings.push(node.finding("config.missing_key", "`client_id` is missing", remedy));
    }
    if let Some(key) = key.filter(|_| secret.is_some()) {
        let message = "a client proves who it is by `client_secret` or by `client_key`";
        findings.push(key.finding("config.server", message, "remove one of the two"));
    }
    if let Some(id) = node.get("client_key_id").filter(|_| key.is_none()) {
        let remedy = "write the `client_key` that it names";
        findings.push(id.finding("config.missing_key", "`client_key` is missing", remedy));
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
    findings.push(node.finding("config.missing_key", message, remedy));
}

/// Parses the source of assertions, which the grant `jwt_bearer` requires and no other grant
/// allows.
fn read_assertion(
    node: &Node,
    grant: GrantType,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<Assertion> {
    let (given, exchange) = (node.get("assertion"), node.get("token_exchange"));
    if grant != GrantType::JwtBearer {
        for node in [given, exchange].into_iter().flatten() {
            let message = "this has no meaning without `grant = \"jwt_bearer\"`";
            findings.push(node.finding(
                "config.server",
                message,
                "write the grant, or remove this",
            ));
        }
        return None;
    }
    match (given, exchange) {
        (Some(given), None) => {
            read_secret_source(given, context, findings).map(Assertion::Workload)
        }
        (None, Some(exchange)) => {
            self::read_exchange(exchange, context, findings).map(Assertion::Exchange)
        }
        _ => {
            let message = "the grant `jwt_bearer` takes its assertion from one place";
            let remedy = "write `assertion = { file = \"…\" }`, or the table `token_exchange`";
            findings.push(node.finding("config.missing_key", message, remedy));
            None
        }
    }
}

fn read_exchange(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<IdentityExchange> {
    let mut text =
        |name: &str| node.get(name).and_then(|node| expand_text(node, context, findings));
    let (issuer, client_id) = (text("issuer"), text("client_id"));
    check_issuer(node, issuer.as_deref(), findings);
    let mut secret = |name: &str| {
        node.get(name).and_then(|node| read_secret_source(node, context, &mut *findings))
    };
    let (client_secret, subject_token) = (secret("client_secret"), secret("subject_token"));
    Some(IdentityExchange {
        issuer: issuer?,
        client_id: client_id?,
        client_secret,
        subject_token: subject_token?,
    })
}
