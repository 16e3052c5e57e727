//! The files that the guide writes, put together as it says, pass `weaver check`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use weaver_types::signature::SigningKey;

use crate::support::Folder;

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
    let run = folder.check(&["--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    assert_eq!(report["notes"], serde_json::json!([]));
    assert_eq!(report["servers"], serde_json::json!(["files"]));
}
