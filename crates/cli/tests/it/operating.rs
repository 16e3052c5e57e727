//! The commands of the operator's page do what it says.

use std::fs;
use std::path::Path;

use crate::client::{Client, folder};
use crate::support::weaver;

#[test]
fn the_commands_of_the_operators_page_run_in_their_order() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/operating.md");
    let page = fs::read_to_string(page).unwrap();
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("$ weaver ")).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    let profile = "[profiles.code]\nmode = \"proxy\"\nservers = [\"good\"]\n";
    let folder = folder(&[("good", "good")], profile, "");
    let config = folder.arg("weaver.toml");
    let mut serve = std::process::Command::new(env!("CARGO_BIN_EXE_weaver"));
    serve.args(["serve", "--config", &config, "--profile", "code", "--label", "desk"]);
    let mut client = Client::start_as(serve).shaken();
    assert!(client.tools().iter().any(|tool| tool["name"] == "good__people"), "a proxy's view");
    for command in commands {
        let words = command.split(' ').chain(["--config", &config]);
        let run = weaver(&words.collect::<Vec<_>>());
        assert_eq!(run.code, 0, "weaver {command}: {run:?}");
        if command == "status" {
            assert!(run.out.contains("desk") && run.out.contains("good: ready"), "{run:?}");
        }
    }
    client.end();
}
