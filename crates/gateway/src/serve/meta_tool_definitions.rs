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
        "description": format!("List the tools behind this gateway: all of them without arguments, best first with `query`. One line each: id(arguments) what it does. With `capability`: that tool's full description and input schema. Then run it with {}. Being listed is no permission.", execute),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "The goal, in a few words." },
                "capability": { "type": "string", "description": "A capability id from an earlier answer." },
                "page": { "type": "integer", "minimum": 1, "description": "The page of a long list." },
                "k": { "type": "integer", "minimum": 1, "maximum": MAX_SHORTLIST, "description": "How many tools at most." },
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
        "description": format!("Run a tool{suffix}. tool_browse finds it. You get its result as it is. A line that begins with `[weaver]` says what was masked or cut, and the exact tool_view call for the rest. A mask such as [EMAIL_1] stands for a value: use it in arguments as it is. A refusal names its verdict, its reason and what to do."),
        "inputSchema": {
            "type": "object",
            "properties": {
                "capability": { "type": "string", "description": "The id, as tool_browse lists it." },
                "arguments": { "type": "object", "description": "The tool's arguments, by its schema." },
                "justification": { "type": "string", "description": "Why this call is needed; recorded as your own words." },
                "mode": { "enum": ["auto", "summary", "table", "handle_only", "raw"], "description": "How much to show. `auto`, the default: the result as it is." },
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
        "description": "See the rest of a result that was cut, or ask about its rows: a page, filtered, sorted, summed up, or a part by `view`. Copy the call from the `[weaver]` line.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "The handle id." },
                "offset": { "type": "integer", "minimum": 0, "description": "Rows to pass over." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_ROWS, "description": "Rows at most." },
                "fields": { "type": "array", "items": { "type": "string" }, "description": "Only these fields." },
                "filter": { "type": "object", "description": "Conditions, all to be true: {\"status\": \"open\", \"amount\": {\"gte\": 10}}. Tests: eq, ne, lt, lte, gt, gte, contains, in." },
                "sort": { "type": "array", "items": { "type": "string" }, "description": "Fields, most important first; `-amount` for the greatest first." },
                "aggregate": { "type": "array", "items": { "type": "string" }, "description": "count, sum(field), avg(field), min(field), max(field), distinct(field)." },
                "group_by": { "type": "string", "description": "One row for each value of this field." },
                "view": { "type": "string", "description": "JSON: get, keys, paths. Text: lines, chars, search, head, tail. CSV: rows, columns, summary too." },
                "args": { "type": "object", "description": "Of the view: path, keys, depth (JSON); start, end (lines, chars); text, around (search); lines (head, tail)." },
            },
            "required": ["handle"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}
