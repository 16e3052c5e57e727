//! Durable memory in a file: reopened, shared by processes, killed in the middle, old and too new.
//! This test binary runs itself as the children.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use contextweaver::memory::{
    BundleParts, EntryKind, EpisodicStore, FactStore, Memory, MemoryBundle, MemoryError, PutOptions,
};
use serde_json::json;
use weaver_trace_store::{RecordsOptions, SqliteRecords};
use weaver_types::ledger::{
    Batch, Durability, Namespace, RecordKey, RecordStore, RecordWrite as RecordPut,
};
use weaver_types::{
    CallId, Clock, Confidentiality, Integrity, Label, ManualClock, Tenant, Timestamp,
};

use crate::children::{self, PROCESSES, say};
use crate::memory::durable;

const PLACE: &str = "WEAVER_TEST_MEMORY";
const ENDLESS: &str = "WEAVER_TEST_MEMORY_ENDLESS";
const CHILD: &str = "memory_file::memory_child";
const PUTS: usize = 150;
const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);

fn at(path: &Path, clock: &Arc<ManualClock>) -> Memory {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let options = RecordsOptions { clock: Arc::clone(&clock), ..RecordsOptions::default() };
    let store: Arc<dyn RecordStore> = Arc::new(SqliteRecords::open(path, options).unwrap());
    let parts = BundleParts::new(clock);
    MemoryBundle::create(BundleParts { memory_store: Some(store), ..parts }).durable
}

fn keys(memory: &Memory) -> BTreeSet<String> {
    let (mut all, mut after) = (BTreeSet::new(), None);
    loop {
        let page = memory.list_keys(after.as_deref(), 1_000).unwrap();
        all.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => return all,
        }
    }
}

/// What the file itself says how many values there are.
fn counted(path: &Path) -> usize {
    let store = SqliteRecords::open(path, RecordsOptions::default()).unwrap();
    let key = RecordKey::new(Tenant::default(), Namespace::Memory, "count/value");
    let record = store.read(&key).unwrap().unwrap();
    String::from_utf8(record.value).unwrap().parse().unwrap()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memory-v1.weaver")
}

/// What the golden file holds, written with fixed clocks and labels.
fn fill(memory: &Memory, clock: &ManualClock) {
    let taint = CallId::parse("call_7").unwrap();
    let untrusted = Label::undeclared_output().tainted_by(&taint);
    let trusted = Label::new(Confidentiality::Confidential, Integrity::Trusted);
    let put = PutOptions::new("tool.vault_read").with_label(untrusted).with_session("sess_1");
    memory.put("user_preference", json!({ "view": "compact", "zoom": 1.5 }), &put).unwrap();
    memory.put("short", json!(true), &PutOptions::new("x").with_ttl(HOUR)).unwrap();
    let facts = FactStore::new(memory);
    facts.add_claim("tz", json!("UTC"), &PutOptions::new("profile").with_label(trusted)).unwrap();
    let mail = facts.add_claim("tz", json!("CET"), &PutOptions::new("mail")).unwrap();
    clock.advance(Duration::from_secs(1));
    facts.resolve("tz", mail, "the user said so").unwrap();
    EpisodicStore::new(memory).add("Met the user", &PutOptions::new("chat")).unwrap();
}

fn check(memory: &Memory, clock: &ManualClock) {
    let entry = memory.entry("user_preference").unwrap().unwrap();
    assert_eq!(entry.value, json!({ "view": "compact", "zoom": 1.5 }));
    assert_eq!(
        (entry.source.as_str(), entry.origin.session.as_str()),
        ("tool.vault_read", "sess_1")
    );
    assert_eq!(entry.created_at, START);
    let untrusted = Label::undeclared_output().tainted_by(&CallId::parse("call_7").unwrap());
    assert_eq!(entry.label, untrusted);
    let fact = FactStore::new(memory).get("tz").unwrap().unwrap();
    assert_eq!((fact.value(), fact.claims.len()), (Some(&json!("CET")), 2));
    assert_eq!(fact.claims[0].entry.label.confidentiality, Confidentiality::Confidential);
    assert_eq!(fact.claims[0].superseded.as_ref().unwrap().why, "the user said so");
    let latest = EpisodicStore::new(memory).latest(9).unwrap();
    assert_eq!(latest[0].value, "Met the user");
    assert_eq!(latest[0].label, Label::undeclared_output());
    assert_eq!(memory.entry("short").unwrap().unwrap().ttl, Some(HOUR));
    clock.advance(HOUR);
    assert!(memory.entry("short").unwrap().is_none());
}

#[test]
fn everything_is_there_after_the_file_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let clock = Arc::new(ManualClock::new(START));
    fill(&at(&path, &clock), &clock);
    check(&at(&path, &clock), &clock);
}

/// `WEAVER_GOLDEN=1` writes the file where there is none; one that is there is never written again.
#[test]
fn what_the_first_version_wrote_is_read() {
    let clock = Arc::new(ManualClock::new(START));
    if std::env::var_os("WEAVER_GOLDEN").is_some() && !golden().exists() {
        fill(&at(&golden(), &clock), &clock);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    std::fs::copy(golden(), &path).unwrap();
    let clock = Arc::new(ManualClock::new(START.after(Duration::from_secs(2))));
    check(&at(&path, &clock), &clock);
}

#[test]
fn a_newer_entry_is_refused_with_the_version_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let memory = durable(&path);
    memory.put("other", json!(1), &PutOptions::default()).unwrap();
    let store = SqliteRecords::open(&path, RecordsOptions::default()).unwrap();
    let raw = |id: &str, text: &str| {
        let key = RecordKey::new(Tenant::default(), Namespace::Memory, id);
        let put = RecordPut { key, value: text.as_bytes().to_vec(), expires_at: None };
        store.apply(Batch { put: vec![put], ..Batch::new(Durability::Os) }).unwrap();
    };
    raw("value/new", r#"{"v":2,"anything":[]}"#);
    let newer = MemoryError::Newer { key: "value/new".into(), found: 2, known: 1 };
    assert_eq!(memory.entry("new").unwrap_err(), newer);
    assert_eq!(
        memory.put("new", json!(1), &PutOptions::default()).unwrap_err(),
        newer,
        "nor overwritten"
    );
    assert_eq!(memory.list_keys(None, 10).unwrap_err(), newer);
    assert_eq!(newer.code(), "memory.newer");
    assert_eq!(memory.get("other", json!(0)).unwrap(), 1);
    let mut copied =
        store.read(&RecordKey::new(Tenant::default(), Namespace::Memory, "value/other"));
    let text = String::from_utf8(copied.as_mut().unwrap().take().unwrap().value).unwrap();
    raw("value/moved", &text);
    for (id, text) in [("value/a", "{}"), ("value/b", "x"), ("value/c", r#"{"v":1}"#)] {
        raw(id, text);
    }
    for key in ["moved", "a", "b", "c"] {
        assert_eq!(memory.entry(key).unwrap_err().code(), "memory.damaged", "{key}");
    }
}

#[test]
fn a_clock_set_back_between_two_openings_brings_nothing_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let clock = Arc::new(ManualClock::new(START));
    let memory = at(&path, &clock);
    memory.put("told", json!(1), &PutOptions::default().with_ttl(HOUR)).unwrap();
    memory.put("untold", json!(1), &PutOptions::default().with_ttl(HOUR)).unwrap();
    clock.advance(HOUR);
    assert!(memory.entry("told").unwrap().is_none());
    memory.put("later", json!(1), &PutOptions::default()).unwrap();
    drop(memory);
    let back = Arc::new(ManualClock::new(START));
    let memory = at(&path, &back);
    assert!(memory.entry("told").unwrap().is_none());
    assert!(memory.entry("untold").unwrap().is_none(), "the last write was after its end");
}

/// What the children do: values, claims and episodes; or values for ever, told one by one.
#[test]
fn memory_child() {
    if let Ok(path) = std::env::var(PLACE) {
        let memory = durable(Path::new(&path));
        let (facts, episodes) = (FactStore::new(&memory), EpisodicStore::new(&memory));
        let own = std::process::id();
        say("open");
        for n in 0..PUTS {
            memory.put(&format!("own-{own}-{n}"), json!(n), &PutOptions::default()).unwrap();
            memory.put("shared", json!([own, n]), &PutOptions::default()).unwrap();
            if n < 6 {
                // A source replaces what it said before, so each claim has its own.
                let source = format!("child-{own}-{n}");
                facts.add_claim("shared", json!([own, n]), &PutOptions::new(&source)).unwrap();
                episodes.add(&format!("{own} {n}"), &PutOptions::default()).unwrap();
            }
        }
    }
    if let Ok(path) = std::env::var(ENDLESS) {
        let memory = durable(Path::new(&path));
        for n in 0_u64.. {
            let key = format!("own-{}-{n}", std::process::id());
            memory.put(&key, json!(n), &PutOptions::default().with_ttl(HOUR * 24)).unwrap();
            say(&key);
        }
    }
}

#[test]
fn processes_that_share_a_file_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    children::run(CHILD, PLACE, &path);
    let memory = durable(&path);
    assert_eq!(keys(&memory).len(), PROCESSES * PUTS + 1);
    assert_eq!(counted(&path), PROCESSES * PUTS + 1);
    let fact = FactStore::new(&memory).get("shared").unwrap().unwrap();
    assert_eq!(fact.current_claims().count(), PROCESSES * 6, "each claim of each process stands");
    let numbers: BTreeSet<u32> = fact.claims.iter().map(|claim| claim.number).collect();
    assert_eq!(numbers.len(), PROCESSES * 6);
    assert_eq!(EpisodicStore::new(&memory).latest(99).unwrap().len(), PROCESSES * 6);
    assert_eq!(memory.list(EntryKind::Fact, None, 9).unwrap().items.len(), 1);
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let mut acknowledged = BTreeSet::new();
    for round in 0..6 {
        children::kill((CHILD, ENDLESS, &path), 4 + round * 3, &mut acknowledged);
        let found = keys(&durable(&path));
        let lost: Vec<&String> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");
        // At most the one that each was about to acknowledge.
        assert!(found.len() <= acknowledged.len() + PROCESSES * (round + 1), "round {round}");
        assert_eq!(counted(&path), found.len(), "the count is that of the entries");
    }
}
