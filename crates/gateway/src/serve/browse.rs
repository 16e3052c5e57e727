//! `tool_browse`: which tools there are, one line each, and one tool's schema.
//!
//! A list is text, since a model pays for every token of it: id, names of the arguments, first
//! sentence. Where all tools fit into one answer, every question gets all of them, best first; no
//! question gets an empty list while there are tools.

use std::collections::BTreeSet;
use std::time::Duration;

use contextweaver::card;
use serde_json::{Map, Value, json};
use weaver_agent_kernel::{Caller, parameter_list};
use weaver_text::token::{Estimate, TokenCounter};
use weaver_types::{Capability, CapabilityId, ReasonCode, Verdict};

use super::client::Client;
use super::definitions::MAX_SHORTLIST;
use super::entry::UnavailableServer;
use super::error::ServeError;
use super::execute_tool::ExecuteTool;
use super::message::shown;
use super::near_name;
use super::render::Reply;
use super::sanitised_description;
use crate::config::ExecuteTools;

/// The longest query, in bytes.
const MAX_QUERY: usize = 4_000;
/// How long the first connection attempts may last before a list goes out without their tools:
/// clients give a call some 30 s.
const PATIENCE: Duration = Duration::from_secs(25);
/// The tokens of one answer: some 60 to 80 tools.
const PAGE_TOKENS: usize = 1_500;
/// The most tools that are ranked for one question.
const MAX_RANKED: usize = 500;
/// Characters of a tool's first sentence.
const MAX_SENTENCE: usize = 110;
/// The most parameters that a line names.
const MAX_PARAMETERS: usize = 8;

/// Answers `tool_browse`.
pub(crate) async fn call(
    client: &Client,
    arguments: &Map<String, Value>,
) -> Result<Reply, ServeError> {
    client.gateway.upstreams.fresh(PATIENCE).await;
    let whole = |key: &str, most: u64| match arguments.get(key).map(Value::as_u64) {
        None => Ok(None),
        Some(Some(n)) if (1..=most).contains(&n) => Ok(usize::try_from(n).ok()),
        Some(_) => Err(Reply::usage(format!("`{key}` must be a whole number from 1 to {most}"))),
    };
    let (k, page) = match (whole("k", MAX_SHORTLIST), whole("page", 10_000)) {
        (Ok(k), Ok(page)) => (k, page.unwrap_or(1)),
        (Err(reply), _) | (_, Err(reply)) => return Ok(reply),
    };
    match (arguments.get("query"), arguments.get("capability")) {
        (None, Some(Value::String(id))) => Ok(schema(client, &full_id(client, id))),
        (None, None) => list(client, "", k, page).await,
        (Some(Value::String(query)), None) if query.len() <= MAX_QUERY => {
            list(client, query, k, page).await
        }
        (Some(Value::String(_)), None) => {
            Ok(Reply::usage(format!("`query` is longer than {MAX_QUERY} bytes")))
        }
        _ => Ok(Reply::usage(
            "give `query` (the goal in words), or `capability` (an id), as text; or neither, for all tools",
        )),
    }
}

/// The tools, best first for a question, in pages.
async fn list(
    client: &Client,
    query: &str,
    k: Option<usize>,
    page: usize,
) -> Result<Reply, ServeError> {
    let ranked = ranked(client, query);
    let lines: Vec<(CapabilityId, String)> = ranked
        .into_iter()
        .take(k.unwrap_or(usize::MAX))
        .filter_map(|id| Some((id.clone(), line(client, &id)?)))
        .collect();
    let mut pages = pages(&lines, usize::MAX);
    if pages.len() > 1 && !query.is_empty() {
        // Not all of them fit, so the best are enough.
        pages = self::pages(&lines, client.profile.shortlist);
    }
    let here = pages.get(page.saturating_sub(1));
    if here.is_none() && !lines.is_empty() {
        return Ok(Reply::usage(format!("there are {} pages", pages.len())));
    }
    let here = here.cloned().unwrap_or_default();
    let shown_lines = lines.get(here).unwrap_or_default();
    let ids: Vec<CapabilityId> = shown_lines.iter().map(|(id, _)| id.clone()).collect();
    let run = client.run().await?;
    let principal = client.principal()?;
    let caller = Caller { run: &run, principal: &principal };
    client.gateway.kernel.record_shortlist(caller, query, &ids).await?;
    let mut text: Vec<&str> = shown_lines.iter().map(|(_, line)| line.as_str()).collect();
    let end = last_lines(client, query, lines.len(), PageNumber { page, pages: pages.len() });
    text.push(&end);
    let mut reply = Reply::text(text.join("\n"));
    reply.meta.insert("weaver/tools".to_owned(), json!(ids));
    let missing = client.gateway.upstreams.missing().into_iter().map(|missing| {
        let UnavailableServer { server, status, problem } = missing;
        json!({ "server": server, "status": status.as_str(), "problem": problem })
    });
    let missing: Vec<Value> = missing.collect();
    if !missing.is_empty() {
        reply.meta.insert("weaver/missing".to_owned(), Value::Array(missing));
    }
    Ok(reply)
}

/// Which page of how many, from 1 on.
#[derive(Clone, Copy)]
struct PageNumber {
    page: usize,
    pages: usize,
}

/// What to do next, and which servers are missing.
fn last_lines(client: &Client, query: &str, tools: usize, shown: PageNumber) -> String {
    let PageNumber { page, pages } = shown;
    let mut out = String::new();
    if tools == 0 {
        out.push_str("There are no tools yet.");
    } else if page < pages {
        let mut next = Map::from_iter([("page".to_owned(), json!(page + 1))]);
        if !query.is_empty() {
            next.insert("query".to_owned(), json!(query));
        }
        let next = Value::Object(next);
        out.push_str(&format!("(Page {page} of {pages}; more with `tool_browse {next}`.)"));
    }
    if tools > 0 && page == 1 {
        let run = match client.profile.execute_tools {
            ExecuteTools::Single => "`tool_execute",
            ExecuteTools::ByClass => "the tool that its line names, as in `tool_execute_read",
        };
        out.push_str(&format!(
            "\n(Run one with {run} {{\"capability\": ID, \"arguments\": {{…}}}}`; `tool_browse \
             {{\"capability\": ID}}` shows its schema.)"
        ));
    }
    if let Some(notice) = client.gateway.kernel.policy().observation_notice() {
        out.push_str(&format!("\n({notice})"));
    }
    for UnavailableServer { server, problem, .. } in client.gateway.upstreams.missing() {
        out.push_str(&format!("\n(Server `{server}` is missing: {problem})"));
    }
    for ((server, reason), tools) in client.waiting_tools() {
        let tools = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
        out.push_str(&format!(
            "\n({tools} of server `{server}` wait for the operator, who sees them with `weaver contracts list`: {reason})"
        ));
    }
    out.trim_start().to_owned()
}

/// Every tool on offer: those that fit the question first.
fn ranked(client: &Client, query: &str) -> Vec<CapabilityId> {
    let snapshot = client.gateway.tool_snapshot();
    let Some(router) = snapshot.router() else { return Vec::new() };
    let mut ids: Vec<CapabilityId> = if query.trim().is_empty() {
        Vec::new()
    } else {
        let hits = router.route_where(query, MAX_RANKED, |id| client.offered(id));
        router.cards(&hits, &Estimate).into_iter().map(|card| card.id).collect()
    };
    let known: BTreeSet<CapabilityId> = ids.iter().cloned().collect();
    let rest = router.catalog().iter().map(|item| &item.id);
    let rest = rest.filter(|id| !known.contains(*id) && client.offered(id));
    let mut rest: Vec<CapabilityId> = rest.cloned().collect();
    rest.sort();
    ids.extend(rest);
    ids
}

/// Stretches of at most so many lines that fit into one answer each.
fn pages(lines: &[(CapabilityId, String)], most: usize) -> Vec<std::ops::Range<usize>> {
    let mut pages = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (at, (_, line)) in lines.iter().enumerate() {
        let size = Estimate.count(line).tokens().unwrap_or(PAGE_TOKENS) + 1;
        if (used + size > PAGE_TOKENS || at - start >= most) && at > start {
            pages.push(start..at);
            (start, used) = (at, 0);
        }
        used += size;
    }
    if start < lines.len() {
        pages.push(start..lines.len());
    }
    pages
}

/// `files.read_note(path, head?) Read a note.`
fn line(client: &Client, id: &CapabilityId) -> Option<String> {
    let entry = client.gateway.registry.get(id)?;
    let spec = entry.capability().spec();
    let firewall = client.gateway.kernel.firewall();
    let sentence = first_sentence(&spec.description);
    let sentence = firewall.redact_text(sentence).text;
    let sentence = weaver_text::escape::line(&sentence);
    let sentence = weaver_text::escape::shorten(&sentence, MAX_SENTENCE);
    let run = run_with(client, entry.capability());
    let run = run.map(|tool| format!("[{tool}] ")).unwrap_or_default();
    let schema = spec.input_schema.as_deref();
    let parameters =
        schema.map(|schema| parameter_list(schema, MAX_PARAMETERS)).unwrap_or_default();
    Some(format!("{id}({parameters}) {run}{sentence}").trim_end().to_owned())
}

/// With which tool a capability is run, where there are several.
fn run_with(client: &Client, capability: &Capability) -> Option<&'static str> {
    let (tools, policy) = (client.profile.execute_tools, client.gateway.kernel.policy());
    let tool = ExecuteTool::of(tools, capability, &policy);
    (tool != ExecuteTool::Any).then(|| tool.name())
}

/// The first sentence of a description.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    match line.find(". ") {
        Some(end) => line.get(..=end).unwrap_or(line),
        None => line,
    }
}

/// One tool's description and input schema.
fn schema(client: &Client, id: &str) -> Reply {
    let refused = |reason: ReasonCode, message: String| {
        Reply::error(json!({ "verdict": Verdict::Deny, "reason": reason, "message": message }))
    };
    let found = CapabilityId::parse(id)
        .ok()
        .filter(|id| client.visible(id))
        .and_then(|id| Some((client.gateway.registry.get(&id)?, client.gateway.changed(&id))));
    match found {
        Some((_, Some(said))) => refused(said.reason, said.detail),
        Some((entry, None)) => {
            let spec = entry.capability().spec();
            let firewall = client.gateway.kernel.firewall();
            let mut told = json!({
                "capability": spec.id,
                "description": sanitised_description::text(firewall, &spec.description),
                "inputSchema": spec.input_schema.as_ref().map(|schema| sanitised_description::schema(firewall, schema)),
            });
            if let (Some(tool), Some(fields)) =
                (run_with(client, entry.capability()), told.as_object_mut())
            {
                fields.insert("run_with".to_owned(), json!(tool));
            }
            Reply::ok(told)
        }
        None => refused(
            ReasonCode::NotFound,
            format!("no capability `{}` is known here. {}", shown(id), near_name::hint(client, id)),
        ),
    }
}

/// The id that a card has shown: itself, or the long one that was cut for the card. What may not be
/// seen is not looked for.
pub(crate) fn full_id(client: &Client, text: &str) -> String {
    let snapshot = client.gateway.tool_snapshot();
    let items = card::looks_cut(text).then(|| snapshot.catalog.iter());
    let ids = items.into_iter().flatten().map(|item| &item.id).filter(|id| client.visible(id));
    card::full_id(text, ids).map_or_else(|| text.to_owned(), ToString::to_string)
}
