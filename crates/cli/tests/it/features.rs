//! Resources, prompts, completion, the log, and what servers ask, through the whole gateway.

use serde_json::{Value, json};

use crate::client::{Client, events, folder, initialize, of_capability};
use crate::support::{Folder, weaver};

const PROXY: &str = "[gateway]\nmode = \"proxy\"";
/// What the person and the client's model may be asked.
const ASKING: &str = "[capabilities.\"f.elicitation/create\"]\neffects = \"read_open\"\nsink = \"none\"\n\n\
    [capabilities.\"f.sampling/createMessage\"]\neffects = \"read_open\"\nsink = \"none\"\n\n";

/// A gateway in front of one server with every feature.
fn featured(settings: &str, contracts: &str) -> Folder {
    folder(&[("f", "features")], settings, contracts)
}

fn result(answer: &Value) -> &Value {
    assert!(answer["error"].is_null(), "{answer}");
    &answer["result"]
}

fn uris(client: &mut Client) -> Vec<String> {
    let listed = client.request("resources/list", json!({}));
    let items = result(&listed)["resources"].as_array().unwrap().clone();
    items.iter().map(|item| item["uri"].as_str().unwrap().to_owned()).collect()
}

/// Opens a client that declares these capabilities.
fn declaring(folder: &Folder, capabilities: Value) -> Client {
    let mut client = Client::start(folder);
    let mut opening = initialize();
    opening["capabilities"] = capabilities;
    client.request("initialize", opening);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

/// The same, and the client can be asked only once its server is there.
fn after_its_servers(folder: &Folder, capabilities: Value) -> Client {
    let mut client = Client::start(folder);
    let mut opening = initialize();
    opening["capabilities"] = capabilities;
    client.request("initialize", opening);
    assert!(client.tools().iter().any(|tool| tool["name"] == "f__ask"), "the server is there");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

/// The next request of the gateway to the client.
fn asked(client: &mut Client) -> Value {
    loop {
        let line = client.line().unwrap();
        if line["method"].is_string() && !line["id"].is_null() {
            return line;
        }
    }
}

#[test]
fn resources_are_listed_read_and_recorded_in_both_modes_and_eras() {
    for settings in ["", PROXY] {
        for modern in [false, true] {
            let folder = featured(settings, "");
            let mut client =
                if modern { Client::open_modern(&folder) } else { Client::open(&folder) };
            assert_eq!(uris(&mut client), ["note://1", "note://picture", "note://secret"]);
            let templates = client.request("resources/templates/list", json!({}));
            let template = &result(&templates)["resourceTemplates"][0];
            assert_eq!(*template, json!({"uriTemplate": "note://{name}", "name": "note"}));
            let read = client.request("resources/read", json!({"uri": "note://1"}));
            let read = result(&read);
            let contents = json!([{"uri": "note://1", "mimeType": "text/plain", "text": "note 1"}]);
            assert_eq!(read["contents"], contents, "{read}");
            assert_eq!(read["_meta"]["weaver/label"]["integrity"], "trusted");
            assert_eq!(read["resultType"], if modern { json!("complete") } else { Value::Null });
            client.finish();
            assert_eq!(of_capability(&folder, "call.outcome", "f.resources/read").len(), 1);
        }
    }
}

#[test]
fn what_is_read_passes_the_firewall() {
    let folder = featured(PROXY, "");
    let mut client = Client::open(&folder);
    let read = client.request("resources/read", json!({"uri": "note://secret"}));
    let text = result(&read)["contents"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("key ") && !text.contains("ghp_"), "{text}");
    let said = result(&read)["contents"][1]["text"].as_str().unwrap();
    assert!(said.starts_with("[weaver] Masked:"), "{said}");
    // A picture goes on as bytes; what is text in base64 is text.
    let read = client.request("resources/read", json!({"uri": "note://picture"}));
    let contents = &result(&read)["contents"];
    assert_eq!(contents[0]["blob"], "iVBORw0KGgoA", "{contents}");
    let read = client.request("resources/read", json!({"uri": "note://hidden"}));
    let shown = &result(&read)["contents"][0];
    assert!(shown["blob"].is_null(), "{shown}");
    let text = shown["text"].as_str().unwrap();
    assert!(text.starts_with("key ") && !text.contains("ghp_"), "{text}");
    client.finish();
}

#[test]
fn what_is_not_there_is_not_found_and_a_refusal_says_why() {
    let deny =
        "[capabilities.\"f.resources/read\"]\neffects = \"destructive\"\nsink = \"destructive\"\n";
    let folder = featured("", deny);
    let mut client = Client::open(&folder);
    let refused = client.request("resources/read", json!({"uri": "note://1"}));
    assert_eq!(refused["error"]["code"], -32010, "{refused}");
    assert_eq!(refused["error"]["data"]["verdict"], "hold", "{refused}");
    client.finish();
    let folder = featured("", "");
    let mut client = Client::open(&folder);
    let missing = client.request("resources/read", json!({"uri": "note://gone"}));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    let missing = client.request("resources/read", json!({"uri": 5}));
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    client.finish();
}

#[test]
fn a_hidden_server_has_no_resources_and_no_prompts() {
    let hidden = "[capabilities.\"f.resources/read\"]\nvisible = false\n\
        [capabilities.\"f.prompts/get/greet\"]\nvisible = false\n";
    let folder = folder(&[("f", "features"), ("g", "good")], PROXY, hidden);
    let mut client = Client::open(&folder);
    assert_eq!(uris(&mut client), Vec::<String>::new());
    let listed = client.request("prompts/list", json!({}));
    assert!(!listed.to_string().contains("greet"), "{listed}");
    let of = |answer: Value, name: &str| answer["error"].to_string().replace(name, "");
    let [one, other] = ["note://1", "nothing"]
        .map(|uri| of(client.request("resources/read", json!({ "uri": uri })), uri));
    assert_eq!(one, other);
    let [one, other] = ["f__greet", "f__grunt"]
        .map(|name| of(client.request("prompts/get", json!({ "name": name })), name));
    assert_eq!(one, other);
    client.finish();
    assert_eq!(of_capability(&folder, "call.refused", "f__greet").len(), 1);
}

#[test]
fn undeclared_features_are_the_most_dangerous_and_proposals_make_them_work() {
    let folder = Folder::new();
    crate::client::configure(&folder, &[("f", "features")], "");
    folder.append("policy/policy.toml", crate::client::RULES);
    folder.sign("policy");
    folder.sign("contracts");
    let mut client = Client::open(&folder);
    let refused = client.request("resources/read", json!({"uri": "note://1"}));
    assert_eq!(refused["error"]["code"], -32010, "{refused}");
    client.finish();
    let config = folder.arg("weaver.toml");
    let proposed = weaver(&["contracts", "propose", "--config", &config]);
    assert_eq!(proposed.code, 0, "{proposed:?}");
    for id in ["f.resources/read", "f.prompts/get/greet", "f.completion/complete"] {
        let entry = format!("[capabilities.\"{id}\"]\neffects = \"read_local\"\nsink = \"none\"");
        assert!(proposed.out.contains(&entry), "{}", proposed.out);
    }
    assert!(!proposed.out.contains("elicitation"), "{}", proposed.out);
    // It takes the place of the one that was in force.
    let own = proposed.out.replacen("version = 1", "version = 2", 1);
    folder.write("policy/contracts.toml", &own);
    folder.sign("contracts");
    let mut client = Client::open(&folder);
    result(&client.request("resources/read", json!({"uri": "note://1"})));
    let greet = json!({"name": "f__greet", "arguments": {"who": "Ada"}});
    result(&client.request("prompts/get", greet));
    client.finish();
}

#[test]
fn prompts_are_listed_filled_in_and_pinned() {
    let folder = featured("", "");
    let mut client = Client::open(&folder);
    let listed = client.request("prompts/list", json!({}));
    let prompt = &result(&listed)["prompts"][0];
    assert_eq!(prompt["name"], "f__greet");
    assert_eq!(prompt["arguments"][0], json!({"name": "who", "required": true}));
    let got =
        client.request("prompts/get", json!({"name": "f__greet", "arguments": {"who": "Ada"}}));
    let got = result(&got);
    assert_eq!(got["description"], "a greeting");
    let messages = json!([{"role": "user", "content": {"type": "text", "text": "Greet Ada."}},
        {"role": "assistant", "content": {"type": "text", "text": "Hello."}}]);
    assert_eq!(got["messages"], messages);
    let missing = client.request("prompts/get", json!({"name": "f__greet"}));
    assert_eq!(missing["error"]["data"]["reason"], "invalid_arguments", "{missing}");
    // The server describes its prompt in other words: it is not what was seen.
    client.request("resources/read", json!({"uri": "note://turn"}));
    let changed = loop {
        let answer =
            client.request("prompts/get", json!({"name": "f__greet", "arguments": {"who": "A"}}));
        if !answer["error"].is_null() {
            break answer;
        }
    };
    assert_eq!(changed["error"]["data"]["reason"], "contract_changed", "{changed}");
    client.finish();
}

#[test]
fn completion_reaches_its_server_under_the_name_it_has_there() {
    let folder = featured(PROXY, "");
    let mut client = Client::open(&folder);
    client.request("prompts/list", json!({}));
    let complete = |client: &mut Client, reference: Value| {
        let argument = json!({"name": "who", "value": "A"});
        client.request("completion/complete", json!({"ref": reference, "argument": argument}))
    };
    let done = complete(&mut client, json!({"type": "ref/prompt", "name": "f__greet"}));
    assert_eq!(result(&done)["completion"]["values"], json!(["A of prompt greet"]), "{done}");
    let done = complete(&mut client, json!({"type": "ref/resource", "uri": "note://{name}"}));
    assert_eq!(result(&done)["completion"]["values"], json!(["A of resource note://{name}"]));
    for nothing in [json!({"type": "ref/prompt", "name": "greet"}), json!({}), json!(null)] {
        assert_eq!(complete(&mut client, nothing)["error"]["code"], -32602);
    }
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "f.completion/complete").len(), 2);
}

#[test]
fn uris_of_two_servers_say_whose_they_are() {
    let folder = folder(&[("f", "features"), ("g", "features")], PROXY, "");
    let mut client = Client::open(&folder);
    let listed = uris(&mut client);
    assert_eq!(listed.len(), 6, "{listed:?}");
    assert!(listed.contains(&"weaver://g/note://1".to_owned()), "{listed:?}");
    let read = client.request("resources/read", json!({"uri": "weaver://g/note://1"}));
    assert_eq!(result(&read)["contents"][0]["uri"], "weaver://g/note://1");
    let bare = client.request("resources/read", json!({"uri": "note://1"}));
    assert_eq!(bare["error"]["code"], -32002, "{bare}");
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "g.resources/read").len(), 1);
    assert_eq!(of_capability(&folder, "call.outcome", "f.resources/read").len(), 0);
}

#[test]
fn changes_and_log_messages_reach_the_client() {
    let folder = featured(PROXY, "");
    let mut client = Client::open(&folder);
    client.request("resources/list", json!({}));
    result(&client.request("resources/subscribe", json!({"uri": "note://1"})));
    result(&client.request("logging/setLevel", json!({"level": "warning"})));
    let wrong = client.request("logging/setLevel", json!({"level": "loud"}));
    assert_eq!(wrong["error"]["code"], -32602);
    client.request("resources/read", json!({"uri": "note://events"}));
    let mut told = std::collections::BTreeMap::new();
    // The first lists are changes too.
    let wanted = ["resources/updated", "message", "resources/list_changed"];
    while wanted.iter().any(|wanted| !told.contains_key(&format!("notifications/{wanted}"))) {
        let line = client.notice();
        told.insert(line["method"].as_str().unwrap().to_owned(), line["params"].clone());
    }
    assert_eq!(told["notifications/resources/updated"], json!({"uri": "note://1"}));
    let logged = &told["notifications/message"];
    assert_eq!((&logged["level"], &logged["logger"]), (&json!("error"), &json!("f/db")));
    let data = logged["data"].to_string();
    assert!(data.contains("failed with") && !data.contains("ghp_"), "{data}");
    client.finish();
}

/// The levels of the log messages up to the error with which the server ends.
fn logged_levels(client: &mut Client) -> Vec<String> {
    client.request("resources/read", json!({"uri": "note://events"}));
    let mut levels = Vec::new();
    while levels.last().is_none_or(|level| level != "error") {
        let line = client.notice();
        if line["method"] == "notifications/message" {
            levels.push(line["params"]["level"].as_str().unwrap().to_owned());
        }
    }
    levels
}

#[test]
fn a_client_hears_the_log_from_the_level_on_that_it_set_last() {
    let folder = featured(PROXY, "");
    let mut client = Client::open(&folder);
    client.request("resources/list", json!({}));
    // The server logs everything whatever the level, so the gateway has to hold back the rest.
    for (level, heard) in [
        ("warning", &["error"][..]),
        ("info", &["info", "error"]),
        ("error", &["error"]),
        ("debug", &["info", "error"]),
    ] {
        result(&client.request("logging/setLevel", json!({ "level": level })));
        assert_eq!(logged_levels(&mut client), heard, "{level}");
    }
    result(&client.request("logging/setLevel", json!({ "level": "critical" })));
    client.request("resources/read", json!({"uri": "note://events"}));
    let rest = client.finish();
    assert!(rest.iter().all(|line| line["method"] != "notifications/message"), "{rest:?}");
}

#[test]
fn a_modern_client_listens_to_what_it_asks_for() {
    let folder = featured("", "");
    let mut client = Client::open_modern(&folder);
    client.request("resources/list", json!({}));
    let filter =
        json!({"resourcesListChanged": true, "resourceSubscriptions": ["note://1", "gone://1"]});
    let id = client.begin("subscriptions/listen", json!({ "notifications": filter }));
    let first = client.notice();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    client.request("resources/read", json!({"uri": "note://events"}));
    let mut methods = std::collections::BTreeSet::new();
    while methods.len() < 2 {
        let line = client.notice();
        assert_eq!(line["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{line}");
        methods.insert(line["method"].as_str().unwrap().to_owned());
    }
    for method in ["resources/subscribe", "logging/setLevel"] {
        assert_eq!(client.request(method, json!({"uri": "note://1"}))["error"]["code"], -32601);
    }
    client.finish();
}

/// Whoever watches without bound is refused before anything is looked for.
#[test]
fn what_a_modern_client_listens_to_is_bounded_and_only_what_there_is() {
    let folder = folder(&[("f", "unannounced")], "", "");
    let mut client = Client::open_modern(&folder);
    client.request("resources/list", json!({}));
    let lists = |client: &mut Client| -> Value {
        let read = client.request("resources/read", json!({"uri": "note://state"}));
        let text = result(&read)["contents"][0]["text"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&text).unwrap()["lists"].clone()
    };
    let before = lists(&mut client).as_u64().unwrap();
    let listen = |client: &mut Client, count: usize| {
        // A URI of our own scheme belongs to no server, so each of them is looked for.
        let uris: Vec<String> = (0..count).map(|n| format!("weaver://none/x:{n}")).collect();
        let filter = json!({ "resourceSubscriptions": uris });
        client.begin("subscriptions/listen", json!({ "notifications": filter }))
    };
    let id = listen(&mut client, 300);
    let refused = client.answer(&id);
    assert!(refused["error"]["message"].as_str().unwrap().contains("256"), "{refused}");
    assert_eq!(lists(&mut client).as_u64().unwrap(), before);
    listen(&mut client, 200);
    let first = client.notice();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    assert_eq!(lists(&mut client).as_u64().unwrap(), before + 1, "listed once for all");
    client.finish();
}

#[test]
fn lists_that_no_server_has_are_not_agreed_to() {
    let folder = folder(&[("good", "good")], PROXY, "");
    let mut client = Client::open_modern(&folder);
    client.tools();
    let filter = json!({"toolsListChanged": true, "promptsListChanged": true,
        "resourcesListChanged": true});
    client.begin("subscriptions/listen", json!({ "notifications": filter }));
    let first = client.notice();
    let agreed = &first["params"]["notifications"];
    assert_eq!(*agreed, json!({ "toolsListChanged": true }), "{first}");
    client.finish();
}

#[test]
fn a_modern_client_hears_the_log_of_a_call_that_asks_for_it() {
    let folder = featured(PROXY, "");
    let mut client = Client::open_modern(&folder);
    client.tools();
    let call = |level: Value| {
        let meta = json!({ "io.modelcontextprotocol/logLevel": level });
        json!({"name": "f__ask", "arguments": {"text": "log"}, "_meta": meta})
    };
    result(&client.request("tools/call", call(json!("warning"))));
    let logged = client.notice();
    assert_eq!(logged["method"], "notifications/message", "{logged}");
    assert_eq!(logged["params"]["level"], "error", "{logged}");
    assert_eq!(logged["params"]["logger"], "f/db", "{logged}");
    let data = logged["params"]["data"].to_string();
    assert!(data.contains("failed with") && !data.contains("ghp_"), "{data}");
    let unknown = client.request("tools/call", call(json!("loud")));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let quiet = json!({"name": "f__ask", "arguments": {"text": "log"}});
    result(&client.request("tools/call", quiet));
    let rest = client.finish();
    assert!(rest.iter().all(|line| line["method"] != "notifications/message"), "{rest:?}");
}

#[test]
fn a_server_asks_the_person_only_where_a_signed_contract_names_it() {
    let takes = json!({"elicitation": {}, "sampling": {}});
    // A pattern covers it, and that is not enough.
    let plain = featured(PROXY, "");
    let mut client = declaring(&plain, takes.clone());
    client.tools();
    let (is_error, body) = client.call("f__ask", json!({"text": "elicitation/create"}));
    assert!(!is_error, "{body}");
    assert!(body["text"].as_str().unwrap().contains("\"code\":-1"), "{body}");
    let rest = client.finish();
    assert!(rest.iter().all(|line| line["method"] != "elicitation/create"), "{rest:?}");
    let refused = of_capability(&plain, "call.refused", "f.elicitation/create");
    assert_eq!(refused[0]["reason"], "contract_unknown", "{refused:?}");
    // A client that does not take it is not asked.
    let folder = featured(PROXY, ASKING);
    let mut client = declaring(&folder, json!({}));
    client.tools();
    let (_, body) = client.call("f__ask", json!({"text": "elicitation/create"}));
    assert!(body["text"].as_str().unwrap().contains("-32601"), "{body}");
    client.finish();
}

#[test]
fn a_person_sees_whose_words_they_read_and_the_answer_goes_back() {
    let folder = featured(PROXY, ASKING);
    let mut client = declaring(&folder, json!({"elicitation": {}}));
    client.tools();
    let id = client.begin(
        "tools/call",
        json!({"name": "f__ask", "arguments": {"text": "elicitation/create"}}),
    );
    let question = asked(&mut client);
    assert_eq!(question["method"], "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("server `f`") && message.contains("\n> Which\\u{200b} one?"),
        "{message}"
    );
    assert!(question["params"]["mode"].is_null(), "{question}");
    let answer = json!({"action": "accept", "content": {"name": "jane.doe@corp.example.org"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let done = client.answer(&id);
    let text = done["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("accept"), "{done}");
    // The server has the address as it was typed: it says how long it is.
    assert!(text.contains("name of 25"), "{done}");
    // What does not fit the form does not go back.
    let id = client.begin(
        "tools/call",
        json!({"name": "f__ask", "arguments": {"text": "elicitation/create"}}),
    );
    let question = asked(&mut client);
    let answer = json!({"action": "accept", "content": {"name": 5}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let done = client.answer(&id);
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("-32603"), "{done}");
    client.finish();
    let outcomes = of_capability(&folder, "call.outcome", "f.elicitation/create");
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    let all = format!("{:?}", events(&folder));
    assert!(!all.contains("jane.doe@corp"), "what a person typed is in no log");
}

#[test]
fn a_value_that_was_given_out_is_masked_outside_of_results_too() {
    let folder = featured(PROXY, ASKING);
    let mut client = after_its_servers(&folder, json!({"elicitation": {}, "sampling": {}}));
    result(&client.request("logging/setLevel", json!({"level": "error"})));
    let read = client.request("resources/read", json!({"uri": "note://login"}));
    let text = result(&read)["contents"][0]["text"].as_str().unwrap();
    let shown: Value = serde_json::from_str(text).unwrap();
    let mask = shown["password"].as_str().unwrap().to_owned();
    assert!(mask.starts_with('['), "{read}");
    let keep = json!({"name": "f__ask", "arguments": {"text": format!("keep {mask}")}});
    let kept = client.begin("tools/call", keep);
    // The message and the answer come in either order.
    let (mut log, mut done) = (Value::Null, Value::Null);
    while log.is_null() || done.is_null() {
        let line = client.line().unwrap();
        match line["method"].as_str() {
            Some("notifications/message") => log = line,
            None if line["id"] == kept => done = line,
            _ => {}
        }
    }
    assert!(!log.to_string().contains("plover"), "{log}");
    assert_eq!(log["params"]["data"], " [REDACTED]", "{log}");
    assert_eq!(done["result"]["content"][0]["text"], "kept", "{done}");
    let listed = client.request("resources/list", json!({}));
    let name = result(&listed)["resources"][0]["name"].as_str().unwrap();
    assert_eq!(name, "1 [REDACTED]", "{listed}");
    for method in ["elicitation/create", "sampling/createMessage"] {
        let id =
            client.begin("tools/call", json!({"name": "f__ask", "arguments": {"text": method}}));
        let question = asked(&mut client);
        let said = question["params"].to_string();
        assert!(said.contains("[REDACTED]") && !said.contains("plover"), "{question}");
        let error = json!({"code": -1, "message": "no"});
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": error}));
        client.answer(&id);
    }
    client.finish();
}

/// The call may take a second, and the person takes longer.
#[test]
fn the_time_of_a_person_is_not_the_time_of_a_call() {
    let brief = "[capabilities.\"f.ask\"]\neffects = \"read_local\"\nsink = \"none\"\ntimeout_ms = 1000\n\
        output = { confidentiality = \"internal\", integrity = \"trusted\" }\n\n\
        [capabilities.\"f.stall\"]\neffects = \"read_local\"\nsink = \"none\"\ntimeout_ms = 1000\n\n";
    let folder = featured(PROXY, &format!("{ASKING}{brief}"));
    let mut client = declaring(&folder, json!({"elicitation": {}}));
    client.tools();
    let (is_error, body) = client.call("f__stall", json!({}));
    assert!(is_error && body.to_string().contains("TIMEOUT"), "a second is the limit: {body}");
    let ask = json!({"name": "f__ask", "arguments": {"text": "elicitation/create"}});
    let answer = json!({"action": "accept", "content": {"name": "Ann"}});
    let id = client.begin("tools/call", ask.clone());
    let question = asked(&mut client);
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let done = client.answer(&id);
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("accept"), "{done}");
    client.finish();
    // A modern client is asked in the result of its call, which waits for it just as long.
    let mut client = Client::open_modern(&folder);
    client.capabilities = json!({"elicitation": {}});
    client.tools();
    let asks = client.request("tools/call", ask.clone());
    let asks = &asks["result"];
    assert_eq!(asks["resultType"], "input_required", "{asks}");
    let name = asks["inputRequests"].as_object().unwrap().keys().next().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let mut again = ask;
    again["requestState"] = asks["requestState"].clone();
    again["inputResponses"] = json!({ name: answer });
    let done = client.request("tools/call", again);
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("accept"), "{done}");
    client.finish();
}

#[test]
fn a_model_is_told_whose_prompt_it_reads_and_roots_are_the_client_s() {
    let folder = featured(PROXY, ASKING);
    let mut client =
        after_its_servers(&folder, json!({"sampling": {}, "roots": {"listChanged": true}}));
    let question = asked(&mut client);
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}));
    let id = client.begin(
        "tools/call",
        json!({"name": "f__ask", "arguments": {"text": "sampling/createMessage"}}),
    );
    let question = asked(&mut client);
    assert_eq!(question["method"], "sampling/createMessage");
    let system = question["params"]["systemPrompt"].as_str().unwrap();
    assert!(system.contains("server `f`") && system.ends_with("be brief"), "{system}");
    assert_eq!(question["params"]["includeContext"], "none");
    let answer =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let done = client.answer(&id);
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("\"hi\""), "{done}");
    let id =
        client.begin("tools/call", json!({"name": "f__ask", "arguments": {"text": "roots/list"}}));
    let question = asked(&mut client);
    let roots = json!({"roots": [{"uri": "file:///work", "name": "w", "x": 1}, {"uri": "https://a.example"}]});
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": roots}));
    let done = client.answer(&id);
    let text = done["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("file:///work") && !text.contains("a.example"), "{done}");
    // A change of roots reaches the server, which asks anew.
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    assert_eq!(asked(&mut client)["method"], "roots/list");
    client.end();
}

/// Most servers ask for roots once, when they start: with the daemon that is long before most clients.
#[test]
fn a_server_that_is_there_before_a_client_hears_of_its_roots() {
    let folder = featured(PROXY, ASKING);
    let mut client = after_its_servers(&folder, json!({"roots": {}}));
    assert_eq!(asked(&mut client)["method"], "roots/list");
    client.end();
}

#[test]
fn a_model_cannot_have_the_person_asked_by_itself() {
    let folder = featured("", ASKING);
    let mut client = declaring(&folder, json!({"elicitation": {}}));
    client.call("tool_browse", json!({}));
    for id in ["f.elicitation/create", "f.sampling/createMessage"] {
        let (is_error, body) = client.execute(id, json!({"request": 0, "params": {}}));
        assert!(is_error, "{body}");
    }
    let rest = client.finish();
    assert!(rest.iter().all(|line| line["method"] != "elicitation/create"), "{rest:?}");
}

#[test]
fn a_cancelled_call_is_cancelled_at_its_server() {
    let folder = featured(PROXY, "");
    let mut client = Client::open(&folder);
    client.tools();
    let stall = json!({"name": "f__stall", "arguments": {}, "_meta": {"progressToken": 1}});
    let id = client.begin("tools/call", stall);
    // The server has the call once it tells of it.
    while client.notice()["method"] != "notifications/progress" {}
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id}}));
    // The server tells in a resource what it was told; this read comes after.
    let told = loop {
        let read = client.request("resources/read", json!({"uri": "note://cancelled"}));
        let text = result(&read)["contents"][0]["text"].as_str().unwrap().to_owned();
        if text != "0" {
            break text;
        }
    };
    assert_eq!(told, "1");
    let rest = client.finish();
    assert!(rest.iter().all(|line| line["id"] != id), "a cancelled call is not answered: {rest:?}");
    let ended = events(&folder).into_iter().filter(|(kind, event)| {
        event["capability"] == "f.stall" && kind.starts_with("call.outcome")
    });
    assert_eq!(ended.count(), 1, "its end is on record");
}
