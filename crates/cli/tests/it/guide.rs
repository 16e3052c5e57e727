//! The files that the guide writes, put together as it says, pass `weaver check`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use weaver_types::signature::SigningKey;

use crate::support::{Folder, weaver_with};

/// The text of each file: the blocks that name it, in their order.
fn files() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/getting-started.md");
    let page = fs::read_to_string(path).unwrap();
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
    let files = files();
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
