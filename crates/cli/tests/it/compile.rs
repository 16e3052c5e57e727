//! `weaver compile`, run as a user runs it.

use serde_json::{Value, json};
use weaver_text::token::{Tiktoken, TokenCounter as _};

use crate::support::{Folder, Run, weaver, weaver_with};

const LOG: &str = r#"{"id": "p", "kind": "policy", "text": "Never delete."}
{"id": "u1", "kind": "user_turn", "text": "Which invoices are open?"}
{"id": "c1", "kind": "tool_call", "text": "invoices.list(open)", "parent_id": "u1"}

{"id": "r1", "kind": "tool_result", "text": "INV-7 is open, mail jane.roe@corp.example.com", "parent_id": "c1", "token_estimate": 0, "artifact_ref": null}
{"id": "d", "kind": "doc_snippet", "text": "The vault is under the stairs.", "sensitivity": "confidential", "metadata": {"tags": ["vault"]}}
{"id": "u2", "kind": "user_turn", "text": "Thanks."}
"#;

fn compile(args: &[&str]) -> Run {
    let mut all = vec!["compile", "--log", "-"];
    all.extend(args);
    weaver_with(&all, LOG)
}

fn count(text: &str) -> usize {
    Tiktoken::CL100K.count(text).tokens().unwrap()
}

/// The number behind a name on standard error.
fn stat(run: &Run, name: &str) -> usize {
    let line = run.err.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("{name}: {run:?}")).parse().unwrap()
}

#[test]
fn a_text_with_its_account() {
    let folder = Folder::new();
    folder.write("events.jsonl", LOG);
    let log = folder.arg("events.jsonl");
    let run = weaver(&["compile", "--log", &log, "--phase", "answer", "--query", "open invoices"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.starts_with("[POLICY]\nNever delete.\n\n[USER]\nWhich invoices"), "{run:?}");
    // The firewall has seen the result, and nothing confidential is shown.
    assert!(run.out.contains("INV-7 is open") && !run.out.contains("jane.roe"), "{run:?}");
    assert!(!run.out.contains("stairs"));
    assert_eq!(stat(&run, "total_candidates"), 6);
    assert_eq!((stat(&run, "included_count"), stat(&run, "dropped_count")), (5, 1));
    assert_eq!(stat(&run, "prompt_tokens"), count(&run.out));
    assert!(run.err.contains("dropped_reasons.sensitivity: 1"), "{run:?}");
    let same = weaver(&["compile", "--log", &log, "--query", "open invoices"]);
    assert_eq!(same.out, run.out);
    // What an editor adds, at the beginning and at the end of lines, changes nothing.
    folder.write("edited.jsonl", &format!("\u{feff}{}", LOG.replace('\n', "\r\n")));
    let log = folder.arg("edited.jsonl");
    let same = weaver(&["compile", "--log", &log, "--query", "open invoices"]);
    assert_eq!(same.out, run.out);
}

#[test]
fn the_budget_holds_down_to_nothing() {
    for budget in [1, 7, 19, 30, 41, 55, 79] {
        let run = compile(&["--budget", &budget.to_string()]);
        assert!(run.code == 0 && count(&run.out) <= budget, "{budget}: {run:?}");
        assert_eq!(run.out.contains("invoices.list"), run.out.contains("INV-7"), "{budget}");
    }
    assert_eq!(compile(&["--budget", "0"]).out, "");
}

#[test]
fn json_has_everything_under_its_name() {
    let run = compile(&["--format", "json", "--explain", "--budget", "70"]);
    let out = run.json();
    assert!(count(out["prompt"].as_str().unwrap()) <= 70);
    assert_eq!(out["prompt_tokens"], count(out["prompt"].as_str().unwrap()));
    let number = |name: &str| out[name].as_u64().unwrap();
    assert_eq!(number("included_count") + number("dropped_count"), number("total_candidates"));
    assert_eq!(out["item_ids"].as_array().unwrap().len() as u64, number("included_count"));
    let stats = &out["stats"];
    assert_eq!(stats["dropped_items"].as_array().unwrap().len() as u64, number("dropped_count"));
    for name in ["dropped_reasons", "tokens_per_section", "dependency_closures", "dedup_removed"] {
        assert!(!stats[name].is_null(), "{name}");
    }
    assert_eq!(stats["token_estimator"], "cl100k_base");
    assert_eq!(out["explanations"].as_array().unwrap().len(), 6);
    assert_eq!(out["label"]["integrity"], "untrusted");
    assert!(run.err.is_empty(), "{run:?}");
}

#[test]
fn messages_of_providers() {
    for (format, list, first) in
        [("openai", "messages", "system"), ("anthropic", "messages", "user")]
    {
        let run = compile(&["--format", format]);
        let out: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(out[list][0]["role"], first, "{run:?}");
        assert!(stat(&run, "prompt_tokens") >= count(run.out.trim_end()));
    }
    let out: Value = serde_json::from_str(&compile(&["--format", "gemini"]).out).unwrap();
    assert!(out["contents"].is_array() && out["systemInstruction"].is_object());
}

#[test]
fn calls_may_be_the_providers_own() {
    let log = LOG.replace(
        r#""text": "invoices.list(open)", "#,
        r#""text": "invoices.list(open)", "metadata": {"call": {"id": "call_1", "name":
 "invoices.list", "arguments": {"state": "open"}}}, "#
            .replace('\n', "")
            .as_str(),
    );
    let compile = |format: &str, more: &[&str]| {
        let mut all = vec!["compile", "--log", "-", "--format", format];
        all.extend(more);
        weaver_with(&all, &log)
    };
    let run = compile("openai", &["--native-calls"]);
    let out: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}"));
    let call = &out["messages"][2]["tool_calls"][0];
    assert_eq!(
        (&call["id"], &call["function"]["name"]),
        (&json!("call_1"), &json!("invoices__list"))
    );
    let answer = &out["messages"][3];
    assert_eq!((&answer["role"], &answer["tool_call_id"]), (&json!("tool"), &json!("call_1")));
    assert!(answer["content"].as_str().unwrap().contains("INV-7 is open"), "{run:?}");
    let run = compile("anthropic", &["--native-calls"]);
    assert!(run.out.contains("tool_use") && run.out.contains("tool_result"), "{run:?}");
    assert!(!compile("openai", &[]).out.contains("tool_calls"));
}

#[test]
fn what_has_no_room_is_judged_by_kind() {
    let run = compile(&["--budget", "30", "--overflow", "error,tool_call=warn,tool_result=drop"]);
    assert!(run.code == 0 && run.err.contains("warning: 1 of kind tool_call"), "{run:?}");
    let run = compile(&["--budget", "1", "--overflow", "policy=error"]);
    assert!(run.code == 1 && run.err.contains("`policy`"), "{run:?}");
    assert_eq!(compile(&["--budget", "1", "--overflow", "plan_state=error"]).code, 0);
    assert_eq!(compile(&["--overflow", "polcy=error"]).code, 2);
}

#[test]
fn what_is_sensitive_may_be_masked() {
    let run = compile(&["--redact"]);
    assert!(run.out.contains("[REDACTED: confidential]") && !run.out.contains("stairs"));
    assert_eq!(stat(&run, "redacted_count"), 1);
    assert!(compile(&["--floor", "restricted"]).out.contains("stairs"));
    assert_eq!(compile(&["--floor", "internal"]).out.matches("TOOL").count(), 0);
}

#[test]
fn a_report_is_written() {
    let folder = Folder::new();
    let file = folder.arg("report.html");
    assert_eq!(compile(&["--html", &file, "--budget", "20"]).code, 0);
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("<td>budget</td>"), "{html}");
}

#[test]
fn a_report_replaces_a_file_by_force_alone() {
    let folder = Folder::new();
    folder.write("report.html", "mine");
    let file = folder.arg("report.html");
    let refused = compile(&["--html", &file]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.err.contains("compile.html") && refused.err.contains("--force"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(compile(&["--html", &file, "--force"]).code, 0);
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn errors_name_line_and_field() {
    let line = |line: Value| weaver_with(&["compile", "--log", "-"], &format!("{LOG}{line}\n"));
    let good = json!({ "id": "x", "kind": "policy", "text": "t" });
    let with = |key: &str, value: Value| {
        let mut item = good.clone();
        item[key] = value;
        item
    };
    for (item, field) in [
        (with("id", json!(7)), "id"),
        (with("id", json!("u1")), "id"),
        (with("kind", json!("polcy")), "kind"),
        (with("text", json!(null)), "text"),
        (with("parent_id", json!("x")), "parent_id"),
        (with("sensitivity", json!("secret")), "sensitivity"),
        (with("metadata", json!([])), "metadata"),
        (with("metadata", json!({ "tags": "a" })), "metadata"),
        (with("metadata", json!({ "call": { "name": "a.b" } })), "metadata"),
        (with("sensitivty", json!("restricted")), "sensitivity"),
        (json!([]), "line"),
    ] {
        let run = line(item.clone());
        assert!(run.code == 3 && run.err.contains(&format!("-:8: {field}: ")), "{item} {run:?}");
    }
    for line in ["{\"id\": ", r#"{"id":"x","kind":"policy","text":"a","text":"b"}"#] {
        let run = weaver_with(&["compile", "--log", "-"], line);
        assert!(run.code == 3 && run.err.contains("-:1: line: "), "{run:?}");
    }
    assert_eq!(line(good).code, 0);
}

#[test]
fn a_wrong_command_line_is_refused() {
    assert_eq!(weaver(&["compile", "--log", "/nonexistent"]).code, 3);
    for wrong in [["--phase", "think"], ["--format", "yaml"], ["--tokens", "gpt"]] {
        assert_eq!(compile(&wrong).code, 2, "{wrong:?}");
    }
    let run = compile(&["--budget", "8", "--overflow", "error"]);
    assert!(run.code == 1 && run.err.contains("context.overflow"), "{run:?}");
}
