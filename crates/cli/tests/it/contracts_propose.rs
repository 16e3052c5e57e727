//! `weaver contracts propose`, run as a user runs it.

use serde_json::{Value, json};

use crate::client;
use crate::fixture::{self, INSTRUCTIONS};
use crate::support::{Folder, HEAD, weaver, weaver_with};

fn tools() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [
        { "name": "list_faxes", "description": "Lists faxes.", "inputSchema": { "type": "object" } },
        { "name": "send_fax", "description": "Sends a fax.", "inputSchema": { "type": "object",
            "properties": { "number": { "type": "string" }, "pages": { "type": "string" } } } },
        { "name": "zeta_9" },
    ] } })
}

#[test]
fn a_proposal_is_a_document_that_the_other_commands_read() {
    let folder = Folder::new();
    folder.write("tools.json", &tools().to_string());
    let run = weaver(&["contracts", "propose", &folder.arg("tools.json"), "--surface", "fax"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("# effects: name `send`"), "{run:?}");
    folder.write("c.toml", &run.out);
    let policy = format!(
        "kind = \"policy\"\n{HEAD}[[rules]]\nname = \"all\"\nmatch = {{}}\neffect = \"allow\"\n"
    );
    folder.write("p.toml", &policy);
    let (policy, contracts) = (folder.arg("p.toml"), folder.arg("c.toml"));
    let lint = weaver(&["policy", "lint", "--policy", &policy, "--contracts", &contracts]);
    assert_eq!(lint.code, 0, "{lint:?}");
    assert!(
        run.out.contains("[capabilities.\"fax.zeta_9\"]\neffects = \"destructive\""),
        "{run:?}"
    );
}

#[test]
fn each_tool_is_a_line_for_scripts_and_the_input_may_be_a_pipe() {
    let run = weaver_with(&["contracts", "propose", "-", "--json"], &tools().to_string());
    let lines: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = lines.iter().map(|line| line["capability"].as_str().unwrap()).collect();
    assert_eq!(ids, ["list_faxes", "send_fax", "zeta_9"]);
    assert_eq!(lines[1]["sink"], "external_send");
    assert_eq!(lines[1]["critical_arguments"], json!(["/number"]));
    assert_eq!(lines[2]["sink"], Value::Null);
}

#[test]
fn the_tools_of_a_server_are_judged_together() {
    let tool = |suite: &str, name: &str| {
        let input = json!({ "properties": { "file": { "type": "string" } } });
        json!({ "name": name, "suite": suite, "inputSchema": input })
    };
    let list =
        [tool("disk", "rename_file"), tool("drive", "rename_file"), tool("drive", "share_file")];
    let run = weaver_with(&["contracts", "propose", "-", "--json"], &json!(list).to_string());
    let world = |id: &str| {
        let lines = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of = lines.into_iter().find(|line| line["capability"] == id);
        of.unwrap()["effects"]["world"].clone()
    };
    assert_eq!(world("disk.rename_file"), "closed", "{run:?}");
    assert_eq!(world("drive.rename_file"), "open", "{run:?}");
}

#[test]
fn terms_are_written_once_and_never_over_others() {
    let folder = Folder::new();
    folder.write("tools.json", &tools().to_string());
    let (tools, terms) = (folder.arg("tools.json"), folder.arg("standing"));
    let args = ["contracts", "propose", &tools, "--surface", "fax", "--approvals", &terms];
    assert_eq!(weaver(&args).code, 0);
    let text = std::fs::read_to_string(folder.path("standing/external_send.toml")).unwrap();
    assert!(text.contains("capability = [\"fax.send_fax\"]"), "{text}");
    let again = weaver(&args);
    assert_eq!(again.code, 3);
    assert!(again.err.contains("contracts.unwritable") && again.err.contains("next:"), "{again:?}");
}

#[test]
fn document_and_terms_are_written_together_or_not_at_all() {
    let folder = Folder::new();
    folder.write("tools.json", &tools().to_string());
    let (tools, terms) = (folder.arg("tools.json"), folder.arg("standing"));
    let (out, taken) = (folder.arg("proposed.toml"), folder.arg("taken.toml"));
    folder.write("taken.toml", "mine");
    let propose = |out: &str| {
        weaver(&["contracts", "propose", &tools, "--approvals", &terms, "--out", out]).code
    };
    assert_eq!(propose(&taken), 3);
    assert_eq!(std::fs::read_dir(folder.path("standing")).unwrap().count(), 0, "none is left");
    assert_eq!(propose(&out), 0, "it can be repeated under another name");
    std::fs::remove_file(folder.path("proposed.toml")).unwrap();
    assert_eq!(propose(&out), 3, "the terms are there already");
    assert!(!folder.path("proposed.toml").exists());
    assert_eq!(std::fs::read_to_string(folder.path("taken.toml")).unwrap(), "mine");
}

#[test]
fn what_is_no_list_of_tools_is_refused_with_the_next_step() {
    for (input, code) in [
        ("{", "contracts.tools"),
        ("{}", "contracts.tools"),
        ("[{}]", "contracts.tool"),
        ("[{\"name\":\"a b\"}]", "contracts.tool"),
    ] {
        let run = weaver_with(&["contracts", "propose", "-"], input);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.err.contains(code) && run.err.contains("next:"), "{run:?}");
    }
}

fn propose(folder: &Folder, more: &[&str]) -> crate::support::Run {
    let config = folder.arg("weaver.toml");
    let mut args = vec!["contracts", "propose", "--config", &config];
    args.extend(more);
    weaver(&args)
}

#[test]
fn one_document_for_all_servers_is_pinned_signed_and_in_force() {
    let folder = client::folder(&[("one", "good"), ("two", "good")], "", "");
    let out = folder.arg("proposed.toml");
    let run = propose(&folder, &["--out", &out]);
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
    let text = std::fs::read_to_string(&out).unwrap();
    let note = fixture::tools("good").into_iter().find(|tool| tool["name"] == "note").unwrap();
    let digest = weaver_gateway::serve::upstream_digest(&note, Some(INSTRUCTIONS)).unwrap();
    for id in ["one.note", "two.note", "one.echo"] {
        assert!(text.contains(&format!("[capabilities.\"{id}\"]\neffects = ")), "{text}");
    }
    assert!(text.contains(&format!("upstream_digest = \"{digest}\"")), "{text}");
    let again = propose(&folder, &["--out", &out]);
    assert_eq!(again.code, 3, "{again:?}");
    assert!(again.err.contains("contracts.unwritable"), "{again:?}");
    folder.write("policy/contracts.toml", &text);
    folder.sign("contracts");
    let config = folder.arg("weaver.toml");
    let list = weaver(&["contracts", "list", "--config", &config, "--json"]).json();
    let tools = list["tools"].as_array().unwrap();
    assert!(tools.len() >= 6 && tools.iter().all(|tool| tool["status"] == "approved"), "{list}");
}

#[test]
fn a_server_that_does_not_start_is_named_and_the_others_are_proposed() {
    let folder = client::folder(&[("one", "good"), ("gone", "absent")], "", "");
    let run = propose(&folder, &["--json"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.err.contains("nothing is proposed for `gone`"), "{run:?}");
    let lines: Vec<Value> =
        run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["capability"] == "one.echo"), "{run:?}");
    assert!(lines[0]["upstream_digest"].as_str().unwrap().starts_with("sha256:"), "{run:?}");
    let one = propose(&folder, &["--server", "one"]);
    assert_eq!((one.code, one.out.is_empty()), (0, false), "{one:?}");
    let gone = propose(&folder, &["--server", "gone"]);
    assert_eq!(gone.code, 5, "{gone:?}");
    assert!(gone.err.contains("contracts.upstream_away") && gone.out.is_empty(), "{gone:?}");
    assert_eq!(propose(&folder, &["--server", "nobody"]).code, 7);
}

#[test]
fn a_list_and_servers_at_once_are_refused() {
    let folder = Folder::new();
    folder.write("tools.json", &tools().to_string());
    let list = folder.arg("tools.json");
    assert_eq!(propose(&folder, &["--tools", &list]).code, 2);
    assert_eq!(weaver(&["contracts", "propose", "--tools", &list, "--surface", "fax"]).code, 0);
}
