//! `weaver contracts` against real servers.

use serde_json::{Value, json};

use crate::client;
use crate::fixture::{self, INSTRUCTIONS};
use crate::support::{Folder, Run, weaver};

/// A folder with these servers.
fn folder(servers: &[(&str, &str)], more: &str) -> Folder {
    client::folder(servers, "", more)
}

fn contracts(folder: &Folder, args: &[&str]) -> Run {
    let config = folder.arg("weaver.toml");
    let mut all = vec!["contracts", args[0], "--config", &config];
    all.extend(&args[1..]);
    weaver(&all)
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
