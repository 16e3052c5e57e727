//! A server that misbehaves on demand. It runs as a child process: the test binary starts itself
//! again, with a variable that names the behaviour. The test harness then prints two lines of its
//! own on standard output, which a client must skip anyway.

use std::io::{Lines, StdinLock, Write};

use serde_json::{Value, json};

use crate::{feature_server, sdk};

/// Names the behaviour of the child.
pub(crate) const VARIABLE: &str = "WEAVER_DRIVERS_FIXTURE";
/// Names the folder of a child that is not the same each time it starts.
pub(crate) const FOLDER: &str = "WEAVER_DRIVERS_FOLDER";

#[test]
fn fixture_main() {
    let Ok(behaviour) = std::env::var(VARIABLE) else { return };
    match behaviour.as_str() {
        "sdk" => sdk::serve_stdio(),
        "starts_once" if std::fs::File::create_new(in_folder("started")).is_err() => {
            std::fs::write(in_folder("started again"), "").unwrap();
            while std::io::stdin().lines().next().is_some() {}
        }
        "mute" => while std::io::stdin().lines().next().is_some() {},
        #[cfg(target_os = "linux")]
        "host" => {
            weaver_drivers::confine::keep_process_private().unwrap();
            put("host is ready");
            while std::io::stdin().lines().next().is_some() {}
        }
        // Answers nothing, and reads a file of the state when it may.
        #[cfg(target_os = "linux")]
        "hangs" => {
            std::fs::write(in_folder("started"), "").unwrap();
            while !in_folder("go").exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let read = json!({"do": "read", "at": in_folder("config.toml")});
            let said = crate::attempt::attempt(&read).unwrap_or_else(|error| error.to_string());
            std::fs::write(in_folder("said"), said).unwrap();
            std::fs::write(in_folder("looked"), "").unwrap();
            while std::io::stdin().lines().next().is_some() {}
        }
        "dead" => {
            eprintln!("cannot find my \u{1b}[31mconfig");
            std::process::exit(3);
        }
        "features" => feature_server::run(feature_server::Era::Legacy),
        "features_modern" => feature_server::run(feature_server::Era::Modern),
        "babble" => (0..1_000_000).for_each(|n| put(&format!("starting, step {n}"))),
        _ => Server { behaviour, ..Server::default() }.run(),
    }
    std::process::exit(0);
}

fn in_folder(name: &str) -> std::path::PathBuf {
    std::path::Path::new(&std::env::var(FOLDER).unwrap()).join(name)
}

pub(crate) fn put(line: &str) {
    let mut out = std::io::stdout();
    if out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\n")).is_err() {
        std::process::exit(0);
    }
    let _ = out.flush();
}

pub(crate) fn send(message: Value) {
    put(&message.to_string());
}

pub(crate) fn reply(id: &Value, result: Value) {
    send(json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

#[derive(Default)]
struct Server {
    behaviour: String,
    initialized: bool,
    notified: Vec<Value>,
    held: Vec<Value>,
}

impl Server {
    fn run(mut self) {
        let mut lines = std::io::stdin().lines();
        while let Some(Ok(line)) = lines.next() {
            let message: Value = serde_json::from_str(&line).unwrap();
            let id = message["id"].clone();
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => self.initialize(&id),
                "server/discover" => self.discover(&id, &message["params"]["_meta"]),
                "ping" => reply(&id, json!({})),
                "tools/list" => self.list(&id, &message["params"]),
                "tools/call" => self.call(&id, &message["params"], &mut lines),
                "subscriptions/listen" => subscribe(&message["params"]),
                method if id.is_null() => {
                    self.initialized |= method == "notifications/initialized";
                    self.notified.push(message);
                }
                _ => {}
            }
        }
    }

    fn initialize(&self, id: &Value) {
        let version = match self.behaviour.as_str() {
            "modern" => {
                let error = json!({"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"]}});
                return send(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            "stranger" => {
                let error = json!({"code": -32601, "message": "what\u{1b}[2J?"});
                return send(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            "future" => "2031-01-01",
            "old" => "2024-11-05",
            _ => "2025-11-25",
        };
        let info = json!({"name": "fixture", "version": "1"});
        let tools = json!({"tools": {"listChanged": true}});
        reply(
            id,
            json!({"protocolVersion": version, "capabilities": tools, "serverInfo": info, "instructions": "be kind"}),
        );
    }

    fn discover(&self, id: &Value, meta: &Value) {
        let full = meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
            && meta["io.modelcontextprotocol/clientInfo"]["name"] == "weaver"
            && meta["io.modelcontextprotocol/clientCapabilities"].is_object();
        if self.behaviour != "modern" || !full {
            let error = json!({"code": -32601, "message": "no such method"});
            return send(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        let info =
            json!({"io.modelcontextprotocol/serverInfo": {"name": "fixture", "version": "1"}});
        reply(
            id,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 0, "cacheScope": "private", "_meta": info}),
        );
    }

    fn list(&self, id: &Value, params: &Value) {
        let page: u64 = params["cursor"].as_str().map_or(0, |c| c.parse().unwrap());
        let tool = |name: String| json!({"name": name, "inputSchema": {"type": "object"}});
        match self.behaviour.as_str() {
            "pages" if page < 4 => reply(
                id,
                json!({"tools": [tool(format!("t{page}"))], "nextCursor": (page + 1).to_string()}),
            ),
            "endless" => reply(id, json!({"tools": [], "nextCursor": (page + 1).to_string()})),
            "circle" => reply(id, json!({"tools": [], "nextCursor": ((page + 1) % 3).to_string()})),
            "crowd" => {
                let tools: Vec<Value> = (0..600).map(|n| tool(format!("{page}-{n}"))).collect();
                reply(id, json!({"tools": tools, "nextCursor": (page + 1).to_string()}));
            }
            "long_cursor" => reply(id, json!({"tools": [], "nextCursor": "c".repeat(4097)})),
            "nameless" => reply(id, json!({"tools": [{"inputSchema": {}}]})),
            "raw" => put(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"x-odd": 1.50 ,"name":"a","inputSchema":{{"type":"object","big":99999999999999999999}}}}],"messages":[],"ttlMs":0}}}}"#
            )),
            _ if !self.initialized => reply(id, json!({"tools": []})),
            _ => reply(id, json!({"tools": [tool("echo".to_owned())]})),
        }
    }

    fn call(&mut self, id: &Value, params: &Value, lines: &mut Lines<StdinLock<'static>>) {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" => {
                reply(id, json!({"content": [{"type": "text", "text": arguments.to_string()}]}))
            }
            // Says the text and nothing else.
            "say" => reply(id, json!({"content": [{"type": "text", "text": arguments["text"]}]})),
            // Writes the given lines, with the id of the call put in.
            "write" => {
                for line in arguments["lines"].as_array().unwrap() {
                    put(&line.as_str().unwrap().replace("$ID", &id.to_string()));
                }
            }
            "oversize" => {
                let size = usize::try_from(arguments["size"].as_u64().unwrap()).unwrap();
                let text = "x".repeat(size);
                let (head, tail) = match arguments["id_last"].as_bool() {
                    Some(true) => (String::new(), format!(",\"id\":{id}")),
                    _ => (format!("\"id\":{id},"), String::new()),
                };
                put(&format!(r#"{{"jsonrpc":"2.0",{head}"result":{{"text":"{text}"}}{tail}}}"#));
            }
            "crash" => {
                eprintln!("out of \u{1b}[31mcheese");
                std::process::exit(7);
            }
            // Acts once each time it is asked, and is gone before it could answer.
            "act_and_die" => {
                let path = arguments["path"].as_str().unwrap();
                let mut file =
                    std::fs::File::options().append(true).create(true).open(path).unwrap();
                file.write_all(b"acted\n").unwrap();
                std::process::exit(7);
            }
            // Answers once it may, and ends.
            "last_words" => {
                std::fs::write(in_folder("called"), "").unwrap();
                while !in_folder("go").exists() {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                reply(id, json!({"content": []}));
                std::process::exit(0);
            }
            "mute" => {}
            "fall_silent" => while std::io::stdin().lines().next().is_some() {},
            "hold" => self.held.push(id.clone()),
            "release" => {
                self.held.push(id.clone());
                for id in self.held.drain(..).rev() {
                    reply(&id, json!({"content": [], "held": id}));
                }
            }
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                for n in 1..=arguments["count"].as_u64().unwrap() {
                    let step = json!({"progressToken": token, "progress": n, "total": 1000, "message": "on"});
                    send(
                        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": step}),
                    );
                }
                reply(id, json!({"content": []}));
            }
            "speak" => {
                let token = &params["_meta"]["progressToken"];
                for (n, message) in arguments["messages"].as_array().unwrap().iter().enumerate() {
                    let step = json!({"progressToken": token, "progress": n, "message": message});
                    send(
                        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": step}),
                    );
                }
                reply(id, json!({"content": [{"type": "text", "text": "done"}]}));
            }
            "fail" => {
                let content = json!([{"type": "text", "text": "no"}]);
                reply(id, json!({"content": content, "isError": true}));
            }
            "environment" => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                reply(id, json!({"content": [], "names": names, "pid": std::process::id()}));
            }
            #[cfg(target_os = "linux")]
            "attempt" => {
                let said =
                    crate::attempt::attempt(arguments).unwrap_or_else(|error| error.to_string());
                reply(id, json!({"content": [], "said": said}));
            }
            "grandchild" => grandchild(id),
            "ask" => {
                for (n, method) in
                    ["ping", "roots/list", "sampling/createMessage", "elicitation/create"]
                        .iter()
                        .enumerate()
                {
                    send(
                        json!({"jsonrpc": "2.0", "id": format!("s{n}"), "method": method, "params": {}}),
                    );
                }
                let answers: Vec<Value> = lines
                    .take(4)
                    .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
                    .collect();
                reply(id, json!({"content": [], "answers": answers}));
            }
            "change" => {
                send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                reply(id, json!({"content": []}));
            }
            "notified" => reply(id, json!({"content": [], "notified": self.notified})),
            "meta" => reply(id, json!({"content": [], "meta": params["_meta"]})),
            _ => send(
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no such tool", "data": {"x": 1}}}),
            ),
        }
    }
}

#[expect(clippy::zombie_processes, reason = "it must outlive this process")]
fn grandchild(id: &Value) {
    let child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
    reply(id, json!({"content": [], "pid": child.id()}));
}

fn subscribe(params: &Value) {
    if params["notifications"] == json!({"toolsListChanged": true}) {
        send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    }
}
