//! The definitions of gateway mode's own tools, as a client lists them.

use serde_json::{Value, json};
use weaver_types::Impact;

use super::execute_tool::{self, ExecuteTool};
use crate::config::ExecuteTools;

/// The tool that shows more of a stored result, in both modes.
pub(crate) const VIEW_TOOL: &str = "tool_view";
/// The most tools of one shortlist.
pub(crate) const MAX_SHORTLIST: u64 = 20;
/// The most rows of one view, the same as in a frame.
pub(crate) const MAX_ROWS: u64 = 10_000;

/// All tools of gateway mode.
pub(crate) fn all(tools: ExecuteTools) -> Vec<Value> {
    let execute = ExecuteTool::all(tools).iter().map(|tool| execute_definition(*tool));
    let mut all = vec![browse_definition(&execute_tool::joined_names(tools))];
    all.extend(execute);
    all.push(view_definition());
    all
}

fn browse_definition(execute: &str) -> Value {
    json!({
        "name": "tool_browse",
        "title": "Find tools",
        "description": format!("Lists the tools behind this gateway: all of them, or the best matches first with `query`. One line each: id(arguments) what it does. With `capability`: the full description and input schema of that tool. Run a tool with {}. A listed tool may still be refused.", execute),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "The action and its object in plain English, such as `create calendar event`, rather than the words of the user." },
                "capability": { "type": "string", "description": "A capability id from an earlier answer." },
                "page": { "type": "integer", "minimum": 1, "description": "The page of a long list." },
                "k": { "type": "integer", "minimum": 1, "maximum": MAX_SHORTLIST, "description": "The maximum number of tools." },
            },
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn execute_definition(tool: ExecuteTool) -> Value {
    let (name, suffix) = (tool.name(), tool.description_suffix());
    let mut definition = json!({
        "name": name,
        "title": format!("Run a tool{suffix}"),
        "description": format!("Runs a tool{suffix}. Find tools with tool_browse. The result is that of the tool. A line that begins with `[weaver]` says what was masked or cut, and gives the exact tool_view call for the rest. A mask such as [EMAIL_1] stands for a value: pass it in arguments unchanged. A refusal states its verdict, its reason and what to do."),
        "inputSchema": {
            "type": "object",
            "properties": {
                "capability": { "type": "string", "description": "The tool's id, as tool_browse lists it." },
                "arguments": { "type": "object", "description": "The tool's arguments, as its schema defines them." },
                "justification": { "type": "string", "description": "Why this call is needed; recorded as your own words." },
                "mode": { "enum": ["auto", "summary", "table", "handle_only", "raw"], "description": "How much to show. The default is `auto`: the result unchanged." },
            },
            "required": ["capability"],
            "additionalProperties": false,
        },
    });
    let hints = match tool {
        // It runs any tool, so no milder hint is true of it.
        ExecuteTool::Any => return definition,
        ExecuteTool::OfImpact(Impact::Read) => {
            json!({ "readOnlyHint": true, "openWorldHint": true })
        }
        ExecuteTool::OfImpact(impact) => json!({
            "readOnlyHint": false,
            "destructiveHint": impact == Impact::Destroy,
            "openWorldHint": true,
        }),
    };
    if let Some(fields) = definition.as_object_mut() {
        fields.insert("annotations".to_owned(), hints);
    }
    definition
}

pub(crate) fn view_definition() -> Value {
    json!({
        "name": "tool_view",
        "title": "Look further into a result",
        "description": "Shows the rest of a result that was cut, or its rows by page, filtered, sorted or aggregated, or a part by `view`. Copy the call from the `[weaver]` line.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "The handle id." },
                "offset": { "type": "integer", "minimum": 0, "description": "The number of rows to skip." },
                "char_offset": { "type": "integer", "minimum": 0, "description": "Characters to skip of a row, or of JSON, that was cut." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_ROWS, "description": "The maximum number of rows." },
                "fields": { "type": "array", "items": { "type": "string" }, "description": "Show only these fields." },
                "filter": { "type": "object", "description": "Conditions that must all hold: {\"status\": \"open\", \"amount\": {\"gte\": 10}}. Tests: eq, ne, lt, lte, gt, gte, contains, in." },
                "sort": { "type": "array", "items": { "type": "string" }, "description": "Fields to sort by, most important first; `-amount` sorts descending." },
                "aggregate": { "type": "array", "items": { "type": "string" }, "description": "count, sum(field), avg(field), min(field), max(field), distinct(field)." },
                "group_by": { "type": "string", "description": "One row for each value of this field." },
                "view": { "type": "string", "description": "JSON: get, keys, paths; lines, chars of the text at `path`; search in all texts, or at `path`. Text: lines, chars, search, head, tail. CSV: rows, columns, summary too." },
                "args": { "type": "object", "description": "Arguments of the view: path, keys, depth (JSON); start, end (lines, chars); text, ignore_case, around (search); lines (head, tail)." },
            },
            "required": ["handle"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}
