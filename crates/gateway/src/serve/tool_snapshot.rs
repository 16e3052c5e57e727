//! A snapshot of the tools, with their index and their exported names.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use contextweaver::catalog::{Catalog, CatalogChange, SelectableItem};
use contextweaver::error::CatalogError;
use contextweaver::route::{Router, TokenTable};
use weaver_agent_kernel::Registry;
use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId};

use super::listed_definition::ListedDefinition;
use super::server_feature::FeatureKind;
use super::upstreams::Upstreams;
use super::{definitions, exported_name, memory};
use crate::config::Config;

/// The tools at one moment. It is replaced whole when anything changes.
#[derive(Default)]
pub(crate) struct ToolSnapshot {
    /// The tools as they are searched.
    pub(crate) catalog: Catalog,
    /// What the catalog was made of: a tool that is still the same is not taken in again.
    indexed: BTreeMap<CapabilityId, Arc<Capability>>,
    /// The index over the catalog, made when somebody searches: at a start it would be made anew for
    /// each server that comes. `None` in it when it cannot be made.
    router: OnceLock<Option<Router>>,
    table: Option<Arc<TokenTable>>,
    /// The tools by the names under which the proxy offers them.
    pub(crate) names: BTreeMap<String, CapabilityId>,
    /// The tools as their servers list them.
    pub(crate) tools: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    /// The tools that the proxy cannot offer, because something else has their name.
    pub(crate) unnamed: Vec<(CapabilityId, String)>,
}

impl ToolSnapshot {
    /// The snapshot after this one.
    pub(crate) fn next(
        &self,
        registry: &Registry,
        policy: &PolicySet,
        upstreams: &Upstreams,
        config: &Config,
        table: Option<&Arc<TokenTable>>,
    ) -> Self {
        let mut tools = upstreams.tools();
        tools.extend(memory::definitions(registry));
        let mut catalog = self.catalog.clone();
        let mut indexed = BTreeMap::new();
        let mut names = Names::default();
        for entry in registry.list_all() {
            let capability = entry.capability();
            let id = capability.id();
            if FeatureKind::of(id) != FeatureKind::Tool {
                continue;
            }
            // A card warns of what the contract says, not of what the server says.
            let Ok(effective) = entry.effective(policy) else { continue };
            let before = self.indexed.get(id);
            if before.is_none_or(|before| !Arc::ptr_eq(before, &effective))
                && let Err(error) = take_in(&mut catalog, &effective)
            {
                tracing::warn!(tool = %id, %error, "left out of the index");
                continue;
            }
            indexed.insert(id.clone(), effective);
            if let Some(name) = proxy_name(id, config).filter(|_| config.has_proxy()) {
                names.add(id, name);
            }
        }
        for gone in self.indexed.keys().filter(|id| !indexed.contains_key(*id)) {
            let _ = catalog.apply([CatalogChange::Remove(gone.clone())]);
        }
        Self {
            catalog,
            indexed,
            router: OnceLock::new(),
            table: table.cloned(),
            names: names.given,
            tools,
            unnamed: names.unnamed,
        }
    }

    /// The index; `None` where there is none, which the log says.
    pub(crate) fn router(&self) -> Option<&Router> {
        let router = self.router.get_or_init(|| match Router::new(self.catalog.clone()) {
            Ok(router) => Some(match &self.table {
                Some(table) => router.with_table(Arc::clone(table)),
                None => router,
            }),
            Err(error) => {
                tracing::error!(%error, "the index could not be built; nothing can be found by search");
                None
            }
        });
        router.as_ref()
    }
}

/// Adds a tool to the catalog, in the place of another version of it.
fn take_in(catalog: &mut Catalog, capability: &Capability) -> Result<(), CatalogError> {
    let item = item(capability);
    match catalog.get(&item.id) {
        Some(_) => catalog.apply([CatalogChange::Change(item)]),
        None => catalog.insert(item),
    }
}

/// The proxy's names in the making: two tools never share one.
#[derive(Default)]
struct Names {
    given: BTreeMap<String, CapabilityId>,
    unnamed: Vec<(CapabilityId, String)>,
}

impl Names {
    fn add(&mut self, id: &CapabilityId, name: String) {
        let holder = match self.given.get(&name) {
            _ if name == definitions::VIEW => "a tool of Weaver",
            Some(other) => other.as_str(),
            None => {
                self.given.insert(name, id.clone());
                return;
            }
        };
        self.unnamed.push((id.clone(), format!("`{id}`: its name `{name}` is that of {holder}")));
    }
}

/// The name under which the proxy offers a tool.
fn proxy_name(id: &CapabilityId, config: &Config) -> Option<String> {
    let (upstream, tool) = id.as_str().split_once('.')?;
    Some(match config.unprefixed && !memory::is_ours(id) {
        true => tool.to_owned(),
        false => exported_name::of(upstream, tool),
    })
}

fn item(capability: &Capability) -> SelectableItem {
    let spec = capability.spec();
    let name = spec.title.as_ref().unwrap_or(&spec.name);
    let mut item = SelectableItem::new(spec.id.clone(), name.clone(), spec.description.clone());
    item.namespace = spec
        .id
        .as_str()
        .split_once('.')
        .map(|(upstream, _)| upstream.to_owned())
        .unwrap_or_default();
    item.effects = Some(spec.effects);
    match &spec.input_schema {
        // The registry keeps the schema.
        Some(schema) => item.with_parameters_of(schema),
        None => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_refused_and_not_shared() {
        let mut names = Names::default();
        let [one, other, own] =
            ["a.b", "c.b", "a.tool_view"].map(|id| CapabilityId::parse(id).unwrap());
        for (id, name) in [(&one, "b"), (&other, "b"), (&own, "tool_view")] {
            names.add(id, name.to_owned());
        }
        assert_eq!(names.given, BTreeMap::from([("b".to_owned(), one)]));
        let unnamed: Vec<&CapabilityId> = names.unnamed.iter().map(|(id, _)| id).collect();
        assert_eq!(unnamed, [&other, &own]);
        assert_eq!(names.unnamed[0].1, "`c.b`: its name `b` is that of a.b");
    }
}
