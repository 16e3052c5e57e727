//! The server's tools: what it says of them, and what they do.

use serde_json::{Map, Value, json};

use super::error::ToolError;
use super::store::Store;

type Arguments = Map<String, Value>;

/// The tools as `tools/list` gives them.
pub(super) fn all() -> Value {
    let name =
        json!({ "type": "string", "description": "The name of the note, such as `welcome`." });
    let text = |what: &str| json!({ "type": "string", "description": what });
    json!([
        listed("list_notes", "List the names of all notes.", json!({}), &[], READS),
        listed(
            "read_note",
            "Read the text of one note.",
            json!({ "name": name }),
            &["name"],
            READS
        ),
        listed(
            "search_tickets",
            "Search the customers' support tickets, all of them or those of one status.",
            json!({ "status": { "type": "string", "enum": ["open", "pending", "closed"] } }),
            &[],
            READS
        ),
        listed(
            "write_note",
            "Write a note: a new one, or over an old one.",
            json!({ "name": name, "text": text("The new text, in Markdown.") }),
            &["name", "text"],
            WRITES
        ),
        listed(
            "delete_note",
            "Delete a note for good.",
            json!({ "name": name }),
            &["name"],
            DESTROYS
        ),
        listed("wipe_notes", "Delete every note for good.", json!({}), &[], DESTROYS),
        listed(
            "send_message",
            "Send a message to a person, by e-mail.",
            json!({ "to": text("The address."), "text": text("The message.") }),
            &["to", "text"],
            SENDS
        ),
    ])
}

/// What a tool does: read only, destructive, open world.
type Hints = (bool, bool, bool);
const READS: Hints = (true, false, false);
const WRITES: Hints = (false, false, false);
const DESTROYS: Hints = (false, true, false);
const SENDS: Hints = (false, false, true);

fn listed(name: &str, what: &str, properties: Value, required: &[&str], hints: Hints) -> Value {
    let (read_only, destructive, open_world) = hints;
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

/// Runs a tool: its result, or why it failed. `None` when there is no tool of that name.
pub(super) fn run(
    store: &Store,
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

fn text<'a>(arguments: &'a Arguments, name: &'static str) -> Result<&'a str, ToolError> {
    let found = arguments.get(name).and_then(Value::as_str);
    found.ok_or(ToolError::Argument { name })
}

fn read(store: &Store, arguments: &Arguments) -> Result<Value, ToolError> {
    let name = text(arguments, "name")?;
    Ok(json!({ "name": name, "text": store.read(name)? }))
}

fn search(store: &Store, arguments: &Arguments) -> Result<Value, ToolError> {
    let status = arguments.get("status").map(|_| text(arguments, "status")).transpose()?;
    Ok(json!({ "tickets": store.tickets(status)? }))
}

fn write(store: &Store, arguments: &Arguments) -> Result<Value, ToolError> {
    let name = text(arguments, "name")?;
    let replaced = store.write(name, text(arguments, "text")?)?;
    Ok(json!({ "written": name, "replaced": replaced }))
}

fn delete(store: &Store, arguments: &Arguments) -> Result<Value, ToolError> {
    let name = text(arguments, "name")?;
    store.delete(name)?;
    Ok(json!({ "deleted": name }))
}

fn wipe(store: &Store) -> Result<Value, ToolError> {
    let names = store.names()?;
    for name in &names {
        store.delete(name)?;
    }
    Ok(json!({ "deleted": names }))
}

fn send(store: &Store, arguments: &Arguments) -> Result<Value, ToolError> {
    let (to, text) = (text(arguments, "to")?, text(arguments, "text")?);
    store.send(&json!({ "to": to, "text": text }).to_string())?;
    Ok(json!({ "sent": true, "to": to }))
}
