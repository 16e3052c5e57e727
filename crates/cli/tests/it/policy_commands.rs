//! `weaver policy`, run as a user runs it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, HEAD, Run, weaver, weaver_with};

const POLICY: &str = r#"
[principals.owner]
roles = []

[[rules]]
name = "reads"
match = { effects = { impact = "read" } }
effect = "allow"

[[rules]]
name = "writes"
match = { capability = "docs.write" }
require = { roles = { any = ["writer"] }, justification = { min_chars = 15 } }
effect = "allow"

[[limits]]
name = "three"
match = { capability = "docs.read" }
max_calls = 3
window_s = 60
"#;

const CONTRACTS: &str = r#"
[capabilities."docs.read"]
effects = "read_local"
[capabilities."docs.write"]
effects = "write_local"
"#;

/// A folder with documents that nobody signed.
fn documents() -> Folder {
    let folder = Folder::new();
    folder.write("p.toml", &format!("kind = \"policy\"\n{HEAD}{POLICY}"));
    folder.write("c.toml", &format!("kind = \"contracts\"\n{HEAD}{CONTRACTS}"));
    folder
}

fn policy(folder: &Folder, command: &[&str], input: &str) -> Run {
    let (policy, contracts) = (folder.arg("p.toml"), folder.arg("c.toml"));
    let mut args = vec!["policy"];
    args.extend(command);
    args.extend(["--policy", &policy, "--contracts", &contracts]);
    weaver_with(&args, input)
}

fn answers(run: &Run) -> Vec<Value> {
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(id: &str, capability: &str, roles: &[&str]) -> Value {
    json!({ "id": id, "capability": capability, "at": "2026-01-01T00:00:00Z",
        "principal": { "id": "ana", "roles": roles } })
}

#[test]
fn decide_answers_every_line_in_order() {
    let folder = documents();
    let mut write = request("2", "docs.write", &["writer"]);
    write["args"] = json!({ "text": "x" });
    let mut said = write.clone();
    said["id"] = json!("3");
    said["justification"] = json!({ "text": "the release notes", "source": "human" });
    let lines = [
        request("1", "docs.read", &[]),
        write,
        said,
        request("4", "docs.write", &[]),
        request("5", "nobody.knows", &[]),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let run = policy(&folder, &["decide"], &input);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let found = answers(&run);
    let said: Vec<_> = found
        .iter()
        .map(|a| [&a["id"], &a["verdict"], &a["primary"]].map(|v| v.as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ["1", "allow", "rule_allow"],
            ["2", "ask", "insufficient_justification"],
            ["3", "allow", "rule_allow"],
            ["4", "deny", "missing_role"],
            ["5", "deny", "no_matching_rule"],
        ]
    );
    assert_eq!(found[0]["reasons"], json!(["rule_allow"]));
    assert_eq!(found[0]["origin"], "unsigned_development");
    for key in ["policy_digest", "contracts_digest"] {
        assert!(found[0][key].as_str().unwrap().starts_with("sha256:"), "{key}");
    }
}

#[test]
fn decide_counts_what_it_allowed() {
    let folder = documents();
    let input: String =
        (0..5).map(|n| format!("{}\n", request(&n.to_string(), "docs.read", &[]))).collect();
    let run = policy(&folder, &["decide"], &input);
    let verdicts: Vec<_> = answers(&run).iter().map(|a| a["verdict"].clone()).collect();
    assert_eq!(verdicts, ["allow", "allow", "allow", "deny", "deny"]);
    assert_eq!(answers(&run)[3]["primary"], "rate_limited");
}

#[test]
fn a_line_that_is_no_request_is_answered_and_the_rest_goes_on() {
    let folder = documents();
    let good = request("9", "docs.read", &[]);
    let input = format!(
        "{{\n\n{{\"id\":\"7\",\"capability\":\"x\",\"principal\":{{\"id\":\"a\"}},\"arg\":1}}\n{good}\n"
    );
    let run = policy(&folder, &["decide"], &input);
    assert_eq!(run.code, 3, "{run:?}");
    let found = answers(&run);
    assert_eq!((&found[0]["id"], &found[0]["line"]), (&json!(null), &json!(1)));
    assert_eq!(found[0]["error"]["code"], "request.json");
    assert_eq!((&found[1]["id"], &found[1]["line"]), (&json!("7"), &json!(3)));
    assert!(found[1]["error"]["message"].as_str().unwrap().contains("`arg`"));
    assert_eq!(found[2]["verdict"], "allow");
    assert!(run.err.contains("2 lines are not requests") && run.err.contains("next:"), "{run:?}");
}

#[test]
fn a_line_without_end_is_bounded() {
    let folder = documents();
    let long = format!("{{\"id\":\"{}\"}}", "x".repeat(5 * 1024 * 1024));
    let run =
        policy(&folder, &["decide"], &format!("{long}\n{}\n", request("1", "docs.read", &[])));
    let found = answers(&run);
    assert_eq!(found[0]["error"]["code"], "request.too_large");
    assert_eq!(found[1]["verdict"], "allow");
}

#[test]
fn decide_answers_before_the_input_ends_and_bears_a_closed_output() {
    let folder = documents();
    let (policy, contracts) = (folder.arg("p.toml"), folder.arg("c.toml"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(["policy", "decide", "--policy", &policy, "--contracts", &contracts])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "{}", request("1", "docs.read", &[])).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("\"allow\""), "{line}");
    drop(output);
    for n in 0..1_000 {
        if writeln!(input, "{}", request(&n.to_string(), "docs.read", &[])).is_err() {
            break;
        }
    }
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.stderr.is_empty(), "{:?}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn explain_says_what_would_change_it_in_words_and_in_json() {
    let folder = documents();
    let line = request("1", "docs.write", &[]).to_string();
    let words = policy(&folder, &["explain"], &line);
    assert_eq!(words.code, 0, "{words:?}");
    assert!(words.out.contains("`docs.write` for `ana` is denied [missing_role]"), "{words:?}");
    assert!(words.out.contains("Add 'writer' role to principal 'ana'"));
    let run = policy(&folder, &["explain", "--json"], &line);
    let found = run.json();
    assert_eq!(found["decision"]["verdict"], "deny");
    assert_eq!(found["conditions"][0]["condition"], "roles");
    assert_eq!(found["denial"]["rule_name"], "write-roles");

    folder.write("decision.json", &found["decision"].to_string());
    let recorded = folder.arg("decision.json");
    let same = policy(&folder, &["explain", "--recorded", &recorded], &line);
    assert_eq!(same.code, 0, "{same:?}");
    let other = request("1", "docs.write", &["writer"]).to_string();
    let run = policy(&folder, &["explain", "--json", "--recorded", &recorded], &other);
    assert_eq!((run.code, &run.json()["reproduced"]), (1, &json!(false)));
}

#[test]
fn lint_finds_and_is_no_error_unless_it_should_be() {
    let folder = documents();
    let clean = policy(&folder, &["lint", "--strict"], "");
    assert_eq!((clean.code, clean.out.as_str()), (0, "nothing found\n"));
    let deny =
        "\n[[rules]]\nname = \"none\"\nmatch = { capability = \"docs.*\" }\neffect = \"deny\"\n";
    folder.append("p.toml", deny);
    let run = policy(&folder, &["lint", "--json"], "");
    assert_eq!(run.code, 0);
    assert_eq!(run.json()["findings"][0]["code"], "unreachable_rule");
    assert_eq!(run.json()["findings"][0]["place"], "rule `writes`");
    assert_eq!(policy(&folder, &["lint", "--strict"], "").code, 1);
    folder.write("tools.jsonl", "{\"id\":\"other.tool\",\"name\":\"x\"}\n");
    let tools = folder.arg("tools.jsonl");
    let run = policy(&folder, &["lint", "--catalogue", &tools], "");
    assert!(run.out.contains("[matches_no_tool]"), "{run:?}");
}

#[test]
fn test_judges_cases_and_fails_when_one_fails() {
    let folder = documents();
    let cases = "[[cases]]\nname = \"reads\"\ncapability = \"docs.read\"\n\
                 principal = { id = \"ana\" }\nexpect = { verdict = \"allow\" }\n";
    folder.write("cases.toml", cases);
    let file = folder.arg("cases.toml");
    let run = policy(&folder, &["test", &file], "");
    assert_eq!((run.code, run.out.as_str()), (0, "ok reads\n1 passed, 0 failed\n"));
    folder.append("cases.toml", &cases.replace("reads", "again").replace("\"allow\"", "\"deny\""));
    let run = policy(&folder, &["test", &file], "");
    assert_eq!(run.code, 1);
    assert!(run.out.contains("failed again: expected deny, found allow (rule_allow)"), "{run:?}");
    let found = policy(&folder, &["test", &file, "--json"], "").json();
    assert_eq!(found["cases"][1]["found"]["reason"], "rule_allow");
    folder.append("cases.toml", "nmae = 1\n");
    let run = policy(&folder, &["test", &file], "");
    assert_eq!(run.code, 3);
    assert!(run.err.contains("case 2") && run.err.contains("`nmae`"), "{run:?}");
}

#[test]
fn ask_gives_a_witness_that_decide_confirms() {
    let folder = documents();
    let question = ["ask", "--class", "local_write", "--json"];
    let found = policy(&folder, &question, "").json();
    assert_eq!(found["answer"], "yes");
    let witness = found["witness"]["request"].to_string();
    let confirmed = policy(&folder, &["decide"], &witness);
    assert_eq!(answers(&confirmed)[0]["verdict"], "allow");

    let without = ["ask", "--capability-class", "local_write", "--without-role", "writer"];
    let run = policy(&folder, &[&without[..], &["--expect", "no"]].concat(), "");
    assert_eq!((run.code, run.out.as_str()), (0, "no: nobody can, for any of 1 capabilities\n"));
    assert_eq!(policy(&folder, &[&without[..], &["--expect", "yes"]].concat(), "").code, 1);
    let known = ["ask", "--known-principals", "--impact", "write", "--expect", "no"];
    assert_eq!(policy(&folder, &known, "").code, 0);
    let nothing = ["ask", "--capability", "docs.wriet", "--expect", "no"];
    assert_eq!(policy(&folder, &nothing, "").code, 1, "nothing was asked");
    let wrong = policy(&folder, &["ask", "--class", "dangerous"], "");
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("destructive"), "{wrong:?}");
}

#[test]
fn diff_names_what_changed_and_which_requests_flip() {
    let folder = documents();
    let changed = POLICY.replace("\"writer\"", "\"author\"");
    folder.write("q.toml", &format!("kind = \"policy\"\n{HEAD}{changed}"));
    let mut write = request("w", "docs.write", &["author"]);
    write["justification"] = json!({ "text": "the release notes", "source": "human" });
    let input = format!("{}\n{write}\n", request("r", "docs.read", &[]));
    folder.write("r.jsonl", &input);
    let names = ["p.toml", "q.toml", "c.toml", "r.jsonl"].map(|name| folder.arg(name));
    let [a, b, contracts, requests] = names.each_ref().map(String::as_str);
    let diff = ["policy", "diff", a, b, "--contracts", contracts, "--replay", requests];
    let run = weaver(&diff);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("~ policy.rules.writes\n"), "{run:?}");
    assert!(run.out.contains("w: deny (missing_role) → allow (rule_allow)\n"), "{run:?}");
    assert!(run.out.contains("1 deny→allow\n1 of 2 requests flip\n"), "{run:?}");
    let json = weaver(&[&diff[..], &["--json", "--exit-code"]].concat());
    assert_eq!((json.code, &json.json()["counts"]), (1, &json!({ "deny→allow": 1 })));
    let alone = weaver(&["policy", "diff", a, b]);
    assert_eq!(alone.code, 2);
    assert!(alone.err.contains("--contracts"), "{alone:?}");
}

#[test]
fn a_configuration_names_the_documents_and_says_whether_they_are_signed() {
    let folder = Folder::new();
    folder.append("policy/policy.toml", "[[rules]]\nname = \"r\"\nmatch = {}\neffect = \"deny\"\n");
    let config = folder.arg("weaver.toml");
    let args = ["policy", "ask", "--json", "--config", &config];
    assert_eq!(weaver(&args).json()["origin"], "unsigned_development");
    folder.sign("policy");
    let found = weaver(&args).json();
    assert_eq!((&found["origin"], &found["answer"]), (&json!("signed"), &json!("no")));
    let missing = weaver(&["policy", "lint", "--config", "/nonexistent/weaver.toml"]);
    assert_eq!(missing.code, 3);
    assert!(missing.err.contains("--policy FILE --contracts FILE"), "{missing:?}");
}

#[test]
fn a_wrong_document_is_refused_with_its_findings() {
    let folder = documents();
    folder.append("p.toml", "[[rule]]\nname = \"x\"\n");
    let run = policy(&folder, &["decide", "--json"], "");
    assert_eq!((run.code, run.out.as_str()), (3, ""));
    assert_eq!(run.finding_codes(), ["policy.unknown_key"]);
    assert_eq!(weaver(&["policy", "lint", "--policy", "p.toml"]).code, 2, "contracts are missing");
}

#[test]
fn the_baseline_that_is_printed_can_be_used() {
    let run = weaver(&["policy", "show-baseline"]);
    assert_eq!(run.code, 0);
    let folder = documents();
    folder.write("p.toml", &run.out);
    let lint = policy(&folder, &["lint", "--strict"], "");
    assert_eq!(lint.code, 0, "{lint:?}");
    let input = request("1", "docs.read", &[]).to_string();
    let run = policy(&folder, &["decide"], &input);
    assert_eq!(answers(&run)[0]["verdict"], "allow", "{run:?}");
}

#[test]
fn every_command_teaches_by_example() {
    assert!(weaver(&["help", "policy"]).out.contains("weaver policy lint --policy"));
    for command in ["lint", "test", "explain", "decide", "ask", "diff"] {
        let run = weaver(&["policy", command, "--help"]);
        let example = format!("weaver policy {command}");
        assert!(run.code == 0 && run.out.contains(&example), "{command}: {run:?}");
    }
}

/// Whether a line is the one on the page, where `…` stands for anything.
fn fits(expected: &str, found: &str) -> bool {
    weaver_policy::Pattern::parse(&expected.replace('…', "*")).is_ok_and(|p| p.matches(found))
        || expected == found
}

#[test]
fn the_examples_of_the_page_run_as_shown() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/guide/policy-analysis.md");
    let page = std::fs::read_to_string(page).unwrap();
    let folder = Folder::new();
    let mut commands = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').unwrap();
        match kind {
            "toml" => {
                let (name, _) = text.split_once('\n').unwrap();
                folder.write(name.strip_prefix("# ").unwrap(), text);
            }
            "jsonl" => folder.write("requests.jsonl", text),
            "console" => {
                for shown in text.split("$ weaver ").skip(1) {
                    let (line, expected) = shown.split_once('\n').unwrap();
                    let args = line.split(' ').map(|arg| arg.trim_matches('\''));
                    let output = Command::new(env!("CARGO_BIN_EXE_weaver"))
                        .args(args)
                        .current_dir(folder.path(""))
                        .output()
                        .unwrap();
                    assert!(output.status.success(), "{line}: {output:?}");
                    let found = String::from_utf8(output.stdout).unwrap();
                    let (expected, found) = (expected.trim_end(), found.trim_end());
                    assert_eq!(expected.lines().count(), found.lines().count(), "{line}: {found}");
                    for (expected, found) in expected.lines().zip(found.lines()) {
                        assert!(fits(expected, found), "{line}\n{expected}\n{found}");
                    }
                    commands += 1;
                }
            }
            other => panic!("a block of kind `{other}`"),
        }
    }
    assert_eq!(commands, 5);
}
