//! The server: two tools that answer at once. Like any server, it names their effects, which
//! count for nothing until a contract says the same.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

/// Serves standard input until it ends.
pub(crate) fn serve() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let answer = match result(&message) {
            Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            None => {
                let error = json!({ "code": -32601, "message": "there is no such method" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn result(message: &Value) -> Option<Value> {
    match message.get("method").and_then(Value::as_str)? {
        "initialize" => Some(json!({
            "protocolVersion": message.pointer("/params/protocolVersion"),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "echo", "version": "1" },
        })),
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({ "tools": [tool("get", true), tool("put", false)] })),
        "tools/call" => {
            let said = message.pointer("/params/arguments/text").and_then(Value::as_str)?;
            Some(json!({ "content": [{ "type": "text", "text": said }] }))
        }
        _ => None,
    }
}

fn tool(name: &str, reads: bool) -> Value {
    json!({
        "name": name,
        "description": "Answers with the text that it is given",
        "inputSchema": {
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        },
        "annotations": { "readOnlyHint": reads, "destructiveHint": false, "openWorldHint": false },
    })
}
