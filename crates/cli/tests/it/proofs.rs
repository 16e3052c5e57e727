//! Checkpoints, receipts, proofs of two histories and pruning, on copies of the demo's ledger.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;
use weaver_trace_store::checkpoint::{KeyUse, SignedNote, VerifierKey, cosign};
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::signature::SigningKey;
use weaver_types::{CallId, EventKind, Timestamp};

use crate::support::{Run, mode, weaver, weaver_with};

const PASSPHRASE: &str = "correct horse\n";

/// The demo's folder with two keys, made once.
fn demo() -> &'static PathBuf {
    static DEMO: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, folder) = DEMO.get_or_init(|| {
        let parent = TempDir::new().unwrap();
        let folder = parent.path().join("demo");
        let run = weaver(&["demo", "--json", "--keep", folder.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{run:?}");
        for name in ["log", "next"] {
            let file = folder.join(format!("{name}.key"));
            let file = file.to_str().unwrap();
            let args = ["keys", "new", "--out", file, "--id", name, "--passphrase-fd", "0"];
            assert_eq!(weaver_with(&args, PASSPHRASE).code, 0);
        }
        (parent, folder)
    });
    folder
}

/// A copy of the ledger, with the keys beside it.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(TempDir::new().unwrap());
        for name in ["log.key", "next.key"] {
            fs::copy(demo().join(name), desk.path(name)).unwrap();
        }
        fs::copy(demo().join(".weaver/ledger.db"), desk.path("ledger.db")).unwrap();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs `weaver trace` in this folder: words that are files of it become paths.
    fn run(&self, line: &str) -> Run {
        let word = |word: &str| match word.contains('.') && !word.contains("call.") {
            true => self.path(word).to_str().unwrap().to_owned(),
            false => word.to_owned(),
        };
        let args: Vec<String> =
            std::iter::once("trace".to_owned()).chain(line.split(' ').map(word)).collect();
        weaver_with(&args, PASSPHRASE)
    }

    fn ok(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, 0, "{line}: {run:?}");
        run
    }

    /// It ends so, and says this code.
    fn fails(&self, line: &str, exit: i32, code: &str) -> Run {
        let run = self.run(line);
        assert_eq!(run.code, exit, "{line}: {run:?}");
        assert!(run.err.contains(code) || run.out.contains(code), "{line}: {run:?}");
        run
    }

    /// Signs a checkpoint into a file.
    fn sign(&self, file: &str) -> Value {
        let run = self.ok(&format!(
            "checkpoint --store ledger.db --key log.key --passphrase-fd 0 --publish {file} --json"
        ));
        run.json()
    }

    fn append(&self, payload: &str, days_ago: u64) {
        let ledger = SqliteLedger::open(self.path("ledger.db"), OpenOptions::default()).unwrap();
        add(&ledger, payload, days_ago);
    }

    fn size(&self) -> u64 {
        self.ok("head --store ledger.db").json()["size"].as_u64().unwrap()
    }
}

fn add(ledger: &SqliteLedger, payload: &str, days_ago: u64) {
    let ago = i64::try_from(days_ago * 86_400_000_000).unwrap();
    let event = NewEvent {
        kind: EventKind::Outcome,
        at: Timestamp::from_micros(now() - ago),
        run: None,
        call: Some(CallId::parse("call_old").unwrap()),
        payload: payload.as_bytes().to_vec().into(),
    };
    ledger.commit(Batch::new(Durability::Disk).with_event(event)).wait().unwrap();
}

fn now() -> i64 {
    use weaver_types::Clock as _;
    weaver_types::SystemClock::default().now().micros()
}

/// A call of the demo that was executed.
fn call(desk: &Desk) -> String {
    let run = desk.ok("list --store ledger.db event:call.outcome --json --limit 1");
    run.json()["call"].as_str().unwrap().to_owned()
}

#[test]
fn a_checkpoint_shows_growth_and_finds_tampering_and_a_cut() {
    let desk = Desk::new();
    let store = "--store ledger.db --key log.key --passphrase-fd 0";
    let printed = desk.ok(&format!("checkpoint {store}")).out;
    let (log, size) = (printed.lines().next().unwrap(), desk.size());
    assert!(log.starts_with("log_") && printed.contains("\n\n\u{2014} "), "{printed}");
    fs::write(desk.path("old.txt"), &printed).unwrap();
    let before = fs::read(desk.path("ledger.db")).unwrap();

    desk.append(r#"{"note":"needle"}"#, 0);
    let signed = desk.sign("new.txt");
    assert_eq!((&signed["log"], &signed["size"]), (&log.into(), &(size + 1).into()));
    fs::write(desk.path("vkey.txt"), format!("{}\n", signed["key"].as_str().unwrap())).unwrap();
    let key = signed["key"].as_str().unwrap();
    for file in ["old.txt", "new.txt"] {
        for key in [key.to_owned(), desk.path("vkey.txt").to_str().unwrap().to_owned()] {
            let (store, file) = (desk.path("ledger.db"), desk.path(file));
            let (store, file) = (store.to_str().unwrap(), file.to_str().unwrap());
            let args = [
                "trace", "verify", "--store", store, "--checkpoint", file, "--key", &key, "--json",
            ];
            let report = weaver(&args).json();
            assert_eq!(report["ok"], true, "{report}");
            assert_eq!(report["checkpoint"]["key"], signed["key"], "{report}");
        }
    }
    let verify = "verify --store ledger.db --checkpoint new.txt --key log.key";
    desk.ok(verify);
    let bare = desk.ok("verify --store ledger.db");
    assert!(bare.out.contains("cannot rule out truncation"), "{bare:?}");
    // Another key, a changed note, what is none, and a key for nothing.
    desk.fails("verify --store ledger.db --checkpoint new.txt --key next.key", 1, "untrusted");
    let note = fs::read_to_string(desk.path("new.txt")).unwrap();
    let wrong = note.replacen(&format!("\n{}\n", size + 1), &format!("\n{size}\n"), 1);
    fs::write(desk.path("wrong.txt"), wrong).unwrap();
    let line = "verify --store ledger.db --checkpoint wrong.txt --key log.key";
    desk.fails(line, 1, "checkpoint.signature");
    fs::write(desk.path("wrong.txt"), "nothing").unwrap();
    desk.fails(line, 3, "checkpoint.note");
    desk.fails("verify --store ledger.db --key log.key", 2, "trace.no_checkpoint");
    desk.fails("verify --store ledger.db --checkpoint new.txt --key no", 3, "key_unreadable");
    desk.fails(&format!("{verify} --witness vkey.txt"), 1, "checkpoint.witnesses");
    desk.fails(&format!("{verify} --witness vkey.txt --quorum 2"), 2, "trace.quorum");

    // A witness that signed, beside one that did not.
    let witness = SigningKey::from_seed([9; 32]);
    let public = VerifierKey::new("witness", KeyUse::Witness, witness.public()).unwrap();
    fs::write(desk.path("witness.txt"), public.to_string()).unwrap();
    let at = Timestamp::from_micros(now());
    let seen =
        cosign(SignedNote::parse(note.as_bytes()).unwrap(), "witness", &witness, at).unwrap();
    fs::write(desk.path("seen.txt"), seen.to_string()).unwrap();
    let line = "verify --store ledger.db --checkpoint seen.txt --key log.key --witness witness.txt";
    let report = desk.ok(&format!("{line} --json")).json();
    assert_eq!(report["checkpoint"]["witnesses"][0]["key"], public.to_string());
    desk.fails(&format!("{line} --witness vkey.txt"), 1, "checkpoint.witnesses");
    desk.ok(&format!("{line} --witness vkey.txt --quorum 1"));

    // Tampered.
    let path = desk.path("ledger.db");
    let whole = fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    let at = bytes.windows(6).rposition(|window| window == b"needle").unwrap();
    bytes[at] = b'N';
    fs::write(&path, bytes).unwrap();
    desk.fails(verify, 1, "event.commitment");
    // Cut: the older file agrees with itself, and with the older checkpoint.
    fs::write(&path, before).unwrap();
    desk.ok("verify --store ledger.db");
    desk.ok("verify --store ledger.db --checkpoint old.txt --key log.key");
    let run = desk.fails(&format!("{verify} --json"), 1, "verify.truncated");
    assert_eq!(run.json()["first_bad_event"], size);
    let line = format!("checkpoint {store} --publish new.txt");
    desk.fails(&line, 1, "trace.published_differs");
    assert_eq!(fs::read_to_string(desk.path("new.txt")).unwrap(), note, "what stood there stays");
}

#[test]
fn a_restored_backup_that_went_on_is_proven_to_be_a_second_history() {
    let (desk, fork) = (Desk::new(), Desk::new());
    desk.append(r#"{"note":"one"}"#, 0);
    fork.append(r#"{"note":"two"}"#, 0);
    let key = desk.sign("one.txt")["key"].clone();
    fork.sign("two.txt");
    fork.append(r#"{"note":"three"}"#, 0);
    fork.sign("three.txt");
    for name in ["two.txt", "three.txt"] {
        fs::copy(fork.path(name), desk.path(name)).unwrap();
    }
    fs::copy(fork.path("ledger.db"), desk.path("fork.db")).unwrap();
    desk.ok("verify --store ledger.db");
    let line = "verify --store ledger.db --checkpoint two.txt --key log.key";
    desk.fails(line, 1, "verify.forked");
    // A second history is not published over the first one.
    fs::copy(desk.path("one.txt"), fork.path("one.txt")).unwrap();
    let line = "checkpoint --store ledger.db --key log.key --passphrase-fd 0 --publish one.txt";
    fork.fails(line, 1, "trace.published_differs");

    // Of one size without a log, of two with that of the larger.
    for (line, size) in [
        ("prove --conflict one.txt two.txt --key log.key --out proof.json --json", 0),
        (
            "prove --conflict three.txt one.txt --key log.key --store fork.db --out next.json --json",
            1,
        ),
    ] {
        let made = desk.ok(line).json();
        assert_eq!(made["key"], key);
        let sizes = ["first", "second"].map(|name| made[name]["size"].as_u64().unwrap());
        assert_eq!(sizes[1] - sizes[0], size);
    }
    for proof in ["proof.json", "next.json"] {
        let run = desk.ok(&format!("prove --check {proof} --key log.key"));
        assert!(run.out.contains("two histories"), "{run:?}");
        desk.fails(&format!("prove --check {proof} --key next.key"), 1, "untrusted");
    }
    desk.fails("prove --conflict one.txt three.txt --key log.key", 1, "proof.no_conflict");
    // An honest log is not accused.
    let line = "prove --conflict two.txt three.txt --key log.key --store fork.db";
    desk.fails(line, 1, "proof.no_conflict");
    let proof = fs::read_to_string(desk.path("proof.json")).unwrap();
    fs::write(desk.path("wrong.json"), proof.replacen("\\n", "\\n\\n", 1)).unwrap();
    assert_ne!(desk.run("prove --check wrong.json --key log.key").code, 0);
}

#[test]
fn a_receipt_is_checked_without_the_log() {
    let desk = Desk::new();
    let call = call(&desk);
    let make = format!("prove {call} --store ledger.db --key log.key --passphrase-fd 0");
    desk.ok(&format!("{make} --out bare.json"));
    assert_eq!(mode(&desk.path("bare.json")), 0o600);
    desk.fails(&format!("{make} --out bare.json"), 2, "export.write");
    desk.ok(&format!("{make} --disclose --out open.json"));
    desk.sign("old.txt");
    let events = desk.ok(&format!("show {call} --store ledger.db --json"));
    let seqs: Vec<Value> = events
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].clone())
        .collect();
    // By one of its events, under a checkpoint that was signed before: to standard output.
    let line = format!("prove {} --store ledger.db --checkpoint old.txt --disclose", seqs[0]);
    let printed = desk.ok(&line);
    assert_eq!(printed.out, fs::read_to_string(desk.path("open.json")).unwrap());
    // Without a key nothing is verified, and the command says so.
    let told = desk.ok(&format!("{line} --out unverified.json")).out;
    assert!(told.contains("not verified"), "{told}");
    let told = desk.ok(&format!("{line} --out unverified2.json --json")).json();
    assert_eq!(told["verified"], false);
    fs::remove_file(desk.path("ledger.db")).unwrap();

    for (file, disclosed) in [("bare.json", false), ("open.json", true)] {
        let report = desk.ok(&format!("prove --check {file} --key log.key --json")).json();
        assert_eq!((&report["call"], &report["ended"]), (&call.as_str().into(), &true.into()));
        let found = report["events"].as_array().unwrap();
        let found_seqs: Vec<Value> = found.iter().map(|event| event["seq"].clone()).collect();
        assert_eq!(found_seqs, seqs);
        assert!(found.iter().all(|event| event["disclosed"] == disclosed), "{report}");
    }
    let text = desk.ok("prove --check bare.json --key log.key").out;
    assert!(text.contains("not disclosed") && text.contains("not proven"), "{text}");
    desk.fails("prove --check bare.json --key next.key", 1, "checkpoint.untrusted");
    desk.fails("prove --check bare.json --key log.key --until 1", 1, "checkpoint.key_ended");
    let receipt = fs::read_to_string(desk.path("open.json")).unwrap();
    // A program that reads it as JSON and writes it again may write it otherwise.
    let value: Value = serde_json::from_str(&receipt).unwrap();
    fs::write(desk.path("spaced.json"), serde_json::to_string_pretty(&value).unwrap()).unwrap();
    desk.ok("prove --check spaced.json --key log.key");
    let wrong = receipt.replacen("call.outcome", "call.refused", 1);
    fs::write(desk.path("wrong.json"), wrong).unwrap();
    desk.fails("prove --check wrong.json --key log.key", 1, "proof.event");
    fs::write(desk.path("wrong.json"), "{}").unwrap();
    desk.fails("prove --check wrong.json --key log.key", 3, "proof.form");
}

#[test]
fn what_cannot_be_proven_is_said_so() {
    let desk = Desk::new();
    desk.sign("old.txt");
    desk.append(r#"{"note":"later"}"#, 0);
    let line = "prove call_old --store ledger.db --checkpoint old.txt";
    desk.fails(line, 7, "trace.not_covered");
    desk.fails("prove call_none --store ledger.db --checkpoint old.txt", 7, "trace.not_covered");
    for seq in ["99999", "10000000000000000000"] {
        let line = format!("prove {seq} --store ledger.db --checkpoint old.txt");
        desk.fails(&line, 7, "trace.unknown");
    }
    desk.fails("prove apr_1 --store ledger.db --checkpoint old.txt", 2, "trace.subject");
    desk.fails("prove call_old --store ledger.db", 2, "trace.no_key");
    desk.fails("prove --store ledger.db", 2, "required");
    let line = "prove call_old --store ledger.db --key log.key --until 1";
    desk.fails(line, 2, "trace.no_checkpoint");
    desk.fails("prove call_old --store none.db --checkpoint old.txt", 4, "trace.no_store");
}

#[test]
fn what_a_key_signed_is_remembered_beside_it() {
    let desk = Desk::new();
    let sign = "checkpoint --store ledger.db --key log.key --passphrase-fd 0";
    desk.append(r#"{"note":"one"}"#, 0);
    desk.ok(sign);
    desk.ok(sign);
    // An older copy, and that copy after it went on: nothing was published, and both are found.
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(desk.path(name));
    }
    fs::copy(demo().join(".weaver/ledger.db"), desk.path("ledger.db")).unwrap();
    let cut = desk.fails(sign, 1, "trace.published_differs");
    assert!(cut.err.contains("shorter") && !cut.out.contains('\u{2014}'), "{cut:?}");
    desk.append(r#"{"note":"two"}"#, 0);
    desk.append(r#"{"note":"three"}"#, 0);
    let fork = desk.fails(sign, 1, "trace.published_differs");
    assert!(fork.err.contains("its beginning is another one"), "{fork:?}");
}

#[test]
fn the_key_of_a_log_is_declared_handed_over_and_ended() {
    let desk = Desk::new();
    let change = "--store ledger.db --passphrase-fd 0 --json";
    let sign = |key: &str| format!("checkpoint --store ledger.db --passphrase-fd 0 --key {key}");
    assert_eq!(desk.ok("key show --store ledger.db --json").json()["current"], Value::Null);
    let none = desk.fails(&format!("key end {change} --key log.key"), 1, "checkpoint.key_event");
    assert!(none.err.contains("`weaver trace key declare`"), "{none:?}");
    let first = desk.ok(&format!("key declare {change} --key log.key")).json();
    assert_eq!(first["event"].as_u64().unwrap() + 1, desk.size());
    desk.fails(&format!("key declare {change} --key next.key"), 1, "checkpoint.key_event");
    // The log names a key: another one signs nothing for it.
    desk.fails(&sign("next.key"), 1, "checkpoint.key_ended");
    desk.sign("old.txt");
    desk.fails(&format!("key rotate {change} --key next.key --to log.key"), 1, "key_event");
    let next = desk.ok(&format!("key rotate {change} --key log.key --to next.key")).json();
    let shown = desk.ok("key show --store ledger.db --json").json();
    assert_eq!(shown["current"], next["current"]);
    assert_eq!(shown["keys"], serde_json::json!([first["current"], next["current"]]));
    desk.fails(&sign("log.key"), 1, "checkpoint.key_ended");
    fs::write(desk.path("new.txt"), desk.ok(&sign("next.key")).out).unwrap();
    // Whoever trusts the first key is led to the second one, by the log and by a receipt.
    for file in ["old.txt", "new.txt"] {
        desk.ok(&format!("verify --store ledger.db --key log.key --checkpoint {file}"));
    }
    let call = call(&desk);
    desk.ok(&format!("prove {call} --store ledger.db --checkpoint new.txt --out receipt.json"));
    desk.ok("prove --check receipt.json --key log.key");
    let ended = desk.ok(&format!("key end {change} --key next.key")).json();
    assert_eq!(ended["current"], Value::Null);
    desk.fails(&sign("next.key"), 1, "checkpoint.key_ended");
}

#[test]
fn a_ledger_in_use_is_signed_and_not_written() {
    let desk = Desk::new();
    let ledger = SqliteLedger::open(
        desk.path("ledger.db"),
        OpenOptions { holder: "a running gateway".to_owned(), ..OpenOptions::default() },
    )
    .unwrap();
    add(&ledger, r#"{"note":"held"}"#, 0);
    let signed = desk.sign("now.txt");
    assert_eq!(signed["size"], ledger.synced_head().unwrap().size);
    desk.ok("verify --store ledger.db --checkpoint now.txt --key log.key");
    desk.ok("prove call_old --store ledger.db --key log.key --passphrase-fd 0");
    for line in [
        "key declare --store ledger.db --key log.key --passphrase-fd 0",
        "prune --store ledger.db --older-than 90d",
    ] {
        let run = desk.fails(line, 4, "ledger.locked");
        assert!(run.err.contains("a running gateway") && run.err.contains("next:"), "{run:?}");
    }
    add(&ledger, r#"{"note":"still written"}"#, 0);
    desk.ok("verify --store ledger.db --checkpoint now.txt --key log.key");
}

#[test]
fn a_clock_far_ahead_of_the_ledger_writes_nothing_to_it() {
    let desk = Desk(TempDir::new().unwrap());
    fs::copy(demo().join("log.key"), desk.path("log.key")).unwrap();
    desk.append(r#"{"note":"needle","principal":"ann"}"#, 200);
    for line in [
        "prune --store ledger.db --older-than 90d",
        "prune --store ledger.db --older-than 90d --dry-run",
        "key declare --store ledger.db --key log.key --passphrase-fd 0",
    ] {
        let run = desk.fails(line, 4, "clock_jump");
        assert!(run.err.contains("next: set the clock right"), "{run:?}");
    }
    assert_eq!(desk.size(), 1);
    desk.ok("list --store ledger.db needle");
    desk.append(r#"{"note":"thread"}"#, 20);
    assert_eq!(desk.ok("prune --store ledger.db --older-than 90d --json").json()["pruned"], 1);
}

#[test]
fn a_pruned_ledger_still_verifies_and_shows_what_is_pruned() {
    let desk = Desk(TempDir::new().unwrap());
    fs::copy(demo().join("log.key"), desk.path("log.key")).unwrap();
    desk.append(r#"{"note":"needle","principal":"ann","tags":["PII"]}"#, 200);
    desk.append(r#"{"note":"thread","principal":"bob"}"#, 200);
    desk.append(r#"{"note":"cotton","principal":"ann"}"#, 1);
    desk.sign("old.txt");
    desk.ok("index --store ledger.db --rebuild");
    let prune = "prune --store ledger.db --older-than 90d --json";
    let dry = desk.ok(&format!("{prune} --dry-run")).json();
    assert_eq!((&dry["pruned"], &dry["dry_run"]), (&2.into(), &true.into()));
    assert_eq!(desk.size(), 3, "a dry run changes nothing");
    desk.ok("list --store ledger.db needle");
    let nobody = desk.ok(&format!("{prune} --principal carol")).json();
    assert_eq!((&nobody["pruned"], desk.size()), (&0.into(), 3));
    let tagged = desk.ok(&format!("{prune} --principal ann --tag PII --kind call.outcome")).json();
    assert_eq!(tagged["reasons"], serde_json::json!({ "principal": 1 }));
    assert_eq!(tagged["bytes_left_in_log"], false);
    let done = desk.ok(prune).json();
    assert_eq!(done["reasons"], serde_json::json!({ "age": 1 }));
    assert_eq!(desk.ok(prune).json()["pruned"], 0);

    let report = desk.ok("verify --store ledger.db --checkpoint old.txt --key log.key --json");
    assert_eq!(report.json()["pruned"], 2);
    let shown = desk.ok("show 0 --store ledger.db --json").json();
    assert_eq!(shown["payload_missing"], true);
    // People are told so too.
    let list = desk.ok("list --store ledger.db").out;
    let line = list.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap();
    assert!(line.contains("pruned"), "{list}");
    let why = desk.ok("why call_old --store ledger.db").out;
    assert!(why.contains("what it said is pruned") && why.contains("not told"), "{why}");
    for entry in fs::read_dir(desk.0.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"needle" || window == b"thread"));
    }
    desk.ok("list --store ledger.db cotton");
    desk.ok("index --store ledger.db --check");
    // A receipt of what was pruned still proves its header.
    desk.ok("prove call_old --store ledger.db --checkpoint old.txt --disclose --out receipt.json");
    let receipt = desk.ok("prove --check receipt.json --key log.key --json").json();
    let open: Vec<&Value> =
        receipt["events"].as_array().unwrap().iter().map(|event| &event["disclosed"]).collect();
    assert_eq!(open, [false, false, true]);
    for (wrong, code) in [
        ("--older-than 1h", "retention.too_young"),
        ("--older-than soon", "such as 90d"),
        ("--older-than 90d --kind call.outcom", "no such event"),
    ] {
        desk.fails(&format!("prune --store ledger.db {wrong}"), 2, code);
    }
}

#[test]
fn pruning_the_ledger_of_the_demo_takes_nothing_that_is_young() {
    let desk = Desk::new();
    let done = desk.ok("prune --store ledger.db --older-than 1d --json").json();
    assert_eq!(done["pruned"], 0);
    desk.ok("verify --store ledger.db");
}
