//! The demo is a claim about the whole product, so it is run whole.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::weaver;

fn steps(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn every_step_gets_its_verdict_and_the_ledger_verifies() {
    let run = weaver(&["demo", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let lines = steps(&run.out);
    let (end, steps) = lines.split_last().unwrap();
    let verdicts: Vec<_> = steps
        .iter()
        .map(|step| {
            let word = |key: &str| step[key].as_str().unwrap_or("none").to_owned();
            (word("step"), word("verdict"), word("reason"))
        })
        .collect();
    let expected = [
        ("browse", "allow", "none"),
        ("read", "allow", "none"),
        ("write_unjustified", "ask", "insufficient_justification"),
        ("write", "allow", "none"),
        ("delete", "hold", "approval_required"),
        ("forged", "hold", "approval_required"),
        ("stale", "deny", "precondition_failed"),
        ("approved", "allow", "none"),
        ("wipe", "deny", "explicit_deny_rule"),
        ("search", "allow", "none"),
        ("view", "allow", "none"),
        ("read_poisoned", "allow", "none"),
        ("send", "hold", "approval_required"),
        ("ledger", "none", "none"),
    ];
    let expected = expected
        .map(|(step, verdict, reason)| (step.to_owned(), verdict.to_owned(), reason.to_owned()));
    assert_eq!(verdicts, expected);
    assert_eq!(steps[4]["reasons"], json!(["approval_required", "floor_hold"]), "not tainted");
    assert_eq!(
        steps[12]["reasons"],
        json!(["approval_required", "floor_hold", "untrusted_influence"])
    );
    assert_eq!(
        (&end["step"], &end["ok"], &end["kept"]),
        (&json!("end"), &json!(true), &Value::Null)
    );
    assert!(end["head"]["size"].as_u64().unwrap() >= 10, "{end}");
    assert!(!run.out.contains("customer.example"), "an address of a customer was shown");
}

#[test]
fn the_text_is_plain_where_nobody_sees_colours() {
    let run = weaver(&["demo"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(!run.out.contains('\u{1b}'), "{}", run.out);
    for word in ["ALLOW", "ASK", "HOLD", "DENY", "untrusted_influence", "the outbox is empty"] {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    assert!(run.out.lines().count() < 80, "{}", run.out);
}

#[test]
fn a_kept_folder_is_complete_and_goes_on() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("my demo");
    let run = weaver(&["demo", "--json", "--keep", text(&dir)]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let end = steps(&run.out).pop().unwrap();

    let config = dir.join("weaver.toml");
    let check = weaver(&["check", "--config", text(&config)]);
    assert_eq!(check.code, 0, "{check:?}");
    for kind in ["policy", "contracts", "keys"] {
        let text = fs::read_to_string(dir.join(format!("policy/{kind}.toml"))).unwrap();
        assert!(text.starts_with(&format!("#:schema {kind}.schema.json\n")), "{text}");
        assert!(dir.join(format!("policy/{kind}.schema.json")).is_file());
    }
    let verified = weaver(&["trace", "verify", "--store", text(&dir.join(".weaver/ledger.db"))]);
    assert_eq!(verified.code, 0, "{verified:?}");

    // The passphrase opens the key, and nothing in the folder holds it.
    let passphrase = end["kept"]["passphrase"].as_str().unwrap();
    let key = weaver_gateway::secret::KeyFile::read(&dir.join("keys/root.key")).unwrap();
    let given = weaver_gateway::secret::Passphrase::new(passphrase.to_owned().into()).unwrap();
    assert_eq!(key.open(&given).unwrap().public(), *key.public());
    assert!(fs::read_to_string(&config).unwrap().contains(&key.public().to_string()));
    for file in ["weaver.toml", "keys/root.key", "keys/owner.key", "policy/keys.toml"] {
        let bytes = fs::read_to_string(dir.join(file)).unwrap();
        assert!(!bytes.contains(passphrase), "{file}");
    }

    // A changed document no longer counts.
    let policy = dir.join("policy/policy.toml");
    let changed = fs::read_to_string(&policy).unwrap().replace("\"deny\"", "\"allow\"");
    fs::write(&policy, changed).unwrap();
    assert_ne!(weaver(&["check", "--config", text(&config)]).code, 0);
}

#[test]
fn a_folder_in_use_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.txt"), "mine").unwrap();
    let run = weaver(&["demo", "--keep", text(folder.path())]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("name a folder that is new or empty"), "{}", run.err);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_server_of_the_demo_says_what_it_cannot_serve() {
    let folder = tempfile::tempdir().unwrap();
    let run = weaver(&["demo-server", "--root", text(folder.path())]);
    assert_ne!(run.code, 0);
    assert!(run.err.contains("it has no folder `notes`"), "{}", run.err);
}
