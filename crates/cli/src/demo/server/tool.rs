//! The server's tools: their definitions, and what they do.

use serde_json::{Map, Value, json};

use super::error::ToolError;
use super::store::DemoFolder;

type Arguments = Map<String, Value>;

/// The tools as `tools/list` returns them.
pub(super) fn all() -> Value {
    let name =
        json!({ "type": "string", "description": "The name of the note, such as `welcome`." });
    let text = |what: &str| json!({ "type": "string", "description": what });
    json!([
        tool_definition("list_notes", "List the names of all notes.", json!({}), &[], READS),
        tool_definition(
            "read_note",
            "Read the text of one note.",
            json!({ "name": name }),
            &["name"],
            READS
        ),
        tool_definition(
            "search_tickets",
            "Search the customers' support tickets, all of them or those of one status.",
            json!({ "status": { "type": "string", "enum": ["open", "pending", "closed"] } }),
            &[],
            READS
        ),
        tool_definition(
            "write_note",
            "Write a note: a new one, or over an old one.",
            json!({ "name": name, "text": text("The new text, in Markdown.") }),
            &["name", "text"],
            WRITES
        ),
        tool_definition(
            "delete_note",
            "Delete a note for good.",
            json!({ "name": name }),
            &["name"],
            DESTROYS
        ),
        tool_definition("wipe_notes", "Delete every note for good.", json!({}), &[], DESTROYS),
        tool_definition(
            "send_message",
            "Send a message to a person, by e-mail.",
            json!({ "to": text("The address."), "text": text("The message.") }),
            &["to", "text"],
            SENDS
        ),
    ])
}

/// The MCP annotations of a tool.
struct ToolHints {
    read_only: bool,
    destructive: bool,
    open_world: bool,
}

const READS: ToolHints = ToolHints { read_only: true, destructive: false, open_world: false };
const WRITES: ToolHints = ToolHints { read_only: false, destructive: false, open_world: false };
const DESTROYS: ToolHints = ToolHints { read_only: false, destructive: true, open_world: false };
const SENDS: ToolHints = ToolHints { read_only: false, destructive: false, open_world: true };

fn tool_definition(
    name: &str,
    what: &str,
    properties: Value,
    required: &[&str],
    hints: ToolHints,
) -> Value {
    let ToolHints { read_only, destructive, open_world } = hints;
    json!({
        "name": name,
        "description": what,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        },
        "annotations": {
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "openWorldHint": open_world,
        },
    })
}

/// Runs a tool and returns its result or error. `None` if no tool has this name.
pub(super) fn run(
    store: &DemoFolder,
    name: &str,
    arguments: &Arguments,
) -> Option<Result<Value, ToolError>> {
    Some(match name {
        "list_notes" => store.names().map(|names| json!({ "notes": names })),
        "read_note" => read(store, arguments),
        "search_tickets" => search(store, arguments),
        "write_note" => write(store, arguments),
        "delete_note" => delete(store, arguments),
        "wipe_notes" => wipe(store),
        "send_message" => send(store, arguments),
        _ => return None,
    })
}

fn text_argument<'a>(arguments: &'a Arguments, name: &'static str) -> Result<&'a str, ToolError> {
    let found = arguments.get(name).and_then(Value::as_str);
    found.ok_or(ToolError::Argument { name })
}

fn read(store: &DemoFolder, arguments: &Arguments) -> Result<Value, ToolError> {
    let name = text_argument(arguments, "name")?;
    Ok(json!({ "name": name, "text": store.read(name)? }))
}

fn search(store: &DemoFolder, arguments: &Arguments) -> Result<Value, ToolError> {
    let status = arguments.get("status").map(|_| text_argument(arguments, "status")).transpose()?;
    Ok(json!({ "tickets": store.tickets(status)? }))
}

fn write(store: &DemoFolder, arguments: &Arguments) -> Result<Value, ToolError> {
    let name = text_argument(arguments, "name")?;
    let replaced = store.write(name, text_argument(arguments, "text")?)?;
    Ok(json!({ "written": name, "replaced": replaced }))
}

fn delete(store: &DemoFolder, arguments: &Arguments) -> Result<Value, ToolError> {
    let name = text_argument(arguments, "name")?;
    store.delete(name)?;
    Ok(json!({ "deleted": name }))
}

fn wipe(store: &DemoFolder) -> Result<Value, ToolError> {
    let names = store.names()?;
    for name in &names {
        store.delete(name)?;
    }
    Ok(json!({ "deleted": names }))
}

fn send(store: &DemoFolder, arguments: &Arguments) -> Result<Value, ToolError> {
    let (to, text) = (text_argument(arguments, "to")?, text_argument(arguments, "text")?);
    store.send(&json!({ "to": to, "text": text }).to_string())?;
    Ok(json!({ "sent": true, "to": to }))
}
