//! `xtask tidy` on a repository made for the test.

use std::path::Path;
use std::process::Command;

const ROOT: &str = r#"
[workspace]
resolver = "3"
members = ["crates/*"]
[workspace.lints]
"#;

const MANIFEST: &str = r#"
[package]
name = "a"
version = "0.1.0"
edition = "2024"
description = "d"
license = "MIT"
readme = "README.md"
documentation = "u"
keywords = ["k"]
categories = ["c"]
rust-version = "1.95"
include = ["/src/**/*"]
[package.metadata.docs.rs]
all-features = true
[lints]
workspace = true
"#;

/// A workspace with one crate, in order but for what the test adds.
fn workspace(folder: &Path) {
    for (path, text) in [
        ("Cargo.toml", ROOT),
        ("Cargo.lock", "version = 4\n"),
        ("crates/a/Cargo.toml", MANIFEST),
        ("crates/a/src/lib.rs", "//! A crate.\n"),
        ("crates/a/README.md", "x\n"),
        ("crates/a/CHANGELOG.md", "x\n"),
        ("crates/a/LICENSE", "x\n"),
        ("xtask/data/tidy.toml", include_str!("../../data/tidy.toml")),
    ] {
        let file = folder.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

fn tidy(folder: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("tidy")
        .env("CARGO_MANIFEST_DIR", folder.join("xtask"))
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_workspace_in_order_passes() {
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path());
    let (success, stderr) = tidy(folder.path());
    assert!(success, "{stderr}");
}

#[test]
fn all_findings_are_printed_at_once_with_place_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    workspace(folder.path());
    let source = folder.path().join("crates/a/src");
    std::fs::write(source.join("utils.rs"), "fn f() {}\n").unwrap();
    let marker = concat!("//! Fine.\n\n// FIX", "ME later\n");
    std::fs::write(source.join("row.rs"), marker).unwrap();
    std::fs::remove_file(folder.path().join("crates/a/LICENSE")).unwrap();
    let (success, stderr) = tidy(folder.path());
    assert!(!success);
    for expected in [
        "crates/a/src/row.rs:3: word: ",
        "crates/a/src/utils.rs:1: file name: ",
        "crates/a/src/utils.rs:1: module doc: ",
        "crates/a/Cargo.toml:1: manifest: LICENSE is missing; each crate carries its own",
        "tidy: 4 errors",
    ] {
        assert!(stderr.contains(expected), "{expected} is not in {stderr}");
    }
}
