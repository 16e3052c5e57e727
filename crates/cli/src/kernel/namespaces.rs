//! `weaver kernel namespaces`.

use serde_json::json;
use weaver_gateway::config;
use weaver_types::DecisionKey;

use super::args::KernelArgs;
use super::output;
use crate::{Exit, Failure};

pub(super) fn run(args: &KernelArgs) -> Result<Exit, Failure> {
    let config = config::load(args.from.config.path())?;
    let servers = config.upstreams.iter().map(|one| one.name.to_string());
    let own = (!config.tools.is_empty()).then(|| config::OWN_TOOLS_NAMESPACE.to_owned());
    let memory = config.memory.is_some().then(|| "kernel.memory".to_owned());
    let servers: Vec<String> = servers.chain(own).chain(memory).collect();
    if args.output.json {
        let keys: Vec<_> = DecisionKey::ALL
            .iter()
            .map(|key| json!({ "key": key, "meaning": key.meaning() }))
            .collect();
        output::json(&json!({
            "ok": true,
            "config": config.file.display().to_string(),
            "decision_keys": keys,
            "capabilities": servers,
        }))?;
        return Ok(Exit::Ok);
    }
    let mut out = String::new();
    for key in DecisionKey::ALL {
        out.push_str(&format!("{:<26} {}\n", key.as_str(), key.meaning()));
    }
    for server in servers {
        out.push_str(&format!("{:<26} The tools of server `{server}`.\n", format!("{server}.*")));
    }
    output::text(&out)?;
    Ok(Exit::Ok)
}
