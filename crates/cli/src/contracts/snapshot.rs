//! `weaver contracts snapshot`.

use serde_json::json;
use weaver_agent_kernel::{BaselineState, suspicions};
use weaver_types::Capability;

use super::args::Snapshot;
use super::live_tools::LiveTools;
use super::{ledger, output};
use crate::{Exit, Failure};

pub(super) fn run(args: &Snapshot) -> Result<Exit, Failure> {
    let live = LiveTools::list(&args.from, &args.surface)?;
    live.require_all_servers()?;
    let baselines = ledger::read_approved(&live.config)?.baselines;
    // Suspicious tools must be approved one by one, by a person who has read the text.
    let was_approved =
        |tool: &Capability| matches!(baselines.compare(tool), BaselineState::Match(_));
    let (tools, suspicious): (Vec<&Capability>, Vec<&Capability>) =
        live.tools.values().partition(|tool| suspicions(tool).is_empty() || was_approved(tool));
    ledger::approve(&live.config, &tools, Some(&args.surface), &args.approved_by)?;
    let count = tools.len();
    if args.output.json {
        output::json(&json!({
            "ok": true,
            "surface": args.surface,
            "approved_by": args.approved_by.trim(),
            "approved": tools.iter().map(|tool| tool.id()).collect::<Vec<_>>(),
            "suspicious": suspicious.iter().map(|tool| tool.id()).collect::<Vec<_>>(),
        }))?;
    } else {
        let good = output::good("approved");
        let mut out = format!("{good}: {count} tools, in {}\n", live.config.store_path.display());
        if !suspicious.is_empty() {
            out.push_str(&format!(
                "not approved: {} suspicious tools; read them with `weaver contracts list`, then `weaver contracts approve SURFACE TOOL`\n",
                suspicious.len()
            ));
        }
        output::text(&out)?;
    }
    Ok(Exit::Ok)
}
