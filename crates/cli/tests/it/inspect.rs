//! `weaver inspect`, run as a user runs it.

use serde_json::{Value, json};

use crate::support::{Folder, Run, weaver, weaver_with};

fn people(rows: usize) -> String {
    let rows: Vec<Value> = (0..rows)
        .map(|n| {
            let status = if n % 2 == 0 { "open" } else { "late" };
            let note = format!("write to jane.roe{n}@corp.example.com");
            json!({ "id": n, "note": note, "status": status })
        })
        .collect();
    json!(rows).to_string()
}

fn frames(run: &Run) -> Vec<Value> {
    run.json()["frames"].as_array().unwrap().clone()
}

#[test]
fn each_mode_is_shown_within_the_budget_and_without_values() {
    let folder = Folder::new();
    folder.write("people.json", &people(200));
    let file = folder.arg("people.json");
    let run = weaver(&["inspect", &file, "--json", "--max-tokens", "1500"]);
    assert_eq!(run.code, 0, "{run:?}");
    let [auto] = &frames(&run)[..] else { panic!("one mode unless more are named: {run:?}") };
    assert_eq!(auto["mode"], "auto");
    assert!((1..=1_500).contains(&auto["tokens"].as_u64().unwrap()), "{auto}");
    assert!(!run.out.contains("jane.roe"));
    let modes = ["summary", "table", "handle_only"];
    let named: Vec<&str> = modes.iter().flat_map(|mode| ["--mode", mode]).collect();
    let args = [&["inspect", &file, "--json", "--budget", "1500"], &named[..]].concat();
    let run = weaver(&args);
    assert_eq!(run.code, 0, "{run:?}");
    let found: Vec<Value> = frames(&run).iter().map(|frame| frame["mode"].clone()).collect();
    assert_eq!(found, modes);
    for frame in frames(&run) {
        let chars = frame["frame"].to_string().chars().count();
        assert!(chars <= 1_500 && frame["chars"] == chars, "{frame}");
        assert!(frame["tokens"].as_u64().unwrap() > 0);
    }
    assert!(!run.out.contains("jane.roe"));
    let whole = &run.json()["result"];
    assert_eq!((&whole["kind"], &whole["chars"]), (&"JSON".into(), &people(200).len().into()));
    let run = weaver(&["inspect", &file, "--rows", "2", "--mode", "table"]);
    assert!(run.out.contains("rows_omitted × 198") && run.out.contains("[REDACTED]"), "{run:?}");
    assert!(!run.out.contains("jane.roe") && !run.out.contains("summary"), "{run:?}");
}

#[test]
fn raw_is_shown_only_when_it_is_named() {
    let run = weaver_with(&["inspect", "-"], &people(1));
    assert!(run.code == 0 && !run.out.contains("jane.roe"), "{run:?}");
    assert!(run.out.contains("Other modes: --mode summary, table, handle_only, raw"), "{run:?}");
    let run = weaver_with(&["inspect", "-", "--mode", "raw"], &people(1));
    assert!(run.out.contains("jane.roe0@") && run.out.contains("raw_unredacted"), "{run:?}");
}

#[test]
fn text_stays_text_and_is_escaped() {
    let run = weaver_with(&["inspect", "-", "--mode", "summary"], "all \u{1b}[31mred\u{1b}[0m\n");
    assert!(run.out.contains("text, ") && !run.out.contains('\u{1b}'), "{run:?}");
    let run = weaver_with(&["inspect", "-", "--text", "--json"], "{\"a\": 1}");
    assert_eq!(run.json()["result"]["kind"], "text");
}

#[test]
fn a_wrong_question_is_refused() {
    assert_eq!(weaver(&["inspect", "/nonexistent/file"]).code, 3);
    assert_eq!(weaver_with(&["inspect", "-", "--mode", "tabel"], "[]").code, 2);
    let run = weaver_with(&["inspect", "-", "--tokens", "gpt"], "[]");
    assert!(run.code == 2 && run.err.contains("cl100k_base"), "{run:?}");
}
