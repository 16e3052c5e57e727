//! `weaver contracts snapshot`.

use serde_json::json;
use weaver_types::Capability;

use super::args::Snapshot;
use super::live::Live;
use super::{ledger, output};
use crate::cli::{Exit, Failure};

pub(super) fn run(args: &Snapshot) -> Result<Exit, Failure> {
    let live = Live::look(&args.from, &args.surface)?;
    live.whole()?;
    let tools: Vec<&Capability> = live.tools.values().collect();
    ledger::approve(&live.config, &tools, (Some(&args.surface), &args.approved_by))?;
    let count = tools.len();
    if args.output.json {
        output::json(&json!({
            "ok": true,
            "surface": args.surface,
            "approved_by": args.approved_by.trim(),
            "approved": tools.iter().map(|tool| tool.id()).collect::<Vec<_>>(),
        }))?;
    } else {
        let good = output::verdict(true, "approved");
        output::text(&format!("{good}: {count} tools, in {}\n", live.config.store.display()))?;
    }
    Ok(Exit::Ok)
}
