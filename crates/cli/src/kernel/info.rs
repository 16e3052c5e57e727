//! `weaver kernel info`.

use serde_json::{Value, json};
use weaver_gateway::config::{self, Config, ToolListMode};
use weaver_policy::PolicySet;
use weaver_text::escape;
use weaver_types::{Clock as _, SystemClock};

use super::args::KernelArgs;
use super::output;
use crate::{Exit, Failure};

pub(super) fn run(args: &KernelArgs) -> Result<Exit, Failure> {
    let config = config::load(args.from.config.path())?;
    let now = SystemClock::default().now();
    let policy = config::load_policy(
        &config,
        config::SignatureChecks::unless(args.from.unsigned_development),
        now,
    )?;
    let report = report_json(&config, &policy);
    if args.output.json {
        output::json(&report)?;
        return Ok(Exit::Ok);
    }
    let text = |at: &str| report.pointer(at).and_then(Value::as_str).unwrap_or_default();
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        out.push_str(&format!("{name:<11} {}\n", escape::line(value)));
    };
    line("weaver", env!("CARGO_PKG_VERSION"));
    line("config", &config.file.display().to_string());
    line("mode", mode_name(&config));
    line("store", &config.store_path.display().to_string());
    line("principal", &principal_text(&config, &policy));
    for (kind, document) in policy.versions() {
        line(&kind.to_string(), &format!("{} version {}", document.id, document.version));
    }
    line("enforcement", text("/contract_enforcement"));
    for upstream in &config.upstreams {
        line("server", upstream.name.as_str());
    }
    for (name, agent) in &policy.policy().agents {
        let (tools, ceiling) = (agent.tool_allowlist.len(), json!(agent.safety_class_ceiling));
        let ceiling = ceiling.as_str().unwrap_or_default();
        line("agent", &format!("{name} (up to {ceiling}, {tools} patterns of tools)"));
    }
    line("run mode", text("/run/safety_mode"));
    output::text(&out)?;
    Ok(Exit::Ok)
}

fn mode_name(config: &Config) -> &'static str {
    match config.profile.mode {
        ToolListMode::Gateway => "gateway",
        ToolListMode::Proxy => "proxy",
    }
}

fn principal_text(config: &Config, policy: &PolicySet) -> String {
    match policy.principal(&config.principal) {
        None => format!("{} (the policy does not name it)", config.principal),
        Some(known) => match known.agent {
            Some(agent) => format!("{} through agent {agent}", known.id),
            None => known.id.to_string(),
        },
    }
}

fn report_json(config: &Config, policy: &PolicySet) -> Value {
    let documents: Vec<Value> = policy
        .versions()
        .iter()
        .map(|(kind, one)| {
            json!({ "kind": kind.as_str(), "id": one.id, "version": one.version, "digest": one.digest })
        })
        .collect();
    let servers: Vec<&str> = config.upstreams.iter().map(|one| one.name.as_str()).collect();
    json!({
        "ok": true,
        "version": env!("CARGO_PKG_VERSION"),
        "config": config.file.display().to_string(),
        "mode": mode_name(config),
        "store": config.store_path.display().to_string(),
        "principal": config.principal,
        "agent": policy.principal(&config.principal).and_then(|known| known.agent),
        "origin": policy.basis().origin,
        "documents": documents,
        "contract_enforcement": policy.policy().contract_enforcement,
        "agents": policy.policy().agents,
        "servers": servers,
        "run": { "safety_mode": config.run.safety_mode, "budget": config.run.budget },
    })
}
