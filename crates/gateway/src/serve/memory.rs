//! Durable memory as tools: the four capabilities of the namespace `kernel.memory`, if configured.
//! They are decided, labelled and recorded like any other tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use contextweaver::memory::{BundleParts, MemoryBundle};
use serde_json::json;
use weaver_agent_kernel::Registry;
use weaver_drivers::memory;
use weaver_trace_store::{RecordsOptions, SqliteRecords};
use weaver_types::{CapabilityId, Clock};

use super::error::ServeError;
use super::listed_definition::ListedDefinition;
use crate::config::Config;

/// The prefix of their ids.
const NAMESPACE_PREFIX: &str = "kernel.memory.";

/// Opens the memory file and registers the four tools.
///
/// # Errors
/// [`ServeError::Memory`], when the file cannot be opened; [`ServeError::Tool`], when one of the ids
/// is taken.
pub(crate) fn register(
    config: &Config,
    clock: &Arc<dyn Clock>,
    registry: &Registry,
) -> Result<(), ServeError> {
    let Some(settings) = &config.memory else { return Ok(()) };
    let options = RecordsOptions { clock: Arc::clone(clock), ..RecordsOptions::default() };
    let store = SqliteRecords::open(&settings.file, options)
        .map_err(|error| ServeError::Memory { path: settings.file.clone(), error })?;
    let parts = BundleParts {
        memory_store: Some(Arc::new(store)),
        limits: settings.limits,
        ..BundleParts::new(Arc::clone(clock))
    };
    memory::register(registry, &MemoryBundle::create(parts).durable).map_err(|error| {
        let name = NAMESPACE_PREFIX.trim_end_matches('.').to_owned();
        ServeError::Tool { name, problem: error.to_string() }
    })
}

/// Whether a capability is one of them.
pub(crate) fn is_memory_tool(id: &CapabilityId) -> bool {
    id.as_str().starts_with(NAMESPACE_PREFIX)
}

/// The definitions of the four tools.
pub(crate) fn definitions(registry: &Registry) -> BTreeMap<CapabilityId, Arc<ListedDefinition>> {
    let definitions = registry.list_all().into_iter().filter_map(|entry| {
        let spec = entry.capability().spec();
        let definition = json!({
            "name": spec.id,
            "description": spec.description,
            "inputSchema": spec.input_schema.as_deref(),
        });
        is_memory_tool(&spec.id)
            .then(|| (spec.id.clone(), Arc::new(ListedDefinition::new(&definition))))
    });
    definitions.collect()
}
