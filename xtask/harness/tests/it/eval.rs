//! `cargo xtask eval` on folders that are none, or not what they should be: told at once, before anything
//! is built.

use std::process::Command;

/// What an evaluation says when it ends with an error.
fn refused(args: &[&str]) -> String {
    let done =
        Command::new(env!("CARGO_BIN_EXE_weaver-harness")).arg("eval").args(args).output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{args:?}");
    assert!(done.stdout.is_empty(), "{args:?}");
    String::from_utf8(done.stderr).unwrap()
}

#[test]
fn a_folder_that_is_none_is_named_with_what_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "{}").unwrap();
    let missing = folder.path().join("missing");
    for (what, needs) in [("routing", "queries.jsonl"), ("agentdojo", "user_tasks.jsonl")] {
        let text = refused(&[what]);
        assert!(text.contains(needs) && text.contains("--data"), "{text}");
        for path in [&file, &missing] {
            let path = path.to_str().unwrap();
            let text = refused(&[what, "--data", path]);
            assert!(text.contains(path) && text.contains(needs), "{text}");
        }
    }
}

#[test]
fn an_agentdojo_folder_without_what_it_needs_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert!(refused(&["agentdojo", "--data", path]).contains("tools.json cannot be read"));
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("tools.json", "[]");
    for name in ["user_tasks.jsonl", "injection_tasks.jsonl", "pairs.jsonl"] {
        write(name, "");
    }
    assert!(refused(&["agentdojo", "--data", path]).contains("has no suites"));
    let task = "{\"suite\": \"bank\", \"id\": \"t\", \"prompt\": \"p\", \"steps\": []}\n";
    write("user_tasks.jsonl", task);
    let text = refused(&["agentdojo", "--data", path, "--suite", "nope"]);
    assert!(text.contains("there is no suite `nope`; there are: bank"), "{text}");
    write("user_tasks.jsonl", &format!("{task}{{\"suite\": \n"));
    assert!(refused(&["agentdojo", "--data", path]).contains("user_tasks.jsonl line 2"));
}
