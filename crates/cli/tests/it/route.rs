//! `weaver route`.

use serde_json::Value;

use crate::support::{Folder, weaver, weaver_with};

const TOOLS: &str = "\
{\"id\": \"tickets list\", \"name\": \"list\", \"description\": \"List open support tickets\"}
{\"id\": \"files.read\", \"name\": \"read\", \"description\": \"Read a file from disk\", \"schema\": null}
";
const QUERIES: &str = "\
{\"id\": \"q1\", \"query\": \"which tickets are open\", \"gold\": [\"x\"]}

{\"id\": 2, \"query\": \"read the file\"}
";

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn one_line_a_query_with_the_ids_of_the_source() {
    let folder = Folder::new();
    folder.write("tools.jsonl", TOOLS);
    folder.write("queries.jsonl", QUERIES);
    let (tools, queries) = (folder.arg("tools.jsonl"), folder.arg("queries.jsonl"));
    let run = weaver(&["route", "--tools", &tools, "--queries", &queries, "-k", "1"]);
    assert_eq!(run.code, 0, "{run:?}");
    let answers = lines(&run.out);
    assert_eq!(answers.len(), 2);
    assert_eq!(
        (&answers[0]["id"], &answers[0]["ranked"][0]),
        (&"q1".into(), &"tickets list".into())
    );
    assert_eq!((&answers[1]["id"], &answers[1]["ranked"][0]), (&2.into(), &"files.read".into()));
    for answer in &answers {
        let keys: Vec<_> = answer.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "micros", "ranked", "scores"]);
        assert_eq!(answer["ranked"].as_array().unwrap().len(), 1);
        assert!(answer["scores"][0].as_f64().unwrap() > 0.0 && answer["micros"].is_u64());
    }
    let piped = weaver_with(&["route", "--tools", "-", "--queries", &queries, "-k", "1"], TOOLS);
    let ranked = |out: &str| lines(out).iter().map(|a| a["ranked"].clone()).collect::<Vec<_>>();
    assert_eq!(ranked(&piped.out), ranked(&run.out));
}

#[test]
fn bad_lines_are_named() {
    let folder = Folder::new();
    folder.write("tools.jsonl", &format!("{TOOLS}{{\"name\": 1}}\n"));
    folder.write("queries.jsonl", &format!("{QUERIES}{{\"id\": 3}}\n"));
    folder.write("good.jsonl", TOOLS);
    let arg = |name| folder.arg(name);
    let route =
        |tools: &str, queries: &str| weaver(&["route", "--tools", tools, "--queries", queries]);
    let run = route(&arg("tools.jsonl"), &arg("queries.jsonl"));
    assert!(run.code == 3 && run.err.contains("line 3"), "{run:?}");
    let run = route(&arg("good.jsonl"), &arg("queries.jsonl"));
    assert!(run.code == 3 && run.err.contains("queries.jsonl:4"), "{run:?}");
    assert_eq!(route("-", "-").code, 2);
    assert_eq!(route(&arg("absent.jsonl"), &arg("queries.jsonl")).code, 3);
}
