//! The files that the guide writes, put together as it says, pass `weaver check`, and the commands
//! of its short answers work.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use weaver_types::signature::SigningKey;

use crate::help::Workbench;
use crate::support::{Folder, weaver, weaver_with};

fn page(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// The text of each file: the blocks of a page that name it, in their order.
pub(crate) fn files(page: &str) -> BTreeMap<String, String> {
    let key = SigningKey::from_seed([7; 32]).public().to_string();
    let digest = format!("sha256:{}", "0".repeat(64));
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for block in page.split("\n```toml\n# ").skip(1) {
        let (text, _) = block.split_once("\n```").unwrap();
        let (name, text) = text.split_once('\n').unwrap();
        let text = text.replace("ed25519:…", &key).replace("sha256:…", &digest);
        files.entry(name.to_owned()).or_default().push_str(&format!("{text}\n"));
    }
    files
}

#[test]
fn what_the_guide_writes_is_accepted() {
    let folder = Folder::new();
    let files = files(&page("getting-started.md"));
    folder.write("weaver.toml", &files["weaver.toml"]);
    for kind in ["policy", "contracts", "keys"] {
        folder.write(&format!("policy/{kind}.toml"), &files[&format!("{kind}.toml")]);
        folder.sign(kind);
    }
    let key = folder.arg("log.key");
    let new_key = ["keys", "new", "--out", &key, "--id", "log", "--passphrase-fd", "0"];
    assert_eq!(weaver_with(&new_key, "correct horse\n").code, 0);
    let run = folder.check(&["--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    let notes = report["notes"].as_array().unwrap();
    // Where the guide publishes checkpoints is on another machine.
    assert!(
        matches!(&notes[..], [only] if only.to_string().contains("/mnt/elsewhere")),
        "{report}"
    );
    assert_eq!(report["servers"], serde_json::json!(["files"]));
}

#[test]
fn the_documents_that_let_one_role_approve_are_accepted() {
    let folder = Folder::new();
    let files = files(&page("approving.md"));
    for kind in ["policy", "keys"] {
        folder.append(&format!("policy/{kind}.toml"), &files[&format!("{kind}.toml")]);
        folder.sign(kind);
    }
    assert_eq!(folder.check(&[]).code, 0);
    let path = |kind: &str| folder.arg(&format!("policy/{kind}.toml"));
    let lint = |keys: &str| {
        let [policy, contracts] = ["policy", "contracts"].map(path);
        weaver(&["policy", "lint", "--policy", &policy, "--contracts", &contracts, "--keys", keys])
    };
    assert!(lint(&path("keys")).out.contains("nothing found"));
    let nobody = fs::read_to_string(path("keys")).unwrap().replace("\"payments\"", "\"others\"");
    folder.write("nobody.toml", &nobody);
    assert!(lint(&folder.arg("nobody.toml")).out.contains("nobody_can_release"));
}

#[test]
fn the_settings_of_a_container_are_accepted() {
    let folder = Folder::new();
    let settings = &files(&page("deploying.md"))["weaver.toml"];
    folder.append("weaver.toml", &settings.replace("/data/", &folder.arg("data/")));
    let run = folder.check(&["--json"]);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn the_commands_of_the_short_answers_work() {
    let page = page("questions.md");
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(commands.len() >= 15, "{commands:?}");
    let bench = Workbench::new();
    for command in commands {
        let run = bench.run(&bench.filled(command));
        assert_eq!(run.code, 0, "{command}: {run:?}");
    }
}
