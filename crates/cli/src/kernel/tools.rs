//! `weaver kernel tools`.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{DriverError, FnDriver, Registry};
use weaver_text::escape;
use weaver_types::Capability;

use super::args::Tools;
use super::output;
use crate::contracts::live_tools::{KERNEL, LiveTools};
use crate::{Exit, Failure};

pub(super) fn run(args: &Tools) -> Result<Exit, Failure> {
    let mut live = LiveTools::list(&args.from, KERNEL)?;
    let registry = register_tools(&mut live);
    let mut tools = Vec::new();
    for entry in registry.list_all() {
        match entry.effective(&live.policy) {
            Ok(tool) => tools.push(tool),
            Err(error) => live.unusable_tools.push(error.to_string()),
        }
    }
    tools.retain(|tool| {
        let class = args.safety.is_none_or(|ceiling| tool.class() <= ceiling);
        let agent = args.agent.as_ref().is_none_or(|agent| {
            tool.spec().agents.admits(Some(agent)) && live.policy.agent_may_use(agent, tool)
        });
        class && agent
    });
    if args.output.json {
        output::json(&json!({
            "ok": true,
            "config": live.config.file.display().to_string(),
            "tools": tools.iter().map(|tool| tool_json(tool, &live)).collect::<Vec<_>>(),
            "away": live.unreachable,
            "left_out": live.unusable_tools,
        }))?;
        return Ok(Exit::Ok);
    }
    output::text(&tools_text(&tools, &live))?;
    Ok(Exit::Ok)
}

/// Registers the tools as the gateway's kernel would. A tool that the registry refuses is left out
/// and reported.
fn register_tools(live: &mut LiveTools) -> Registry {
    let registry = Registry::new();
    let nobody = || Err(DriverError::Failed("this lists and executes nothing".to_owned()));
    for tool in live.tools.values() {
        let driver = Arc::new(FnDriver::inline(move |_| nobody()));
        if let Err(error) = registry.register(tool.clone(), driver) {
            live.unusable_tools.push(error.to_string());
        }
    }
    registry
}

fn tool_json(tool: &Capability, live: &LiveTools) -> Value {
    let spec = tool.spec();
    let principal = live.policy.principal(&live.config.principal);
    json!({
        "id": tool.id(),
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "effects": spec.effects,
        "class": tool.class(),
        "rung": tool.rung(),
        "sink": tool.sink(),
        "idempotent": spec.idempotent,
        "permissions": spec.permissions,
        "agents": spec.agents,
        "sensitivity": spec.sensitivity,
        "tags": spec.tags,
        "output_label": { "confidentiality": spec.output_label.confidentiality,
            "integrity": spec.output_label.integrity },
        "clearance": spec.clearance,
        "max_retries": spec.max_retries,
        "timeout_ms": spec.timeout_ms,
        "fingerprint": tool.fingerprint(),
        "visible": principal.is_some_and(|one| live.policy.is_visible(&one, tool)),
    })
}

fn tools_text(tools: &[Arc<Capability>], live: &LiveTools) -> String {
    let id_width = tools.iter().map(|tool| tool.id().as_str().chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for tool in tools {
        let (class, sink) = (json!(tool.class()), json!(tool.sink()));
        let id = escape::line(tool.id().as_str()).into_owned();
        let (class, sink) = (class.as_str().unwrap_or("-"), sink.as_str().unwrap_or("-"));
        out.push_str(&format!("{:?} {class:<11} {id:<id_width$} {sink}\n", tool.rung()));
    }
    out.push_str(&live.notes());
    out.push_str(&format!("{}\n", output::counted(tools.len(), "tool")));
    out
}
