//! Checkpoints leave the machine: a real file, a real program, a real listener.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_gateway::secret::{KdfCosts, KeyFile, Passphrase};
use weaver_trace_store::checkpoint::{
    CallReceipt, KeyChange, KeyUse, SignedNote, TrustPolicy, VerifiedCheckpoint, VerifierKey,
    cosign,
};
use weaver_trace_store::verify::verify;
use weaver_types::ledger::{Batch, Durability, Ledger as _, NewEvent};
use weaver_types::signature::{PublicKey, SigningKey};
use weaver_types::{Clock as _, EventKind, KeyId, OsRandom, SystemClock, Timestamp};

use crate::client::{Client, folder};
use crate::http_server;
use crate::support::{Folder, Run, until_found, weaver};

const SERVERS: [(&str, &str); 1] = [("files", "good")];

/// A folder whose log has a key, and its public half.
fn signing(settings: &str) -> (Folder, PublicKey) {
    let folder = folder(&SERVERS, &format!("[log]\nkey = \"log.key\"\n{settings}"), "");
    folder.write("passphrase", "a passphrase\n");
    let public = new_key(&folder, "log.key");
    (folder, public)
}

/// A key for a log in a file of this name, and its public half.
fn new_key(folder: &Folder, name: &str) -> PublicKey {
    let passphrase = Passphrase::new("a passphrase".to_owned().into()).unwrap();
    let id = KeyId::parse("log").unwrap();
    let (file, key) = KeyFile::generate_at(KdfCosts::LOWEST, id, &passphrase, &OsRandom).unwrap();
    file.write_new(&folder.path(name)).unwrap();
    key.public()
}

fn start(folder: &Folder) -> Client {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "exec \"$0\" serve --standalone --config \"$1\" --log-passphrase-fd 3 3<\"$2\"",
    ]);
    command.arg(env!("CARGO_BIN_EXE_weaver"));
    command.args([folder.arg("weaver.toml"), folder.arg("passphrase")]);
    Client::start_as(command).shaken()
}

fn trust(folder: &Folder, public: &PublicKey) -> TrustPolicy {
    TrustPolicy::new(VerifierKey::log(&folder.reader().head().unwrap().log, *public).unwrap())
}

fn note(folder: &Folder, name: &str) -> Option<SignedNote> {
    SignedNote::parse(&fs::read(folder.path(name)).ok()?).ok()
}

/// A client that asks for it gets the receipt of its call with the answer, and only then.
#[test]
fn a_call_brings_its_receipt_where_its_client_asks_for_it() {
    let (folder, public) = signing("");
    let mut client = start(&folder);
    let mut call = |receipt: bool, capability: &str| {
        let arguments = json!({"capability": capability, "arguments": {}});
        let meta = json!({ "weaver/receipt": receipt });
        let call = json!({"name": "tool_execute", "arguments": arguments, "_meta": meta});
        client.request("tools/call", call)["result"].clone()
    };
    assert!(call(false, "files.people")["_meta"]["weaver/receipt"].is_null());
    for (capability, id) in
        [("files.people", "/_meta/weaver~1call"), ("files.nothing", "/structuredContent/call")]
    {
        let result = call(true, capability);
        let receipt = result["_meta"]["weaver/receipt"].to_string();
        let receipt = CallReceipt::parse(receipt.as_bytes())
            .unwrap_or_else(|error| panic!("{error}: {result}"));
        let report = receipt.verify(&trust(&folder, &public)).unwrap();
        assert_eq!(report.call.as_str(), result.pointer(id).unwrap(), "{result}");
        assert!(report.shows_end(), "{result}");
        assert!(report.events.iter().all(|event| event.payload.is_none()), "nothing is disclosed");
    }
    client.finish();
}

/// A target that takes its time delays no call that wants a receipt.
#[test]
fn a_receipt_does_not_wait_for_a_slow_target() {
    let (folder, public) = signing(
        "every_events = 1\npublish = [{ timeout_ms = 60000, command = [\"sh\", \"-c\",\n\
         \"echo $$ > pid.tmp && mv pid.tmp pid; until [ -e release ]; do sleep 0.05; done\"] }]\n",
    );
    let mut client = start(&folder);
    let pid = until_found("a delivery", || fs::read_to_string(folder.path("pid")).ok());
    let call = json!({"name": "tool_execute",
        "arguments": {"capability": "files.people", "arguments": {}}, "_meta": {"weaver/receipt": true}});
    let result = client.request("tools/call", call)["result"].clone();
    let receipt =
        CallReceipt::parse(result["_meta"]["weaver/receipt"].to_string().as_bytes()).unwrap();
    receipt.verify(&trust(&folder, &public)).unwrap();
    let delivering = Command::new("kill").args(["-0", pid.trim()]).status().unwrap();
    assert!(delivering.success(), "the delivery of before is still under way");
    folder.write("release", "");
    client.finish();
}

/// The record, as `weaver check --json` tells it.
fn record(folder: &Folder) -> Value {
    folder.check(&["--json"]).json()["checkpoints"].clone()
}

/// `weaver trace head`.
fn head(folder: &Folder, more: &[&str]) -> Run {
    let store = folder.arg(".weaver/ledger.db");
    let run = weaver(&[&["trace", "head", "--store", &store], more].concat());
    assert_eq!(run.code, 0, "{run:?}");
    run
}

fn echo(client: &mut Client) {
    let call = json!({"name": "tool_execute", "arguments": {"capability": "files.echo", "arguments": {"text": "x"}}});
    let answer = client.request("tools/call", call);
    assert!(answer["result"].is_object(), "{answer}");
}

/// A listener that answers each text with what `answer` makes of it, and keeps the texts.
struct Listener {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

fn listen(answer: impl Fn(usize, &str) -> (u16, String) + Send + 'static) -> Listener {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let texts = Arc::clone(&seen);
    let port = http_server::start(move |request| {
        assert!(request.path().starts_with("/checkpoints"), "{}", request.path());
        let (status, body) = answer(texts.lock().unwrap().len(), &request.body);
        texts.lock().unwrap().push(request.body.clone());
        http_server::answer(&format!("{status} x"), "", &body)
    });
    Listener { url: format!("http://127.0.0.1:{port}/checkpoints"), seen }
}

#[test]
fn a_checkpoint_reaches_file_command_and_address() {
    let witness = SigningKey::from_seed([9; 32]);
    let name = "witness.example/1";
    let key = VerifierKey::new(name, KeyUse::Witness, witness.public()).unwrap();
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    let listener = listen(move |_, text| {
        let note = SignedNote::parse(text.as_bytes()).unwrap();
        (200, cosign(note, name, &witness, at).unwrap().to_string())
    });
    let (folder, public) = signing(&format!(
        "every_events = 1\nwitnesses = [\"{key}\"]\nquorum = 1\n\
         publish = [{{ file = \"latest.txt\" }}, {{ http = \"{}\" }},\n\
           {{ command = [\"sh\", \"-c\", \"cat > out.tmp && mv out.tmp out.txt\"] }}]\n",
        listener.url
    ));
    let mut client = start(&folder);
    echo(&mut client);
    until_found("a checkpoint while it serves", || note(&folder, "latest.txt"));
    assert_eq!(client.end().code, 0);

    // At the end all of it is signed, and is everywhere.
    let wanted = TrustPolicy { witnesses: vec![key], quorum: 1, ..trust(&folder, &public) };
    let reader = folder.reader();
    for file in ["latest.txt", "out.txt"] {
        let note = note(&folder, file).unwrap();
        let VerifiedCheckpoint { checkpoint, .. } = wanted.open(&note).unwrap();
        assert_eq!(checkpoint.head(), reader.head().unwrap(), "{file}");
    }
    verify(
        &reader,
        Some(&wanted.open(&note(&folder, "latest.txt").unwrap()).unwrap().checkpoint.head()),
    )
    .unwrap();
    let last = listener.seen.lock().unwrap().last().cloned().unwrap();
    let sent = SignedNote::parse(last.as_bytes()).unwrap();
    assert_eq!(sent.text(), note(&folder, "latest.txt").unwrap().text());
    let record = record(&folder);
    assert_eq!(record["signed"]["witnesses"], 1, "{record}");
    let targets = record["targets"].as_object().unwrap();
    assert_eq!(targets.len(), 3);
    for (name, target) in targets {
        assert_eq!(target["size"], reader.head().unwrap().size, "{name}: {record}");
        assert!(target["failed"].is_null(), "{record}");
    }
    the_head_says_where_it_arrived(&folder, &record);
}

/// What stands in the record, under the names of `weaver trace head`.
fn the_head_says_where_it_arrived(folder: &Folder, record: &Value) {
    let plain = head(folder, &[]);
    let all = head(folder, &["--json"]);
    let (bare, full) = (plain.json(), all.json());
    let size = record["signed"]["size"].as_u64().unwrap();
    for name in ["log", "size", "root"] {
        assert_eq!(bare[name], full[name], "{full}");
    }
    assert_eq!(bare.as_object().unwrap().len(), 3, "{bare}");
    assert_eq!((&full["signed"]["size"], &full["signed"]["witnesses"]), (&size.into(), &1.into()));
    let targets = full["published"].as_array().unwrap();
    assert_eq!(targets.len(), 3, "{full}");
    for target in targets {
        let name = target["target"].as_str().unwrap();
        let at = record["targets"][name]["at"].as_i64().unwrap();
        assert_eq!(target["size"], size, "{full}");
        assert_eq!(target["at"], Timestamp::from_micros(at).rfc3339(), "{full}");
        assert!(target["failed"].is_null(), "{full}");
        let line =
            format!("published  {size} events at {} to {name}\n", target["at"].as_str().unwrap());
        assert!(plain.err.contains(&line), "{line}{}", plain.err);
    }
    // Either form can be kept and given back.
    for (name, text) in [("bare.json", &plain.out), ("full.json", &all.out)] {
        folder.write(name, text);
        let (store, kept) = (folder.arg(".weaver/ledger.db"), folder.arg(name));
        let run = weaver(&["trace", "verify", "--store", &store, "--head", &kept]);
        assert!(run.code == 0 && run.out.contains("none was changed"), "{run:?}");
    }
    folder.write("odd.json", &all.out.replace("\"published\"", "\"publisher\""));
    let (store, kept) = (folder.arg(".weaver/ledger.db"), folder.arg("odd.json"));
    assert_eq!(weaver(&["trace", "verify", "--store", &store, "--head", &kept]).code, 3);
}

#[test]
fn a_target_that_fails_is_seen_and_recovers() {
    let listener = listen(|before, _| (if before < 2 { 503 } else { 204 }, String::new()));
    let (folder, _) = signing(&format!(
        "publish = [{{ http = \"{}?token=hunter2\" }}, {{ command = [\"test\", \"-e\", \"flag\"] }}]\n",
        listener.url
    ));
    let client = start(&folder);
    let command = |record: &Value| record["targets"]["command test"].clone();
    until_found("the failure", || {
        let failed = command(&record(&folder))["failed"]["problem"].as_str()?.to_owned();
        assert!(failed.contains("exit status: 1"), "{failed}");
        Some(())
    });
    assert!(folder.check(&[]).out.contains("do not arrive at command test"));
    let seen = head(&folder, &["--json"]).json();
    let command_test =
        seen["published"].as_array().unwrap().iter().find(|one| one["target"] == "command test");
    let command_test = command_test.unwrap();
    assert!(command_test["size"].is_null() && command_test["at"].is_null(), "{seen}");
    assert!(command_test["failed"]["at"].is_string(), "{seen}");
    let text = head(&folder, &[]).err;
    let line = text.lines().find(|line| line.contains("to command test")).unwrap();
    assert!(line.contains("nothing yet") && line.contains("exit status: 1"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    folder.write("flag", "");
    until_found("the command", || command(&record(&folder))["size"].as_u64());
    let http = format!("http {}", listener.url);
    until_found("the address", || record(&folder)["targets"][&http]["size"].as_u64());
    assert!(listener.seen.lock().unwrap().len() > 2);
    let ended = client.end();
    assert!(ended.stderr.contains("did not arrive") && ended.stderr.contains("503"));
    assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
}

/// Copies the ledger, alone, from one folder to another.
fn copy(from: &Folder, prefix: &str, to: &str) {
    for end in ["", "-wal"] {
        let _ = fs::remove_file(from.path(&format!("{to}{end}")));
        let _ = fs::copy(from.path(&format!("{prefix}{end}")), from.path(&format!("{to}{end}")));
    }
}

#[test]
fn a_restart_goes_on_and_a_restored_backup_is_a_fork() {
    let (folder, public) = signing("publish = [{ file = \"latest.txt\" }]\n");
    let run = |calls: u32| {
        let mut client = start(&folder);
        (0..calls).for_each(|_| echo(&mut client));
        client.end().stderr
    };
    let size = || {
        let note = note(&folder, "latest.txt").unwrap();
        trust(&folder, &public).open(&note).unwrap().checkpoint.size
    };
    run(1);
    let first = size();
    copy(&folder, ".weaver/ledger.db", "backup.db");
    let said = run(1);
    let second = size();
    assert!(second > first && !said.contains("fork"), "{first}, {second}: {said}");
    // Each of the places that remember finds it alone, with fewer events and with more.
    let memory = fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().path());
    let memory = memory.into_iter().find(|path| path.to_string_lossy().ends_with(".signed"));
    let memory = memory.unwrap();
    let latest = fs::read(folder.path("latest.txt")).unwrap();
    let remembered = fs::read(&memory).unwrap();
    for (calls, forget) in [(0, "memory"), (3, "latest"), (3, "memory"), (3, "")] {
        copy(&folder, "backup.db", ".weaver/ledger.db");
        for end in [".index", ".index-wal", ".index-shm", "-shm"] {
            let _ = fs::remove_file(folder.path(&format!(".weaver/ledger.db{end}")));
        }
        fs::write(folder.path("latest.txt"), &latest).unwrap();
        fs::write(&memory, &remembered).unwrap();
        match forget {
            "memory" => fs::remove_file(&memory).unwrap(),
            "latest" => fs::remove_file(folder.path("latest.txt")).unwrap(),
            _ => {}
        }
        let said = run(calls);
        assert!(said.contains("fork"), "{calls} {forget}: {said}");
        let refused = record(&folder)["refused"]["problem"].as_str().unwrap().to_owned();
        assert!(refused.contains("fork"), "{refused}");
        assert!(folder.check(&[]).out.contains("no checkpoint was signed"));
        assert_eq!(head(&folder, &["--json"]).json()["refused"]["problem"], refused.as_str());
        assert!(head(&folder, &[]).err.contains("refused    since"));
        if forget != "latest" {
            assert_eq!(fs::read(folder.path("latest.txt")).unwrap(), latest);
        }
    }
    // A new key signs what is there now, for a target that has nothing of before.
    let public = new_key(&folder, "next.key");
    let config = fs::read_to_string(folder.path("weaver.toml")).unwrap();
    folder.write("weaver.toml", &config.replace("log.key", "next.key").replace("latest", "next"));
    let said = run(1);
    assert!(!said.contains("fork"), "{said}");
    let signed = note(&folder, "next.txt").unwrap();
    trust(&folder, &public).open(&signed).unwrap();
    assert_eq!(fs::read(folder.path("latest.txt")).unwrap(), latest);
}

#[test]
fn a_key_that_the_log_does_not_name_any_more_signs_nothing() {
    let (folder, public) = signing("publish = [{ file = \"latest.txt\" }]\n");
    drop(start(&folder).end());
    let before = fs::read(folder.path("latest.txt")).unwrap();
    // The one memory of the key: the command goes on where the gateway stopped.
    let memory = |name: &str| name.starts_with("log.key.") && name.ends_with(".signed");
    let names = fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| memory(&name.to_string_lossy())).count(), 1);
    let log = folder.reader().head().unwrap().log;
    let ledger = folder.ledger();
    let other = VerifierKey::log(&log, SigningKey::from_seed([9; 32]).public()).unwrap();
    assert_ne!(other.public(), &public);
    let payload = KeyChange::declare(other, 0).to_payload().unwrap();
    let event = NewEvent {
        kind: EventKind::LogKey,
        at: Timestamp::default(),
        run: None,
        call: None,
        payload: payload.into(),
    };
    ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
    drop(ledger);
    let mut client = start(&folder);
    echo(&mut client);
    let said = client.end().stderr;
    assert!(said.contains("the log had another key by then"), "{said}");
    assert_eq!(fs::read(folder.path("latest.txt")).unwrap(), before);
}

#[test]
fn a_key_without_its_passphrase_is_refused_and_no_key_is_said() {
    let (signing, _) = signing("");
    let ended = Client::start(&signing).end();
    assert!(ended.code != 0 && ended.stderr.contains("needs its passphrase"), "{}", ended.stderr);
    signing.write("passphrase", "another one\n");
    let ended = {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "exec \"$0\" serve --standalone --config \"$1\" --log-passphrase-fd 3 3<\"$2\"",
        ]);
        command.arg(env!("CARGO_BIN_EXE_weaver"));
        command.args([signing.arg("weaver.toml"), signing.arg("passphrase")]);
        Client::start_as(command).end()
    };
    assert!(ended.code != 0, "{}", ended.stderr);

    let plain = folder(&SERVERS, "", "");
    let mut command = Command::new(env!("CARGO_BIN_EXE_weaver"));
    command.args(["serve", "--standalone", "--config", &plain.arg("weaver.toml")]);
    command.env("WEAVER_LOG", "info");
    let ended = Client::start_as(command).shaken().end();
    assert!(ended.stderr.contains("checkpoints of the log are not signed"), "{}", ended.stderr);
}

#[test]
fn payloads_that_are_old_enough_go() {
    let folder = folder(
        &SERVERS,
        "[[log.retention]]\nolder_than_days = 30\nkinds = [\"call.intent\"]\n",
        "",
    );
    let event = |kind, at| NewEvent {
        kind,
        at,
        run: None,
        call: None,
        payload: br#"{"secret":"old"}"#.to_vec().into(),
    };
    let ledger = folder.ledger();
    let mut batch = Batch::new(Durability::Disk);
    let old = Timestamp::from_micros(1_600_000_000_000_000);
    // The last event is recent: the gateway trusts no clock that is far ahead of it.
    batch.events = vec![
        event(EventKind::Intent, old),
        event(EventKind::RunStarted, old),
        event(EventKind::RunStarted, SystemClock::default().now()),
    ];
    ledger.commit(batch).wait().unwrap();
    drop(ledger);
    let client = Client::open(&folder);
    until_found("the pruning", || {
        folder.reader().events(0, 1).unwrap()[0].payload.is_none().then_some(())
    });
    assert_eq!(client.end().code, 0);
    let events = folder.reader().events(0, 1_000).unwrap();
    assert!(events[1].payload.is_some());
    let pruned = String::from_utf8_lossy(
        events
            .iter()
            .map(|event| event.payload.clone().unwrap_or_default())
            .collect::<Vec<_>>()
            .concat()
            .as_slice(),
    )
    .contains("weaver serve");
    assert!(pruned);
    verify(&folder.reader(), None).unwrap();
}

#[test]
fn settings_of_the_log_that_cannot_be_meant_are_refused() {
    for (settings, code) in [
        ("[log]\nevery_events = 5\n", "config.missing_key"),
        ("[log]\nkey = \"k\"\npublish = [{ http = \"http://a.example/\" }]\n", "config.url"),
        ("[log]\nkey = \"k\"\npublish = [{ file = \"a\", command = [\"b\"] }]\n", "config.target"),
        ("[log]\nkey = \"k\"\npublish = [{ command = [] }]\n", "config.target"),
        (
            "[log]\nkey = \"k\"\npublish = [{ file = \"a\" }, { file = \"a\" }]\n",
            "config.target_twice",
        ),
        ("[log]\nkey = \"k\"\nwitnesses = [\"x\"]\n", "config.witness"),
        ("[log]\nkey = \"k\"\nquorum = 1\n", "config.range"),
        ("[log]\nkey = \"k\"\nevery_seconds = 0\n", "config.range"),
        ("[[log.retention]]\ntag = \"PII\"\n", "config.missing_key"),
        ("[[log.retention]]\nolder_than_days = 0\n", "config.range"),
        ("[[log.retention]]\nolder_than_days = 3\nkinds = [\"no.kind\"]\n", "config.word"),
    ] {
        let folder = folder(&SERVERS, settings, "");
        let codes = folder.check(&["--json"]).finding_codes();
        assert_eq!(codes, [code], "{settings}");
    }
}
