//! `tool_browse`: lists the tools, one line each, or describes one tool with its schema.
//!
//! A list is plain text, because a model pays for every token: id, argument names, first sentence.
//! Where all tools fit into one answer, every query returns all of them, best first. No query
//! returns an empty list while there are tools.

use std::collections::BTreeSet;

use contextweaver::card;
use serde_json::{Map, Value, json};
use weaver_agent_kernel::{Caller, parameter_list};
use weaver_firewall::Firewall;
use weaver_text::token::{Estimate, TokenCounter};
use weaver_types::{Capability, CapabilityId, ReasonCode, UpstreamName, Verdict};

use super::client::Client;
use super::error::ServeError;
use super::execute_tool::ExecuteTool;
use super::managed_server::{CALL_START_WAIT, UnavailableServer};
use super::message::excerpt;
use super::meta_tool_definitions::MAX_SHORTLIST;
use super::name_suggestion;
use super::render::Reply;
use super::sanitised_description;
use super::server_instructions;
use crate::config::ExecuteTools;

/// The longest query, in bytes.
const MAX_QUERY_BYTES: usize = 4_000;
/// The token limit of one answer, enough for 60 to 80 tools.
const PAGE_TOKENS: usize = 1_500;
/// The most tools that are ranked for one query.
const MAX_RANKED_TOOLS: usize = 500;
/// The longest first sentence of a tool, in characters.
const MAX_SENTENCE_CHARS: usize = 110;
/// The longest reason of a missing server that a model reads with each answer, in characters.
const MAX_PROBLEM_CHARS: usize = 120;
/// The most parameters that a line names.
const MAX_PARAMETERS: usize = 8;

/// Answers `tool_browse`.
pub(crate) async fn answer(
    client: &Client,
    arguments: &Map<String, Value>,
) -> Result<Reply, ServeError> {
    wait_for_servers(client, arguments.get("capability")).await;
    let integer_argument = |key: &str, max: u64| match arguments.get(key).map(Value::as_u64) {
        None => Ok(None),
        Some(Some(n)) if (1..=max).contains(&n) => Ok(usize::try_from(n).ok()),
        Some(_) => {
            Err(Reply::usage_error(format!("`{key}` must be a whole number from 1 to {max}")))
        }
    };
    let (k, page) = match (integer_argument("k", MAX_SHORTLIST), integer_argument("page", 10_000)) {
        (Ok(k), Ok(page)) => (k, page.unwrap_or(1)),
        (Err(reply), _) | (_, Err(reply)) => return Ok(reply),
    };
    match (arguments.get("query"), arguments.get("capability")) {
        (None, Some(Value::String(id))) => Ok(describe_tool(client, &full_id(client, id)).await),
        (None, None) => list(client, "", k, page).await,
        (Some(Value::String(query)), None) if query.len() <= MAX_QUERY_BYTES => {
            list(client, query, k, page).await
        }
        (Some(Value::String(_)), None) => {
            Ok(Reply::usage_error(format!("`query` is longer than {MAX_QUERY_BYTES} bytes")))
        }
        _ => Ok(Reply::usage_error(
            "give `query` (the goal in words), or `capability` (an id), as text; or neither, for all tools",
        )),
    }
}

/// Waits for the servers that are starting: for that of a named tool, else for those of which no
/// tools are known yet.
async fn wait_for_servers(client: &Client, capability: Option<&Value>) {
    let upstreams = &client.gateway.upstreams;
    let named = capability.and_then(Value::as_str);
    let Some(server) = named.and_then(|id| upstreams.for_capability(id)) else {
        upstreams.wait_for_unknown_tools().await;
        return upstreams.refresh_tools().await;
    };
    let is_known =
        named.and_then(|id| CapabilityId::parse(id).ok()).is_some_and(|id| client.is_visible(&id));
    if !is_known {
        server.start_now(CALL_START_WAIT).await;
    }
    if server.is_first_attempt_done() {
        server.poll_now().await;
    }
}

/// The tools in pages, best first for the query.
async fn list(
    client: &Client,
    query: &str,
    k: Option<usize>,
    page: usize,
) -> Result<Reply, ServeError> {
    let ids = ranked_tools(client, query);
    let firewall = client.firewall().await;
    let lines: Vec<(CapabilityId, String)> = ids
        .into_iter()
        .take(k.unwrap_or(usize::MAX))
        .filter_map(|id| Some((id.clone(), tool_line(client, &firewall, &id)?)))
        .collect();
    let mut pages = pages(&lines, usize::MAX);
    if pages.len() > 1 && !query.is_empty() {
        // Not all fit on one page, so only the shortlist is returned.
        pages = self::pages(&lines, client.profile.shortlist);
    }
    let page_range = pages.get(page.saturating_sub(1));
    if page_range.is_none() && !lines.is_empty() {
        return Ok(Reply::usage_error(format!("there are {} pages", pages.len())));
    }
    let page_range = page_range.cloned().unwrap_or_default();
    let shown_lines = lines.get(page_range).unwrap_or_default();
    let ids: Vec<CapabilityId> = shown_lines.iter().map(|(id, _)| id.clone()).collect();
    let run = client.run().await?;
    let principal = client.principal()?;
    let caller = Caller { run: &run, principal: &principal };
    client.gateway.kernel.record_shortlist(caller, query, &ids).await?;
    let mut text: Vec<&str> = shown_lines.iter().map(|(_, line)| line.as_str()).collect();
    let end = footer(client, query, lines.len(), PagePosition { page, pages: pages.len() });
    text.push(&end);
    let mut reply = Reply::text(text.join("\n"));
    reply.meta.insert("weaver/tools".to_owned(), json!(ids));
    let missing = client.unavailable_servers().into_iter().map(|missing| {
        let UnavailableServer { server, status, problem } = missing;
        json!({ "server": server, "status": status.as_str(), "problem": problem.message })
    });
    let missing: Vec<Value> = missing.collect();
    if !missing.is_empty() {
        reply.meta.insert("weaver/missing".to_owned(), Value::Array(missing));
    }
    Ok(reply)
}

/// A page number, from 1 on, and the number of pages.
#[derive(Clone, Copy)]
struct PagePosition {
    page: usize,
    pages: usize,
}

/// The footer: what to do next, and which servers are unavailable.
fn footer(client: &Client, query: &str, tool_count: usize, shown: PagePosition) -> String {
    let PagePosition { page, pages } = shown;
    let mut out = String::new();
    if tool_count == 0 {
        out.push_str("There are no tools yet.");
    } else if page < pages {
        let mut next = Map::from_iter([("page".to_owned(), json!(page + 1))]);
        if !query.is_empty() {
            next.insert("query".to_owned(), json!(query));
        }
        let next = Value::Object(next);
        out.push_str(&format!("(Page {page} of {pages}; more with `tool_browse {next}`.)"));
    }
    if tool_count > 0 && page == 1 {
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
    let (starting, failed): (Vec<_>, Vec<_>) =
        client.unavailable_servers().into_iter().partition(UnavailableServer::is_starting);
    let unknown = starting.iter().filter(|starting| {
        let server = client.gateway.upstreams.by_name(&starting.server);
        server.is_none_or(|server| !server.has_restored_tools())
    });
    let unknown: Vec<String> = unknown.map(|starting| format!("`{}`", starting.server)).collect();
    if !unknown.is_empty() {
        out.push_str(&format!(
            "\n(Still starting, so their tools are missing; ask again in a moment: {}.)",
            unknown.join(", ")
        ));
    }
    for UnavailableServer { server, problem, .. } in failed {
        // All of it stands in `_meta`; what the server wrote is for the user, who sees it with `weaver status`.
        let problem = weaver_text::escape::shorten(&problem.message, MAX_PROBLEM_CHARS);
        out.push_str(&format!("\n(Server `{server}` is missing: {problem})"));
    }
    // A search is about other tools; the list of all says once what is not in it.
    let awaiting = (query.trim().is_empty() && page == 1).then(|| client.tools_awaiting_approval());
    for ((server, reason), tool_count) in awaiting.into_iter().flatten() {
        let waiting = match tool_count {
            1 => format!("1 tool of server `{server}` waits"),
            _ => format!("{tool_count} tools of server `{server}` wait"),
        };
        out.push_str(&format!(
            "\n({waiting} for the operator, who sees them with `weaver contracts list`: {reason})"
        ));
    }
    out.trim_start().to_owned()
}

/// Every offered tool, those that match the query first.
fn ranked_tools(client: &Client, query: &str) -> Vec<CapabilityId> {
    let snapshot = client.gateway.tool_snapshot();
    let Some(router) = snapshot.router() else { return Vec::new() };
    let mut ids: Vec<CapabilityId> = if query.trim().is_empty() {
        Vec::new()
    } else {
        let hits = router.route_where(query, MAX_RANKED_TOOLS, |id| client.is_offered(id));
        router.cards(&hits, &Estimate).into_iter().map(|card| card.id).collect()
    };
    let matched: BTreeSet<CapabilityId> = ids.iter().cloned().collect();
    let rest = router.catalog().iter().map(|item| &item.id);
    let rest = rest.filter(|id| !matched.contains(*id) && client.is_offered(id));
    let mut rest: Vec<CapabilityId> = rest.cloned().collect();
    rest.sort();
    ids.extend(rest);
    ids
}

/// Splits the lines into pages that stay within the token limit and `max_lines`.
fn pages(lines: &[(CapabilityId, String)], max_lines: usize) -> Vec<std::ops::Range<usize>> {
    let mut pages = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (index, (_, line)) in lines.iter().enumerate() {
        let size = Estimate.count(line).tokens().unwrap_or(PAGE_TOKENS) + 1;
        if (used + size > PAGE_TOKENS || index - start >= max_lines) && index > start {
            pages.push(start..index);
            (start, used) = (index, 0);
        }
        used += size;
    }
    if start < lines.len() {
        pages.push(start..lines.len());
    }
    pages
}

/// `files.read_note(path, head?) Read a note.`
fn tool_line(client: &Client, firewall: &Firewall, id: &CapabilityId) -> Option<String> {
    let entry = client.gateway.registry.get(id)?;
    let spec = entry.capability().spec();
    let sentence = first_sentence(&spec.description);
    let sentence = firewall.redact_text(sentence).text;
    let sentence = weaver_text::escape::line(&sentence);
    let sentence = weaver_text::escape::shorten(&sentence, MAX_SENTENCE_CHARS);
    let run = execute_tool_name(client, entry.capability());
    let run = run.map(|tool| format!("[{tool}] ")).unwrap_or_default();
    let schema = spec.input_schema.as_deref();
    let parameters =
        schema.map(|schema| parameter_list(schema, MAX_PARAMETERS)).unwrap_or_default();
    Some(format!("{id}({parameters}) {run}{sentence}").trim_end().to_owned())
}

/// The name of the tool that executes a capability, where there is more than one.
fn execute_tool_name(client: &Client, capability: &Capability) -> Option<&'static str> {
    let (tools, policy) = (client.profile.execute_tools, client.gateway.kernel.policy());
    let tool = ExecuteTool::for_capability(tools, capability, &policy);
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
async fn describe_tool(client: &Client, id: &str) -> Reply {
    let refused = |reason: ReasonCode, message: String| {
        Reply::error(json!({ "verdict": Verdict::Deny, "reason": reason, "message": message }))
    };
    let entry = CapabilityId::parse(id).ok().filter(|id| client.is_visible(id)).and_then(|id| {
        Some((client.gateway.registry.get(&id)?, client.gateway.contract_denial(&id)))
    });
    match entry {
        Some((_, Some(denial))) => refused(denial.reason, denial.detail),
        Some((entry, None)) => {
            let spec = entry.capability().spec();
            let firewall = client.firewall().await;
            let mut body = json!({
                "capability": spec.id,
                "description": sanitised_description::text(&firewall, &spec.description),
                "inputSchema": spec.input_schema.as_ref().map(|schema| sanitised_description::schema(&firewall, schema)),
            });
            let more = [
                ("run_with", execute_tool_name(client, entry.capability()).map(str::to_owned)),
                ("server_says", server_instructions::of_tool(client, &firewall, &spec.id)),
            ];
            if let Some(fields) = body.as_object_mut() {
                let more = more.into_iter().filter_map(|(name, value)| Some((name, value?)));
                fields.extend(more.map(|(name, value)| (name.to_owned(), json!(value))));
            }
            Reply::ok(body)
        }
        None => match starting_server(client, id) {
            Some(server) => refused(
                ReasonCode::UpstreamUnavailable,
                format!("server `{server}` is still starting; ask again in a moment"),
            ),
            None => refused(
                ReasonCode::NotFound,
                format!(
                    "no capability `{}` is known here. {}",
                    excerpt(id),
                    name_suggestion::hint(client, id)
                ),
            ),
        },
    }
}

/// The server that an id speaks of, if it is still starting and the client may know of it.
fn starting_server(client: &Client, id: &str) -> Option<UpstreamName> {
    let server = client.gateway.upstreams.for_capability(id)?;
    let is_starting = server.unavailability().is_some_and(|server| server.is_starting());
    (is_starting && client.may_see_server(&server.name)).then(|| server.name.clone())
}

/// Expands an id that was abbreviated on a card. Only visible tools are considered, so that the
/// answer reveals no hidden one.
pub(crate) fn full_id(client: &Client, text: &str) -> String {
    let snapshot = client.gateway.tool_snapshot();
    let items = card::looks_abbreviated(text).then(|| snapshot.catalog.iter());
    let ids = items.into_iter().flatten().map(|item| &item.id).filter(|id| client.is_visible(id));
    card::full_id(text, ids).map_or_else(|| text.to_owned(), ToString::to_string)
}
