//! The resources, templates and prompts of all servers, under their exported names.
//!
//! A URI stays unchanged if only one server lists it. Any other becomes `weaver://SERVER/URI`, with
//! the server's own URI after the slash, so that a template remains one. A server that lists
//! another's URI can force clients to name the server, but can never impersonate it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use weaver_drivers::mcp::ListedItem;
use weaver_firewall::Firewall;
use weaver_text::glob::Glob;
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{CapabilityId, UpstreamName};

use super::exported_name;
use super::list_page::{ListPage, UnknownCursor, page};
use super::server_feature::{ServerFeatures, prompt_id};
use super::unlisted_uri::{self, ListedUris};

/// The scheme of a URI that names its server.
const SCHEME: &str = "weaver://";
/// The page size of lists.
const PAGE_SIZE: usize = 500;

/// A resource by its server and its URI there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResourceAddress {
    pub(crate) server: UpstreamName,
    pub(crate) uri: String,
}

impl ResourceAddress {
    /// If a change of `changed` concerns subscribers of this resource, the part of its URI after
    /// this one's; empty for the same resource. A server may report a sub-resource of a subscribed
    /// one.
    pub(crate) fn changed_part<'o>(&self, changed: &'o Self) -> Option<&'o str> {
        let part = changed.uri.strip_prefix(self.uri.as_str())?;
        // `a/b` is a part of `a`, `ab` is not.
        let is_own_segment =
            part.is_empty() || self.uri.ends_with('/') || part.starts_with(['/', '?', '#']);
        (self.server == changed.server && is_own_segment).then_some(part)
    }
}

/// A listed item and its server.
#[derive(Debug, Clone)]
pub(crate) struct ServerItem {
    pub(crate) server: UpstreamName,
    pub(crate) item: Arc<Value>,
}

/// A prompt under its exported name.
#[derive(Debug, Clone)]
pub(crate) struct ExportedPrompt {
    pub(crate) id: CapabilityId,
    /// Its name at its server.
    pub(crate) name: String,
    pub(crate) item: Arc<Value>,
}

/// The resources, templates and prompts of all servers at one moment. A change replaces the whole
/// snapshot.
#[derive(Default)]
pub(crate) struct FeatureSnapshot {
    resources: BTreeMap<String, ServerItem>,
    templates: BTreeMap<String, ServerItem>,
    pub(crate) prompts: BTreeMap<String, ExportedPrompt>,
    /// The address of a listed resource, by its exported URI.
    addresses_by_uri: HashMap<String, ResourceAddress>,
    /// The exported URI of a listed resource.
    uris_by_address: HashMap<ResourceAddress, String>,
    /// URIs that several servers list.
    ambiguous: BTreeSet<String>,
    /// Patterns that match the servers' templates.
    patterns: Vec<(UpstreamName, Glob)>,
    /// The servers that have resources, each with what its URIs lead to.
    servers: BTreeMap<UpstreamName, ListedUris>,
    /// The servers of which a list could not be read.
    pub(crate) partly_listed: BTreeSet<UpstreamName>,
    /// The features that at least one server supports.
    pub(crate) support: FeatureSupport,
}

/// The features that at least one server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FeatureSupport {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    pub(crate) subscriptions: bool,
    pub(crate) logs: bool,
}

/// How prompts are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptNames {
    /// Prefixed with the name of their server.
    Prefixed,
    /// Under the name at their only server.
    Plain,
}

impl FeatureSnapshot {
    pub(crate) fn build(
        servers: &[(UpstreamName, Arc<ServerFeatures>)],
        names: PromptNames,
        firewall: &Firewall,
    ) -> Self {
        let mut snapshot = Self::default();
        let uris = servers_by_identifier(servers, |features| &features.resources);
        let templates = servers_by_identifier(servers, |features| &features.templates);
        snapshot.ambiguous = uris
            .iter()
            .filter(|(_, listing_servers)| listing_servers.len() > 1)
            .map(|(uri, _)| (*uri).to_owned())
            .collect();
        for (server, features) in servers {
            snapshot.add_support(server, features);
            if !features.problems.is_empty() {
                snapshot.partly_listed.insert(server.clone());
            }
            for item in &features.resources {
                let uniqueness = uniqueness_of(&uris, item.identifier());
                snapshot.add_resource(
                    server,
                    item,
                    exported_uri_for(server, item, uniqueness, firewall),
                );
            }
            for item in &features.templates {
                let uniqueness = uniqueness_of(&templates, item.identifier());
                snapshot.add_template(
                    server,
                    item,
                    exported_uri_for(server, item, uniqueness, firewall),
                );
            }
            for item in &features.prompts {
                snapshot.add_prompt(server, item, names);
            }
        }
        snapshot
    }

    fn add_support(&mut self, server: &UpstreamName, features: &ServerFeatures) {
        let support = &mut self.support;
        support.resources |= features.has_resources;
        support.prompts |= !features.prompts.is_empty();
        support.completions |= features.supports_completion;
        support.subscriptions |= features.supports_subscriptions;
        support.logs |= features.supports_logging;
        if features.has_resources {
            let listed = features.resources.iter().chain(&features.templates);
            let listed = ListedUris::of(listed.map(|item| item.identifier()));
            self.servers.insert(server.clone(), listed);
        }
    }

    fn add_resource(&mut self, server: &UpstreamName, item: &ListedItem, exported: String) {
        let address = ResourceAddress { server: server.clone(), uri: item.identifier().to_owned() };
        if self.uris_by_address.contains_key(&address) {
            return;
        }
        let located = ServerItem { server: server.clone(), item: Arc::new(item.value().clone()) };
        self.resources.insert(exported.clone(), located);
        self.addresses_by_uri.insert(exported.clone(), address.clone());
        self.uris_by_address.insert(address, exported);
    }

    fn add_template(&mut self, server: &UpstreamName, item: &ListedItem, exported: String) {
        if let Some(pattern) = template_glob(item.identifier()) {
            self.patterns.push((server.clone(), pattern));
        }
        let item = Arc::new(item.value().clone());
        self.templates.entry(exported).or_insert(ServerItem { server: server.clone(), item });
    }

    fn add_prompt(&mut self, server: &UpstreamName, item: &ListedItem, names: PromptNames) {
        let name = item.identifier();
        let Ok(id) = prompt_id(server.as_str(), name) else { return };
        let exported = match names {
            PromptNames::Plain => name.to_owned(),
            PromptNames::Prefixed => exported_name::for_tool(server.as_str(), name),
        };
        let item = Arc::new(item.value().clone());
        let prompt = ExportedPrompt { id, name: name.to_owned(), item };
        self.prompts.entry(exported).or_insert(prompt);
    }

    /// Resolves a URI among the servers that the caller may see. `None` where no server has it, or
    /// several may have it and the URI does not name one. An exported URI wins, then a URI that
    /// names its server, then the templates; last the only server that lists URIs of its scheme.
    pub(crate) fn resolve(
        &self,
        uri: &str,
        may_see: impl Fn(&UpstreamName) -> bool,
    ) -> Option<ResourceAddress> {
        if let Some(address) = self.addresses_by_uri.get(uri) {
            return Some(address.clone()).filter(|address| may_see(&address.server));
        }
        if let Some((server, server_uri)) = split_server_prefix(uri) {
            let (server, listed) =
                self.servers.get_key_value(server).filter(|(server, _)| may_see(server))?;
            let is_known = self.has_template_for(server, server_uri)
                || self.uris_by_address.contains_key(&ResourceAddress {
                    server: server.clone(),
                    uri: server_uri.to_owned(),
                });
            if !is_known && !listed.may_be_served(server_uri, server.as_str()) {
                return None;
            }
            return Some(ResourceAddress { server: server.clone(), uri: server_uri.to_owned() });
        }
        // Any other URI of our own scheme belongs to no server.
        if self.ambiguous.contains(uri) || uri.starts_with(SCHEME) {
            return None;
        }
        let matching: BTreeSet<&UpstreamName> = self
            .patterns
            .iter()
            .filter(|(_, pattern)| pattern.matches(uri) && !unlisted_uri::goes_up(uri))
            .map(|(s, _)| s)
            .collect();
        // What no server lists or has a template for would be fetched from wherever it leads.
        let candidates: Vec<&UpstreamName> = if matching.is_empty() {
            let may_serve = |server: &UpstreamName, listed: &ListedUris| {
                listed.may_be_served(uri, server.as_str()) && may_see(server)
            };
            let servers = self.servers.iter();
            let servers = servers.filter(|(server, listed)| may_serve(server, listed));
            servers.map(|(server, _)| server).collect()
        } else {
            matching.into_iter().filter(|server| may_see(server)).collect()
        };
        match candidates.as_slice() {
            [server] => Some(ResourceAddress { server: (*server).clone(), uri: uri.to_owned() }),
            _ => None,
        }
    }

    fn has_template_for(&self, server: &UpstreamName, uri: &str) -> bool {
        let fits = |(own, pattern): &(UpstreamName, Glob)| own == server && pattern.matches(uri);
        !unlisted_uri::goes_up(uri) && self.patterns.iter().any(fits)
    }

    /// The exported URI of a resource.
    pub(crate) fn exported_uri(&self, address: &ResourceAddress) -> String {
        if let Some(exported) = self.uris_by_address.get(address) {
            return exported.clone();
        }
        // An unlisted URI stays unchanged if it resolves to its server.
        match self.resolve(&address.uri, |_| true) {
            Some(resolved) if resolved == *address => address.uri.clone(),
            _ => with_server_prefix(&address.server, &address.uri),
        }
    }

    /// Resolves an exported template to its server and its own form.
    pub(crate) fn resolve_template(&self, exported: &str) -> Option<ResourceAddress> {
        let located = self.templates.get(exported)?;
        let uri = located.item.get("uriTemplate").and_then(Value::as_str)?.to_owned();
        Some(ResourceAddress { server: located.server.clone(), uri })
    }

    /// A page of the resources of visible servers.
    pub(crate) fn resources(
        &self,
        cursor: Option<&str>,
        may_see: impl Fn(&UpstreamName) -> bool,
    ) -> Result<ListPage<'_, ServerItem>, UnknownCursor> {
        page(&self.resources, cursor, PAGE_SIZE, |located| may_see(&located.server))
    }

    /// A page of the templates of visible servers.
    pub(crate) fn templates(
        &self,
        cursor: Option<&str>,
        may_see: impl Fn(&UpstreamName) -> bool,
    ) -> Result<ListPage<'_, ServerItem>, UnknownCursor> {
        page(&self.templates, cursor, PAGE_SIZE, |located| may_see(&located.server))
    }

    /// A page of the visible prompts.
    pub(crate) fn prompts(
        &self,
        cursor: Option<&str>,
        may_see: impl Fn(&CapabilityId) -> bool,
    ) -> Result<ListPage<'_, ExportedPrompt>, UnknownCursor> {
        page(&self.prompts, cursor, PAGE_SIZE, |prompt| may_see(&prompt.id))
    }
}

/// The servers that list each identifier.
fn servers_by_identifier<'a>(
    servers: &'a [(UpstreamName, Arc<ServerFeatures>)],
    items: impl Fn(&'a ServerFeatures) -> &'a Vec<ListedItem>,
) -> HashMap<&'a str, BTreeSet<&'a UpstreamName>> {
    let mut servers_of: HashMap<&str, BTreeSet<&UpstreamName>> = HashMap::new();
    for (server, features) in servers {
        for item in items(features) {
            servers_of.entry(item.identifier()).or_default().insert(server);
        }
    }
    servers_of
}

/// Whether exactly one server lists an identifier.
fn uniqueness_of(
    servers_of: &HashMap<&str, BTreeSet<&UpstreamName>>,
    identifier: &str,
) -> Uniqueness {
    match servers_of.get(identifier).is_some_and(|servers| servers.len() == 1) {
        true => Uniqueness::Unique,
        false => Uniqueness::Shared,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Uniqueness {
    Unique,
    Shared,
}

/// The exported form of a URI. One that the firewall would mask is replaced by a digest, because a
/// masked URI could not be resolved and an unmasked one would leak.
fn exported_uri_for(
    server: &UpstreamName,
    item: &ListedItem,
    unique: Uniqueness,
    firewall: &Firewall,
) -> String {
    let uri = item.identifier();
    if firewall.redact_text(uri).text != uri
        || firewall.has_value_in_address(uri)
        || weaver_text::escape::line(uri) != uri
    {
        let digest =
            Digest::of_parts(DomainTag::EXPOSED, &[server.as_str().as_bytes(), uri.as_bytes()]);
        let digest: String = digest.to_hex().chars().take(16).collect();
        return with_server_prefix(server, &format!("~{digest}"));
    }
    match unique {
        Uniqueness::Unique if !uri.starts_with(SCHEME) => uri.to_owned(),
        _ => with_server_prefix(server, uri),
    }
}

fn with_server_prefix(server: &UpstreamName, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}

/// Splits a URI that names its server into the two.
fn split_server_prefix(uri: &str) -> Option<(&str, &str)> {
    let (server, server_uri) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    // A digest stands for a listed URI, or for none.
    (!server_uri.is_empty() && !server_uri.starts_with('~')).then_some((server, server_uri))
}

/// A pattern for a URI template (RFC 6570): each expression matches any text.
fn template_glob(template: &str) -> Option<Glob> {
    let mut glob = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        glob.push_str(literal);
        glob.push('*');
        rest = after.split_once('}')?.1;
    }
    glob.push_str(rest);
    Glob::parse(&glob).ok()
}

#[cfg(test)]
mod tests;
