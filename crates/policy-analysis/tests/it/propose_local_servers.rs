//! What is proposed for the tools of servers that people run on their machine.

use std::path::PathBuf;

use serde_json::Value;
use weaver_policy_analysis::propose::{ServerTraits, ToolDescription, propose};
use weaver_types::{Effects, SinkKind};

/// Classes from harmless to strict.
const CLASSES: [&str; 6] = ["RL", "RO", "WL", "WO", "WC", "D"];

fn class(tool: &Value, traits: ServerTraits) -> &'static str {
    let proposal = propose(&ToolDescription::from_json(tool).with_server(traits));
    match (proposal.effects, proposal.effective_sink()) {
        (Effects::READ_LOCAL, _) => "RL",
        (Effects::READ_OPEN, _) => "RO",
        (Effects::WRITE_LOCAL, _) => "WL",
        (Effects::WRITE_OPEN, SinkKind::Credential) => "WC",
        (Effects::WRITE_OPEN, _) => "WO",
        _ => "D",
    }
}

#[test]
fn proposals_for_local_servers_are_mostly_right_and_nearly_none_is_too_low() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/local_servers");
    let labels = std::fs::read_to_string(folder.join("labels.txt")).unwrap();
    let (mut right, mut all, mut too_low) = (0, 0, Vec::new());
    for line in labels.lines().filter(|line| !line.starts_with('#')) {
        let (server, classes) = line.split_once(" | ").unwrap();
        let name = server.trim_end_matches(" here");
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        let tools = list["tools"].as_array().unwrap();
        let traits = match server.ends_with(" here") {
            true => ServerTraits::of_local_files(tools),
            false => ServerTraits::of(tools),
        };
        for (wanted, names) in classes.split("; ").map(|part| part.split_once(": ").unwrap()) {
            for tool in names.split(' ') {
                let described = tools.iter().find(|one| one["name"] == tool).unwrap();
                let found = class(described, traits);
                let place = |class: &str| CLASSES.iter().position(|one| *one == class).unwrap();
                let is_held = place(found) > 2 && place(wanted) > 2;
                all += 1;
                right += usize::from(found == wanted || is_held);
                if place(found) < place(wanted) && !is_held {
                    too_low.push(format!("{name}.{tool}: {wanted}, {found}"));
                }
            }
        }
    }
    println!("{right} of {all} right; too low: {too_low:?}");
    assert!(too_low.len() <= 1, "{too_low:?}");
    assert!(right * 100 >= all * 80, "{right} of {all}");
}
