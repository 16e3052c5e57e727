//! `weaver contracts` against real servers.

use serde_json::{Value, json};

use crate::client;
use crate::fixture::{self, INSTRUCTIONS};
use crate::support::{Folder, Run};

/// A folder with these servers.
fn folder(servers: &[(&str, &str)], more: &str) -> Folder {
    client::folder(servers, "", more)
}

fn contracts(folder: &Folder, args: &[&str]) -> Run {
    folder.weaver(&[&["contracts"], args].concat())
}

/// What a contract pins of a tool of the fixture.
fn digest(behaviour: &str, tool: &str) -> String {
    let tools = fixture::tools(behaviour);
    let tool = tools.iter().find(|one| one["name"] == tool).unwrap();
    weaver_gateway::serve::upstream_digest(tool, Some(INSTRUCTIONS)).unwrap().to_string()
}

fn tool<'a>(report: &'a Value, id: &str) -> &'a Value {
    let tools = report["tools"].as_array().unwrap();
    tools.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("no {id}: {report}"))
}

#[test]
fn a_list_says_how_every_tool_stands() {
    let pins = format!(
        "[capabilities.\"one.echo\"]\nupstream_digest = \"{}\"\n\
         [capabilities.\"one.slow\"]\nupstream_digest = \"{}\"\n",
        digest("good", "echo"),
        digest("good", "note"),
    );
    let folder = folder(&[("one", "good"), ("two", "good")], &pins);
    let run = contracts(&folder, &["list", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    assert_eq!(report["surface"], "kernel");
    for (id, status) in
        [("one.echo", "approved"), ("one.slow", "changed"), ("two.echo", "unpinned")]
    {
        assert_eq!(tool(&report, id)["status"], status, "{report}");
    }
    assert_eq!(tool(&report, "one.echo")["upstream_digest"], json!(digest("good", "echo")));
    assert_eq!(tool(&report, "one.slow")["approved_digest"], json!(digest("good", "note")));
    assert_eq!(tool(&report, "two.note")["class"], "local_write");
    let run = contracts(&folder, &["list", "--surface", "two", "--json"]);
    let ids = run.json()["tools"].to_string();
    assert!(ids.contains("two.echo") && !ids.contains("one.echo"), "{ids}");
    let run = contracts(&folder, &["list"]);
    assert!(
        run.code == 0 && run.out.contains("unpinned") && run.out.contains("two.note"),
        "{run:?}"
    );
}

#[test]
fn an_unknown_surface_and_an_absent_server_are_told_apart() {
    let folder = folder(&[("one", "absent")], "");
    let run = contracts(&folder, &["list", "--surface", "three", "--json"]);
    assert_eq!(run.code, 7, "{run:?}");
    assert!(run.err.contains("contracts.unknown_surface") && run.err.contains("one"), "{run:?}");
    let run = contracts(&folder, &["list"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.err.contains("contracts.upstream_away") && run.err.contains("next:"), "{run:?}");
}

#[test]
fn a_document_behind_a_link_stays_there_and_as_private_as_it_was() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = folder(&[("bad", "honest")], "");
    let (link, real) = (folder.path("policy/contracts.toml"), folder.path("contracts.toml"));
    std::fs::rename(&link, &real).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, &link).unwrap();
    let run = contracts(&folder, &["approve", "bad", "note"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(std::fs::symlink_metadata(link).unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("upstream_digest"));
    assert_eq!(crate::support::mode(&real), 0o600);
}

#[test]
fn a_changed_tool_is_found_approved_in_the_document_and_signed() {
    let folder = folder(&[("bad", "honest")], "");
    let run = contracts(&folder, &["approve", "bad", "note", "echo", "--print"]);
    let untouched = std::fs::read_to_string(folder.path("policy/contracts.toml")).unwrap();
    assert!(
        run.code == 0 && run.out.contains("version = 2") && !untouched.contains("digest"),
        "{run:?}"
    );
    let run = contracts(&folder, &["approve", "bad", "note", "bad.echo", "--json"]);
    assert_eq!((run.code, &run.json()["version"]), (0, &json!(2)), "{run:?}");
    assert!(run.json()["next"].as_str().unwrap().starts_with("weaver sign"), "{run:?}");
    assert_eq!(folder.check(&["--json"]).finding_codes(), ["policy.signature_digest"]);
    folder.sign("contracts");
    let report = contracts(&folder, &["list", "--json"]).json();
    assert_eq!(tool(&report, "bad.note")["status"], "approved", "{report}");
    assert_eq!(tool(&report, "bad.note")["class"], "local_write", "what it said before stands");
    assert_eq!(tool(&report, "bad.echo")["status"], "approved");
    assert_eq!(contracts(&folder, &["mismatches"]).code, 0);
    client::configure(&folder, &[("bad", "drift")], "");
    let run = contracts(&folder, &["mismatches", "--json"]);
    assert_eq!((run.code, &run.json()["ok"]), (1, &json!(false)), "{run:?}");
    let found = run.json()["mismatches"].as_array().unwrap().clone();
    assert_eq!(found.len(), 1, "only the tool that changed: {found:?}");
    assert_eq!((&found[0]["id"], &found[0]["status"]), (&json!("bad.note"), &json!("changed")));
    assert_eq!(found[0]["approved_digest"], json!(digest("honest", "note")));
    let run = contracts(&folder, &["diff"]);
    assert!(run.code == 1 && run.out.contains("how is not known"), "{run:?}");
    let run = contracts(&folder, &["diff", "bad.raed_note"]);
    assert!(run.code == 7 && run.err.contains("no server lists a tool"), "{run:?}");
    let run = contracts(&folder, &["approve", "kernel", "bad.note"]);
    assert!(run.code == 0 && run.out.contains("version 3"), "{run:?}");
    folder.sign("contracts");
    assert_eq!(contracts(&folder, &["mismatches", "--surface", "bad"]).code, 0);
    // A tool that is pinned and gone is missed.
    let pinned = std::fs::read_to_string(folder.path("policy/contracts.toml")).unwrap();
    let gone = format!(
        "[capabilities.\"bad.gone\"]\nupstream_digest = \"{}\"\n",
        digest("honest", "echo")
    );
    folder.write("policy/contracts.toml", &format!("{pinned}\n{gone}"));
    folder.sign("contracts");
    let run = contracts(&folder, &["mismatches", "--json"]);
    assert_eq!((run.code, &run.json()["missing"]), (1, &json!(["bad.gone"])), "{run:?}");
    folder.write("policy/contracts.toml", &pinned);
    folder.sign("contracts");
    let run = contracts(&folder, &["approve", "bad", "nothing", "--json"]);
    assert!(run.code == 7 && run.err.contains("contracts.unknown_tool"), "{run:?}");
    // What is written in a way that is not understood is left alone.
    let odd = untouched
        .replace("version = 1", "version= 4")
        .replace("[capabilities.\"bad.note\"]", "[ capabilities . \"bad.note\" ]");
    folder.write("policy/contracts.toml", &odd);
    folder.sign("contracts");
    let run = contracts(&folder, &["approve", "bad", "note"]);
    assert!(
        run.code == 3 && run.err.contains("contracts.by_hand") && run.err.contains("sha256:"),
        "{run:?}"
    );
    assert_eq!(std::fs::read_to_string(folder.path("policy/contracts.toml")).unwrap(), odd);
}

#[test]
fn what_no_contract_pins_is_compared_with_a_snapshot_across_restarts() {
    let folder = folder(&[("bad", "honest")], "");
    let run = contracts(&folder, &["mismatches"]);
    assert!(run.code == 0 && run.out.contains("nothing was approved yet"), "{run:?}");
    let run = contracts(&folder, &["snapshot", "--approved-by", "local-operator"]);
    assert!(run.code == 0 && run.out.contains("5 tools"), "{run:?}");
    let report = contracts(&folder, &["list", "--json"]).json();
    let note = tool(&report, "bad.note");
    assert_eq!(
        (&note["status"], &note["approved_by"]),
        (&json!("baseline"), &json!("local-operator"))
    );
    let run = contracts(&folder, &["mismatches"]);
    assert!(run.code == 0 && run.out.contains("everything is as it was approved"), "{run:?}");
    client::configure(&folder, &[("bad", "drift")], "");
    let run = contracts(&folder, &["mismatches"]);
    assert!(run.code == 1 && run.out.contains("documentation: description changed"), "{run:?}");
    let report = contracts(&folder, &["diff", "--json"]).json();
    assert_eq!(tool(&report, "bad.note")["drift"], "documentation");
    assert_eq!(tool(&report, "bad.note")["changes"][0]["place"], "description");
    let mut client = client::Client::open(&folder);
    let asked = json!({"capability": "bad.note", "arguments": {}, "justification": "a test"});
    let (is_error, body) = client.call("tool_execute", asked);
    assert!(is_error && body.to_string().contains("documentation: description changed"), "{body}");
    assert_eq!(client::reason(&body).1, "contract_changed");
    assert!(!client.execute("bad.echo", json!({"text": "approved"})).0);
    // The ledger is the gateway's as long as it runs.
    let run = contracts(&folder, &["approve", "bad", "note", "--approved-by", "ann"]);
    assert!(
        run.code == 4 && run.err.contains("in use by") && run.err.contains("the gateway of"),
        "{run:?}"
    );
    client.finish();
    let run = contracts(&folder, &["approve", "bad", "note", "--approved-by", "ann", "--json"]);
    assert_eq!((run.code, &run.json()["approved"]), (0, &json!(["bad.note"])), "{run:?}");
    assert_eq!(contracts(&folder, &["mismatches"]).code, 0);
    client::configure(&folder, &[("bad", "shadow")], "");
    let run = contracts(&folder, &["mismatches", "--json"]);
    let found = run.json()["mismatches"].clone();
    let new = found.as_array().unwrap().iter().find(|one| one["id"] == "bad.tool_view");
    assert_eq!((run.code, &new.unwrap()["status"]), (1, &json!("new")), "{found}");
    let run = contracts(&folder, &["diff", "bad.tool_view"]);
    assert!(run.out.starts_with("bad.tool_view: new\n  nobody has approved it\n"), "{run:?}");
    assert_eq!(
        contracts(&folder, &["snapshot", "--approved-by", "ann", "--surface", "bad"]).code,
        0
    );
    client::configure(&folder, &[("bad", "honest")], "");
    let run = contracts(&folder, &["mismatches", "--json"]);
    assert_eq!((run.code, &run.json()["missing"]), (1, &json!(["bad.tool_view"])), "{run:?}");
    let run = contracts(&folder, &["snapshot", "--approved-by", " "]);
    assert!(run.code == 2 && run.err.contains("baseline.name"), "{run:?}");
}
