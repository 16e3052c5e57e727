//! `weaver contracts list`.

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
    let all = live.contract_statuses(&approved);
    if args.output.json {
        output::json(&json!({
            "ok": true,
            "config": live.config.file.display().to_string(),
            "surface": args.surface,
            "tools": all.iter().map(ToolContractStatus::as_json).collect::<Vec<_>>(),
            "away": live.unreachable,
            "left_out": live.unusable_tools,
        }))?;
        return Ok(Exit::Ok);
    }
    let id_width = all.iter().map(|one| one.tool.id().as_str().chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for one in &all {
        let id = escape::line(one.tool.id().as_str()).into_owned();
        let digest = one.tool.spec().upstream_digest.map(|digest| digest.to_string());
        let digest = output::dim(&digest.unwrap_or_default());
        out.push_str(&format!(
            "{:<10} {:<11} {id:<id_width$} {digest}\n",
            one.status_name(),
            one.class_name()
        ));
        for suspicion in &one.suspicions {
            out.push_str(&format!("           {}\n", escape::line(suspicion)));
        }
    }
    out.push_str(&live.notes());
    out.push_str(&format!("{}\n", output::counted(all.len(), "tool")));
    if all.iter().any(ToolContractStatus::is_mismatch) {
        let surface = &args.surface;
        let next = "shows what changed or is suspicious, and how to take it in";
        out.push_str(&format!("  `weaver contracts diff --surface {surface}` {next}\n"));
    }
    if all.iter().any(|one| one.status_name() == "unknown") {
        out.push_str("  unknown: no contract names it; `weaver update` takes new tools in\n");
    }
    output::text(&out)?;
    Ok(Exit::Ok)
}
