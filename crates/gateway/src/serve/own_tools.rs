//! The operator's own tools: programs and HTTP operations declared in `weaver.toml`.
//!
//! They are proposals like those of a server: their effects are declared in the signed contracts,
//! and undeclared means most dangerous. The digest that a contract pins also covers their
//! implementation.

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
use super::listed_definition::ListedDefinition;
use super::tool_proposal::{self, ProposalError, ToolDefinition};
use crate::config::{Config, OWN_TOOLS_NAMESPACE, OwnTool, ToolImplementation, process_of_tool};
use crate::telemetry;

/// The definitions of the tools, as a client lists them.
pub(crate) fn definitions(config: &Config) -> BTreeMap<CapabilityId, Arc<ListedDefinition>> {
    let named = config.tools.iter().filter_map(|tool| {
        let id = CapabilityId::parse(format!("{OWN_TOOLS_NAMESPACE}.{}", tool.name)).ok()?;
        Some((id, Arc::new(ListedDefinition::new(&tool.definition()))))
    });
    named.collect()
}

/// The capability that an operator's tool proposes to be.
///
/// # Errors
/// [`ProposalError`], when its definition makes no capability.
pub fn propose_own_tool(tool: &OwnTool) -> Result<Capability, ProposalError> {
    let definition = tool.definition();
    let listed = ToolDefinition { name: &tool.name, definition: &definition };
    tool_proposal::propose_definition(
        OWN_TOOLS_NAMESPACE,
        listed,
        Some(&tool.implementation_text()),
    )
}

/// Registers the tools.
///
/// # Errors
/// [`ServeError::Tool`], for one that cannot be used.
pub(crate) fn register(
    config: &Config,
    launcher: &Launcher,
    registry: &Registry,
) -> Result<(), ServeError> {
    for tool in &config.tools {
        let capability = propose_own_tool(tool).map_err(|error| unusable_tool(tool, &error))?;
        let driver = driver(tool, config, launcher)?;
        registry
            .register(capability, telemetry::timed(driver))
            .map_err(|error| unusable_tool(tool, &error))?;
    }
    Ok(())
}

/// The driver that executes a tool.
fn driver(
    tool: &OwnTool,
    config: &Config,
    launcher: &Launcher,
) -> Result<Arc<dyn Driver>, ServeError> {
    let runtime = Handle::current();
    match &tool.implementation {
        ToolImplementation::Http(http) => {
            let driver = HttpDriver::new(&http.operation(), http.access(), runtime);
            Ok(Arc::new(driver.map_err(|error| unusable_tool(tool, &error))?))
        }
        ToolImplementation::Program(program) => {
            let process = process_of_tool(tool);
            let confined = ChildConfinement {
                launcher: launcher.clone(),
                confinement: config.confinement(program.confine.as_ref(), &process),
                setting: Some(format!("`[tools.{}.program.confine]`", tool.name)),
            };
            let process = ProcessConfig {
                confinement: Some(confined),
                cwd: program.cwd.clone().or_else(|| config.made_start_folder(&process)),
                ..program.process()
            };
            let driver = ProcessDriver::new(process, runtime);
            Ok(Arc::new(driver.map_err(|error| unusable_tool(tool, &error))?))
        }
    }
}

/// The error of a tool that cannot be used.
fn unusable_tool(tool: &OwnTool, error: &dyn std::error::Error) -> ServeError {
    ServeError::Tool { name: tool.name.clone(), problem: error.to_string() }
}

/// An observer of entity tags that uses the tools' secrets and network access for their own hosts.
pub(crate) fn etag_observer(config: &Config) -> Result<EtagObserver, ServeError> {
    let mut observer = EtagObserver::new();
    for tool in &config.tools {
        if let ToolImplementation::Http(http) = &tool.implementation {
            let extended = observer.with_operation(&http.operation(), &http.access());
            observer = extended.map_err(|error| unusable_tool(tool, &error))?;
        }
    }
    Ok(observer)
}
