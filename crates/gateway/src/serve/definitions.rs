//! The three tools of gateway mode, as a client lists them.

use serde_json::{Value, json};

/// The most tools of one shortlist.
pub(crate) const MAX_SHORTLIST: u64 = 20;
/// The most rows of one view: those of a frame.
pub(crate) const MAX_ROWS: u64 = 50;

/// The three tools.
pub(crate) fn all() -> Vec<Value> {
    vec![browse_definition(), execute_definition(), view_definition()]
}

fn browse_definition() -> Value {
    json!({
        "name": "tool_browse",
        "title": "Find tools",
        "description": "Find tools for a goal, best first. With `capability` instead of `query`, get the input schema of that one tool. Being listed is no permission.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "The goal, in a few words." },
                "capability": { "type": "string", "description": "A capability id from an earlier answer." },
                "k": { "type": "integer", "minimum": 1, "maximum": MAX_SHORTLIST, "description": "How many tools at most." },
            },
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}

fn execute_definition() -> Value {
    json!({
        "name": "tool_execute",
        "title": "Run a tool",
        "description": "Run a tool found with tool_browse. The answer holds facts or rows and, for more, a handle for tool_view. A refusal names its verdict and reason.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "capability": { "type": "string", "description": "The capability id, for example `files.read_note`." },
                "arguments": { "type": "object", "description": "The tool's arguments, by its schema." },
                "justification": { "type": "string", "description": "Why this call is needed; recorded as your own words." },
                "mode": { "enum": ["summary", "table", "handle_only"], "description": "How much to show; summary by default." },
            },
            "required": ["capability"],
            "additionalProperties": false,
        },
    })
}

pub(crate) fn view_definition() -> Value {
    json!({
        "name": "tool_view",
        "title": "Look further into a result",
        "description": "Look into a result that was stored behind a handle: a page of its rows, filtered, sorted or summed up, or one of the views that the handle names.",
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
                "view": { "type": "string", "description": "A view named by the handle. JSON: get, keys, paths. CSV: rows, head, tail, columns, summary. Text: lines, head, tail, search." },
                "args": { "type": "object", "description": "Of the view: path, keys, depth (JSON); rows (head, tail of CSV); start, end, lines, text, around (text)." },
            },
            "required": ["handle"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}
