//! `[http.oauth]`: the gateway as an OAuth 2.1 resource server. The signed policy says which
//! issuers are trusted, and for whom.

use std::collections::BTreeMap;
use std::time::Duration;

use weaver_drivers::http::CertificateAuthority;
use weaver_policy::DocumentFinding;

use super::credential::{read_certificate_authority, read_secret_source};
use super::expansion::{ExpansionContext, expand_text};
use super::node::Node;
use super::server::is_address;
use super::tool::SecretSource;

/// The default clock tolerance.
const DEFAULT_LEEWAY: Duration = Duration::from_secs(60);

/// The gateway as a resource server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthResource {
    /// The resource identifier that tokens must be issued for; `None` means the gateway's address.
    pub resource: Option<String>,
    /// The clock tolerance.
    pub leeway: Duration,
    /// The profile of clients with a token.
    pub profile: Option<String>,
    /// How tokens are introspected, by the issuers' names in the policy.
    pub introspection: BTreeMap<String, IntrospectionClient>,
    /// A certificate authority trusted in addition to the platform's, for connections to issuers.
    pub certificate_authority: Option<CertificateAuthority>,
}

/// The client with which the gateway introspects tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntrospectionClient {
    /// The gateway's client id at the issuer.
    pub client_id: String,
    /// Its secret there.
    pub secret: SecretSource,
}

impl Default for OAuthResource {
    fn default() -> Self {
        Self {
            resource: None,
            leeway: DEFAULT_LEEWAY,
            profile: None,
            introspection: BTreeMap::new(),
            certificate_authority: None,
        }
    }
}

/// Parses the section.
pub(super) fn read(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<OAuthResource> {
    let mut read = OAuthResource::default();
    if let Some(node) = node.get("resource") {
        let resource = expand_text(node, context, findings)?;
        if !is_address(&resource) || resource.contains(['#', '?', '"']) {
            let remedy = "write the address under which clients reach `/mcp`: https:// and a host";
            findings.push(node.finding(
                "config.url",
                "this is not an address of this gateway",
                remedy,
            ));
        }
        read.resource = Some(resource);
    }
    if let Some(seconds) = node.get("leeway_s").and_then(Node::integer) {
        read.leeway = Duration::from_secs(seconds);
    }
    read.profile = node.get("profile").and_then(Node::text).map(str::to_owned);
    read.certificate_authority =
        node.get("ca_file").and_then(|node| read_certificate_authority(node, context, findings));
    for (name, node) in node.get("introspection").and_then(Node::table).into_iter().flatten() {
        if let Some(client) = introspection(node, context, findings) {
            read.introspection.insert(name.clone(), client);
        }
    }
    Some(read)
}

fn introspection(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<IntrospectionClient> {
    let (Some(id), Some(secret)) = (node.get("client_id"), node.get("client_secret")) else {
        let remedy = "write `client_id` and `client_secret = { env = \"NAME\" }`";
        findings.push(node.finding("config.missing_key", "an id or a secret is missing", remedy));
        return None;
    };
    let client_id = expand_text(id, context, findings)?;
    Some(IntrospectionClient { client_id, secret: read_secret_source(secret, context, findings)? })
}
