//! `weaver contracts mismatches`.

use std::collections::BTreeSet;

use serde_json::json;
use weaver_text::escape;

use super::args::List;
use super::live_tools::LiveTools;
use super::tool_contract_status::ToolContractStatus;
use super::{ledger, output};
use crate::{Exit, Failure};

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let live = LiveTools::list(&args.from, &args.surface)?;
    let approved = ledger::read_approved(&live.config)?;
    let mut all = live.contract_statuses(&approved);
    let is_comparable = all.is_empty() || all.iter().any(ToolContractStatus::has_approved_version);
    all.retain(ToolContractStatus::is_mismatch);
    let missing = missing_tools(&live, &approved.baselines, &args.surface);
    let exit = match (all.is_empty() && missing.is_empty(), live.unreachable.is_empty()) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Upstream,
        (true, true) => Exit::Ok,
    };
    if args.output.json {
        output::json(&json!({
            "ok": exit == Exit::Ok,
            "surface": args.surface,
            "mismatches": all.iter().map(ToolContractStatus::as_json).collect::<Vec<_>>(),
            "missing": missing,
            "away": live.unreachable,
        }))?;
        return Ok(exit);
    }
    let mut out = String::new();
    for one in &all {
        let how = one.drift().map(|drift| drift.summary()).filter(|text| !text.is_empty());
        let how = how.map(|text| format!(" ({text})")).unwrap_or_default();
        let id = escape::line(one.tool.id().as_str()).into_owned();
        out.push_str(&format!("{:<10} {id}{how}\n", one.status_name()));
    }
    for id in &missing {
        out.push_str(&format!("{:<10} {}\n", "missing", escape::line(id)));
    }
    out.push_str(&live.notes());
    out.push_str(match exit {
        Exit::Ok if !is_comparable => {
            "nothing was approved yet, so nothing could be compared\n  next: `weaver contracts approve` or `weaver contracts snapshot`\n"
        }
        Exit::Ok => "everything is as it was approved\n",
        Exit::Failed => {
            "  next: `weaver contracts diff` tells what changed; `weaver contracts approve SURFACE TOOL` approves it\n"
        }
        _ => "what is away could not be compared\n",
    });
    output::text(&out)?;
    Ok(exit)
}

/// Tools that were approved in the ledger or pinned by the signed contracts, and that their server
/// no longer lists. Unreachable servers are skipped.
fn missing_tools(
    live: &LiveTools,
    baselines: &weaver_agent_kernel::Baselines,
    surface: &str,
) -> Vec<String> {
    let prefixes: Vec<String> =
        live.surface_servers.iter().map(|name| format!("{name}.")).collect();
    let contracts = live.policy.contracts().capabilities.iter();
    let pinned = contracts.filter(|(_, contract)| contract.upstream_digest.is_some());
    let pinned = pinned.map(|(pattern, _)| pattern.as_str());
    let pinned = pinned.filter(|id| prefixes.iter().any(|server| id.starts_with(server.as_str())));
    let approved: BTreeSet<&str> =
        baselines.approved_ids(surface).into_iter().chain(pinned).collect();
    let missing = approved.into_iter();
    let missing = missing.filter(|id| !live.tools.keys().any(|live| live.as_str() == *id));
    let unreachable =
        |id: &str| live.unreachable.keys().any(|name| id.split('.').next() == Some(name.as_str()));
    missing.filter(|id| !unreachable(id)).map(str::to_owned).collect()
}
