//! `weaver redact`, run as a user runs it.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, Run, weaver, weaver_with};

const TEXTS: &str = "\
{\"id\": \"a\", \"text\": \"\u{e9}\u{1f600} mail jane.roe@corp.example.com, password=hunter2!\", \"more\": 1}

{\"id\": 2, \"text\": \"nothing to see\"}
";
const RULES: &str = r#"
[[rule]]
id = "badge"
type = "badge"
anchors = ["badge-"]
pattern = 'badge-([0-9]{6})\b'
masks = [["my badge-123456 in", "123456"]]
keeps = ["badge-12"]
"#;

fn redact(more: &[&str], input: &str) -> Run {
    let mut args = vec!["redact"];
    args.extend(more);
    weaver_with(&args, input)
}

fn lines(run: &Run) -> Vec<Value> {
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The parts of a text that spans name, in characters.
fn named(text: &str, answer: &Value) -> Vec<String> {
    let offset = |span: &Value, key: &str| usize::try_from(span[key].as_u64().unwrap()).unwrap();
    let spans = answer["spans"].as_array().unwrap().iter();
    let part = |span: &Value| {
        let (start, end) = (offset(span, "start"), offset(span, "end"));
        text.chars().skip(start).take(end - start).collect()
    };
    spans.map(part).collect()
}

#[test]
fn json_lines_give_texts_and_places_in_characters() {
    let run = redact(&[], TEXTS);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let answers = lines(&run);
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["id"], "a");
    assert_eq!(answers[0]["text"], "\u{e9}\u{1f600} mail [REDACTED], password=[REDACTED]");
    let text = "\u{e9}\u{1f600} mail jane.roe@corp.example.com, password=hunter2!";
    assert_eq!(named(text, &answers[0]), ["jane.roe@corp.example.com", "hunter2!"]);
    assert_eq!(answers[0]["spans"][0]["type"], "email");
    assert!(answers[0]["spans"][1]["rule"].as_str().is_some_and(|rule| !rule.is_empty()));
    assert_eq!(answers[1], json!({ "id": 2, "text": "nothing to see", "spans": [] }));
    let keys: Vec<&str> = run.out.lines().next().unwrap().split("\":").map(|k| k.trim()).collect();
    assert!(keys[0].ends_with("id") && run.out.starts_with("{\"id\":\"a\",\"text\":"), "{run:?}");
}

#[test]
fn pieces_of_any_size_give_the_same() {
    let whole = redact(&["--json"], TEXTS);
    for sizes in ["1", "3", "64", "100000", "1,2,3,29"] {
        let run = redact(&["--stream", sizes], TEXTS);
        assert_eq!((run.code, &run.out), (0, &whole.out), "{sizes}");
    }
    let plain = "x\n".repeat(20_000) + "mail jane.roe@corp.example.com\n";
    let whole = redact(&[], &plain);
    assert!(whole.out.ends_with("mail [REDACTED]\n") && whole.out.len() > 40_000);
    assert_eq!(redact(&["--stream", "7,1,300"], &plain).out, whole.out);
    assert_eq!(redact(&["--stream", "0"], &plain).code, 2);
}

#[test]
fn the_first_line_decides_unless_the_user_does() {
    let log = "{\"level\": \"info\", \"mail\": \"jane.roe@corp.example.com\"}\n";
    assert_eq!(redact(&[], log).out, log.replace("jane.roe@corp.example.com", "[REDACTED]"));
    let run = redact(&["--text"], TEXTS);
    assert!(run.out.contains("mail [REDACTED], ") && run.out.contains("\"more\": 1}"), "{run:?}");
    assert_eq!(redact(&["--text", "--json"], TEXTS).code, 2);
    assert_eq!(redact(&[], "").out, "");
    let folder = Folder::new();
    folder.write("mail.txt", "to jane.roe@corp.example.com");
    let run = weaver(&["redact", &folder.arg("mail.txt")]);
    assert_eq!((run.code, run.out.as_str()), (0, "to [REDACTED]"));
}

#[test]
fn what_cannot_be_read_is_named_and_not_repeated() {
    let input =
        format!("{TEXTS}{{\"id\": 3, \"text\": jane.roe@corp.example.com}}\n{{\"id\": 4}}\n");
    let run = redact(&[], &input);
    assert_eq!(run.code, 3);
    let answers = lines(&run);
    assert_eq!(
        (answers.len(), &answers[2]["line"], &answers[3]["line"]),
        (4, &4.into(), &5.into())
    );
    assert!(answers[3]["error"]["message"].as_str().unwrap().contains("`text`"), "{run:?}");
    assert!(!run.out.contains("jane.roe") && !run.err.contains("jane.roe"), "{run:?}");
    let run = redact(&["--json"], "plain\n");
    assert_eq!((run.code, &lines(&run)[0]["line"]), (3, &1.into()));
    let failure: Value = serde_json::from_str(&run.err).unwrap();
    assert_eq!(failure["code"], "redact.lines");
    assert_eq!(weaver(&["redact", "/nonexistent/file"]).code, 3);
}

#[test]
fn plain_text_that_is_not_utf8_ends_it_with_the_line() {
    let folder = Folder::new();
    let path = folder.path("bytes.txt");
    std::fs::write(&path, b"one jane.roe@corp.example.com\ntwo\n\xff\xfe three\n").unwrap();
    let run = weaver(&["redact", path.to_str().unwrap()]);
    assert_eq!((run.code, run.out.as_str()), (3, "one [REDACTED]\ntwo\n"));
    assert!(run.err.contains("bytes.txt:3") && run.err.contains("UTF-8"), "{run:?}");
}

#[test]
fn types_placeholders_and_rules_of_ones_own() {
    let text = "a@corp.example.com b@corp.example.com a@corp.example.com badge-123456 419-06-3188";
    let run = redact(&["--placeholders", "--types", "email"], text);
    assert_eq!(run.out, "[EMAIL_1] [EMAIL_2] [EMAIL_1] badge-123456 419-06-3188");
    let folder = Folder::new();
    folder.write("rules.toml", RULES);
    let rules = folder.arg("rules.toml");
    let run = redact(&["--rules", &rules, "--types", "badge"], text);
    assert!(run.out.ends_with("badge-[REDACTED] 419-06-3188"), "{run:?}");
    let run = redact(&["--types", "emial"], text);
    assert!(run.code == 2 && run.err.contains("`email`"), "{run:?}");
    let run = redact(&["--rules", &folder.arg("absent.toml")], text);
    assert_eq!((run.code, run.out.as_str()), (3, ""));
}

#[test]
fn rules_are_listed_with_examples_and_checked_by_them() {
    let run = weaver(&["redact", "rules", "--json"]);
    let rules = lines(&run);
    assert!(rules.iter().any(|rule| rule["type"] == "email"
        && rule["masks"][0][1].as_str().is_some_and(|value| value.contains('@'))));
    assert!(weaver(&["redact", "rules"]).out.lines().count() == rules.len());
    let folder = Folder::new();
    folder.write("rules.toml", RULES);
    let check = |name: &str| weaver(&["redact", "check", &folder.arg(name), "--json"]);
    let run = check("rules.toml");
    assert_eq!((run.code, &run.json()["rules"]), (0, &1.into()), "{run:?}");
    folder.write("wrong.toml", &RULES.replace("badge-123456 in", "badge-12345 in"));
    let run = check("wrong.toml");
    assert!(run.code == 1 && run.err.contains("badge"), "{run:?}");
    folder.write("broken.toml", "[[rule]]\nid = 1\n");
    assert_eq!((check("broken.toml").code, check("absent.toml").code), (3, 3));
}

#[test]
fn an_endless_input_is_answered_while_it_goes_on() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weaver"))
        .args(["redact"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    input.write_all(b"mail jane.roe@corp.example.com\n").unwrap();
    input.write_all("all is well\n".repeat(8_000).as_bytes()).unwrap();
    let mut first = [0; 16];
    output.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"mail [REDACTED]\n");
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success() && rest.ends_with("all is well\n"));
}
