//! `weaver contracts diff`.

use serde_json::json;
use weaver_policy::DriftClass;
use weaver_text::escape;

use super::args::Diff;
use super::live_tools::LiveTools;
use super::tool_contract_status::ToolContractStatus;
use super::{ledger, output};
use crate::{Exit, Failure};

pub(super) fn run(args: &Diff) -> Result<Exit, Failure> {
    let live = LiveTools::list(&args.from, &args.surface)?;
    let baselines = ledger::read_baselines(&live.config)?;
    let mut all = live.contract_statuses(&baselines);
    let named =
        |one: &ToolContractStatus<'_>| args.tools.iter().any(|id| id == one.tool.id().as_str());
    let is_listed = |id: &&String| live.tools.keys().any(|live| live.as_str() == **id);
    if let Some(id) = args.tools.iter().find(|id| !is_listed(id)) {
        live.require_all_servers()?;
        let message = format!("no server lists a tool `{}`", escape::line(id));
        return Err(Failure::new(Exit::NotFound, "contracts.unknown_tool", message)
            .with_next_step("`weaver contracts list` shows what there is"));
    }
    all.retain(|one| if args.tools.is_empty() { one.is_mismatch() } else { named(one) });
    let exit = match all.iter().any(ToolContractStatus::is_mismatch) {
        true => Exit::Failed,
        false => Exit::Ok,
    };
    if args.output.json {
        output::json(&json!({
            "ok": exit == Exit::Ok,
            "surface": args.surface,
            "tools": all.iter().map(ToolContractStatus::as_json).collect::<Vec<_>>(),
            "away": live.unreachable,
        }))?;
        return Ok(exit);
    }
    let mut out: String = all.iter().map(tool_diff_text).collect();
    if all.is_empty() {
        out.push_str("nothing changed\n");
    }
    out.push_str(&live.notes());
    output::text(&out)?;
    Ok(exit)
}

/// The changes of one tool, one a line.
fn tool_diff_text(one: &ToolContractStatus<'_>) -> String {
    let id = output::bold(&escape::line(one.tool.id().as_str()));
    let drift = one.drift();
    let class = drift.as_ref().and_then(weaver_policy::Drift::class).map(DriftClass::as_str);
    let class = class.map(|class| format!(" {class}")).unwrap_or_default();
    let mut out = format!("{id}: {}{class}\n", one.status_name());
    match drift {
        None if one.status_name() == "new" => out.push_str("  nobody has approved it\n"),
        None if one.is_mismatch() => {
            out.push_str("  how is not known: the approved version is not in the ledger\n");
        }
        None => {}
        Some(drift) => {
            for change in drift.changes() {
                let place = escape::line(&change.place).into_owned();
                out.push_str(&format!("  {}: {place}: {}\n", change.class.as_str(), change.what));
            }
        }
    }
    out
}
