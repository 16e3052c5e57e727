//! The memory that a large structured result takes in the gateway, and the same of questions about
//! it.

use serde_json::{Value, json};

use crate::client::{Client, folder, shown};
use crate::fixture::{MANY_ROWS, many_rows};

/// The most memory that the process ever had, in bytes: what Linux calls `VmHWM`.
fn peak(client: &Client) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

/// What rows take that are read one by one, in times of their size.
const ROW_BY_ROW: f64 = 10.0;
/// What a tree of them takes.
const TREE: f64 = 24.0;
/// So many rows are less than 4 MiB, so they are read into a tree.
const ROWS_OF_A_TREE: usize = 50_000;

/// A call and the size of its result.
struct ToolCall<'a> {
    tool: &'a str,
    arguments: Value,
    size: usize,
}

impl<'a> ToolCall<'a> {
    fn new(tool: &'a str, size: usize) -> Self {
        Self { tool, arguments: json!({}), size }
    }
}

/// Calls a tool whose result has many rows, asks `questions` about it, and gives what was shown of
/// each. The peak, over what a small call takes, stays below `most` times its size at every step.
fn within(most: f64, call: &ToolCall<'_>, questions: &[Value]) -> Vec<String> {
    let ToolCall { tool, arguments, size } = call;
    let folder = folder(&[("good", "good")], "", "");
    let mut client = Client::open(&folder);
    client.execute("good.rows", json!({}));
    let base = peak(&client);
    let mut steps = Vec::new();
    let mut measure = |client: &Client, step: &str| {
        steps.push((step.to_owned(), (peak(client) - base) as f64 / *size as f64));
    };
    let (is_error, body) = client.execute(&format!("good.{tool}"), arguments.clone());
    assert!(!is_error, "{body}");
    let mut all = vec![shown(&body).to_owned()];
    measure(&client, "the first look");
    for question in questions {
        let mut asked = question.clone();
        asked["handle"] = body["handle"].clone();
        let (is_error, answer) = client.call("tool_view", asked);
        assert!(!is_error, "{answer}");
        all.push(shown(&answer).to_owned());
        measure(&client, &question.to_string());
    }
    client.finish();
    eprintln!("{tool}, {size} bytes, times its size at most: {steps:#?}");
    assert!(steps.iter().all(|(_, times)| *times < most), "{tool}: {steps:#?}");
    all
}

fn questions() -> Vec<Value> {
    vec![
        json!({"offset": 60_000, "limit": 3}),
        json!({"filter": {"name": "customer 61234"}}),
        json!({"sort": "-amount", "limit": 2, "fields": ["id", "amount"]}),
        json!({"group_by": "group", "aggregate": ["count", "sum(amount)"]}),
        json!({"view": "get", "args": {"path": "rows[60000:60002].name"}}),
        json!({"view": "keys", "args": {"path": "rows"}}),
    ]
}

/// The row of this number is shown, whatever the order of its fields.
fn holds(shown: &str, number: usize) -> bool {
    shown.contains(&format!("customer {number}"))
}

#[test]
fn a_large_structured_result_stays_below_ten_times_its_size() {
    let size = many_rows(MANY_ROWS).len();
    assert!((14_000_000..16_000_000).contains(&size), "{size}");
    let all = within(ROW_BY_ROW, &ToolCall::new("many_rows", size), &questions());
    assert!(all[0].contains(&MANY_ROWS.to_string()), "{}", all[0]);
    assert!(holds(&all[1], 60_000) && holds(&all[1], 60_002) && !holds(&all[1], 60_003));
    assert!(holds(&all[2], 61_234) && all[2].contains("Matching rows: 1."), "{}", all[2]);
    assert!(all[3].starts_with("id,amount\n"), "{}", all[3]);
    assert!((0..7).all(|group| all[4].contains(&format!(",g{group},"))), "{}", all[4]);
    assert!(holds(&all[5], 60_000) && holds(&all[5], 60_001), "{}", all[5]);
    assert!(all[6].contains("amount"), "{}", all[6]);
}

/// What is no long list of rows is read into a tree, and a view of all paths looks at the whole.
#[test]
fn a_tree_stays_below_twenty_four_times_its_size() {
    let size = many_rows(ROWS_OF_A_TREE).len();
    assert!((3_000_000..4 * 1024 * 1024).contains(&size), "{size}");
    let arguments = json!({"text": ROWS_OF_A_TREE.to_string()});
    let call = ToolCall { tool: "many_rows", arguments, size };
    let all = within(TREE, &call, &[json!({"view": "paths", "args": {}})]);
    assert!(all[1].contains("amount") && all[1].contains("name"), "{}", all[1]);
}

#[test]
fn so_does_one_that_is_repeated_as_text() {
    let rows = many_rows(MANY_ROWS / 5 * 2);
    let size = rows.len() + Value::from(rows.as_str()).to_string().len();
    let all = within(ROW_BY_ROW, &ToolCall::new("many_rows_twice", size), &questions()[..2]);
    assert!(all[0].contains(&(MANY_ROWS / 5 * 2).to_string()), "{}", all[0]);
    assert!(holds(&all[2], 61_234) && all[2].contains("Matching rows: 1."), "{}", all[2]);
}
