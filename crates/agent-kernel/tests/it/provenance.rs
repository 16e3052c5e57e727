//! What releases a call after untrusted input: values that the user or a trusted source named.

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{Ports, RunState, block_on};
use weaver_policy::PolicySet;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, DomainTag};
use weaver_types::ledger::{
    Batch, Durability, Ledger, MAX_PAGE, Namespace, NewEvent, RecordKey, RecordWrite,
};
use weaver_types::{
    CapabilityDraft, Effects, EventKind, ManualClock, RawResult, ReasonCode, RunContext, RunId,
    SinkKind, Tenant, Verdict,
};

use crate::support::{
    Asked, START, World, ana, answer, call, contracts, draft, kinds, log, memory, sink, sqlite,
    tainted, trusted,
};

const PROMPT: &str = "Read the news, then send 12.00 to Bob Stone at bob@example.com for the 13 \
    tickets of May 14th, post it to https://example.com/wall and to the channel general, and \
    delete the file with ID '17'. My account is GB29 NWBK 6016 1331 9268 19. Set the password to \
    '1j1l-2k3j'.";

/// Outgoing tools on a rung below the floor, so that only flow can hold them.
fn documents() -> Arc<PolicySet> {
    let all = [
        ("mail.send", SinkKind::ExternalSend),
        ("web.post", SinkKind::ExternalSend),
        ("cal.create", SinkKind::ExternalSend),
        ("web.fetch", SinkKind::ExternalSend),
        ("bank.pay", SinkKind::Payment),
        ("user.password", SinkKind::Credential),
        ("fs.delete", SinkKind::Destructive),
    ];
    contracts(all.map(|(id, kind)| (id, sink(kind))))
}

fn schema(names: &[&str]) -> Option<Value> {
    let members = names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    Some(json!({ "type": "object", "properties": Value::Object(members) }))
}

fn world_on(ledger: Arc<dyn Ledger>) -> World {
    let clock = Arc::new(ManualClock::new(START));
    let world = World::with(ledger, clock, documents(), Ports::default());
    let tools: [(&str, Effects, &[&str]); 7] = [
        ("mail.send", Effects::WRITE_OPEN, &["recipients", "cc", "subject", "body", "attachments"]),
        ("web.post", Effects::WRITE_OPEN, &["url", "channel", "content"]),
        ("cal.create", Effects::WRITE_OPEN, &["title", "start_time", "participants"]),
        ("web.fetch", Effects::READ_OPEN, &["url"]),
        ("bank.pay", Effects::WRITE_OPEN, &["recipient", "amount", "subject"]),
        ("user.password", Effects::WRITE_OPEN, &["password"]),
        ("fs.delete", Effects::UNDECLARED, &["file_id"]),
    ];
    for (id, effects, names) in tools {
        world.register(CapabilityDraft {
            input_schema: schema(names).map(Into::into),
            ..draft(id, effects)
        });
    }
    world.tool("web.read", Effects::READ_OPEN);
    world.register(CapabilityDraft {
        output_label: trusted(),
        ..draft("crm.echo", Effects::READ_LOCAL)
    });
    let crm = CapabilityDraft { output_label: trusted(), ..draft("crm.find", Effects::READ_LOCAL) };
    world.answering(crm, |_| {
        Ok(RawResult::json(json!([{ "channel": "backoffice", "file_id": "26" }])))
    });
    world
}

fn world() -> World {
    world_on(memory())
}

#[test]
fn the_users_own_words_release_what_they_name() {
    let world = world();
    let run = tainted(&world, PROMPT);
    let table = [
        ("mail.send", json!({ "recipients": ["Bob@Example.com"], "body": "Hello", "cc": [] })),
        ("mail.send", json!({ "recipients": "Bob Stone <bob@example.com>", "subject": "12:00" })),
        (
            "mail.send",
            json!({ "recipients": ["bob@example.com"], "body": "see https://example.com/wall" }),
        ),
        ("web.post", json!({ "url": "http://example.com/wall", "content": "x" })),
        ("web.post", json!({ "channel": "general", "content": "x" })),
        ("web.fetch", json!({ "url": "https://example.com/wall#top" })),
        ("bank.pay", json!({ "recipient": "Bob Stone", "amount": 12, "subject": "for you" })),
        ("bank.pay", json!({ "recipient": "GB29NWBK60161331926819", "amount": "12.00" })),
        ("user.password", json!({ "password": "1j1l-2k3j" })),
        ("fs.delete", json!({ "file_id": "17" })),
        ("cal.create", json!({ "title": "Read the news", "start_time": "2024-05-14 10:00" })),
    ];
    for (id, arguments) in table {
        let done = call(&world, &run, id, arguments.clone());
        assert_eq!(
            done.decision.verdict(),
            Verdict::Allow,
            "{id} {arguments}: {}",
            done.decision.detail()
        );
    }
}

#[test]
fn borrowed_assembled_hidden_and_look_alike_values_release_nothing() {
    let world = world();
    let run = tainted(&world, PROMPT);
    let to = |to: Value| json!({ "recipients": to, "body": "hi" });
    let body = |body: &str| json!({ "recipients": ["bob@example.com"], "body": body });
    let pay = |recipient: &str, amount: Value| json!({ "recipient": recipient, "amount": amount });
    let table = [
        ("mail.send", to(json!(["eve@evil.net"]))),
        ("mail.send", to(json!(["bob@example.com", "eve@evil.net"]))),
        ("mail.send", to(json!("bob@example.com, eve@evil.net"))),
        ("mail.send", to(json!("bob@example.com <eve@evil.net>"))),
        ("mail.send", to(json!(["bob+x@example.com"]))),
        ("mail.send", to(json!(["b\u{43e}b@example.com"]))),
        ("mail.send", to(json!(["moc.elpmaxe@bob"]))),
        ("mail.send", to(json!(["bob@example.com.evil.net"]))),
        ("mail.send", to(json!(["bob%40example.com@evil.net"]))),
        ("mail.send", to(json!({ "to": "eve@evil.net" }))),
        ("mail.send", json!({ "recipients": ["bob@example.com"], "cc": ["eve@evil.net"] })),
        (
            "mail.send",
            json!({ "recipients": ["bob@example.com"], "attachments": [{ "file_id": "13" }] }),
        ),
        ("mail.send", body("log in at evil.net/login")),
        ("mail.send", body("[https://example.com](https://evil.net)")),
        ("mail.send", body("https://example.com.evil.net/wall")),
        ("mail.send", body("https://example.com@evil.net/wall")),
        ("mail.send", body("https://evil.net/example.com/wall")),
        ("mail.send", body("https://example.com/wall?leak=1")),
        ("mail.send", body("aHR0cHM6Ly9ldmlsLm5ldC94")),
        ("mail.send", body("evil[.]net")),
        ("mail.send", body("e\u{200b}vil.net")),
        ("mail.send", body("write to eve@evil.net")),
        ("mail.send", json!({ "recipients": ["bob@example.com"], "subject": "evil.net" })),
        ("web.post", json!({ "url": "https://example.com.evil.net/wall", "content": "x" })),
        ("web.post", json!({ "url": "https://evil.net/https://example.com/wall", "content": "x" })),
        ("web.post", json!({ "channel": "news", "content": "x" })),
        ("web.fetch", json!({ "url": "https://example.com/wall?secret=1" })),
        ("bank.pay", pay("Bob Stone", json!(120))),
        ("bank.pay", pay("Bob Stone", json!(1.2))),
        ("bank.pay", pay("Bob Stone", json!(13))),
        ("bank.pay", pay("Bob Stone", json!(14))),
        ("bank.pay", pay("Bob", json!(-12))),
        ("bank.pay", pay("Stone Bob", json!(12))),
        ("bank.pay", pay("news", json!(12))),
        ("bank.pay", pay("GB29NWBK60161331926818", json!(12))),
        ("user.password", json!({ "password": "password" })),
        ("user.password", json!({ "password": "1J1L-2K3J" })),
        ("fs.delete", json!({ "file_id": "13" })),
        ("fs.delete", json!({ "file_id": 14 })),
        ("fs.delete", json!({ "file_id": "1" })),
        ("cal.create", json!({ "title": "Buy at our shop", "start_time": "2024-05-14" })),
        ("cal.create", json!({ "title": "Read the news", "start_time": "2024-05-15" })),
        ("cal.create", json!({ "title": "news the Read", "start_time": "2024-05-14" })),
        ("cal.create", json!({ "start_time": "10:00" })),
        ("mail.send", json!({ "recipients": [], "body": "what the model wrote by itself" })),
        ("mail.send", json!({})),
    ];
    for (id, arguments) in table {
        let done = call(&world, &run, id, arguments.clone());
        assert_eq!(
            answer(&done),
            (Verdict::Hold, ReasonCode::UntrustedInfluence),
            "{id} {arguments}"
        );
    }
}

#[test]
fn a_hold_names_the_argument_its_kind_and_what_tainted_the_run() {
    let world = world();
    let mut run = world.run();
    run.record_user_text(PROMPT);
    let read = world.call(&run, &ana(), &Asked::new("web.read"));
    let held = call(&world, &run, "mail.send", json!({ "recipients": ["eve@evil.net"] }));
    let detail = held.decision.detail();
    for part in [read.call.as_str(), "`/recipients/0`", "e-mail address"] {
        assert!(detail.contains(part), "{detail}");
    }
    assert!(!detail.contains("eve@evil.net"));
}

#[test]
fn trusted_results_release_what_only_goes_out() {
    let world = world();
    let run = tainted(&world, PROMPT);
    let post =
        || call(&world, &run, "web.post", json!({ "channel": "backoffice", "content": "x" }));
    assert_eq!(post().decision.verdict(), Verdict::Hold);
    call(&world, &run, "crm.find", json!({}));
    assert_eq!(post().decision.verdict(), Verdict::Allow, "{}", post().decision.detail());
    let delete = call(&world, &run, "fs.delete", json!({ "file_id": "26" }));
    assert_eq!(delete.decision.verdict(), Verdict::Hold, "only the user may say so");
}

#[test]
fn a_trusted_source_vouches_for_nothing_that_it_was_told_after_taint() {
    let post = |world: &World, run: &RunContext, channel: &str| {
        call(world, run, "web.post", json!({ "channel": channel, "content": "x" }))
            .decision
            .verdict()
    };
    let world = world();
    let run = tainted(&world, PROMPT);
    call(&world, &run, "crm.echo", json!({ "channel": "evil-room" }));
    assert_eq!(post(&world, &run, "evil-room"), Verdict::Hold, "it only repeats");
    call(
        &world,
        &run,
        "mail.send",
        json!({ "recipients": ["bob@example.com"], "body": "backoffice" }),
    );
    call(&world, &run, "crm.find", json!({}));
    assert_eq!(post(&world, &run, "backoffice"), Verdict::Hold, "it may have been placed there");
    let clean = world.run();
    call(&world, &clean, "crm.echo", json!({ "channel": "room-7" }));
    world.call(&clean, &ana(), &Asked::new("web.read"));
    assert_eq!(post(&world, &clean, "room-7"), Verdict::Allow, "nobody had steered it");
}

#[test]
fn a_restart_changes_no_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    let mut run = None;
    let verdicts = |world: &World, run: &RunContext| -> Vec<Verdict> {
        let asked = [
            ("fs.delete", json!({ "file_id": "17" })),
            ("bank.pay", json!({ "recipient": "Bob Stone", "amount": 13 })),
            ("web.post", json!({ "channel": "backoffice", "content": "x" })),
            ("web.post", json!({ "channel": "evil-room", "content": "x" })),
        ];
        asked.map(|(id, args)| call(world, run, id, args).decision.verdict()).to_vec()
    };
    let mut before = Vec::new();
    for round in 0..2 {
        let world = world_on(sqlite(&path));
        if round == 0 {
            let fresh = tainted(&world, PROMPT);
            call(&world, &fresh, "crm.find", json!({}));
            call(&world, &fresh, "crm.echo", json!({ "channel": "evil-room" }));
            before = verdicts(&world, &fresh);
            run = Some(fresh.run_id);
        } else {
            // The host does not say the words again: the run knows them.
            let again = world.run().with_run_id(run.clone().unwrap());
            assert_eq!(verdicts(&world, &again), before);
        }
    }
    assert_eq!(before, [Verdict::Allow, Verdict::Hold, Verdict::Allow, Verdict::Hold]);
}

#[test]
fn the_log_has_the_users_words_once_redacted_and_committed_to() {
    let world = world();
    let mut run = world.run();
    run.record_user_text("my key is AKIAIOSFODNN7EXAMPLE, mail bob@corp.example.com");
    for _ in 0..3 {
        world.call(&run, &ana(), &Asked::new("web.read"));
    }
    let mut again = world.run().with_run_id(run.run_id.clone());
    again.record_user_text("my key is AKIAIOSFODNN7EXAMPLE, mail bob@corp.example.com");
    world.call(&again, &ana(), &Asked::new("web.read"));
    let said: Vec<_> =
        log(world.ledger.as_ref()).into_iter().filter(|e| e.kind == "run.user_said").collect();
    assert_eq!(said.len(), 1);
    let text = said[0].payload["text"].as_str().unwrap();
    assert!(!text.contains("AKIA") && !text.contains("bob@corp.example.com"), "{text}");
    assert!(said[0].payload["commit"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(
        kinds(world.ledger.as_ref()).iter().filter(|kind| *kind == "run.started").count(),
        1
    );
    again.record_user_text("and to eve@evil.net");
    let sent = call(&world, &again, "mail.send", json!({ "recipients": ["eve@evil.net"] }));
    assert_eq!(sent.decision.verdict(), Verdict::Allow);
}

#[test]
fn words_of_one_run_release_nothing_in_another() {
    let world = world();
    tainted(&world, PROMPT);
    let other = world.run();
    world.call(&other, &ana(), &Asked::new("web.read"));
    let held = call(&world, &other, "mail.send", json!({ "recipients": ["bob@example.com"] }));
    assert_eq!(held.decision.verdict(), Verdict::Hold);
}

fn records(world: &World) -> usize {
    let (tenant, space) = (Tenant::default(), Namespace::Provenance);
    let (mut count, mut after) = (0, None);
    loop {
        let page = world.ledger.list(&tenant, space, after.as_deref(), MAX_PAGE).unwrap();
        count += page.len();
        let Some((last, _)) = page.last() else { return count };
        after = Some(last.clone());
    }
}

#[test]
fn no_call_costs_more_than_another_and_the_index_ends() {
    let world = world();
    let run = tainted(&world, PROMPT);
    let mut grown = Vec::new();
    for n in 0..60 {
        let before = records(&world);
        let crowd: Vec<String> = (0..400).map(|k| format!("room-{n}-{k}")).collect();
        call(&world, &run, "crm.echo", json!({ "channel": crowd }));
        grown.push(records(&world) - before);
    }
    assert!(grown.iter().all(|n| *n <= 2), "what was told and what was shown: {grown:?}");
    assert_eq!(grown.last(), Some(&0), "a full index takes nothing more in");
    let known = call(&world, &run, "mail.send", json!({ "recipients": ["bob@example.com"] }));
    assert_eq!(known.decision.verdict(), Verdict::Allow, "what the user said stays");
    call(&world, &run, "crm.find", json!({}));
    let lost = call(&world, &run, "web.post", json!({ "channel": "backoffice", "content": "x" }));
    assert_eq!(lost.decision.verdict(), Verdict::Hold, "index full is nowhere");
}

#[test]
fn a_rule_can_ask_where_a_value_came_from() {
    let rule = "[[rules]]\nname = \"known\"\nmatch = { not = { arguments = { at = \"/query\", \
        provenance = [\"user\", \"trusted\"] } }, capability = \"crm.ask\" }\neffect = \"require_approval\"\n";
    let text = format!(
        "kind = \"policy\"\nformat = 1\nid = \"p\"\nversion = 1\n{rule}[[rules]]\nname = \"all\"\nmatch = {{}}\neffect = \"allow\"\n"
    );
    let policy = weaver_policy::Policy::from_code(text.leak()).unwrap();
    let world = World::new(policy);
    world.tool("crm.ask", Effects::READ_LOCAL);
    let mut run = world.run();
    run.record_user_text("Look for the Blue Lagoon");
    let ask =
        |query: &str| call(&world, &run, "crm.ask", json!({ "query": query })).decision.verdict();
    assert_eq!((ask("Blue Lagoon"), ask("Red Lagoon")), (Verdict::Allow, Verdict::Hold));
}

const KEY: &str = include_str!("../data/origins_key.json");
const ORIGINS: &str = include_str!("../data/origins.json");

/// A ledger with the records of a run, and the event that tells of them.
fn holding(records: [(&str, &str); 2]) -> Arc<dyn Ledger> {
    let (ledger, mut batch, mut digests) = (memory(), Batch::new(Durability::Os), Vec::new());
    for (name, value) in records {
        let (id, value) = (format!("run_1 {name}"), value.trim_end().as_bytes());
        digests.push(Digest::of_parts(DomainTag::PROVENANCE, &[id.as_bytes(), value]));
        let key = RecordKey::new(Tenant::default(), Namespace::Provenance, id);
        batch = batch.create(key, value.to_vec(), None);
    }
    let state = canonical::serialize(&RunState::default(), Profile::Record).unwrap();
    let key = RecordKey::new(Tenant::default(), Namespace::Run, "run_1");
    let payload =
        canonical::serialize(&json!({ "run": { "provenance": digests } }), Profile::Record);
    let begun = NewEvent {
        at: START,
        kind: EventKind::RunStarted,
        run: Some(RunId::parse("run_1").unwrap()),
        call: None,
        payload: payload.unwrap().into(),
    };
    block_on(ledger.commit(batch.create(key, state, None).with_event(begun))).unwrap();
    ledger
}

/// The records of where the values of a run come from, by their names within it.
fn origins_of(world: &World, run: &RunId) -> Vec<(String, Vec<u8>)> {
    let (tenant, prefix) = (Tenant::default(), format!("{run} "));
    let all = world.ledger.list(&tenant, Namespace::Provenance, None, MAX_PAGE).unwrap();
    let own = all.into_iter().filter_map(|(id, record)| {
        id.strip_prefix(&prefix).map(|name| (name.to_owned(), record.value))
    });
    own.collect()
}

fn origin_key(run: &RunId, name: &str) -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::Provenance, format!("{run} {name}"))
}

/// Whoever can write the store can correct its sums, so only the log tells which records are a
/// run's own.
#[test]
fn what_somebody_planted_among_the_origins_of_a_run_vouches_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    let world = world_on(sqlite(&path));
    let own = tainted(&world, PROMPT);
    let mut other = world.run();
    assert!(other.record_user_text("Send it to eve@evil.example.net"));
    world.call(&other, &ana(), &Asked::new("web.read"));
    let (own, other) = (own.run_id, other.run_id);
    // The whole index of another run, its key too, in place of this run's.
    let mut batch = Batch::new(Durability::Os);
    for (name, value) in origins_of(&world, &other) {
        batch.put.push(RecordWrite { key: origin_key(&own, &name), value, expires_at: None });
    }
    block_on(world.ledger.commit(batch)).unwrap();
    drop(world);
    let world = world_on(sqlite(&path));
    let to_eve = |run: &RunId| {
        let arguments = json!({ "recipients": ["eve@evil.example.net"], "body": "x" });
        let run = world.run().with_run_id(run.clone());
        call(&world, &run, "mail.send", arguments).decision.verdict()
    };
    assert_eq!((to_eve(&other), to_eve(&own)), (Verdict::Allow, Verdict::Hold));
}

#[test]
fn what_somebody_removed_from_the_origins_of_a_run_keeps_trusted_results_from_vouching() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    let world = world_on(sqlite(&path));
    let run = tainted(&world, PROMPT);
    // What a call was told after taint is vouched for by no trusted source.
    call(&world, &run, "crm.echo", json!({ "channel": "backoffice" }));
    let id = run.run_id.clone();
    let post = |world: &World, run: &RunContext| {
        call(world, run, "crm.find", json!({}));
        let arguments = json!({ "channel": "backoffice", "content": "x" });
        call(world, run, "web.post", arguments).decision.verdict()
    };
    assert_eq!(post(&world, &run), Verdict::Hold);
    let mut batch = Batch::new(Durability::Os);
    let written = |value: &[u8]| String::from_utf8_lossy(value).contains("written");
    let all = origins_of(&world, &id).into_iter();
    let gone = all.filter(|(_, value)| written(value));
    batch.delete.extend(gone.map(|(name, _)| origin_key(&id, &name)));
    assert!(!batch.delete.is_empty());
    block_on(world.ledger.commit(batch)).unwrap();
    drop(world);
    let world = world_on(sqlite(&path));
    assert_eq!(post(&world, &world.run().with_run_id(id)), Verdict::Hold);
}

#[test]
fn a_run_goes_on_from_its_golden_origins_and_a_newer_form_denies_its_calls() {
    let send = |records: [(&str, &str); 2]| {
        let world = world_on(holding(records));
        let run = world.run().with_run_id(RunId::parse("run_1").unwrap());
        world.call(&run, &ana(), &Asked::new("web.read"));
        answer(&call(&world, &run, "mail.send", json!({ "recipients": ["bob@example.com"] })))
    };
    assert_eq!(send([("!key", KEY), ("said_1", ORIGINS)]).0, Verdict::Allow);
    let newer = ORIGINS.replace("\"v\":1", "\"v\":2");
    let unknown = ORIGINS.replace("\"v\":1", "\"v\":1,\"w\":1");
    for wrong in [newer, unknown, "{}".to_owned(), ORIGINS.replace("user", "usual")] {
        let denied = (Verdict::Deny, ReasonCode::LedgerUnavailable);
        assert_eq!(send([("!key", KEY), ("said_1", &wrong)]), denied, "{wrong}");
    }
    let other = KEY.replace("0707", "0708");
    assert_eq!(send([("!key", &other), ("said_1", ORIGINS)]).0, Verdict::Hold, "another key");
}
