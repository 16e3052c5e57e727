//! `weaver contracts diff`.

use serde_json::json;
use weaver_gateway::setup::{SuspiciousPassage, suspicious_passages};
use weaver_policy::DriftClass;
use weaver_text::escape;

use super::args::Diff;
use super::live_tools::{KERNEL, LiveTools};
use super::tool_contract_status::ToolContractStatus;
use super::{ledger, output};
use crate::{Exit, Failure};

/// How much of a description is shown, in characters.
const MAX_DESCRIPTION: usize = 600;

pub(super) fn run(args: &Diff) -> Result<Exit, Failure> {
    let (surface, tools) = surface_and_tools(args)?;
    let live = LiveTools::list(&args.from, surface)?;
    let baselines = ledger::read_baselines(&live.config)?;
    let mut all = live.contract_statuses(&baselines);
    let is_meant = |wanted: &str, id: &str| {
        id == wanted
            || id.split_once('.').is_some_and(|(server, tool)| server == surface && tool == wanted)
    };
    let named =
        |one: &ToolContractStatus<'_>| tools.iter().any(|id| is_meant(id, one.tool.id().as_str()));
    let is_listed = |id: &&String| live.tools.keys().any(|live| is_meant(id, live.as_str()));
    if let Some(id) = tools.iter().find(|id| !is_listed(id)) {
        live.require_all_servers()?;
        let message = format!("no server lists a tool `{}`", escape::line(id));
        return Err(Failure::new(Exit::NotFound, "contracts.unknown_tool", message)
            .with_next_step("`weaver contracts list` shows what there is"));
    }
    all.retain(|one| if tools.is_empty() { one.is_mismatch() } else { named(one) });
    let exit = match all.iter().any(ToolContractStatus::is_mismatch) {
        true => Exit::Failed,
        false => Exit::Ok,
    };
    if args.output.json {
        output::json(&json!({
            "ok": exit == Exit::Ok,
            "surface": surface,
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

/// The surface and the tools of it. As `weaver contracts approve` takes them, a server may also be
/// named before its tools.
fn surface_and_tools(args: &Diff) -> Result<(&str, &[String]), Failure> {
    if args.surface == KERNEL
        && let Some((first, rest)) = args.tools.split_first()
        && !first.contains('.')
    {
        let config = weaver_gateway::config::load(args.from.config.path())?;
        if config.upstreams.iter().any(|server| server.name.as_str() == first) {
            return Ok((first, rest));
        }
    }
    Ok((&args.surface, &args.tools))
}

/// The passages that address a model, and how to take the tool in all the same.
fn suspicious_text(one: &ToolContractStatus<'_>) -> String {
    let mut out = "  nobody has approved it, and it is hidden: its description addresses a model\n"
        .to_owned();
    for SuspiciousPassage { place, text } in suspicious_passages(one.tool) {
        out.push_str(&format!("  {place}: \"{text}\"\n"));
    }
    let id = escape::line(one.tool.id().as_str());
    out.push_str(&format!("  next, if these words are harmless: weaver update --accept {id}\n"));
    out
}

/// The changes of one tool, one a line.
fn tool_diff_text(one: &ToolContractStatus<'_>) -> String {
    let id = output::bold(&escape::line(one.tool.id().as_str()));
    let drift = one.drift();
    let class = drift.as_ref().and_then(weaver_policy::Drift::class).map(DriftClass::as_str);
    let class = class.map(|class| format!(" {class}")).unwrap_or_default();
    let mut out = format!("{id}: {}{class}\n", one.status_name());
    match drift {
        None if one.status_name() == "suspicious" => out.push_str(&suspicious_text(one)),
        None if one.status_name() == "new" => out.push_str("  nobody has approved it\n"),
        None if one.is_mismatch() => {
            let id = one.tool.id().as_str();
            let (server, tool) = id.split_once('.').unwrap_or((KERNEL, id));
            out.push_str(&format!(
                "  how is not known: the approved version is not in the ledger; what the server says now:\n    \
                 {}\n  next, if that is what you want: weaver contracts approve {} {}   then sign\n",
                escape::shorten(&escape::line(&one.tool.spec().description), MAX_DESCRIPTION),
                escape::line(server),
                escape::line(tool),
            ));
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
