//! Proxy mode: every visible tool under a name that any client takes, and nothing else.

use serde_json::{Value, json};

use crate::client::{self, Client, folder, of_capability, reason, shown};
use crate::fixture::{self, MANY_TOOLS, long_name};
use crate::support::weaver;

const PROXY: &str = "[gateway]\nmode = \"proxy\"";
const UNPREFIXED: &str = "[gateway]\nmode = \"proxy\"\nunprefixed = true";

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The name under which a title is listed.
fn listed(tools: &[Value], title: &str) -> String {
    let tool =
        tools.iter().find(|tool| tool["title"] == title).unwrap_or_else(|| panic!("{title}"));
    tool["name"].as_str().unwrap().to_owned()
}

#[test]
fn any_legal_name_is_listed_and_can_be_called() {
    let folder = folder(&[("s", "names")], PROXY, "");
    let mut client = Client::open(&folder);
    let tools = client.tools();
    for tool in ["getUser", "read-file", "a.b", "_a", "echo", &long_name()] {
        let name = listed(&tools, &format!("s.{tool}"));
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(name.len() <= 64 && name.chars().all(legal), "{name}");
        let (is_error, body) = client.call(&name, json!({}));
        assert!(!is_error, "{name}: {body}");
    }
    assert_eq!(listed(&tools, "s.getUser"), "s__getUser");
    assert_eq!(names(&tools), names(&client.tools()), "the order is the same each time");
    assert!(names(&tools).is_sorted(), "{:?}", names(&tools));
    client.finish();
}

#[test]
fn a_name_that_no_tool_has_is_answered_with_the_one_that_was_meant() {
    let folder = folder(&[("s", "good")], PROXY, "[capabilities.\"s.slow\"]\nvisible = false");
    let mut client = Client::open(&folder);
    client.tools();
    let mut said = |name: &str| {
        let answer = client.request("tools/call", json!({ "name": name, "arguments": {} }));
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert_eq!(said("s__ecoh"), "no tool `s__ecoh` here. Did you mean `s__echo`?");
    assert_eq!(
        said("other__many_rows"),
        "no tool `other__many_rows` here. Did you mean `s__many_rows`?"
    );
    // A hidden tool is proposed to nobody.
    assert_eq!(said("s__solw"), "no tool `s__solw` here. List the tools again.");
    assert_eq!(said("s__slow"), "no tool `s__slow` here. List the tools again.");
    let long = "x".repeat(100_000);
    assert!(said(&long).len() < 1_000);
    client.finish();
}

#[test]
fn a_long_list_comes_in_pages_that_cover_it_once() {
    let folder = folder(&[("s", "many")], PROXY, "");
    let mut client = Client::open(&folder);
    let first = client.request("tools/list", json!({}))["result"].clone();
    let second = client.request("tools/list", json!({ "cursor": first["nextCursor"] }));
    let second = second["result"].clone();
    let [first_page, second_page] =
        [&first, &second].map(|page| names(page["tools"].as_array().unwrap()));
    assert!(first_page.len() <= 501 && second.get("nextCursor").is_none(), "{second}");
    let mut all = [first_page, second_page].concat();
    all.sort();
    let whole = all.len();
    all.dedup();
    assert!(all.len() == whole && whole == MANY_TOOLS as usize + 6, "{whole}, {}", all.len());
    for wrong in [json!("nowhere!"), json!(7)] {
        let answer = client.request("tools/list", json!({ "cursor": wrong }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    client.finish();
}

/// The TypeScript SDK refuses a whole list in which one schema is not that of an object.
#[test]
fn a_schema_that_clients_refuse_takes_no_tool_away() {
    let folder = folder(&[("s", "sloppy"), ("t", "good")], PROXY, "");
    let mut client = Client::open(&folder);
    let tools = client.tools();
    listed(&tools, "s.untyped");
    listed(&tools, "t.many_rows");
    for tool in &tools {
        for schema in [Some(&tool["inputSchema"]), tool.get("outputSchema")].into_iter().flatten() {
            assert_eq!(schema["type"], "object", "{tool}");
            let mut properties = schema["properties"].as_object().into_iter().flatten();
            assert!(properties.all(|(_, property)| property.is_object()), "{tool}");
        }
    }
    let arguments = json!({ "text": "hello", "_justification": "to see that it works" });
    let (is_error, body) = client.call("s__half_typed", arguments);
    assert!(!is_error, "{body}");
    client.finish();
}

#[test]
fn without_a_prefix_names_are_the_servers_own() {
    let folder = folder(&[("s", "names")], UNPREFIXED, "");
    let mut client = Client::open_modern(&folder);
    let tools = client.tools();
    for tool in ["getUser", "read-file", "a.b", "_a", &long_name()] {
        assert_eq!(listed(&tools, &format!("s.{tool}")), tool);
        let (is_error, body) = client.call(tool, json!({}));
        assert!(!is_error, "{tool}: {body}");
    }
    client.finish();
}

/// Clients compare structured content with the output schema of a tool, also where `isError` is true.
#[test]
fn a_refusal_of_a_tool_with_an_output_schema_has_no_structured_content_of_ours() {
    let contracts = "[capabilities.\"s.many_rows\"]\neffects = \"destructive\"\n\
        [capabilities.\"s.people\"]\neffects = \"destructive\"\n";
    let folder = folder(&[("s", "good")], PROXY, contracts);
    let mut client = Client::open(&folder);
    let mut refused = |name: &str| {
        let answer = client.request("tools/call", json!({ "name": name, "arguments": {} }));
        let result = answer["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        (serde_json::from_str::<Value>(text).unwrap(), result)
    };
    let (body, result) = refused("s__many_rows");
    assert_eq!(result.get("structuredContent"), None, "{result}");
    assert_eq!((&body["verdict"], &body["message"].is_string()), (&json!("hold"), &true));
    for key in ["verdict", "reason", "call", "approval"] {
        assert_eq!(result["_meta"][format!("weaver/{key}")], body[key], "{key}");
    }
    let (body, result) = refused("s__people");
    assert_eq!(result["structuredContent"], body, "without a schema it has both");
    client.finish();
}

/// Many clients give a model nothing but the structured content.
#[test]
fn structured_content_says_itself_what_of_it_is_missing() {
    for (settings, tool) in [(PROXY, "s__many_rows"), ("", "tool_execute")] {
        let folder = folder(&[("s", "good")], settings, "");
        let mut client = Client::open(&folder);
        let rows = json!({ "text": "3000" });
        let arguments = match tool {
            "tool_execute" => json!({ "capability": "s.many_rows", "arguments": rows }),
            _ => rows,
        };
        let call = json!({ "name": tool, "arguments": arguments });
        let result = client.request("tools/call", call)["result"].clone();
        let line = result["structuredContent"]["[weaver]"].as_str().unwrap();
        assert!(line.contains("tool_view"), "{line}");
        let last = result["content"].as_array().unwrap().last().unwrap();
        let shown = last["text"].as_str().unwrap().strip_prefix("[weaver] ").unwrap();
        let rest = line.strip_prefix(shown).unwrap();
        // Lists show fewer items there than the text shows rows.
        assert_eq!(
            rest,
            " Lists in this structured content end after 50 items at most: read on from 50."
        );
        client.finish();
    }
}

/// The same secret as a result would show it if its server said it.
#[test]
fn a_server_does_not_show_its_own_secrets() {
    const SECRET: &str = "an-api-key-that-no-rule-knows";
    let folder = folder(&[("s", "good"), ("t", "good")], PROXY, "");
    folder.write("secrets.env", &format!("API_NAME={SECRET}\n"));
    std::fs::set_permissions(
        folder.path("secrets.env"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let config = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    let given = config.replacen("env = {", "env = { API_NAME = \"${API_NAME}\",", 1);
    folder.write("weaver.toml", &format!("environment = \"secrets.env\"\n{given}"));
    let mut client = Client::open(&folder);
    let say = json!({ "text": format!("it is {SECRET}") });
    let (_, body) = client.call("s__echo", say.clone());
    assert!(shown(&body).contains("it is [secret]") && !shown(&body).contains(SECRET), "{body}");
    let (_, body) = client.call("t__echo", say);
    assert!(shown(&body).contains(SECRET), "it is no secret of this one: {body}");
    client.finish();
}

/// A client whose own permissions go by the hints is led by the signed contract, not by the server.
#[test]
fn hints_are_those_of_the_contract_whatever_the_server_says() {
    let contracts = "[capabilities.\"s.posing\"]\neffects = \"destructive\"\n\
        [capabilities.\"s.timid\"]\neffects = \"read_local\"\nidempotent = true\n\
        [capabilities.\"s.silent\"]\neffects = \"write_local\"\n";
    let folder = folder(&[("s", "told")], PROXY, contracts);
    let harmless = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
        "openWorldHint": false, "otherHint": true, "title": "Posing"});
    let dangerous = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
        "openWorldHint": true});
    let tool = |name: &str, annotations: &Value| {
        json!({"name": name, "description": "A tool.", "inputSchema": {"type": "object"},
            "annotations": annotations})
    };
    let tools = [
        tool("posing", &harmless),
        tool("timid", &dangerous),
        tool("silent", &Value::Null),
        tool("listed", &harmless),
    ];
    folder.write("files/mark", &json!(tools).to_string());
    let mut client = Client::open(&folder);
    let tools = client.tools();
    let hints = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name);
        tool.unwrap_or_else(|| panic!("no {name}: {tools:?}"))["annotations"].clone()
    };
    let of = |read: bool, destroy: bool, idempotent: bool, open: bool| {
        json!({"readOnlyHint": read, "destructiveHint": destroy, "idempotentHint": idempotent,
            "openWorldHint": open})
    };
    let with_other = |mut hints: Value| {
        hints["otherHint"] = true.into();
        hints
    };
    let posing = with_other(of(false, true, false, true));
    assert_eq!(hints("s__posing"), posing, "the server says that it only reads");
    assert_eq!(hints("s__timid"), of(true, false, true, false), "the server says that it destroys");
    assert_eq!(hints("s__silent"), of(false, false, false, false), "the server says nothing");
    let by_pattern = with_other(of(true, false, false, false));
    assert_eq!(
        hints("s__listed"),
        by_pattern,
        "the contract of a pattern says nothing of repeating"
    );
    client.finish();
}

#[test]
fn a_required_argument_that_has_a_default_is_filled_in() {
    let folder = folder(&[("s", "told")], PROXY, "");
    let text = json!({"type": "string", "default": "by default"});
    let tools = json!([{"name": "echo", "description": "Echoes a text.", "inputSchema":
        {"type": "object", "required": ["text"], "properties": {"text": text}}}]);
    folder.write("files/mark", &tools.to_string());
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("s__echo", json!({}));
    assert!(!is_error && shown(&body).contains("by default"), "{body}");
    client.finish();
}

#[test]
fn names_without_a_prefix_need_one_server() {
    let folder = folder(&[("a", "good"), ("b", "good")], UNPREFIXED, "");
    let ended = Client::start(&folder).end();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("keep one server"), "{}", ended.stderr);
    assert_eq!(ended.rest, Vec::<Value>::new());
}

#[test]
fn a_tool_that_takes_the_name_of_one_of_ours_is_left_out_and_told() {
    let folder = folder(&[("s", "shadow")], UNPREFIXED, "");
    let mut client = Client::open(&folder);
    let tools = client.tools();
    let own: Vec<&Value> = tools.iter().filter(|tool| tool["name"] == "tool_view").collect();
    assert_eq!(own.len(), 1, "{tools:?}");
    assert_eq!(own[0]["title"], "Look further into a result");
    let (is_error, body) = client.call("tool_view", json!({"handle": "nothing-like-it"}));
    assert!(is_error, "{body}");
    assert_eq!(reason(&body).1, "handle_not_found");
    client.finish();
    let ready = crate::client::events(&folder)
        .into_iter()
        .find(|(kind, _)| kind == "upstream.ready")
        .unwrap();
    assert!(ready.1["fields"]["left_out"].to_string().contains("s.tool_view"), "{}", ready.1);
}

#[test]
fn what_a_server_says_of_its_tool_is_shown_without_hidden_characters() {
    // No model sees such a tool before an operator has signed exactly these words.
    let signed = |settings: &str| {
        let folder = folder(&[("s", "ansi")], settings, "");
        let config = folder.arg("weaver.toml");
        let run = weaver(&["contracts", "approve", "--config", &config, "s", "paint"]);
        assert_eq!(run.code, 0, "{run:?}");
        folder.sign("contracts");
        folder
    };
    let mut unsigned = Client::open(&folder(&[("s", "ansi")], PROXY, ""));
    assert!(unsigned.tools().iter().all(|tool| tool["name"] != "s__paint"));
    unsigned.finish();
    let folder = signed(PROXY);
    let mut client = Client::open(&folder);
    let tools = client.tools();
    let paint = tools.iter().find(|tool| tool["name"] == "s__paint").unwrap();
    assert_eq!(paint["description"], "a\\u{1b}[31mb\\u{e0041}\\u{7f}");
    let mut properties = paint["inputSchema"]["properties"].clone();
    assert_eq!(properties["text"]["description"], "b\\u{1b}[2Jc\\u{202e}");
    assert_eq!(properties["enum"]["title"], "t\\u{200b}");
    // What a value must be equal to stays as it is.
    assert_eq!(properties["text"]["enum"], json!(["x\u{1b}"]));
    client.finish();
    let mut client = Client::open(&signed(""));
    let (_, body) = client.call("tool_browse", json!({"capability": "s.paint"}));
    assert_eq!(body["description"], "a\\u{1b}[31mb\\u{e0041}\\u{7f}");
    properties.as_object_mut().unwrap().remove("_justification");
    assert_eq!(body["inputSchema"]["properties"], properties);
    client.finish();
}

#[test]
fn what_a_server_says_of_all_its_tools_is_shown_while_it_is_what_was_approved() {
    let digest = |instructions: &str| {
        let tool = &fixture::tools("good")[0];
        assert_eq!(tool["name"], "echo");
        let digest = weaver_gateway::serve::upstream_digest(tool, Some(instructions)).unwrap();
        format!("[capabilities.\"s.echo\"]\nupstream_digest = \"{digest}\"\n")
    };
    for (approved, is_shown) in [(fixture::INSTRUCTIONS, true), ("be quick", false)] {
        let hidden = client::contracts(&["s"]).replace("\"]\n", "\"]\nvisible = false\n");
        let only_echo = format!("{hidden}{}visible = true\n", digest(approved));
        let said = |settings: &str, request: &str, params: Value| {
            let folder = folder(&[("s", "good")], settings, "");
            client::replace(&folder, "contracts", 2, &only_echo);
            let mut client = Client::open(&folder);
            // A server says nothing before it is there.
            client.tools();
            let answer = client.request(request, params).to_string();
            client.finish();
            answer
        };
        let all = said(PROXY, "server/discover", json!({}));
        assert_eq!(all.contains(r"Server `s` says:\n> be kind"), is_shown, "{all}");
        let browse = json!({"name": "tool_browse", "arguments": {"capability": "s.echo"}});
        let one = said("", "tools/call", browse);
        assert_eq!(one.contains("server_says") && one.contains("be kind"), is_shown, "{one}");
    }
}

#[test]
fn a_hidden_tool_is_like_an_unknown_one() {
    let hidden = "[capabilities.\"s.secret_plans\"]\nvisible = false\n";
    let folder = folder(&[("s", "good")], PROXY, hidden);
    let mut client = Client::open(&folder);
    let tools = client.tools();
    assert!(!json!(tools).to_string().contains("secret_plans"));
    let [one, other] = ["s__secret_plans", "s__secret_plots"].map(|name| {
        let answer = client.request("tools/call", json!({"name": name, "arguments": {}}));
        (
            answer["error"]["code"].clone(),
            answer.to_string().replace(name, "").replace("plots", "plans"),
        )
    });
    assert_eq!(one.0, -32602);
    assert_eq!(one.1.split_once("\"id\"").unwrap().0, other.1.split_once("\"id\"").unwrap().0);
    client.finish();
    // Both attempts are on record.
    for name in ["s__secret_plans", "s__secret_plots"] {
        assert_eq!(of_capability(&folder, "call.refused", name)[0]["reason"], "not_found");
    }
}

#[test]
fn a_server_that_is_away_is_named() {
    for (settings, name) in [(PROXY, "s__echo"), (UNPREFIXED, "echo")] {
        let folder = folder(&[("s", "absent")], settings, "");
        let mut client = Client::open(&folder);
        assert_eq!(names(&client.tools()), ["tool_view"]);
        let (is_error, body) = client.call(name, json!({}));
        assert!(is_error, "{body}");
        assert_eq!(reason(&body), ("deny".to_owned(), "upstream_unavailable".to_owned()));
        client.finish();
    }
}

#[test]
fn calls_are_decided_firewalled_and_recorded() {
    let folder = folder(&[("a", "good"), ("b", "good")], PROXY, "");
    let mut client = Client::open(&folder);
    let (is_error, body) = client.call("a__echo", json!({"text": "hello"}));
    assert!(!is_error && shown(&body).contains("hello"), "{body}");
    let (is_error, body) = client.call("b__echo", json!({"text": 5}));
    assert!(is_error, "{body}");
    assert_eq!(reason(&body), ("ask".to_owned(), "invalid_arguments".to_owned()));
    let (is_error, body) = client.call("b__note", json!({"text": "x"}));
    assert!(is_error && reason(&body).0 == "ask", "{body}");
    let (_, body) = client.call("a__rows", json!({}));
    let handle = body["handle"].clone();
    let (is_error, body) = client.call("tool_view", json!({"handle": handle, "limit": 2}));
    assert!(!is_error && shown(&body).contains("row 1"), "{body}");
    assert!(!shown(&body).contains("row 2"), "two rows and no more: {body}");
    client.finish();
    assert_eq!(of_capability(&folder, "call.outcome", "a.echo").len(), 1);
    assert_eq!(of_capability(&folder, "call.refused", "b.echo").len(), 1);
}

#[test]
fn a_justification_is_an_argument_of_ours_that_reaches_no_tool() {
    let folder = folder(&[("s", "good")], PROXY, "");
    let mut client = Client::open(&folder);
    let tools = client.tools();
    let note = tools.iter().find(|tool| tool["name"] == "s__note").unwrap();
    assert_eq!(note["inputSchema"]["properties"]["_justification"]["type"], "string", "{note}");
    let (is_error, body) = client.call("s__note", json!({"text": "x"}));
    assert!(is_error && reason(&body).0 == "ask", "{body}");
    assert!(body["message"].as_str().unwrap().contains("`_justification`"), "{body}");
    let why = "the user asked for a note";
    let (is_error, body) = client.call("s__note", json!({"text": "x", "_justification": why}));
    assert!(!is_error, "{body}");
    let (is_error, body) = client.call("s__note", json!({"text": "x", "_justification": 5}));
    assert!(is_error, "{body}");
    assert_eq!(reason(&body), ("ask".to_owned(), "invalid_arguments".to_owned()));
    client.finish();
    let intents = of_capability(&folder, "call.intent", "s.note");
    assert_eq!(intents.len(), 1, "{intents:?}");
    assert!(!intents[0]["arguments"].to_string().contains("_justification"), "{intents:?}");
}

#[test]
fn where_no_rule_asks_why_no_tool_lists_the_argument() {
    let folder = folder(&[("s", "good")], PROXY, "");
    let policy = std::fs::read_to_string(folder.path("policy/policy.toml")).unwrap();
    let lines = policy.lines().filter(|line| !line.starts_with("require"));
    folder.write("policy/policy.toml", &lines.collect::<Vec<_>>().join("\n"));
    folder.sign("policy");
    let mut client = Client::open(&folder);
    let tools = client.tools();
    let listed = tools.iter().filter(|tool| tool.to_string().contains("_justification"));
    assert_eq!(listed.count(), 0);
    let (is_error, body) = client.call("s__note", json!({"text": "x", "_justification": "why"}));
    assert!(!is_error, "a client may send it all the same: {body}");
    client.finish();
}
