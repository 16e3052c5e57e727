//! `weaver contracts mismatches`.

use std::collections::BTreeSet;

use serde_json::json;
use weaver_text::escape;

use super::args::List;
use super::contract_standing::ContractStanding;
use super::live_tools::LiveTools;
use super::{ledger, output};
use crate::{Exit, Failure};

pub(super) fn run(args: &List) -> Result<Exit, Failure> {
    let live = LiveTools::look(&args.from, &args.surface)?;
    let known = ledger::read(&live.config)?;
    let mut all = live.standings(&known);
    let compared = all.is_empty() || all.iter().any(ContractStanding::compared);
    all.retain(ContractStanding::mismatch);
    let missing = missing(&live, &known, &args.surface);
    let exit = match (all.is_empty() && missing.is_empty(), live.away.is_empty()) {
        (false, _) => Exit::Failed,
        (true, false) => Exit::Upstream,
        (true, true) => Exit::Ok,
    };
    if args.output.json {
        output::json(&json!({
            "ok": exit == Exit::Ok,
            "surface": args.surface,
            "mismatches": all.iter().map(ContractStanding::as_json).collect::<Vec<_>>(),
            "missing": missing,
            "away": live.away,
        }))?;
        return Ok(exit);
    }
    let mut out = String::new();
    for one in &all {
        let how = one.drift().map(|drift| drift.summary()).filter(|text| !text.is_empty());
        let how = how.map(|text| format!(" ({text})")).unwrap_or_default();
        let id = escape::line(one.tool.id().as_str()).into_owned();
        out.push_str(&format!("{:<10} {id}{how}\n", one.word()));
    }
    for id in &missing {
        out.push_str(&format!("{:<10} {}\n", "missing", escape::line(id)));
    }
    out.push_str(&live.notes());
    out.push_str(match exit {
        Exit::Ok if !compared => {
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

/// What was approved in the ledger or pinned by the signed contracts and is not there, of servers that
/// are.
fn missing(live: &LiveTools, known: &weaver_agent_kernel::Baselines, surface: &str) -> Vec<String> {
    let asked: Vec<String> = live.surface_servers.iter().map(|name| format!("{name}.")).collect();
    let contracts = live.policy.contracts().capabilities.iter();
    let pinned = contracts.filter(|(_, contract)| contract.upstream_digest.is_some());
    let pinned = pinned.map(|(pattern, _)| pattern.as_str());
    let pinned = pinned.filter(|id| asked.iter().any(|server| id.starts_with(server.as_str())));
    let approved: BTreeSet<&str> = known.approved(surface).into_iter().chain(pinned).collect();
    let gone = approved.into_iter();
    let gone = gone.filter(|id| !live.tools.keys().any(|live| live.as_str() == *id));
    let away = |id: &str| live.away.keys().any(|name| id.split('.').next() == Some(name.as_str()));
    gone.filter(|id| !away(id)).map(str::to_owned).collect()
}
