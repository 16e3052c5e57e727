//! A snapshot of the tools, with their search index and exported names.

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
use super::{exported_name, memory, meta_tool_definitions};
use crate::config::Config;

/// The tools at one moment. A change replaces the whole snapshot.
#[derive(Default)]
pub(crate) struct ToolSnapshot {
    /// The searchable tools.
    pub(crate) catalog: Catalog,
    /// The capabilities in the catalog: an unchanged one is not indexed again.
    indexed_capabilities: BTreeMap<CapabilityId, Arc<Capability>>,
    /// The index over the catalog, built at the first search: at startup it would be rebuilt for
    /// every server that connects. `None` inside when it cannot be built.
    router: OnceLock<Option<Router>>,
    token_table: Option<Arc<TokenTable>>,
    /// The tools by their exported names.
    pub(crate) exported_names: BTreeMap<String, CapabilityId>,
    /// The tools as their servers list them.
    pub(crate) definitions: BTreeMap<CapabilityId, Arc<ListedDefinition>>,
    /// The tools that the proxy cannot offer, because their name is taken, with the reason.
    pub(crate) unnamed: Vec<(CapabilityId, String)>,
}

impl ToolSnapshot {
    /// Builds the next snapshot, and reuses what has not changed.
    pub(crate) fn rebuilt(
        &self,
        registry: &Registry,
        policy: &PolicySet,
        upstreams: &Upstreams,
        config: &Config,
        token_table: Option<&Arc<TokenTable>>,
    ) -> Self {
        let mut definitions = upstreams.tools();
        definitions.extend(memory::definitions(registry));
        let mut catalog = self.catalog.clone();
        let mut indexed_capabilities = BTreeMap::new();
        let mut names = ExportedNames::default();
        for entry in registry.list_all() {
            let capability = entry.capability();
            let id = capability.id();
            if FeatureKind::of(id) != FeatureKind::Tool {
                continue;
            }
            // A card shows the effects of the contract, not those that the server claims.
            let Ok(effective) = entry.effective(policy) else { continue };
            let before = self.indexed_capabilities.get(id);
            if before.is_none_or(|before| !Arc::ptr_eq(before, &effective))
                && let Err(error) = upsert(&mut catalog, &effective)
            {
                tracing::warn!(tool = %id, %error, "left out of the index");
                continue;
            }
            indexed_capabilities.insert(id.clone(), effective);
            if let Some(name) = proxy_name(id, config).filter(|_| config.has_proxy()) {
                names.add(id, name);
            }
        }
        for gone in
            self.indexed_capabilities.keys().filter(|id| !indexed_capabilities.contains_key(*id))
        {
            let _ = catalog.apply([CatalogChange::Remove(gone.clone())]);
        }
        Self {
            catalog,
            indexed_capabilities,
            router: OnceLock::new(),
            token_table: token_table.cloned(),
            exported_names: names.by_name,
            definitions,
            unnamed: names.unnamed,
        }
    }

    /// Whether both offer the same tools with the same definitions and effects.
    pub(crate) fn has_same_tools(&self, other: &Self) -> bool {
        self.definitions == other.definitions
            && self.exported_names == other.exported_names
            && self.indexed_capabilities == other.indexed_capabilities
    }

    /// The index; `None` where it cannot be built, which is logged.
    pub(crate) fn router(&self) -> Option<&Router> {
        let router = self.router.get_or_init(|| match Router::new(self.catalog.clone()) {
            Ok(router) => Some(match &self.token_table {
                Some(token_table) => router.with_table(Arc::clone(token_table)),
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

/// Adds a tool to the catalog, or replaces its earlier version.
fn upsert(catalog: &mut Catalog, capability: &Capability) -> Result<(), CatalogError> {
    let item = catalog_item(capability);
    match catalog.get(&item.id) {
        Some(_) => catalog.apply([CatalogChange::Change(item)]),
        None => catalog.insert(item),
    }
}

/// Collects exported names; two tools never share one.
#[derive(Default)]
struct ExportedNames {
    by_name: BTreeMap<String, CapabilityId>,
    unnamed: Vec<(CapabilityId, String)>,
}

impl ExportedNames {
    fn add(&mut self, id: &CapabilityId, name: String) {
        let holder = match self.by_name.get(&name) {
            _ if name == meta_tool_definitions::VIEW_TOOL => "a tool of Weaver",
            Some(other) => other.as_str(),
            None => {
                self.by_name.insert(name, id.clone());
                return;
            }
        };
        self.unnamed.push((id.clone(), format!("`{id}`: its name `{name}` is that of {holder}")));
    }
}

/// The name under which the proxy offers a tool.
fn proxy_name(id: &CapabilityId, config: &Config) -> Option<String> {
    let (upstream, tool) = id.as_str().split_once('.')?;
    Some(match config.unprefixed && !memory::is_memory_tool(id) {
        true => tool.to_owned(),
        false => exported_name::for_tool(upstream, tool),
    })
}

fn catalog_item(capability: &Capability) -> SelectableItem {
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
        // Only the parameters are indexed; the registry keeps the schema.
        Some(schema) => item.with_parameters_of(schema),
        None => item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_refused_and_not_shared() {
        let mut names = ExportedNames::default();
        let [one, other, own] =
            ["a.b", "c.b", "a.tool_view"].map(|id| CapabilityId::parse(id).unwrap());
        for (id, name) in [(&one, "b"), (&other, "b"), (&own, "tool_view")] {
            names.add(id, name.to_owned());
        }
        assert_eq!(names.by_name, BTreeMap::from([("b".to_owned(), one)]));
        let unnamed: Vec<&CapabilityId> = names.unnamed.iter().map(|(id, _)| id).collect();
        assert_eq!(unnamed, [&other, &own]);
        assert_eq!(names.unnamed[0].1, "`c.b`: its name `b` is that of a.b");
    }
}
