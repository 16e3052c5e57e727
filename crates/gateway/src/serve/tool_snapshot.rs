//! A snapshot of the tools, with their index and their exported names.

use std::collections::BTreeMap;
use std::sync::Arc;

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::route::{Router, TokenTable};
use serde_json::Value;
use weaver_agent_kernel::Registry;
use weaver_policy::PolicySet;
use weaver_types::{Capability, CapabilityId};

use super::server_feature::FeatureKind;
use super::upstreams::Upstreams;
use super::{definitions, exported_name, memory};
use crate::config::Config;

/// The tools at one moment. It is replaced whole when anything changes.
#[derive(Default)]
pub(crate) struct ToolSnapshot {
    /// The index; `None` when there is nothing to index.
    pub(crate) router: Option<Router>,
    /// The tools by the names under which the proxy offers them.
    pub(crate) names: BTreeMap<String, CapabilityId>,
    /// The tools as their servers list them.
    pub(crate) tools: BTreeMap<CapabilityId, Arc<Value>>,
    /// The tools that the proxy cannot offer, because something else has their name.
    pub(crate) unnamed: Vec<(CapabilityId, String)>,
}

impl ToolSnapshot {
    pub(crate) fn build(
        registry: &Registry,
        policy: &PolicySet,
        upstreams: &Upstreams,
        config: &Config,
        table: Option<&Arc<TokenTable>>,
    ) -> Self {
        let mut tools = upstreams.tools();
        tools.extend(memory::definitions(registry));
        let mut catalog = Catalog::new();
        let mut names = Names::default();
        for entry in registry.list_all() {
            let capability = entry.capability();
            if FeatureKind::of(capability.id()) != FeatureKind::Tool {
                continue;
            }
            // A card warns of what the contract says, not of what the server says.
            let Ok(effective) = entry.effective(policy) else { continue };
            if let Err(error) = catalog.insert(item(&effective)) {
                tracing::warn!(tool = %capability.id(), %error, "left out of the index");
                continue;
            }
            if config.has_proxy() {
                let id = capability.id();
                let is_bare = config.unprefixed && !memory::is_ours(id);
                names.add(id, if is_bare { NameForm::Bare } else { NameForm::Prefixed });
            }
        }
        let router = match Router::new(catalog) {
            Ok(router) => Some(match table {
                Some(table) => router.with_table(Arc::clone(table)),
                None => router,
            }),
            Err(error) => {
                tracing::error!(%error, "the index could not be built; nothing can be found by search");
                None
            }
        };
        Self { router, names: names.given, tools, unnamed: names.unnamed }
    }
}

/// Whether an exported name begins with that of the server.
#[derive(Debug, Clone, Copy)]
enum NameForm {
    Prefixed,
    Bare,
}

/// The proxy's names in the making: two tools never share one.
#[derive(Default)]
struct Names {
    given: BTreeMap<String, CapabilityId>,
    unnamed: Vec<(CapabilityId, String)>,
}

impl Names {
    fn add(&mut self, id: &CapabilityId, form: NameForm) {
        let Some((upstream, tool)) = id.as_str().split_once('.') else { return };
        let name = match form {
            NameForm::Prefixed => exported_name::of(upstream, tool),
            NameForm::Bare => tool.to_owned(),
        };
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
        [&one, &other, &own].into_iter().for_each(|id| names.add(id, NameForm::Bare));
        assert_eq!(names.given, BTreeMap::from([("b".to_owned(), one)]));
        let unnamed: Vec<&CapabilityId> = names.unnamed.iter().map(|(id, _)| id).collect();
        assert_eq!(unnamed, [&other, &own]);
        assert_eq!(names.unnamed[0].1, "`c.b`: its name `b` is that of a.b");
    }
}
