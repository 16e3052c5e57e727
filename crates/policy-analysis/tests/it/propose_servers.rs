//! What is proposed for tools as real servers list them, beside what a careful person says.
//!
//! `tests/data/servers` holds what the servers answered to `tools/list`, without output schemas,
//! and `labels.txt` beside it the labels. Other lists can be looked at with
//! `weaver contracts propose --tools FILE`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use weaver_policy_analysis::propose::{ContractProposal, ServerReach, ToolDescription, propose};
use weaver_types::{Confidentiality, Effects, Integrity, SensitivityTag, SinkKind};

/// The servers of the interoperability suite, and what else people start with.
const FIRST: [&str; 8] =
    ["everything", "fetch", "filesystem", "git", "memory", "sequential-thinking", "sqlite", "time"];

const EFFECTS: [(&str, Effects); 5] = [
    ("read_local", Effects::READ_LOCAL),
    ("read_open", Effects::READ_OPEN),
    ("write_local", Effects::WRITE_LOCAL),
    ("write_open", Effects::WRITE_OPEN),
    ("destructive", Effects::UNDECLARED),
];
const SINKS: [(&str, SinkKind); 5] = [
    ("none", SinkKind::None),
    ("external_send", SinkKind::ExternalSend),
    ("payment", SinkKind::Payment),
    ("credential", SinkKind::Credential),
    ("destructive", SinkKind::Destructive),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/servers")
}

fn tools(server: &str) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(folder().join(format!("{server}.json"))).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    let tools = list["tools"].as_array().unwrap().iter();
    tools.map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone())).collect()
}

/// How strict a word is, by its place in its table.
fn strictness<T>(table: &[(&str, T)], word: &str) -> usize {
    table.iter().position(|(name, _)| *name == word).unwrap_or_else(|| panic!("{word}"))
}

fn words(proposal: &ContractProposal) -> (&'static str, &'static str) {
    let effects = EFFECTS.iter().find(|(_, one)| *one == proposal.effects);
    let sink = SINKS.iter().find(|(_, one)| *one == proposal.effective_sink());
    (effects.unwrap().0, sink.unwrap().0)
}

/// How many proposals are right, and the others told, too low or too high.
#[derive(Default)]
struct Score {
    right: usize,
    too_low: Vec<String>,
    too_high: Vec<String>,
}

impl Score {
    fn of(servers: impl Fn(&str) -> bool) -> Self {
        let labels = std::fs::read_to_string(folder().join("labels.txt")).unwrap();
        let mut score = Self::default();
        for line in labels.lines().filter(|line| !line.starts_with('#')) {
            let [id, effects, sink] = line.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let (server, name) = id.split_once('.').unwrap();
            if servers(server) {
                let tools = tools(server);
                let reach = ServerReach::of(tools.values());
                let tool = ToolDescription::from_json(&tools[name]).with_server(reach);
                score.count(line, &propose(&tool), effects, sink);
            }
        }
        score
    }

    fn count(&mut self, line: &str, proposal: &ContractProposal, effects: &str, sink: &str) {
        let found = words(proposal);
        let sink = if sink == "*" { found.1 } else { sink };
        let told = format!("{line}: {found:?}, {}", proposal.reasons["effects"]);
        let lower = strictness(&EFFECTS, found.0) < strictness(&EFFECTS, effects)
            || strictness(&SINKS, found.1) < strictness(&SINKS, sink);
        match found == (effects, sink) {
            true => self.right += 1,
            false if lower => self.too_low.push(told),
            false => self.too_high.push(told),
        }
    }

    fn check(&self, what: &str) {
        let all = self.right + self.too_low.len() + self.too_high.len();
        println!(
            "{what}: {} of {all} right, {} too low, {} too high",
            self.right,
            self.too_low.len(),
            self.too_high.len()
        );
        assert!(self.too_low.is_empty(), "too low:\n{}", self.too_low.join("\n"));
        assert!(self.right * 100 >= all * 95, "too high:\n{}", self.too_high.join("\n"));
    }
}

#[test]
fn proposals_for_the_first_servers_are_right_and_none_is_too_low() {
    Score::of(|server| FIRST.contains(&server)).check("first servers");
}

#[test]
fn proposals_for_servers_of_services_are_right_and_none_is_too_low() {
    Score::of(|server| !FIRST.contains(&server)).check("services");
}

#[test]
fn every_tool_of_the_servers_has_a_label() {
    let labels = std::fs::read_to_string(folder().join("labels.txt")).unwrap();
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        let server = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|end| end == "json") {
            for name in tools(server).keys() {
                assert!(labels.contains(&format!("\n{server}.{name} | ")), "{server}.{name}");
            }
        }
    }
}

fn hinted(name: &str, description: &str, hints: Value) -> ContractProposal {
    let tool = json!({ "name": name, "description": description, "annotations": hints,
        "inputSchema": { "type": "object", "properties": {} } });
    propose(&ToolDescription::from_json(&tool))
}

#[test]
fn a_server_that_calls_a_writer_read_only_is_not_believed() {
    for (name, effects, sink) in [
        ("delete_file", "destructive", "destructive"),
        ("send_email", "write_open", "external_send"),
        ("pay_invoice", "write_open", "payment"),
        ("reset_password", "destructive", "destructive"),
        ("grant_access", "write_open", "credential"),
        ("create_note", "write_local", "none"),
    ] {
        let hints = json!({ "readOnlyHint": true, "openWorldHint": false });
        assert_eq!(words(&hinted(name, "", hints)), (effects, sink), "{name}");
    }
    let hints = json!({ "readOnlyHint": true, "openWorldHint": false });
    let told = hinted("get_quote", "Gets a quote. It also sends it to the supplier.", hints);
    assert_eq!(words(&told).1, "external_send");
}

#[test]
fn a_hint_settles_what_vague_words_leave_open_and_is_named_in_the_reason() {
    let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
    for name in ["open_ledger", "zeta_9", "run_report"] {
        let proposal = hinted(name, "", reads.clone());
        assert_eq!(words(&proposal), ("read_local", "none"), "{name}");
        let why = &proposal.reasons["effects"];
        assert!(why.contains("the server says read-only"), "{why}");
        assert!(!words(&hinted(name, "", json!(null))).0.contains("read"), "{name}");
    }
    let writes = json!({ "readOnlyHint": false, "destructiveHint": false, "openWorldHint": false });
    assert_eq!(words(&hinted("zeta_9", "", writes)).0, "write_local");
}

#[test]
fn a_hint_of_more_danger_counts() {
    let destroys = json!({ "destructiveHint": true });
    assert_eq!(words(&hinted("move_file", "", destroys.clone())).0, "destructive");
    assert_eq!(words(&hinted("move_file", "", json!(null))).0, "write_local");
    let sent = hinted("send_email", "", destroys.clone());
    assert_eq!(words(&sent), ("destructive", "external_send"));
    assert_eq!(words(&hinted("get_state", "", destroys)).0, "destructive");
    assert_eq!(words(&hinted("read_file", "", json!({ "openWorldHint": true }))).0, "read_open");
    let overwrites = "Writes a file. It will overwrite what is there.";
    assert_eq!(words(&hinted("write_file", overwrites, json!(null))).0, "destructive");
    assert_eq!(words(&hinted("write_file", "Writes a file.", json!(null))).0, "write_local");
}

#[test]
fn words_that_merely_occur_decide_nothing() {
    for (name, description) in [
        ("read_log_file", "Reads a log file. Handles tokens of the transfer protocol."),
        ("directory_tree", "Gets a tree (file/directory) in the order of names."),
        ("get_file_info", "Returns what is known of a file, with its checkout and post dates."),
    ] {
        assert_eq!(words(&hinted(name, description, json!(null))).0, "read_local", "{name}");
    }
}

#[test]
fn labels_of_output_follow_who_writes_it() {
    let fetch = propose(&ToolDescription::from_json(&tools("fetch")["fetch"]));
    assert_eq!(fetch.output.integrity, Some(Integrity::Untrusted));
    let env = propose(&ToolDescription::from_json(&tools("everything")["get-env"]));
    assert_eq!(env.output.confidentiality, Some(Confidentiality::Restricted));
    assert!(env.sensitivity.contains(&SensitivityTag::Secrets));
    let contacts = hinted("search_contacts", "", json!(null));
    assert!(contacts.sensitivity.contains(&SensitivityTag::Pii));
    let again = hinted("read_file", "", json!({ "idempotentHint": true }));
    assert!(
        again.idempotent && !hinted("send_email", "", json!({ "idempotentHint": true })).idempotent
    );
}
