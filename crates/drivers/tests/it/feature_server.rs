//! A server with resources, prompts, completion and a log, in either era. It tells what it was
//! asked in a log message whose logger is `asked`.

use serde_json::{Value, json};

use crate::fixture::{put, reply, send};

/// How many resources it lists.
pub(crate) const RESOURCES: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) fn run(era: Era) {
    let mut lines = std::io::stdin().lines();
    let mut subscriptions: Vec<String> = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        let message: Value = serde_json::from_str(&line).unwrap();
        let (id, params) = (&message["id"], &message["params"]);
        let method = message["method"].as_str().unwrap_or_default();
        if method.is_empty() {
            // The answer to a request of this server.
            tell("answer", &message);
            continue;
        }
        if id.is_null() {
            tell("asked", &message);
            continue;
        }
        match method {
            "initialize" if era == Era::Legacy => reply(
                id,
                json!({"protocolVersion": "2025-11-25", "capabilities": capabilities(),
                    "serverInfo": {"name": "features", "version": "1"}, "declared": params["capabilities"]}),
            ),
            "server/discover" if era == Era::Modern => reply(
                id,
                json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": capabilities(), "ttlMs": 0, "cacheScope": "private"}),
            ),
            "resources/list" => list(id, params),
            "resources/templates/list" => put(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resourceTemplates":[{{"uriTemplate":"note://{{name}}","x-odd": 1.50 ,"name":"note"}}]}}}}"#
            )),
            "prompts/list" => reply(
                id,
                json!({"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": true}]}]}),
            ),
            "resources/read" => read(id, params),
            "prompts/get" => {
                let text = format!("Greet {}.", params["arguments"]["who"].as_str().unwrap());
                let content = json!({"type": "text", "text": text});
                reply(id, json!({"messages": [{"role": "user", "content": content}]}));
            }
            "completion/complete" => {
                let value = params["argument"]["value"].as_str().unwrap();
                reply(
                    id,
                    json!({"completion": {"values": [format!("{value}!")], "hasMore": false}}),
                );
            }
            "resources/subscribe" | "resources/unsubscribe" if era == Era::Legacy => {
                reply(id, json!({}));
                tell("asked", &message);
                send(json!({"jsonrpc": "2.0", "method": "notifications/resources/updated",
                    "params": {"uri": params["uri"]}}));
            }
            "subscriptions/listen" if era == Era::Modern => {
                tell("asked", &message);
                let uris = params["notifications"]["resourceSubscriptions"].as_array();
                for uri in uris.into_iter().flatten().filter_map(Value::as_str) {
                    if !subscriptions.iter().any(|known| known == uri) {
                        subscriptions.push(uri.to_owned());
                        send(json!({"jsonrpc": "2.0", "method": "notifications/resources/updated",
                            "params": {"uri": uri}}));
                    }
                }
            }
            "logging/setLevel" if era == Era::Legacy => {
                reply(id, json!({}));
                tell("asked", &message);
            }
            "tools/call" => call(id, params),
            _ => send(json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32601, "message": "no such method"}})),
        }
    }
}

fn capabilities() -> Value {
    json!({"resources": {"listChanged": true, "subscribe": true}, "prompts": {"listChanged": true},
        "completions": {}, "logging": {}})
}

fn tell(logger: &str, data: &Value) {
    let params = json!({"level": "info", "logger": logger, "data": data});
    send(json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}));
}

/// Two resources a page.
fn list(id: &Value, params: &Value) {
    let from: usize = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
    let to = (from + 2).min(RESOURCES);
    let resources: Vec<Value> = (from..to)
        .map(|n| json!({"uri": format!("note://{n}"), "name": format!("n{n}")}))
        .collect();
    let mut result = json!({ "resources": resources });
    if to < RESOURCES {
        result["nextCursor"] = json!(to.to_string());
    }
    reply(id, result);
}

fn read(id: &Value, params: &Value) {
    match params["uri"].as_str().unwrap() {
        "note://gone" => send(json!({"jsonrpc": "2.0", "id": id,
            "error": {"code": -32002, "message": "no such resource", "data": {"uri": "note://gone"}}})),
        "note://change" => {
            send(json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}));
            reply(id, json!({"contents": []}));
        }
        "note://meta" => reply(id, json!({"contents": [], "meta": params["_meta"]})),
        // Fields that choose nothing.
        uri => reply(
            id,
            json!({"contents": [{"uri": uri, "text": "hello"}], "content": [], "tools": [],
                "task": {"taskId": "1"}}),
        ),
    }
}

/// A tool that asks the person of the client before it answers.
fn call(id: &Value, params: &Value) {
    match params["name"].as_str().unwrap() {
        "ask" => {
            let asked = params["arguments"]["method"].as_str().unwrap();
            send(json!({"jsonrpc": "2.0", "id": "s\"1", "method": asked,
                "params": {"message": "Which one?"}}));
            reply(id, json!({"content": []}));
        }
        "give_up" => {
            send(json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {}}));
            send(
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}),
            );
            reply(id, json!({"content": []}));
        }
        // A result that asks, and is complete once it has its answers.
        "input" if params["inputResponses"].is_null() => reply(
            id,
            json!({"resultType": "input_required", "requestState": "opaque",
                "inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "Who?"}}}}),
        ),
        "endless" => reply(
            id,
            json!({"resultType": "input_required", "requestState": "on",
                "inputRequests": {"a": {"method": "roots/list"}}}),
        ),
        _ => reply(
            id,
            json!({"resultType": "complete", "content": [], "answers": params["inputResponses"],
                "state": params["requestState"]}),
        ),
    }
}
