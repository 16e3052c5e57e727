//! Memory and the kernel: what is written and read leaves its decision key, a commitment instead of
//! the value, and the label of what was read.

use serde_json::{Value, json};
use weaver_agent_kernel::{Caller, MemoryAccess, MemoryOperation, block_on};
use weaver_firewall::HandleQuery;
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::{
    CapabilityDraft, Confidentiality, Effects, Integrity, Label, RawResult, ResponseMode,
    RunContext, SensitivityTag,
};

use crate::support::{
    Asked, World, ana, draft, fold, log, open_policy, snapshot, succeeded, trusted,
};

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

fn remember(id: &str, effects: Effects) -> CapabilityDraft {
    let sensitivity = [SensitivityTag::Memory].into_iter().collect();
    CapabilityDraft { sensitivity, output_label: trusted(), ..draft(id, effects) }
}

fn note(world: &World, run: &RunContext, access: MemoryAccess, label: &Label) {
    let value = json!({ "key": SECRET });
    let note = MemoryOperation {
        access,
        entry: "mem_dur_deploy",
        tier: "durable",
        source: "mail from eve@corp.example.org",
        value: &value,
        label,
    };
    block_on(world.kernel.record_memory(Caller { run, principal: &ana() }, note)).unwrap();
}

#[test]
fn what_a_host_writes_and_reads_is_in_the_log_without_its_value() {
    let world = World::new(open_policy());
    let run = world.run();
    let untrusted = Label::undeclared_output();
    note(&world, &run, MemoryAccess::Put, &untrusted);
    let ledger = world.ledger.as_ref();
    assert_eq!(
        snapshot(ledger, &run.run_id).unwrap().label,
        Label::clean(),
        "writing shows nothing"
    );
    note(&world, &run, MemoryAccess::Get, &untrusted);
    assert_eq!(snapshot(ledger, &run.run_id).unwrap().label, untrusted, "reading does");
    assert_eq!(fold(ledger, &run.run_id), snapshot(ledger, &run.run_id).unwrap());

    let log = log(ledger);
    let said: Vec<(&str, &str)> = log
        .iter()
        .map(|event| (event.kind.as_str(), event.payload["decision_key"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("run.started", "kernel.run.started"),
        ("memory.put", "kernel.memory.put"),
        ("memory.get", "kernel.memory.get"),
    ];
    assert_eq!(said, wanted);
    let put = &log[1].payload;
    assert_eq!((&put["entry"], &put["tier"]), (&json!("mem_dur_deploy"), &json!("durable")));
    assert_eq!(put["label"]["integrity"], "untrusted");
    let text = put.to_string();
    assert!(!text.contains(SECRET) && !text.contains("eve@corp.example.org"), "{text}");
    let salt: Vec<u8> = (0..16)
        .map(|at| {
            let hex = put["salt"].as_str().unwrap().get(at * 2..at * 2 + 2).unwrap();
            u8::from_str_radix(hex, 16).unwrap()
        })
        .collect();
    let bytes = format!("{{\"key\":\"{SECRET}\"}}");
    let commit = Digest::of_parts(DomainTag::MEMORY_COMMIT, &[&salt, bytes.as_bytes()]);
    assert_eq!(put["commit"], json!(commit));
    assert_ne!(log[1].payload["commit"], log[2].payload["commit"], "each under its own salt");
}

#[test]
fn a_call_that_remembers_or_recalls_has_its_decision_key_once_it_succeeded() {
    let world = World::new(open_policy());
    world
        .register(remember("notes.put", Effects::WRITE_LOCAL))
        .register(remember("notes.get", Effects::READ_LOCAL))
        .register(draft("fs.write", Effects::WRITE_LOCAL))
        .register(remember("notes.wipe", Effects::DESTROY_LOCAL));
    world.answering(remember("notes.fails", Effects::READ_LOCAL), |_| {
        Ok(RawResult::text("no").failed())
    });
    let run = world.run();
    for id in ["notes.put", "notes.get", "fs.write", "notes.fails", "notes.wipe"] {
        world.call(&run, &ana(), &Asked::new(id));
    }
    let log = log(world.ledger.as_ref());
    let keys: Vec<(&str, &Value)> = log
        .iter()
        .filter(|event| event.kind == "call.outcome")
        .map(|event| {
            (event.payload["capability"].as_str().unwrap(), &event.payload["decision_key"])
        })
        .collect();
    let wanted = [
        ("notes.put", &json!("kernel.memory.put")),
        ("notes.get", &json!("kernel.memory.get")),
        ("fs.write", &Value::Null),
        ("notes.fails", &Value::Null),
    ];
    assert_eq!(keys, wanted);
}

#[test]
fn what_a_source_knows_of_its_label_only_makes_it_stricter() {
    let world = World::new(open_policy());
    let answer = |label: Label| move |_| Ok(RawResult::text("words").labelled(label.clone()));
    let worse = Label::new(Confidentiality::Confidential, Integrity::Untrusted);
    world
        .answering(remember("notes.bad", Effects::READ_LOCAL), answer(worse.clone()))
        .answering(remember("notes.good", Effects::READ_LOCAL), answer(trusted()))
        .answering(draft("web.page", Effects::READ_LOCAL), answer(Label::clean()));
    let seen = |id: &str| {
        let run = world.run();
        let done = world.call(&run, &ana(), &Asked::new(id));
        assert!(succeeded(&done));
        let frame = done.result.unwrap().data.unwrap().label;
        let run = snapshot(world.ledger.as_ref(), &run.run_id).unwrap().label;
        assert_eq!(frame, run);
        (run.confidentiality, run.integrity)
    };
    assert_eq!(seen("notes.bad"), (worse.confidentiality, worse.integrity));
    assert_eq!(seen("notes.good"), (Confidentiality::Internal, Integrity::Trusted));
    assert_eq!(seen("web.page"), (Confidentiality::Internal, Integrity::Untrusted));
    // In another run too, where the result is looked at by its handle.
    let (who, asked) = (ana(), Asked::new("notes.bad").mode(ResponseMode::HandleOnly));
    let stored = world.call(&world.run(), &who, &asked).result.unwrap().data.unwrap();
    let (other, query) = (world.run(), HandleQuery::parse(&json!({})).unwrap());
    let caller = Caller { run: &other, principal: &who };
    let view = block_on(world.kernel.expand(caller, &stored.handle.unwrap().handle_id, &query));
    assert_eq!(view.frame().unwrap().label.confidentiality, worse.confidentiality);
    let run = snapshot(world.ledger.as_ref(), &other.run_id).unwrap().label;
    assert_eq!(run.confidentiality, worse.confidentiality);
}
