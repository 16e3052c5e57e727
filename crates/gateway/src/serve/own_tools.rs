//! The operator's own tools: programs and operations of HTTP APIs that `weaver.toml` declares.
//!
//! They are proposals as those of a server are: what they can do stands in the signed contracts,
//! and undeclared is read as the most dangerous. The digest that a contract pins covers what they
//! do, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use weaver_agent_kernel::{Driver, Registry};
use weaver_drivers::confine::Launcher;
use weaver_drivers::http::{EtagObserver, HttpDriver};
use weaver_drivers::mcp::ChildConfinement;
use weaver_drivers::process::{ProcessConfig, ProcessDriver};
use weaver_types::{Capability, CapabilityId};

use super::error::ServeError;
use super::import::{self, ProposalError, ToolDefinition};
use super::listed_definition::ListedDefinition;
use crate::config::{Config, TOOLS, Tool, ToolImplementation};
use crate::telemetry;

/// The tools as a client sees them.
pub(crate) fn definitions(config: &Config) -> BTreeMap<CapabilityId, Arc<ListedDefinition>> {
    let named = config.tools.iter().filter_map(|tool| {
        let id = CapabilityId::parse(format!("{TOOLS}.{}", tool.name)).ok()?;
        Some((id, Arc::new(ListedDefinition::new(&tool.definition()))))
    });
    named.collect()
}

/// The capability that a tool of the operator proposes to be.
///
/// # Errors
/// [`ProposalError`], when its definition makes no capability.
pub fn proposal(tool: &Tool) -> Result<Capability, ProposalError> {
    let definition = tool.definition();
    let listed = ToolDefinition { name: &tool.name, definition: &definition };
    import::proposal(TOOLS, listed, Some(&tool.implementation_text()))
}

/// Puts the tools into the registry.
///
/// # Errors
/// [`ServeError::Tool`], for one that cannot be used.
pub(crate) fn register(
    config: &Config,
    launcher: &Launcher,
    registry: &Registry,
) -> Result<(), ServeError> {
    for tool in &config.tools {
        let capability = proposal(tool).map_err(|error| unusable(tool, &error))?;
        let driver = driver(tool, config, launcher)?;
        registry
            .register(capability, telemetry::timed(driver))
            .map_err(|error| unusable(tool, &error))?;
    }
    Ok(())
}

/// What carries out the calls of a tool.
fn driver(
    tool: &Tool,
    config: &Config,
    launcher: &Launcher,
) -> Result<Arc<dyn Driver>, ServeError> {
    let runtime = Handle::current();
    match &tool.implementation {
        ToolImplementation::Http(http) => {
            let driver = HttpDriver::new(&http.operation(), http.access(), runtime);
            Ok(Arc::new(driver.map_err(|error| unusable(tool, &error))?))
        }
        ToolImplementation::Program(program) => {
            let confined = ChildConfinement {
                launcher: launcher.clone(),
                confinement: config.confinement(program.confine.as_ref()),
                setting: Some(format!("`[tools.{}.program.confine]`", tool.name)),
            };
            let process = ProcessConfig { confined: Some(confined), ..program.process() };
            let driver = ProcessDriver::new(process, runtime);
            Ok(Arc::new(driver.map_err(|error| unusable(tool, &error))?))
        }
    }
}

/// The refusal of a tool for this reason.
fn unusable(tool: &Tool, error: &dyn std::error::Error) -> ServeError {
    ServeError::Tool { name: tool.name.clone(), problem: error.to_string() }
}

/// Observes entity tags: those on the host of a tool with its secrets and access.
pub(crate) fn etags(config: &Config) -> Result<EtagObserver, ServeError> {
    let mut observer = EtagObserver::new();
    for tool in &config.tools {
        if let ToolImplementation::Http(http) = &tool.implementation {
            let known = observer.knowing(&http.operation(), &http.access());
            observer = known.map_err(|error| unusable(tool, &error))?;
        }
    }
    Ok(observer)
}
