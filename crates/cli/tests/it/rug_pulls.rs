//! Rug pulls: tools of a server that change after somebody approved them. Each line of the corpus has
//! a tool before and after, and whether it may still be called. `WEAVER_RUG_PULLS=FILE` tries
//! another corpus of that form; what in it is no tool before and after is passed over.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::client::{self, Client};
use crate::support::{Folder, Run};

const CORPUS: &str = include_str!("../data/rug_pulls.jsonl");

/// A tool under a name of its own, as texts that the server sends.
struct Pull {
    name: String,
    before: String,
    after: String,
    arguments: Value,
    blocked: bool,
    changed: String,
}

/// The text of a tool under this name. One that is given as a text keeps its form.
fn named(tool: &Value, name: &str) -> String {
    match tool {
        Value::String(text) => text.replace("NAME", name),
        tool => {
            let mut tool = tool.clone();
            tool["name"] = json!(name);
            tool.to_string()
        }
    }
}

/// Arguments that fit what the schema requires.
fn fitting(tool: &Value) -> Value {
    let schema = &tool["inputSchema"];
    let required = schema["required"].as_array().into_iter().flatten();
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("Rome"),
    };
    required.filter_map(Value::as_str).map(|name| (name.to_owned(), value(name))).collect()
}

fn corpus() -> Vec<Pull> {
    let text = match std::env::var("WEAVER_RUG_PULLS") {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => CORPUS.to_owned(),
    };
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases = cases.filter(|case| case.get("before").is_some() && case.get("after").is_some());
    let pull = |(number, case): (usize, Value)| {
        let name = format!("tool_{number}");
        Pull {
            before: named(&case["before"], &name),
            after: named(&case["after"], &name),
            arguments: fitting(&case["before"]),
            blocked: match case["expect"].as_str() {
                Some("block_until_reapproved") => true,
                Some("allow") => false,
                other => panic!("{other:?}"),
            },
            changed: case["changed"].as_str().unwrap_or_default().to_owned(),
            name,
        }
    };
    let pulls: Vec<Pull> = cases.enumerate().map(pull).collect();
    assert!(!pulls.is_empty(), "no tool before and after is in the corpus");
    pulls
}

/// What the server lists from now on.
fn list(folder: &Folder, pulls: &[Pull], text: impl Fn(&Pull) -> &str) {
    let tools: Vec<&str> = pulls.iter().map(text).collect();
    folder.write("files/mark", &format!("[{}]", tools.join(",")));
}

fn contracts(folder: &Folder, args: &[&str]) -> Run {
    folder.weaver(&[&["contracts"], args].concat())
}

/// Signs what the server says of its tools now.
fn approve(folder: &Folder, pulls: &[Pull]) {
    let mut args = vec!["approve", "pull"];
    args.extend(pulls.iter().map(|pull| pull.name.as_str()));
    let run = contracts(folder, &args);
    assert_eq!(run.code, 0, "{run:?}");
    folder.sign("contracts");
}

/// The tools that can be called, and the reason why each other cannot.
fn called(folder: &Folder, pulls: &[Pull]) -> Vec<Option<(String, String)>> {
    let mut client = Client::open(folder);
    let call = |pull: &Pull| {
        let (is_error, body) =
            client.execute(&format!("pull.{}", pull.name), pull.arguments.clone());
        is_error.then(|| client::reason(&body))
    };
    let answers = pulls.iter().map(call).collect();
    client.finish();
    answers
}

#[test]
fn what_changed_in_any_part_that_counts_is_not_called_until_it_is_approved_again() {
    let pulls = corpus();
    let folder = client::folder(&[("pull", "told")], "", "");
    list(&folder, &pulls, |pull| &pull.before);
    approve(&folder, &pulls);
    assert!(called(&folder, &pulls).iter().all(Option::is_none), "as approved");
    list(&folder, &pulls, |pull| &pull.after);
    let denied = Some(("deny".to_owned(), "contract_changed".to_owned()));
    for (pull, answer) in pulls.iter().zip(called(&folder, &pulls)) {
        let wanted = if pull.blocked { denied.clone() } else { None };
        assert_eq!(answer, wanted, "{}: {}", pull.name, pull.changed);
    }
    let run = contracts(&folder, &["mismatches", "--json"]);
    let found = run.json()["mismatches"].as_array().unwrap().clone();
    let found: BTreeSet<&str> = found.iter().map(|one| one["id"].as_str().unwrap()).collect();
    let blocked = pulls.iter().filter(|pull| pull.blocked);
    let blocked: Vec<String> = blocked.map(|pull| format!("pull.{}", pull.name)).collect();
    assert_eq!(found, blocked.iter().map(String::as_str).collect());
    approve(&folder, &pulls);
    // What the new version requires is asked for, and what it promises; nothing else stands in the
    // way.
    for (pull, answer) in pulls.iter().zip(called(&folder, &pulls)) {
        let open = answer.as_ref().is_none_or(|(_, reason)| {
            matches!(reason.as_str(), "invalid_arguments" | "invalid_result")
        });
        assert!(open, "{}: {answer:?}", pull.changed);
    }
}
