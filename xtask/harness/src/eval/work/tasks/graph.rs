//! A graph of notes: building and searching.

use serde_json::json;

use crate::eval::work::task::{Script, Task, group};

/// The tasks.
pub fn tasks() -> Vec<Task> {
    let scripts: &[(&str, Script)] = &[
        ("build-a-graph", |a| {
            let entities = json!([
                { "name": "pump-9", "entityType": "pump", "observations": ["limit 640"] },
                { "name": "hall-2", "entityType": "hall", "observations": [] },
            ]);
            a.call_and_expect(
                "memory.create_entities",
                json!({ "entities": entities }),
                &["pump-9"],
            )?;
            let relations =
                json!([{ "from": "pump-9", "to": "hall-2", "relationType": "stands in" }]);
            a.call_and_expect(
                "memory.create_relations",
                json!({ "relations": relations }),
                &["stands in"],
            )?;
            a.expect("memory.open_nodes", json!({ "names": ["pump-9"] }), &["limit 640"])
        }),
        ("search-a-graph", |a| {
            let arguments = json!({ "query": "cabinet 447" });
            a.expect("memory.search_nodes", arguments, &["person-21"])
        }),
        ("open-two-nodes", |a| {
            let arguments = json!({ "names": ["person-03", "team-3"] });
            a.expect("memory.open_nodes", arguments, &["cabinet 321", "floor 5"])
        }),
        ("whole-graph", |a| {
            let mut shown = a.call_and_expect("memory.read_graph", json!({}), &[])?;
            a.find(&mut shown, "person-40", "keeps the keys of cabinet 580")
        }),
        ("add-an-observation", |a| {
            let observations =
                json!([{ "entityName": "person-10", "contents": ["is on leave in May"] }]);
            let arguments = json!({ "observations": observations });
            a.expect("memory.add_observations", arguments, &["is on leave in May"])
        }),
        ("delete-an-observation", |a| {
            let arguments = json!({ "names": ["person-10"] });
            let shown = a.call_and_expect("memory.open_nodes", arguments, &[])?;
            let keys = a.between(&shown, "keeps the keys of ", "\"")?;
            let gone = json!([{ "entityName": "person-10", "observations": [format!("keeps the keys of {keys}")] }]);
            a.expect("memory.delete_observations", json!({ "deletions": gone }), &[])
        }),
        ("delete-a-node", |a| {
            let arguments = json!({ "entityNames": ["person-59"] });
            a.call_and_expect("memory.delete_entities", arguments, &[])?;
            let arguments = json!({ "query": "person-59" });
            a.expect("memory.search_nodes", arguments, &["entities"])
        }),
    ];
    group("graph", scripts)
}
