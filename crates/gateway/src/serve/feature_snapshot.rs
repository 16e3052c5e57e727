//! The resources, templates and prompts of all servers, under the names that clients see.
//!
//! A URI stays as it is where one server alone lists it. Any other becomes `weaver://SERVER/URI`,
//! with the server's own URI behind the slash as it stands, so that a template still is one. Whoever
//! lists the URI of another server can so make its readers say which one they mean, and can never
//! stand in for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use weaver_drivers::mcp::ListedItem;
use weaver_firewall::Firewall;
use weaver_text::glob::Glob;
use weaver_types::digest::{Digest, Tag};
use weaver_types::{CapabilityId, UpstreamName};

use super::exported_name;
use super::list_page::{ListPage, UnknownCursor, page};
use super::server_feature::{ServerFeatures, prompt_id};

/// What begins a URI that names its server.
const SCHEME: &str = "weaver://";
/// How many items of a list are shown at once.
const PAGE: usize = 500;

/// A resource by its server and the URI that it has there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResourceAddress {
    pub(crate) server: UpstreamName,
    pub(crate) uri: String,
}

/// An item of a list, and whose it is.
#[derive(Debug, Clone)]
pub(crate) struct LocatedItem {
    pub(crate) server: UpstreamName,
    pub(crate) item: Arc<Value>,
}

/// A prompt under its exported name.
#[derive(Debug, Clone)]
pub(crate) struct LocatedPrompt {
    pub(crate) id: CapabilityId,
    /// Its name at its server.
    pub(crate) name: String,
    pub(crate) item: Arc<Value>,
}

/// What all servers offer beside tools, at one moment. It is replaced whole when anything changes.
#[derive(Default)]
pub(crate) struct FeatureSnapshot {
    resources: BTreeMap<String, LocatedItem>,
    templates: BTreeMap<String, LocatedItem>,
    pub(crate) prompts: BTreeMap<String, LocatedPrompt>,
    /// Where a listed resource is, by its exported URI.
    addresses: HashMap<String, ResourceAddress>,
    /// The exported URI of a listed resource.
    exported: HashMap<ResourceAddress, String>,
    /// URIs that several servers list.
    ambiguous: BTreeSet<String>,
    /// What the servers' templates match.
    patterns: Vec<(UpstreamName, Glob)>,
    /// The servers that have resources.
    servers: BTreeSet<UpstreamName>,
    /// What some server can do.
    pub(crate) abilities: Abilities,
}

/// What at least one server can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Abilities {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    pub(crate) subscriptions: bool,
    pub(crate) logs: bool,
}

/// Under which names prompts are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptNames {
    /// Behind the name of their server.
    Prefixed,
    /// As their one server calls them.
    Plain,
}

impl FeatureSnapshot {
    pub(crate) fn build(
        servers: &[(UpstreamName, Arc<ServerFeatures>)],
        names: PromptNames,
        firewall: &Firewall,
    ) -> Self {
        let mut snapshot = Self::default();
        let uris = holders(servers, |features| &features.resources);
        let templates = holders(servers, |features| &features.templates);
        snapshot.ambiguous = uris
            .iter()
            .filter(|(_, held)| held.len() > 1)
            .map(|(uri, _)| (*uri).to_owned())
            .collect();
        for (server, features) in servers {
            snapshot.take_abilities(server, features);
            for item in &features.resources {
                let plain = is_alone(&uris, item.identifier());
                snapshot.add_resource(server, item, exported(server, item, plain, firewall));
            }
            for item in &features.templates {
                let plain = is_alone(&templates, item.identifier());
                snapshot.add_template(server, item, exported(server, item, plain, firewall));
            }
            for item in &features.prompts {
                snapshot.add_prompt(server, item, names);
            }
        }
        snapshot
    }

    fn take_abilities(&mut self, server: &UpstreamName, features: &ServerFeatures) {
        let abilities = &mut self.abilities;
        abilities.resources |= features.has_resources;
        abilities.prompts |= !features.prompts.is_empty();
        abilities.completions |= features.completes;
        abilities.subscriptions |= features.subscribes;
        abilities.logs |= features.logs;
        if features.has_resources {
            self.servers.insert(server.clone());
        }
    }

    fn add_resource(&mut self, server: &UpstreamName, item: &ListedItem, exported: String) {
        let address = ResourceAddress { server: server.clone(), uri: item.identifier().to_owned() };
        if self.exported.contains_key(&address) {
            return;
        }
        let located = LocatedItem { server: server.clone(), item: Arc::new(item.value().clone()) };
        self.resources.insert(exported.clone(), located);
        self.addresses.insert(exported.clone(), address.clone());
        self.exported.insert(address, exported);
    }

    fn add_template(&mut self, server: &UpstreamName, item: &ListedItem, exported: String) {
        if let Some(pattern) = pattern(item.identifier()) {
            self.patterns.push((server.clone(), pattern));
        }
        let item = Arc::new(item.value().clone());
        self.templates.entry(exported).or_insert(LocatedItem { server: server.clone(), item });
    }

    fn add_prompt(&mut self, server: &UpstreamName, item: &ListedItem, names: PromptNames) {
        let name = item.identifier();
        let Ok(id) = prompt_id(server.as_str(), name) else { return };
        let exported = match names {
            PromptNames::Plain => name.to_owned(),
            PromptNames::Prefixed => exported_name::of(server.as_str(), name),
        };
        let item = Arc::new(item.value().clone());
        let prompt = LocatedPrompt { id, name: name.to_owned(), item };
        self.prompts.entry(exported).or_insert(prompt);
    }

    /// Where the resource of a URI is, for somebody who may see these servers. `None` where nobody
    /// has it, or several may and the URI does not say which.
    pub(crate) fn resolve(
        &self,
        uri: &str,
        may_see: impl Fn(&UpstreamName) -> bool,
    ) -> Option<ResourceAddress> {
        if let Some(address) = self.addresses.get(uri) {
            return Some(address.clone()).filter(|address| may_see(&address.server));
        }
        if let Some((server, own)) = unwrapped(uri) {
            let server = self.servers.get(server).filter(|server| may_see(server))?;
            return Some(ResourceAddress { server: server.clone(), uri: own.to_owned() });
        }
        // A URI of this form that names nothing here is no server's own.
        if self.ambiguous.contains(uri) || uri.starts_with(SCHEME) {
            return None;
        }
        let matching: BTreeSet<&UpstreamName> = self
            .patterns
            .iter()
            .filter(|(_, pattern)| pattern.matches(uri))
            .map(|(s, _)| s)
            .collect();
        let candidates: Vec<&UpstreamName> = if matching.is_empty() {
            self.servers.iter().filter(|server| may_see(server)).collect()
        } else {
            matching.into_iter().filter(|server| may_see(server)).collect()
        };
        match candidates.as_slice() {
            [server] => Some(ResourceAddress { server: (*server).clone(), uri: uri.to_owned() }),
            _ => None,
        }
    }

    /// The URI under which a client knows a resource.
    pub(crate) fn exported_uri(&self, address: &ResourceAddress) -> String {
        if let Some(exported) = self.exported.get(address) {
            return exported.clone();
        }
        // It is not listed. Where the URI leads back to its server by itself, it stays as it is.
        match self.resolve(&address.uri, |_| true) {
            Some(found) if found == *address => address.uri.clone(),
            _ => wrapped(&address.server, &address.uri),
        }
    }

    /// The template that a client names, by its server and as that server has it.
    pub(crate) fn template(&self, exported: &str) -> Option<ResourceAddress> {
        let located = self.templates.get(exported)?;
        let uri = located.item.get("uriTemplate").and_then(Value::as_str)?.to_owned();
        Some(ResourceAddress { server: located.server.clone(), uri })
    }

    /// A page of the resources of these servers.
    pub(crate) fn resources(
        &self,
        cursor: Option<&str>,
        may_see: impl Fn(&UpstreamName) -> bool,
    ) -> Result<ListPage<'_, LocatedItem>, UnknownCursor> {
        page(&self.resources, cursor, PAGE, |located| may_see(&located.server))
    }

    /// A page of the templates of these servers.
    pub(crate) fn templates(
        &self,
        cursor: Option<&str>,
        may_see: impl Fn(&UpstreamName) -> bool,
    ) -> Result<ListPage<'_, LocatedItem>, UnknownCursor> {
        page(&self.templates, cursor, PAGE, |located| may_see(&located.server))
    }

    /// A page of these prompts.
    pub(crate) fn prompts(
        &self,
        cursor: Option<&str>,
        may_see: impl Fn(&CapabilityId) -> bool,
    ) -> Result<ListPage<'_, LocatedPrompt>, UnknownCursor> {
        page(&self.prompts, cursor, PAGE, |prompt| may_see(&prompt.id))
    }
}

/// The servers that list each identifier.
fn holders<'a>(
    servers: &'a [(UpstreamName, Arc<ServerFeatures>)],
    items: impl Fn(&'a ServerFeatures) -> &'a Vec<ListedItem>,
) -> HashMap<&'a str, BTreeSet<&'a UpstreamName>> {
    let mut held: HashMap<&str, BTreeSet<&UpstreamName>> = HashMap::new();
    for (server, features) in servers {
        for item in items(features) {
            held.entry(item.identifier()).or_default().insert(server);
        }
    }
    held
}

/// Whether one server alone lists it.
fn is_alone(held: &HashMap<&str, BTreeSet<&UpstreamName>>, identifier: &str) -> Uniqueness {
    match held.get(identifier).is_some_and(|servers| servers.len() == 1) {
        true => Uniqueness::Unique,
        false => Uniqueness::Shared,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Uniqueness {
    Unique,
    Shared,
}

/// The name under which a URI is exported. One in which the firewall masks something is not shown: a
/// digest stands for it.
fn exported(
    server: &UpstreamName,
    item: &ListedItem,
    unique: Uniqueness,
    firewall: &Firewall,
) -> String {
    let uri = item.identifier();
    if firewall.redact_text(uri).text != uri || weaver_text::escape::line(uri) != uri {
        let digest = Digest::of_parts(Tag::EXPOSED, &[server.as_str().as_bytes(), uri.as_bytes()]);
        let digest: String = digest.to_hex().chars().take(16).collect();
        return wrapped(server, &format!("~{digest}"));
    }
    match unique {
        Uniqueness::Unique if !uri.starts_with(SCHEME) => uri.to_owned(),
        _ => wrapped(server, uri),
    }
}

fn wrapped(server: &UpstreamName, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}

/// Server and URI of one that names its server.
fn unwrapped(uri: &str) -> Option<(&str, &str)> {
    let (server, own) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    // A digest stands for a listed URI, or for none.
    (!own.is_empty() && !own.starts_with('~')).then_some((server, own))
}

/// What a URI template (RFC 6570) matches: any text in the place of an expression.
fn pattern(template: &str) -> Option<Glob> {
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
