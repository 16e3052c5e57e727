//! The configuration: what is read, and what is refused with file, line, key and remedy.

use std::collections::BTreeMap;
use std::time::Duration;

use weaver_gateway::config::{Config, DocumentFinding, ToolListMode, TransportSettings, load_with};
use weaver_types::SafetyMode;

use crate::folder::Folder;

fn variables(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/ann".to_owned()),
        "TOKEN" => Some("s3cret".to_owned()),
        _ => None,
    }
}

fn loaded(folder: &Folder) -> Config {
    load_with(folder.path("weaver.toml"), &variables).unwrap()
}

/// The findings of a configuration that is the example with `more` at its end.
fn findings(more: &str) -> Vec<DocumentFinding> {
    let folder = Folder::new();
    folder.append("weaver.toml", more);
    load_with(folder.path("weaver.toml"), &variables).unwrap_err().findings().to_vec()
}

/// The one finding.
fn finding(more: &str) -> DocumentFinding {
    let found = findings(more);
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0].clone()
}

#[test]
fn defaults_are_as_documented() {
    let folder = Folder::new();
    let config = loaded(&folder);
    assert_eq!(
        (config.profile.mode, config.unprefixed, config.profile.shortlist),
        (ToolListMode::Gateway, false, 8)
    );
    assert_eq!(config.idle_timeout, Duration::from_secs(3600));
    assert_eq!(config.store_path, folder.path(".weaver/ledger.db"));
    assert_eq!(config.documents_folder, folder.path("policy"));
    let budget = &config.run.budget;
    assert_eq!((budget.max_tool_calls, budget.max_latency_ms, budget.max_cost), (None, None, None));
    assert_eq!(config.run.safety_mode, SafetyMode::Normal);
}

#[test]
fn every_setting_is_read() {
    let folder = Folder::new();
    folder.append(
        "weaver.toml",
        "args = [\"${HOME}/x\", \"${NONE:-y}\"]\nenv = { KEY = \"${env:TOKEN}\" }\n\
         cwd = \"work\"\ntype = \"stdio\"\ntimeout_ms = 5000\n\
         [mcpServers.web]\nurl = \"https://example.org/mcp\"\ntype = \"streamable-http\"\n\
         headers = { Authorization = \"Bearer ${TOKEN}\" }\n\
         [mcpServers.off]\ncommand = \"${NONE}\"\ndisabled = true\n\
         [gateway]\nmode = \"proxy\"\nshortlist = 20\n\
         [run]\nsafety_mode = \"SAFE\"\nmax_tool_calls = 3\nidle_minutes = 1\n\
         [store]\npath = \"/var/ledger.db\"\n",
    );
    let config = loaded(&folder);
    assert_eq!((config.profile.mode, config.profile.shortlist), (ToolListMode::Proxy, 20));
    assert_eq!(config.run.safety_mode, SafetyMode::Safe);
    assert_eq!(config.run.budget.max_tool_calls, Some(3));
    assert_eq!(config.store_path.to_str(), Some("/var/ledger.db"));
    let names: Vec<_> = config.upstreams.iter().map(|up| up.name.as_str()).collect();
    assert_eq!(names, ["files", "web"]);
    assert_eq!(config.upstreams[0].timeout, Some(Duration::from_secs(5)));
    assert_eq!(
        config.upstreams[0].transport,
        TransportSettings::Stdio {
            command: "files-server".to_owned(),
            args: vec!["/home/ann/x".to_owned(), "y".to_owned()],
            env: BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]),
            cwd: Some(folder.path("work")),
            confine: None,
        }
    );
    let shown = format!("{config:?}");
    assert!(!shown.contains("s3cret") && shown.contains("Authorization"), "{shown}");
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_one_meant() {
    let found = finding("[gateway]\nshortlits = 5\n");
    assert_eq!(found.code, "config.unknown_key");
    assert_eq!((found.line, found.column), (Some(10), Some(1)));
    assert_eq!(found.key.as_deref(), Some("gateway.shortlits"));
    assert!(found.remedy.contains("`shortlist`"), "{found}");
    assert!(found.file.ends_with("weaver.toml"));
}

#[test]
fn a_setting_that_could_loosen_a_decision_is_refused_by_name() {
    for more in [
        "[gateway]\nunsigned = true\n",
        "alwaysAllow = [\"read\"]\n",
        "trust = true\n",
        "[run]\nallow = [\"*\"]\n",
    ] {
        assert_eq!(finding(more).code, "config.loosens", "{more}");
    }
    let folder = Folder::new();
    let text = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    folder.write("weaver.toml", &text.replace("[trust]", "roles = [\"admin\"]\n[trust]"));
    let error = load_with(folder.path("weaver.toml"), &variables).unwrap_err();
    assert_eq!(error.code(), "config.loosens");
    assert!(error.to_string().contains("signed policy"), "{error}");
}

#[test]
fn a_collector_is_reached_safely_or_not_at_all() {
    let of = |more: &str| finding(&format!("[telemetry.otlp]\n{more}")).code;
    let here = "endpoint = \"http://127.0.0.1:4318\"\n";
    assert_eq!(of("interval_s = 5\n"), "config.missing_key");
    assert_eq!(of("endpoint = \"http://collector.example\"\n"), "config.url");
    assert_eq!(of(&format!("{here}interval_s = 0\n")), "config.range");
    assert_eq!(of(&format!("{here}headers = {{ \"a b\" = \"c\" }}\n")), "config.header");
    assert_eq!(of(&format!("{here}headers = {{ a = \"b\\r\\nc\" }}\n")), "config.header");
    assert_eq!(finding("[telemetry]\nlog_format = \"xml\"\n").code, "config.word");
}

#[test]
fn a_login_without_a_person_says_what_it_lacks() {
    let of = |more: &str| {
        let web = "[mcpServers.web]\nurl = \"https://a.example/mcp\"\n[mcpServers.web.oauth]\n";
        finding(&format!("{web}{more}")).code
    };
    let (own, key) = ("grant = \"client_credentials\"\n", "client_key = { file = \"k.pem\" }\n");
    let (bearer, id) = ("grant = \"jwt_bearer\"\n", "client_id = \"weaver\"\n");
    let (token, secret) =
        ("assertion = { file = \"/run/token\" }\n", "client_secret = { env = \"SECRET\" }\n");
    assert_eq!(of(&format!("{own}{id}")), "config.missing_key");
    assert_eq!(of(key), "config.missing_key");
    assert_eq!(of(&format!("{id}client_key_id = \"first\"\n")), "config.missing_key");
    assert_eq!(of(&format!("{own}{id}{key}{secret}")), "config.server");
    assert_eq!(of(&format!("{bearer}{token}")), "config.missing_key");
    assert_eq!(of(&format!("{bearer}{id}")), "config.missing_key");
    assert_eq!(of(&format!("{id}{token}")), "config.server");
    let exchange = |issuer: &str| {
        format!(
            "{bearer}{id}token_exchange = {{ issuer = \"{issuer}\", client_id = \"a\", \
             subject_token = {{ env = \"ID\" }} }}\n"
        )
    };
    assert_eq!(of(&exchange("http://idp.example")), "config.url");
    let folder = Folder::new();
    let bound = "dpop_bound_access_tokens = true\nclient_key_id = \"first\"\n";
    folder.append(
        "weaver.toml",
        &format!(
            "[mcpServers.a]\nurl = \"https://a.example/mcp\"\n[mcpServers.a.oauth]\n{own}{id}{key}{bound}\
             [mcpServers.b]\nurl = \"https://a.example/mcp\"\n[mcpServers.b.oauth]\n{bearer}{id}{token}\
             [mcpServers.c]\nurl = \"https://a.example/mcp\"\n[mcpServers.c.oauth]\n{}",
            exchange("https://idp.example")
        ),
    );
    let config = loaded(&folder);
    let shown = format!("{config:?}");
    for wanted in ["k.pem", "first", "/run/token", "https://idp.example", "JwtBearer"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}

#[test]
fn malformed_text_has_a_place() {
    let found = finding("[gateway\n");
    assert_eq!((found.code, found.line), ("config.syntax", Some(9)));
    assert_eq!(finding("command = \"twice\"\n").code, "config.syntax");
}

#[test]
fn everything_wrong_is_said_at_once() {
    let folder = Folder::new();
    folder.write(
        "weaver.toml",
        "[gateway]\nmode = \"proxxy\"\nshortlist = 21\nunprefixed = 1\n[trust]\nroot = \"ed25519:AAAA\"\n\
         [run]\nsafety_mode = \"safe\"\nmax_tool_calls = -1\n[mcpServers.\"My Files\"]\ncommand = \"x\"\n\
         [mcpServers.a]\n[mcpServers.b]\ncommand = \"x\"\nurl = \"http://x\"\n\
         [mcpServers.c]\ntype = \"sse\"\nurl = \"http://x\"\n[mcpServers.d]\nurl = \"ftp://x\"\n\
         [mcpServers.e]\ncommand = \"${UNSET_VARIABLE}\"\n\
         [mcpServers.f]\nserverUrl = \"http://x\"\nurl = \"http://x\"\n",
    );
    let error = load_with(folder.path("weaver.toml"), &variables).unwrap_err();
    let codes: Vec<_> = error.findings().iter().map(|found| found.code).collect();
    for code in [
        "config.word", "config.range", "config.type", "config.root_key", "config.missing_key",
        "config.server_name", "config.server", "config.url", "config.variable",
        "config.unknown_key",
    ] {
        assert!(codes.contains(&code), "{code} is not among {codes:?}");
    }
    let text = error.to_string();
    assert!(text.contains("rename it to `my-files`"), "{text}");
    assert!(text.contains("write it as `url`"), "{text}");
    assert!(text.contains("did you mean `proxy`?"), "{text}");
    assert!(error.findings().iter().all(|found| !found.remedy.is_empty()));
}

#[test]
fn servers_come_from_the_file_of_an_mcp_client_too() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(folder.path("weaver.toml")).unwrap();
    folder.write("weaver.toml", &format!("servers = \"mcp.json\"\n{text}"));
    folder.write(
        "mcp.json",
        "{\"theme\": \"dark\", \"mcpServers\": {\"git\": {\"command\": \"git-server\", \"args\": [\"-x\"]}}}",
    );
    let names: Vec<_> = loaded(&folder).upstreams.iter().map(|up| up.name.to_string()).collect();
    assert_eq!(names, ["files", "git"]);

    let refused = |json: &str| {
        folder.write("mcp.json", json);
        load_with(folder.path("weaver.toml"), &variables).unwrap_err().code()
    };
    let twice = "{\"mcpServers\": {\"files\": {\"command\": \"x\"}}}";
    assert_eq!(refused(twice), "config.server_twice");
    assert_eq!(refused("{\"mcpServers\": {}, \"mcpServers\": {}}"), "config.syntax");
    assert_eq!(refused("{\"servers\": {}}"), "config.missing_key");
    assert_eq!(refused("{\"mcpServers\": {\"g\": {\"command\": 1}}}"), "config.type");
    std::fs::remove_file(folder.path("mcp.json")).unwrap();
    let error = load_with(folder.path("weaver.toml"), &variables).unwrap_err();
    assert_eq!(error.findings()[0].key.as_deref(), Some("servers"));
}

#[test]
fn names_without_a_prefix_need_one_server() {
    let folder = Folder::new();
    folder.append("weaver.toml", "[gateway]\nunprefixed = true\n");
    assert!(loaded(&folder).unprefixed);
    folder.append("weaver.toml", "[mcpServers.b]\ncommand = \"x\"\n");
    let error = load_with(folder.path("weaver.toml"), &variables).unwrap_err();
    assert_eq!(error.code(), "config.unprefixed");
}

#[test]
fn a_configuration_without_servers_is_refused() {
    assert_eq!(finding("disabled = true\n").code, "config.no_servers");
}

#[test]
fn values_of_variables_never_stand_in_a_message() {
    let all = findings("[mcpServers.web]\nurl = \"${TOKEN}\"\nheaders = { A = \"${TOKEN}\\n\" }\n");
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|found| !found.to_string().contains("s3cret")), "{all:?}");
}

#[test]
fn names_of_headers_and_variables_are_checked() {
    for entry in [
        "url = \"http://x\"\nheaders = { A = \"1\", a = \"2\" }",
        "url = \"http://x\"\nheaders = { \"A B\" = \"1\" }",
        "command = \"x\"\nenv = { \"A=B\" = \"1\" }",
    ] {
        let found = finding(&format!("[mcpServers.web]\n{entry}\n"));
        assert_eq!(found.code, "config.name", "{entry}");
    }
    assert_eq!(finding("env = { A = 1 }\n").code, "config.type");
}

#[test]
fn a_relative_program_starts_at_the_configuration_and_a_bare_name_does_not() {
    for (written, wanted) in [("./bin/server", true), ("server", false)] {
        let folder = Folder::new();
        folder.append("weaver.toml", &format!("[mcpServers.a]\ncommand = \"{written}\"\n"));
        let config = loaded(&folder);
        let TransportSettings::Stdio { command, .. } = &config.upstreams[0].transport else {
            panic!()
        };
        assert_eq!(command.starts_with(folder.path("").to_str().unwrap()), wanted, "{command}");
    }
}

/// Everything that the only finding says.
fn message(folder: &Folder) -> String {
    let found = load_with(folder.path("weaver.toml"), &variables).unwrap_err();
    let [finding] = found.findings() else { panic!("{found:?}") };
    format!("{} {}", finding.message, finding.remedy)
}

#[test]
fn a_cap_of_cost_is_whole_cents() {
    let folder = Folder::new();
    folder.append("weaver.toml", "\n[run]\nmax_cost_usd_cents = 0.5\n");
    assert!(message(&folder).contains("a whole number"));
}

#[test]
fn tokens_are_counted_by_a_counter_that_the_file_names() {
    let folder = Folder::new();
    assert_eq!(loaded(&folder).session_budget, None);
    let counter = if cfg!(feature = "tiktoken") { "o200k_base" } else { "chars4" };
    let counter = format!("token_counter = \"{counter}\"");
    for (caps, total) in [("session_tokens = 9000", 9_000), ("max_prompt_tokens = 7", u32::MAX)] {
        let folder = Folder::new();
        folder.append("weaver.toml", &format!("\n[run]\n{caps}\n{counter}\n"));
        let session = loaded(&folder).session_budget.unwrap();
        assert_eq!(session.open(0).total(), total);

        let folder = Folder::new();
        folder.append("weaver.toml", &format!("\n[run]\n{caps}\n"));
        assert!(message(&folder).contains("`token_counter` is missing"));
    }
    let folder = Folder::new();
    folder.append("weaver.toml", "\n[run]\nsession_tokens = 5\ntoken_counter = \"p50k\"\n");
    assert!(message(&folder).contains("p50k"));
}

#[cfg(not(feature = "tiktoken"))]
#[test]
fn a_counter_that_this_build_lacks_is_a_finding_that_says_so() {
    for name in ["o200k_base", "cl100k_base"] {
        let folder = Folder::new();
        let run = format!("\n[run]\nsession_tokens = 5\ntoken_counter = \"{name}\"\n");
        folder.append("weaver.toml", &run);
        let message = message(&folder);
        assert!(message.contains(&format!("`{name}` are not in this build")), "{message}");
        assert!(message.contains("chars4") && message.contains("`tiktoken`"), "{message}");
    }
}

#[test]
fn rules_of_redaction_are_read_and_tried() {
    const RULE: &str = "[[rule]]\nid = \"badge\"\ntype = \"badge\"\nanchors = [\"badge-\"]\n\
        pattern = 'badge-([0-9]{6})'\nmasks = [[\"my badge-123456\", \"123456\"]]\n\
        keeps = [\"badge-12\"]\n";
    let folder = Folder::new();
    folder.write("ours.toml", RULE);
    folder.append("weaver.toml", "\n[run]\nredaction_rules = [\"ours.toml\"]\n");
    assert_eq!(loaded(&folder).redaction_rules, [RULE]);
    // A server that could rewrite it would decide what is masked.
    assert!(loaded(&folder).state_paths().contains(&folder.path("ours.toml")));

    folder.write("ours.toml", &RULE.replace("123456", "12345"));
    let found = load_with(folder.path("weaver.toml"), &variables).unwrap_err();
    let found = found.findings().first().unwrap().clone();
    assert_eq!(found.code, "config.rules", "{found:?}");
    assert!(found.message.contains("ours.toml") && found.message.contains("badge"), "{found:?}");
    std::fs::remove_file(folder.path("ours.toml")).unwrap();
    assert!(load_with(folder.path("weaver.toml"), &variables).is_err(), "it is gone");
}
