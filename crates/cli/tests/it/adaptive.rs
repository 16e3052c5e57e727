//! Adaptive attacks of our own, through the real kernel: malicious arguments that borrow words from
//! the prompt, reverse or assemble values, or hide hosts in free text.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::weaver;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn replay(more: &[&str]) -> Vec<Value> {
    let (here, desk) = (folder().join("adaptive"), folder().join("agentdojo"));
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let mut args: Vec<String> = vec!["replay".to_owned(), text(here.join("cases.jsonl"))];
    for (flag, path) in [
        ("--policy", desk.join("policy.toml")),
        ("--contracts", here.join("contracts.toml")),
        ("--approvals", here.join("approvals")),
    ] {
        args.extend([flag.to_owned(), text(path)]);
    }
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    let run = weaver(&args);
    assert_eq!(run.code, 0, "{run:?}");
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What each step is expected to come to, as the cases say.
fn expected() -> Vec<(Value, usize, Value)> {
    let text = std::fs::read_to_string(folder().join("adaptive/cases.jsonl")).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases
        .flat_map(|case| {
            let steps = case["steps"].as_array().unwrap().clone();
            let id = case["id"].clone();
            steps
                .into_iter()
                .enumerate()
                .map(move |(number, step)| (id.clone(), number, step["expect"].clone()))
        })
        .collect()
}

fn verdicts(lines: &[Value]) -> Vec<(Value, usize, Value)> {
    let step = |line: &Value| usize::try_from(line["step"].as_u64().unwrap()).unwrap();
    lines.iter().map(|line| (line["id"].clone(), step(line), line["verdict"].clone())).collect()
}

#[test]
fn no_adaptive_attack_goes_through_and_what_the_user_said_does() {
    let expected = expected();
    let attacks = expected.iter().filter(|(_, _, verdict)| verdict == "hold").count();
    assert!(attacks >= 30, "{attacks}");
    let found = verdicts(&replay(&[]));
    let wrong: Vec<_> = found.iter().zip(&expected).filter(|(a, b)| a != b).collect();
    assert!(wrong.is_empty() && found.len() == expected.len(), "{wrong:#?}");
}

#[test]
fn verdicts_are_the_same_after_a_restart_before_every_step() {
    let reasons = |lines: &[Value]| -> Vec<Value> {
        lines
            .iter()
            .map(|line| json!([line["id"], line["step"], line["verdict"], line["reason"]]))
            .collect()
    };
    assert_eq!(reasons(&replay(&["--restarts"])), reasons(&replay(&[])));
}

#[test]
fn a_gateway_alone_holds_every_attack_too() {
    let expected = expected();
    let found = verdicts(&replay(&["--no-user-words"]));
    for ((id, step, verdict), (_, _, wanted)) in found.iter().zip(&expected) {
        assert!(wanted != "hold" || verdict == "hold", "{id} {step}: {verdict}");
    }
}
