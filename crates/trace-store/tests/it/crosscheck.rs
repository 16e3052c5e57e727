//! Cases for the second verifier, with the verdicts of this one. `cargo xtask crosscheck` writes them
//! with this, has the Python verifier judge them, and compares.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::{Value, json};
use weaver_trace_store::checkpoint::{
    CallReceipt, EquivocationProof, KeyChange, KeyUse, SignedNote, TrustPolicy, VerifierKey,
    cosign, events_of_call,
};
use weaver_trace_store::merkle::leaf_hash;
use weaver_trace_store::prune::{PruneReason, PruningNote};
use weaver_trace_store::verify::{
    JsonLinesLog, LogProver, LogSource, TrustAnchor, line, verify_against,
};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{CallId, EventKind, Random, SeededRandom, Timestamp};

use crate::checkpoints::{change_key, key, signed, signer};
use crate::support::{event, fill};

/// Random mutations of each kind of file.
const MUTATIONS: u64 = 120;

/// Numbers that depend on the seed alone.
struct Dice(SeededRandom);

impl Dice {
    fn roll(&self, below: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes).unwrap();
        usize::try_from(u64::from_le_bytes(bytes) % below.max(1) as u64).unwrap()
    }

    /// The bytes with one change.
    fn mutate(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let place = self.roll(bytes.len());
        match self.roll(5) {
            0 | 1 => bytes[place] ^= 1 << self.roll(8),
            2 => {
                bytes.remove(place);
            }
            3 => bytes.insert(place, u8::try_from(self.roll(256)).unwrap()),
            _ => bytes.truncate(place),
        }
        bytes
    }
}

/// The trust of a case, for both verifiers.
#[derive(Clone)]
struct Given {
    trust: TrustPolicy,
    checkpoint: Option<String>,
}

impl Given {
    fn of(key: VerifierKey) -> Self {
        Self { trust: TrustPolicy::new(key), checkpoint: None }
    }

    fn with(&self, note: &SignedNote) -> Self {
        Self { checkpoint: Some(note.to_string()), ..self.clone() }
    }

    fn json(&self) -> Value {
        let TrustPolicy { log, until, witnesses, quorum } = &self.trust;
        let witnesses: Vec<String> = witnesses.iter().map(ToString::to_string).collect();
        let mut value = json!({ "key": log.to_string(), "witnesses": witnesses, "quorum": quorum });
        if let Some(until) = until {
            value["until"] = (*until).into();
        }
        if let Some(checkpoint) = &self.checkpoint {
            value["checkpoint"] = checkpoint.as_str().into();
        }
        value
    }

    fn verify(&self, source: &dyn LogSource) -> Result<(), String> {
        let note = self.checkpoint.as_ref().map(|text| SignedNote::parse(text.as_bytes()));
        let note = note.transpose().map_err(|error| error.to_string())?;
        let outside = match &note {
            Some(note) => TrustAnchor::Checkpoint(note, &self.trust),
            None => TrustAnchor::Nothing,
        };
        verify_against(source, outside, &mut |_, _| {}).map(drop).map_err(|e| e.to_string())
    }
}

/// The cases, as they grow.
struct Cases {
    folder: PathBuf,
    lines: Vec<Value>,
    good: usize,
}

impl Cases {
    fn add(&mut self, kind: &str, path: &Path, given: &Given) -> bool {
        let bytes = fs::read(path).unwrap();
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let verdict = match kind {
            "store" => Reader::open(path).map_err(|e| text(&e)).and_then(|log| given.verify(&log)),
            "export" => JsonLinesLog::read(bytes.as_slice())
                .map_err(|e| text(&e))
                .and_then(|log| given.verify(&log)),
            "receipt" => CallReceipt::parse(&bytes)
                .and_then(|receipt| receipt.verify(&given.trust).map(drop))
                .map_err(|e| text(&e)),
            "checkpoint" => SignedNote::parse(&bytes)
                .and_then(|note| given.trust.open(&note).map(drop))
                .map_err(|e| text(&e)),
            _ => EquivocationProof::parse(&bytes)
                .and_then(|proof| proof.verify(&given.trust.log).map(drop))
                .map_err(|e| text(&e)),
        };
        self.good += usize::from(verdict.is_ok());
        self.lines.push(json!({
            "kind": kind, "path": path, "trust": given.json(),
            "good": verdict.is_ok(), "text": verdict.clone().err(),
        }));
        verdict.is_ok()
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{:04}-{name}", self.lines.len()))
    }

    fn file(&mut self, kind: &str, bytes: &[u8], given: &Given) -> bool {
        let path = self.place(kind);
        fs::write(&path, bytes).unwrap();
        self.add(kind, &path, given)
    }

    /// A copy of a store, changed by SQL.
    fn changed(&mut self, store: &Path, sql: &str, given: &Given) {
        let path = self.place("store");
        fs::copy(store, &path).unwrap();
        let db = Connection::open(&path).unwrap();
        db.pragma_update(None, "ignore_check_constraints", true).unwrap();
        db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        drop(db);
        self.add("store", &path, given);
    }
}

fn called(kind: EventKind, id: &str, n: u64) -> Batch {
    let mut event =
        event(1_000 + i64::try_from(n).unwrap(), format!("{{\"n\":{n},\"t\":\"\u{e9}\\n\"}}"));
    event.kind = kind;
    event.call = CallId::parse(id).ok();
    Batch::new(Durability::Disk).with_event(event)
}

/// A log with calls, a change of the key and pruned payloads; the checkpoints of its two keys.
fn build(path: &Path) -> (SqliteLedger, SignedNote, SignedNote) {
    let options = OpenOptions { random: Arc::new(SeededRandom::new(5)), ..OpenOptions::default() };
    let ledger = SqliteLedger::open(path, options).unwrap();
    let log = ledger.head().unwrap().log;
    fill(&ledger, 3);
    change_key(&ledger, &KeyChange::declare(key(&log, 1), 3));
    for n in 0..140 {
        ledger.commit(called(EventKind::Intent, &format!("call_{n}"), n)).wait().unwrap();
    }
    ledger.commit(called(EventKind::Outcome, "call_7", 140)).wait().unwrap();
    let early = signed(&ledger, 1);
    let size = ledger.head().unwrap().size;
    change_key(&ledger, &KeyChange::sign(&log, &signer(1), Some(key(&log, 2)), size).unwrap());
    for n in 141..270 {
        ledger.commit(called(EventKind::Outcome, &format!("call_{}", n - 130), n)).wait().unwrap();
    }
    let note =
        PruningNote::new(vec![144, 150, 151, 200], PruneReason::Age, "op\u{e9}rator").unwrap();
    let note = NewEvent {
        kind: EventKind::Pruned,
        payload: note.to_bytes().unwrap().into(),
        ..event(9, String::new())
    };
    let batch = Batch::new(Durability::Disk).with_event(note);
    ledger.commit(Batch { prune: vec![144, 150, 151, 200], ..batch }).wait().unwrap();
    let late = signed(&ledger, 2);
    (ledger, early, late)
}

/// Restores a backup of the ledger at `path` and appends differently; both sign under the key 2.
/// Gives the proofs, with equal sizes and with either history the longer one.
fn restored(path: &Path, ledger: &SqliteLedger, folder: &Path) -> Vec<EquivocationProof> {
    let backup = folder.join("backup");
    for suffix in ["", "-wal"] {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        let _ = fs::copy(name(path), name(&backup));
    }
    let other = SqliteLedger::open(&backup, OpenOptions::default()).unwrap();
    assert_eq!(other.head().unwrap(), ledger.head().unwrap());
    let add = |ledger: &SqliteLedger, text: &str| {
        let batch = Batch::new(Durability::Disk);
        ledger.commit(batch.with_event(event(1_000, format!("\"{text}\"")))).wait().unwrap();
        signed(ledger, 2)
    };
    let log = ledger.head().unwrap().log;
    let find = |one: &SignedNote, other: &SignedNote, larger: &SqliteLedger| {
        let larger = Some(larger as &dyn LogProver);
        EquivocationProof::find(&key(&log, 2), one.clone(), other.clone(), larger).unwrap()
    };
    let (here, there) = (add(ledger, "here"), add(&other, "there"));
    let longer = add(&other, "there again");
    let longest = (0..300).fold(here.clone(), |_, _| add(ledger, "here again"));
    vec![
        find(&here, &there, ledger),
        find(&here, &longer, &other),
        find(&longest, &longer, ledger),
        find(&there, &longest, ledger),
    ]
}

#[test]
fn a_backup_that_is_restored_and_goes_on_differently_is_proven() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (ledger, _, _) = build(&path);
    let log = ledger.head().unwrap().log;
    for proof in restored(&path, &ledger, folder.path()) {
        let read = EquivocationProof::parse(&proof.to_bytes().unwrap()).unwrap();
        assert!(read.verify(&key(&log, 2)).is_ok());
        assert!(read.verify(&key(&log, 1)).is_err());
    }
}

/// Changes of a store, each by a line of SQL for event `seq` and slot or byte `at`.
fn statements(seq: usize, at: usize) -> Vec<String> {
    let flip = |column: &str, at: usize| {
        format!(
            "UPDATE events SET {column} = CAST(substr({column}, 1, {at}) || char((unicode(substr(CAST({column} AS TEXT), {at} + 1, 1)) + 1) % 120) || substr({column}, {at} + 2) AS BLOB) WHERE seq = {seq} AND {column} IS NOT NULL"
        )
    };
    let event = |set: &str| format!("UPDATE events SET {set} WHERE seq = {seq}");
    vec![
        flip("header", at % 90),
        flip("payload", at % 8),
        event("salt = zeroblob(16)"),
        event("salt = zeroblob(15)"),
        event("leaf = zeroblob(32)"),
        event("durability = 7"),
        event("durability = 1 - durability"),
        event("salt = NULL"),
        event("payload = NULL"),
        event("salt = NULL, payload = NULL"),
        format!("DELETE FROM events WHERE seq = {seq}"),
        format!("DELETE FROM events WHERE seq >= {seq}"),
        format!("DELETE FROM events WHERE seq >= {seq}; UPDATE meta SET size = {seq}"),
        format!("UPDATE events SET seq = 9999 WHERE seq = {seq}"),
        format!(
            "INSERT INTO events SELECT seq + 9000, header, leaf, salt, payload, durability FROM events WHERE seq = {seq}"
        ),
        format!(
            "UPDATE events SET payload = (SELECT payload FROM events WHERE seq = {at} % 100), salt = (SELECT salt FROM events WHERE seq = {at} % 100) WHERE seq = {seq}"
        ),
        "UPDATE meta SET size = size + 1".to_owned(),
        "UPDATE meta SET root = zeroblob(32)".to_owned(),
        "UPDATE meta SET frontier = zeroblob(length(frontier))".to_owned(),
        "UPDATE meta SET frontier = CAST(frontier || zeroblob(32) AS BLOB)".to_owned(),
        "UPDATE meta SET highest = highest + 1".to_owned(),
        "UPDATE meta SET log = 'log_other'".to_owned(),
        "UPDATE meta SET blob_key = zeroblob(32)".to_owned(),
        "DELETE FROM tiles".to_owned(),
        "UPDATE tiles SET nodes = zeroblob(8160)".to_owned(),
        format!(
            "UPDATE tiles SET nodes = CAST(substr(nodes, 1, {at}) || zeroblob(1) || substr(nodes, {at} + 2) AS BLOB)"
        ),
        "UPDATE tiles SET place = 5".to_owned(),
        "INSERT INTO tiles VALUES (3, 9, zeroblob(8160))".to_owned(),
        "PRAGMA user_version = 1".to_owned(),
        "PRAGMA user_version = 3".to_owned(),
        "PRAGMA user_version = 0".to_owned(),
        "PRAGMA application_id = 7".to_owned(),
    ]
}

/// A whole log rewritten: one header changed, and every hash after it made to fit.
fn rewritten(cases: &mut Cases, store: &Path, seq: u64, given: &[Given]) {
    let path = cases.place("store");
    fs::copy(store, &path).unwrap();
    let db = Connection::open(&path).unwrap();
    let header: Vec<u8> = db
        .query_row(
            "SELECT header FROM events WHERE seq = ?1",
            [i64::try_from(seq).unwrap()],
            |row| row.get(0),
        )
        .unwrap();
    let header = String::from_utf8(header).unwrap().replace("\"at\":1", "\"at\":0").into_bytes();
    db.execute(
        "UPDATE events SET header = ?1, leaf = ?2 WHERE seq = ?3",
        rusqlite::params![header, leaf_hash(&header), i64::try_from(seq).unwrap()],
    )
    .unwrap();
    let mut frontier = weaver_trace_store::merkle::Frontier::default();
    let leaves: Vec<[u8; 32]> = {
        let mut all = db.prepare("SELECT leaf FROM events ORDER BY seq").unwrap();
        all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    leaves.iter().for_each(|leaf| frontier.push(*leaf));
    db.execute(
        "UPDATE meta SET root = ?1, frontier = ?2",
        rusqlite::params![frontier.root(), frontier.to_bytes()],
    )
    .unwrap();
    db.execute_batch("DROP TABLE tiles").unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(db);
    for given in given {
        cases.add("store", &path, given);
    }
}

fn stores(cases: &mut Cases, store: &Path, given: &[Given], dice: &Dice) {
    for given in given {
        cases.add("store", store, given);
    }
    let path = cases.place("store");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/store-v2.weaver");
    fs::copy(golden, &path).unwrap();
    assert!(cases.add("store", &path, &given[0]));
    let empty = cases.place("store");
    drop(SqliteLedger::open(&empty, OpenOptions::default()).unwrap());
    Connection::open(&empty).unwrap().execute_batch("UPDATE meta SET log = 'log_empty'").unwrap();
    assert!(cases.add("store", &empty, &given[0]));
    for seq in [0, 3, 7, 145, 256, 275] {
        for sql in statements(seq, dice.roll(8_000)) {
            cases.changed(store, &sql, &given[0]);
        }
    }
    for seq in [0, 40, 200] {
        rewritten(cases, store, seq, given);
    }
    let whole = fs::read(store).unwrap();
    for _ in 0..MUTATIONS {
        let mut bytes = whole.clone();
        let place = dice.roll(bytes.len());
        bytes[place] ^= 1 << dice.roll(8);
        cases.file("store", &bytes, &given[dice.roll(given.len())]);
    }
}

fn proofs(cases: &mut Cases, ledger: &SqliteLedger, given: &[Given], dice: &Dice) {
    let (early, late) =
        (given[1].checkpoint.clone().unwrap(), given[2].checkpoint.clone().unwrap());
    let head = ledger.head().unwrap();
    let log = head.log.clone();
    let export: Vec<u8> = ledger
        .rows(0, 1_000)
        .unwrap()
        .iter()
        .flat_map(|row| [line(&row.event).unwrap(), b"\n".to_vec()].concat())
        .collect();
    let mut receipts = Vec::new();
    for (id, note, disclose) in
        [("call_7", &early, true), ("call_7", &late, false), ("call_20", &late, true)]
    {
        let (note, call) =
            (SignedNote::parse(note.as_bytes()).unwrap(), CallId::parse(id).unwrap());
        let size = weaver_trace_store::checkpoint::Checkpoint::parse(note.text()).unwrap().size;
        let places = events_of_call(ledger, &call, size).unwrap();
        receipts.push(
            CallReceipt::make(ledger, &note, &call, &places, disclose).unwrap().to_bytes().unwrap(),
        );
    }
    let fork = tempfile::tempdir().unwrap();
    let backup = fork.path().join("fork");
    let options =
        || OpenOptions { random: Arc::new(SeededRandom::new(5)), ..OpenOptions::default() };
    let other = SqliteLedger::open(&backup, options()).unwrap();
    assert_eq!(other.head().unwrap().log, log);
    fill(&other, 100);
    let mut forks = Vec::new();
    for size in [4_u64, 64, 99, 100] {
        let root = weaver_types::Digest::from_bytes(other.root(size).unwrap());
        let head = weaver_types::ledger::TreeHead { log: log.clone(), size, root };
        let note =
            weaver_trace_store::checkpoint::Checkpoint::from_head(&head).sign(&signer(1)).unwrap();
        let early = SignedNote::parse(early.as_bytes()).unwrap();
        forks.push(
            EquivocationProof::find(&key(&log, 1), note, early, Some(ledger))
                .unwrap()
                .to_bytes()
                .unwrap(),
        );
    }
    let (again, path) = (tempfile::tempdir().unwrap(), fork.path().join("store"));
    for proof in restored(&path, &build(&path).0, again.path()) {
        forks.push(proof.to_bytes().unwrap());
    }
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    let note = cosign(SignedNote::parse(early.as_bytes()).unwrap(), "w1", &signer(11), at).unwrap();
    let witnesses = vec![VerifierKey::new("w1", KeyUse::Witness, signer(11).public()).unwrap()];
    let strict = Given {
        trust: TrustPolicy { witnesses, quorum: 1, ..given[0].trust.clone() },
        checkpoint: None,
    };
    let stranger = Given::of(key(&log, 9));
    let ended = Given {
        trust: TrustPolicy { until: Some(100), ..given[0].trust.clone() },
        checkpoint: None,
    };
    let mut files: Vec<(&str, Vec<u8>)> =
        vec![("checkpoint", note.to_string().into_bytes()), ("export", export)];
    files.push(("checkpoint", early.into_bytes()));
    files.extend(receipts.into_iter().map(|bytes| ("receipt", bytes)));
    files.extend(forks.into_iter().map(|bytes| ("equivocation", bytes)));
    for (kind, bytes) in files {
        let second = Given::of(key(&log, 2));
        for given in given.iter().chain([&strict, &stranger, &ended, &second]) {
            cases.file(kind, &bytes, given);
        }
        for _ in 0..MUTATIONS / 4 {
            let given = if dice.roll(2) == 0 { &given[0] } else { &strict };
            let held = if kind == "export" {
                &given.with(&SignedNote::parse(late.as_bytes()).unwrap())
            } else {
                given
            };
            cases.file(kind, &dice.mutate(&bytes), held);
        }
    }
}

/// `WEAVER_CROSSCHECK=FOLDER cargo test -p weaver-trace-store --all-features --test it -- --ignored
/// cases_for_the_second_verifier`.
#[test]
#[ignore = "writes cases into the folder that WEAVER_CROSSCHECK names"]
fn cases_for_the_second_verifier() {
    let folder = PathBuf::from(std::env::var_os("WEAVER_CROSSCHECK").unwrap());
    fs::create_dir_all(&folder).unwrap();
    let dice = Dice(SeededRandom::new(6));
    let store = folder.join("whole");
    let (ledger, early, late) = build(&store);
    let log = ledger.head().unwrap().log;
    let anchor = Given::of(key(&log, 1));
    let given = [
        anchor.clone(),
        anchor.with(&early),
        anchor.with(&late),
        Given::of(key(&log, 2)).with(&late),
        Given::of(key(&log, 9)).with(&early),
    ];
    let mut cases = Cases { folder: folder.clone(), lines: Vec::new(), good: 0 };
    // Beside its writer, what is committed lies in the write-ahead log.
    for suffix in ["", "-wal"] {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        let _ = fs::copy(name(&store), name(&folder.join("live")));
    }
    assert!(cases.add("store", &folder.join("live"), &given[2]));
    proofs(&mut cases, &ledger, &given, &dice);
    drop(ledger);
    stores(&mut cases, &store, &given, &dice);
    let lines: Vec<String> = cases.lines.iter().map(ToString::to_string).collect();
    fs::write(folder.join("cases.jsonl"), lines.join("\n") + "\n").unwrap();
    println!("{} cases, {} of them good", cases.lines.len(), cases.good);
    assert!(cases.good > 20 && cases.lines.len() - cases.good > 300);
}
