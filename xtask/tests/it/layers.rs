//! `xtask layers` on the real metadata, as it is and with planted edges.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn metadata() -> Value {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--all-features"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn layers(metadata: &Value) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("metadata.json");
    std::fs::write(&file, metadata.to_string()).unwrap();
    let Output { status, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["layers", "--metadata"])
        .arg(&file)
        .output()
        .unwrap();
    (status.success(), String::from_utf8(stderr).unwrap())
}

fn id(metadata: &Value, name: &str) -> String {
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|p| p["name"] == name).unwrap();
    package["id"].as_str().unwrap().to_owned()
}

/// Plant an edge where cargo's resolver would have put it.
fn plant_resolved(metadata: &mut Value, from: &str, to: &str, kind: Value) {
    let (from, to) = (id(metadata, from), id(metadata, to));
    let nodes = metadata["resolve"]["nodes"].as_array_mut().unwrap();
    let node = nodes.iter_mut().find(|n| n["id"] == from.as_str()).unwrap();
    let dep = json!({"name": "planted", "pkg": to, "dep_kinds": [{"kind": kind, "target": null}]});
    node["deps"].as_array_mut().unwrap().push(dep);
}

/// Plant an edge where a manifest would have declared it.
fn plant_declared(metadata: &mut Value, from: &str, to: &str) {
    let packages = metadata["packages"].as_array_mut().unwrap();
    let package = packages.iter_mut().find(|p| p["name"] == from).unwrap();
    package["dependencies"].as_array_mut().unwrap().push(json!({
        "name": to, "source": null, "req": "^0.1.0", "kind": null, "rename": null,
        "optional": true, "uses_default_features": true, "features": [], "target": null,
        "registry": null
    }));
}

#[test]
fn the_workspace_is_in_order() {
    let (success, stderr) = layers(&metadata());
    assert!(success, "{stderr}");
}

#[test]
fn the_modules_are_in_order() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("layers")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_planted_upward_edge_fails() {
    let mut planted = metadata();
    plant_resolved(&mut planted, "weaver-policy", "weaver-agent-kernel", Value::Null);
    let (success, stderr) = layers(&planted);
    assert!(!success);
    assert!(stderr.contains("weaver-policy (tier 1)"), "{stderr}");
    assert!(stderr.contains("weaver-agent-kernel (tier 2)"), "{stderr}");
    assert!(stderr.contains("upward"), "{stderr}");
}

#[test]
fn a_planted_sideways_edge_fails() {
    let mut planted = metadata();
    plant_declared(&mut planted, "weaver-types", "weaver-text");
    let (success, stderr) = layers(&planted);
    assert!(!success);
    assert!(stderr.contains("weaver-types (tier 0)"), "{stderr}");
    assert!(stderr.contains("weaver-text (tier 0)"), "{stderr}");
    assert!(stderr.contains("sideways"), "{stderr}");
}

#[test]
fn a_planted_dev_edge_fails_too() {
    let mut planted = metadata();
    plant_resolved(&mut planted, "weaver-drivers", "weaver-gateway", json!("dev"));
    let (success, stderr) = layers(&planted);
    assert!(!success);
    assert!(stderr.contains("a dev dependency that goes upward"), "{stderr}");
}

#[test]
fn metadata_without_a_resolve_graph_proves_nothing() {
    let mut planted = metadata();
    planted["resolve"] = Value::Null;
    let (success, stderr) = layers(&planted);
    assert!(!success);
    assert!(stderr.contains("no resolve graph"), "{stderr}");
}
