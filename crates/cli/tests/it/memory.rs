//! `weaver memory` over a file of durable memory.

use serde_json::{Value, json};
use weaver_gateway::config;

use crate::client;
use crate::support::{Folder, Run, weaver};

struct Memory(Folder);

impl Memory {
    fn new() -> Self {
        Self(Folder::new())
    }

    fn run(&self, args: &[&str]) -> Run {
        let store = self.0.arg("memory.db");
        let mut all = vec!["memory"];
        all.extend(args);
        all.extend(["--store", &store]);
        weaver(&all)
    }

    /// What a command that goes well prints as JSON.
    fn json(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        let run = self.run(&args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run.json()
    }

    fn fails(&self, args: &[&str], (code, word): (i32, &str)) {
        let mut args = args.to_vec();
        args.push("--json");
        let run = self.run(&args);
        assert_eq!(run.code, code, "{args:?}: {run:?}");
        let said: Value = serde_json::from_str(run.err.trim()).unwrap();
        assert_eq!(said["code"], word, "{said}");
        assert!(!said["next"].is_null(), "{said}");
    }
}

#[test]
fn what_is_put_is_printed_listed_and_forgotten() {
    let memory = Memory::new();
    let put = ["put", "user_preference", "compact", "--source", "profile", "--ttl", "24h"];
    let done = memory.run(&put);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "remembered mem_dur_user_preference\n"),
        "{done:?}"
    );
    assert_eq!(memory.run(&["get", "user_preference"]).out, "compact\n");
    let entry = &memory.json(&["get", "user_preference"])["entry"];
    assert_eq!(
        (&entry["id"], &entry["tier"]),
        (&json!("mem_dur_user_preference"), &json!("durable"))
    );
    assert_eq!((&entry["source"], &entry["confidence"]), (&json!("profile"), &json!(1.0)));
    assert_eq!(entry["ttl_s"], 86_400.0);
    let label = json!({ "confidentiality": "internal", "integrity": "untrusted" });
    assert_eq!(entry["label"], label, "unless somebody vouches for it");
    memory.json(&["put", "numbers", "[1, 2]", "--trusted", "--confidentiality", "restricted"]);
    memory.json(&["put", "digits", "42", "--text"]);
    let listed = memory.json(&["list"]);
    let entries = listed["entries"].as_array().unwrap();
    let said: Vec<(&str, &Value)> =
        entries.iter().map(|entry| (entry["key"].as_str().unwrap(), &entry["value"])).collect();
    let values = [json!("42"), json!([1, 2]), json!("compact")];
    let keys = ["digits", "numbers", "user_preference"];
    assert_eq!(said, keys.into_iter().zip(&values).collect::<Vec<_>>());
    assert_eq!(entries[1]["label"]["integrity"], "trusted");
    assert_eq!(entries[1]["label"]["confidentiality"], "restricted");
    let text = memory.run(&["list"]).out;
    assert!(text.contains("trusted   numbers  [1,2]\n") && text.ends_with("3 entries\n"), "{text}");
    assert_eq!(memory.run(&["forget", "numbers"]).out, "1 entry forgotten\n");
    memory.fails(&["forget", "numbers"], (7, "memory.unknown"));
    memory.fails(&["get", "numbers"], (7, "memory.unknown"));
    assert_eq!(memory.run(&["get", "numbers", "--default", "none"]).out, "none\n");
    assert_eq!(memory.json(&["get", "numbers", "--default", "none"])["found"], false);
}

#[test]
fn what_has_expired_is_gone() {
    let memory = Memory::new();
    memory.json(&["put", "gone", "1", "--ttl", "0"]);
    memory.json(&["put", "gone too", "1", "--ttl", "0s"]);
    memory.json(&["put", "stays", "1", "--ttl", "7d"]);
    memory.fails(&["get", "gone"], (7, "memory.unknown"));
    memory.json(&["forget", "--expired"]);
    let listed = memory.json(&["list"]);
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn facts_contradict_each_other_until_one_is_resolved() {
    let memory = Memory::new();
    memory.json(&["put", "tz", "UTC", "--kind", "fact", "--source", "profile"]);
    let other = memory.json(&["put", "tz", "CET", "--kind", "fact", "--source", "mail"]);
    assert_eq!(other["claim"], 2);
    assert_eq!(
        memory.run(&["get", "tz", "--kind", "fact"]).out,
        "1: UTC  (profile)\n2: CET  (mail)\n"
    );
    let fact = &memory.json(&["get", "tz", "--kind", "fact"])["entry"];
    assert_eq!((&fact["contradicted"], &fact["value"]), (&json!(true), &Value::Null));
    memory.fails(&["resolve", "tz", "3", "--why", "x"], (7, "memory.no_claim"));
    memory.json(&["resolve", "tz", "2", "--why", "the user said so"]);
    let fact = &memory.json(&["get", "tz", "--kind", "fact"])["entry"];
    assert_eq!((&fact["contradicted"], &fact["value"]), (&json!(false), &json!("CET")));
    assert_eq!(fact["claims"][0]["superseded"]["why"], "the user said so");
}

#[test]
fn episodes_that_recur_become_a_fact() {
    let memory = Memory::new();
    let note = ["put", "The user asked for the weekly report", "--kind", "episode", "--session"];
    for session in ["s1", "s1", "s1"] {
        memory.json(&[&note[..], &[session]].concat());
    }
    assert_eq!(memory.json(&["consolidate"])["facts"], json!([]), "all in one session");
    memory.json(&[&note[..], &["s2"]].concat());
    let made = &memory.json(&["consolidate"])["facts"][0];
    assert_eq!(
        (&made["sessions"], made["episodes"].as_array().map(Vec::len)),
        (&json!(2), Some(4))
    );
    let said = memory.run(&["get", made["key"].as_str().unwrap(), "--kind", "fact"]).out;
    assert_eq!(said, "The user asked for the weekly report\n");
    assert!(memory.run(&["consolidate"]).out.ends_with("1 fact\n"), "renewed");
}

#[test]
fn lists_and_exports_go_through_all_kinds() {
    let memory = Memory::new();
    for n in 0..3 {
        memory.json(&["put", &format!("k{n}"), "1"]);
        memory.json(&["put", &format!("f{n}"), "x", "--kind", "fact"]);
    }
    let said = memory.json(&["put", "Sent the invoices", "--kind", "episode"]);
    let episode = said["key"].as_str().unwrap().to_owned();
    assert_eq!(memory.run(&["get", &episode, "--kind", "episode"]).out, "Sent the invoices\n");
    let (mut seen, mut after) = (Vec::new(), None::<String>);
    loop {
        let mut args = vec!["list", "--limit", "2"];
        if let Some(after) = &after {
            args.extend(["--after", after]);
        }
        let page = memory.json(&args);
        let entries = page["entries"].as_array().unwrap();
        assert!(entries.len() <= 2);
        seen.extend(entries.iter().map(|entry| entry["key"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    let all = ["k0", "k1", "k2", &episode, "f0", "f1", "f2"];
    assert_eq!(seen, all);
    let exported = memory.run(&["export"]);
    let lines: Vec<Value> =
        exported.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys: Vec<&str> = lines.iter().map(|line| line["key"].as_str().unwrap()).collect();
    assert_eq!(keys, all);
    assert!(lines.iter().all(|line| line["v"] == 1));
    assert_eq!(memory.run(&["export", "--kind", "fact"]).out.lines().count(), 3);
    assert_eq!(memory.json(&["list", "--kind", "fact"])["entries"].as_array().unwrap().len(), 3);
}

#[test]
fn what_cannot_be_done_is_said_with_the_next_step() {
    let memory = Memory::new();
    memory.fails(&["list"], (4, "memory.missing"));
    assert!(!memory.0.path("memory.db").exists(), "looking makes no file");
    memory.fails(&["put", "key"], (2, "memory.usage"));
    memory.fails(&["put", "key", "text", "--kind", "episode"], (2, "memory.usage"));
    memory.json(&["put", "k", "1"]);
    memory.fails(&["list", "--after", "nonsense"], (2, "memory.after"));
    let run = memory.run(&["put", " k", "1", "--json"]);
    assert!(run.code == 3 && run.err.contains("memory.key"), "{run:?}");
    let long = "x".repeat(40_000);
    let run = memory.run(&["put", "k", &long, "--json"]);
    assert!(run.code == 3 && run.err.contains("memory.too_large"), "{run:?}");
    assert_eq!(memory.run(&["put", "k", "1", "--ttl", "soon"]).code, 2);
    memory.0.write("text.db", "this is no database");
    let place = memory.0.arg("text.db");
    let run = weaver(&["memory", "list", "--store", &place, "--json"]);
    assert!(run.code == 4 && run.err.contains("next"), "{run:?}");
    let help = weaver(&["help", "memory"]).out;
    for words in
        ["weaver memory put user_preference compact", "--expired", "ledger.db.memory", "untrusted"]
    {
        assert!(help.contains(words), "{words}: {help}");
    }
}

#[test]
fn the_file_lies_beside_the_ledger_of_the_configuration() {
    let folder = client::folder(&[("one", "good")], "", "");
    let config = folder.arg("weaver.toml");
    let put = weaver(&["memory", "put", "k", "v", "--config", &config, "--json"]);
    assert_eq!(put.code, 0, "{put:?}");
    let info = weaver(&["kernel", "info", "--config", &config, "--json"]).json();
    let file = format!("{}.memory", info["store"].as_str().unwrap());
    assert!(std::path::Path::new(&file).exists());
    let state = config::load(folder.path("weaver.toml")).unwrap().state_paths();
    for end in ["", "-wal", "-shm"] {
        assert!(state.contains(std::path::Path::new(&format!("{file}{end}"))), "kept from servers");
    }
    let get = weaver(&["memory", "get", "k", "--config", &config]);
    assert_eq!((get.code, get.out.as_str()), (0, "v\n"));
}

#[test]
fn two_processes_put_at_once_and_none_is_lost() {
    let memory = Memory::new();
    std::thread::scope(|scope| {
        for process in 0..2 {
            let memory = &memory;
            scope.spawn(move || {
                for n in 0..8 {
                    memory.json(&["put", &format!("own-{process}-{n}"), "1"]);
                    let (text, source) = (format!("{process}"), format!("process {process}"));
                    memory.json(&["put", "shared", &text, "--kind", "fact", "--source", &source]);
                }
            });
        }
    });
    let listed = memory.json(&["list"]);
    assert_eq!(listed["entries"].as_array().unwrap().len(), 17, "{listed}");
    let fact = &memory.json(&["get", "shared", "--kind", "fact"])["entry"];
    assert_eq!(fact["claims"].as_array().unwrap().len(), 2);
}
