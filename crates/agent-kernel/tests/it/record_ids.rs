//! Ids of records that the source assigns: the one of a record that the run created, and the one of
//! a record that the user called by its name.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_policy::{Contract, PolicySet};
use weaver_types::{Effects, RawResult, RecordIdentity, RunContext, SinkKind, Verdict};

use crate::support::{World, call, contracts, draft, sink, tainted};

const PROMPT: &str = "Write the packing list into 'list.docx' and share it with bob@example.com. \
    Then invite bob@example.com to 'Introductory meeting'.";

fn documents() -> Arc<PolicySet> {
    let records = |name: Option<&str>| Contract {
        records: Some(RecordIdentity { id: "id_".into(), name: name.map(str::to_owned) }),
        ..Contract::default()
    };
    contracts([
        ("drive.share", sink(SinkKind::ExternalSend)),
        ("drive.delete", sink(SinkKind::Destructive)),
        ("drive.create", records(None)),
        ("drive.append", records(None)),
        ("drive.find", records(Some("filename"))),
        ("cal.find", records(Some("title"))),
    ])
}

/// One file of the user's and one of somebody else's.
const FILES: &str = "- filename: list.docx\n  id_: '7'\n- filename: other.docx\n  id_: '13'\n";

fn world() -> World {
    world_with(FILES)
}

/// A drive with these files, and a calendar.
fn world_with(files: &'static str) -> World {
    let world = World::under(documents());
    for (id, effects) in [
        ("drive.share", Effects::WRITE_OPEN),
        ("drive.delete", Effects::UNDECLARED),
        ("web.read", Effects::READ_OPEN),
    ] {
        world.tool(id, effects);
    }
    let text = |text: &'static str| move |_: Value| Ok(RawResult::text(text));
    let write = |id: &str| draft(id, Effects::WRITE_LOCAL);
    world.answering(
        write("drive.create"),
        text("content: 'x\n\n  id_: ''13''\n\n  '\nfilename: list.docx\nid_: '26'\nsize: 79\n"),
    );
    world.answering(write("drive.append"), text("content: x\nid_: '13'\n"));
    world.answering(write("drive.copy"), text("id_: '27'\n"));
    let read = |id: &str| draft(id, Effects::READ_LOCAL);
    world.answering(read("drive.find"), text(files));
    world.answering(read("cal.find"), |_| {
        Ok(RawResult::json(json!([
            { "id_": 24, "title": "Introductory meeting" },
            { "id_": 25, "title": "Lunch", "description": "Introductory meeting" },
        ])))
    });
    world
}

fn shared(world: &World, run: &RunContext, id: &str) -> Verdict {
    let arguments = json!({ "file_id": id, "email": "bob@example.com" });
    call(world, run, "drive.share", arguments).decision.verdict()
}

#[test]
fn the_id_of_what_the_run_created_is_vouched_for() {
    let world = world();
    let run = tainted(&world, PROMPT);
    assert_eq!(shared(&world, &run, "26"), Verdict::Hold, "nobody knows it yet");
    call(&world, &run, "drive.create", json!({ "filename": "list.docx", "content": "x" }));
    assert_eq!(shared(&world, &run, "26"), Verdict::Allow);
    assert_eq!(shared(&world, &run, "13"), Verdict::Hold, "it stood in the text of the file");
    let delete = call(&world, &run, "drive.delete", json!({ "file_id": "26" }));
    assert_eq!(delete.decision.verdict(), Verdict::Hold, "only the user may say so");
}

#[test]
fn an_id_that_the_caller_gave_or_no_contract_names_is_not_vouched_for() {
    let world = world();
    let run = tainted(&world, PROMPT);
    call(&world, &run, "drive.append", json!({ "file_id": "13", "content": "x" }));
    assert_eq!(shared(&world, &run, "13"), Verdict::Hold);
    call(&world, &run, "drive.copy", json!({ "filename": "list.docx" }));
    assert_eq!(shared(&world, &run, "27"), Verdict::Hold);
}

#[test]
fn the_id_of_the_record_that_the_user_named_is_vouched_for() {
    let world = world();
    let run = tainted(&world, PROMPT);
    call(&world, &run, "drive.find", json!({ "query": "docx" }));
    assert_eq!(shared(&world, &run, "7"), Verdict::Allow);
    assert_eq!(shared(&world, &run, "13"), Verdict::Hold, "the user named another file");
    call(&world, &run, "cal.find", json!({ "query": "meeting" }));
    assert_eq!(shared(&world, &run, "24"), Verdict::Allow);
    assert_eq!(shared(&world, &run, "25"), Verdict::Hold, "a description is not a name");
}

#[test]
fn a_name_that_two_records_bear_vouches_for_neither() {
    let world =
        world_with("- filename: list.docx\n  id_: '7'\n- filename: LIST.docx\n  id_: '13'\n");
    let run = tainted(&world, PROMPT);
    call(&world, &run, "drive.find", json!({ "query": "docx" }));
    assert_eq!(shared(&world, &run, "7"), Verdict::Hold);
    assert_eq!(shared(&world, &run, "13"), Verdict::Hold);
}
