//! `weaver contracts approve`.

use serde_json::json;
use weaver_gateway::setup::root_key_file;
use weaver_types::{Capability, CapabilityId, Clock as _, Digest, SystemClock};

use super::args::Approve;
use super::live_tools::{KERNEL, LiveTools};
use super::{document, ledger, output};
use crate::{Exit, Failure};

pub(super) fn run(args: &Approve) -> Result<Exit, Failure> {
    let live = LiveTools::list(&args.from, &args.surface)?;
    let tools = args
        .tools
        .iter()
        .map(|tool| find_tool(&live, &args.surface, tool))
        .collect::<Result<Vec<_>, _>>()?;
    match &args.approved_by {
        Some(by) => approve_in_ledger(args, &live, &tools, by),
        None => approve_in_document(args, &live, &tools),
    }
}

/// The tool with this name or id.
fn find_tool<'l>(
    live: &'l LiveTools,
    surface: &str,
    tool: &str,
) -> Result<&'l Capability, Failure> {
    let short = (surface != KERNEL).then(|| format!("{surface}.{tool}"));
    let ids = [short, Some(tool.to_owned())].into_iter().flatten();
    let mut found = ids.filter_map(|id| live.tools.get(&CapabilityId::parse(id).ok()?));
    found.next().ok_or_else(|| {
        let message = format!("`{surface}` lists no tool `{tool}`");
        Failure::new(Exit::NotFound, "contracts.unknown_tool", message).with_next_step(format!(
            "`weaver contracts list --surface {surface}` shows what there is"
        ))
    })
}

fn approve_in_ledger(
    args: &Approve,
    live: &LiveTools,
    tools: &[&Capability],
    by: &str,
) -> Result<Exit, Failure> {
    ledger::approve(&live.config, tools, None, by)?;
    if args.output.json {
        output::json(&json!({
            "ok": true,
            "approved_by": by.trim(),
            "approved": tools.iter().map(|tool| tool.id()).collect::<Vec<_>>(),
        }))?;
    } else {
        let good = output::good("approved");
        let (count, store) = (tools.len(), live.config.store_path.display());
        output::text(&format!("{good}: {count} tools, in {store}\n"))?;
    }
    Ok(Exit::Ok)
}

fn approve_in_document(
    args: &Approve,
    live: &LiveTools,
    tools: &[&Capability],
) -> Result<Exit, Failure> {
    let mut pins: Vec<(CapabilityId, Digest)> = Vec::new();
    for tool in tools {
        let digest = tool.spec().upstream_digest.ok_or_else(|| {
            let message =
                format!("`{}` is not a tool of a server, so nothing of it is pinned", tool.id());
            Failure::new(Exit::Invalid, "contracts.no_digest", message)
                .with_next_step("approve the tools of a server: `weaver contracts approve SURFACE`")
        })?;
        pins.push((tool.id().clone(), digest));
    }
    let edit = document::pin(&live.config.documents_folder, &pins, SystemClock::default().now())?;
    if args.print {
        output::text(&edit.text)?;
        return Ok(Exit::Ok);
    }
    edit.write()?;
    let path = edit.path.display().to_string();
    let has_default_key = root_key_file(&live.config.base()).is_file();
    let next = format!("weaver sign {path}{}", if has_default_key { "" } else { " --key KEYFILE" });
    if args.output.json {
        let pins: Vec<_> =
            pins.iter().map(|(id, digest)| json!({ "id": id, "digest": digest })).collect();
        output::json(&json!({
            "ok": true,
            "document": path,
            "version": edit.version,
            "pinned": pins,
            "next": next,
        }))?;
    } else {
        let good = output::good("written");
        let (tools, version) = (output::counted(pins.len(), "tool"), edit.version);
        let text = format!(
            "{good}: {tools} pinned in {path}, version {version}\n  next: {next}\n  until then the signature does not fit the document: a gateway that runs keeps the old documents\n"
        );
        output::text(&text)?;
    }
    Ok(Exit::Ok)
}
