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
        "description": "Show rows of a result that was stored behind a handle.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "The handle id." },
                "offset": { "type": "integer", "minimum": 0, "description": "Rows to pass over." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_ROWS, "description": "Rows at most." },
                "fields": { "type": "array", "items": { "type": "string" }, "description": "Only these fields." },
            },
            "required": ["handle"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    })
}
