//! `weaver contracts diff`.

use serde_json::json;
use weaver_gateway::setup::{SuspiciousPassage, suspicious_passages};
use weaver_policy::DriftClass;
use weaver_text::escape;

use super::args::Diff;
use super::live_tools::{KERNEL, LiveTools};
use super::text_changes::{self, TextLimits};
use super::tool_contract_status::ToolContractStatus;
use super::{ledger, output};
use crate::{Exit, Failure};

pub(super) fn run(args: &Diff) -> Result<Exit, Failure> {
    let (surface, tools) = surface_and_tools(args)?;
    let surface = surface.as_str();
    let live = LiveTools::list(&args.from, surface)?;
    let approved = ledger::read_approved(&live.config)?;
    let mut all = live.contract_statuses(&approved);
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
    let new: Vec<String> = new_tools(&live, &all);
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
            "new": new,
            "away": live.unreachable,
        }))?;
        return Ok(exit);
    }
    let limits = if tools.is_empty() { TextLimits::OVERVIEW } else { TextLimits::WHOLE };
    let mut out: String = all.iter().map(|one| tool_diff_text(one, limits)).collect();
    if out.contains('…') && tools.is_empty() {
        out.push_str("  `weaver contracts diff TOOL` shows all of one tool's texts\n");
    }
    if all.is_empty() {
        out.push_str("nothing changed\n");
    }
    if tools.is_empty() && !new.is_empty() {
        out.push_str(&format!(
            "new, so the calls wait for you: {}\n  next: weaver update   takes new tools in\n",
            new.join(", ")
        ));
    }
    out.push_str(&live.notes());
    output::text(&out)?;
    Ok(exit)
}

/// The tools that no contract names, of servers of which others are named.
fn new_tools(live: &LiveTools, all: &[ToolContractStatus<'_>]) -> Vec<String> {
    let is_reviewed = |server: &str| {
        let mut tools = live.tools.keys().filter(|id| id.as_str().starts_with(server));
        tools.any(|id| live.policy.has_exact_contract(id))
    };
    let unknown = all.iter().filter(|one| one.status_name() == "unknown");
    let ids = unknown.map(|one| one.tool.id().as_str());
    let new = ids.filter(|id| {
        id.split_once('.').is_some_and(|(server, _)| is_reviewed(&format!("{server}.")))
    });
    new.map(|id| escape::line(id).into_owned()).collect()
}

/// The surface and the tools of it. As `weaver contracts approve` takes them, a server may also be
/// named before its tools. Where all tools are of one server, only that one is started.
fn surface_and_tools(args: &Diff) -> Result<(String, &[String]), Failure> {
    let Some((first, rest)) = args.tools.split_first().filter(|_| args.surface == KERNEL) else {
        return Ok((args.surface.clone(), &args.tools));
    };
    let config = weaver_gateway::config::load(args.from.config.path())?;
    let is_server = |name: &str| config.upstreams.iter().any(|one| one.name.as_str() == name);
    if !first.contains('.') && is_server(first) {
        return Ok((first.clone(), rest));
    }
    let server = |id: &String| id.split_once('.').map(|(server, _)| server.to_owned());
    let of_first = server(first).filter(|name| is_server(name));
    Ok(match of_first {
        Some(name) if rest.iter().all(|id| server(id).as_ref() == Some(&name)) => {
            (name, &args.tools)
        }
        _ => (args.surface.clone(), &args.tools),
    })
}

/// The passages that address a model.
fn passages_text(one: &ToolContractStatus<'_>) -> String {
    let passages = suspicious_passages(one.tool).into_iter();
    passages.map(|SuspiciousPassage { place, text }| format!("  {place}: \"{text}\"\n")).collect()
}

/// How to approve a tool as it is now.
fn approval_text(one: &ToolContractStatus<'_>) -> String {
    let id = one.tool.id().as_str();
    let (server, tool) = id.split_once('.').unwrap_or((KERNEL, id));
    format!(
        "  next, if that is what you want: weaver contracts approve {} {}, then sign as it says\n",
        escape::line(server),
        escape::line(tool)
    )
}

/// What is suspicious in a tool that nobody approved, and how to take it in all the same.
fn suspicious_text(one: &ToolContractStatus<'_>) -> String {
    let mut out = "  nobody has approved it, and it is hidden: its description addresses a model\n"
        .to_owned();
    out.push_str(&passages_text(one));
    let id = escape::line(one.tool.id().as_str());
    let server = id.split('.').next().unwrap_or_default();
    out.push_str(&format!(
        "  next, if these words are harmless: weaver update {server} --accept {id}\n"
    ));
    out
}

/// The changes of one tool, one a line.
fn tool_diff_text(one: &ToolContractStatus<'_>, limits: TextLimits) -> String {
    let id = output::bold(&escape::line(one.tool.id().as_str()));
    let drift = one.drift();
    let class = drift.as_ref().and_then(weaver_policy::Drift::class).map(DriftClass::as_str);
    let class = class.map(|class| format!(" {class}")).unwrap_or_default();
    let mut out = format!("{id}: {}{class}\n", one.status_name());
    match drift {
        None if one.status_name() == "suspicious" => out.push_str(&suspicious_text(one)),
        None if one.status_name() == "new" => out.push_str("  nobody has approved it\n"),
        None if one.is_mismatch() => {
            out.push_str(&format!(
                "  how is not known: the approved version is not in the ledger; what the server says now:\n    {}\n",
                limits.shown(&one.tool.spec().description),
            ));
            out.push_str(&passages_text(one));
            out.push_str(&approval_text(one));
        }
        None => {}
        Some(drift) => {
            for change in drift.changes() {
                let place = escape::line(&change.place).into_owned();
                out.push_str(&format!("  {}: {place}: {}\n", change.class.as_str(), change.what));
            }
            if let Some(before) = one.approved_version() {
                out.push_str(&text_changes::text(before, one.tool, limits));
            }
            if one.is_mismatch() {
                out.push_str(&passages_text(one));
                out.push_str(&approval_text(one));
            }
        }
    }
    out
}
