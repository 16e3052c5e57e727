//! Damaged files: flipped bits, cut ends, older states put back. Whatever is changed, either it is
//! found, or every answer is the same as before. A shorter log is found with a head that was kept
//! elsewhere; without one, the report says that it cannot rule out truncation.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weaver_faults::story;
use weaver_trace_store::merkle::{leaf_hash, verify_inclusion};
use weaver_trace_store::verify::{Extent, Prove, Report, Source, verify};
use weaver_trace_store::{OpenOptions, Reader, Row, SqliteLedger};
use weaver_types::Tenant;
use weaver_types::digest::Digest;
use weaver_types::ledger::{
    BlobId, BlobStore, Durability, Head, Ledger, LedgerError, MAX_PAGE, Namespace, Record,
    StoredEvent,
};

use crate::support::{Draw, LEDGER, folder, long, share};

const EVENTS: u64 = 200;
/// Bits of the file that are drawn in the normal run.
const BITS: usize = 20_000;

/// Bits of which none changes what a reader is told, and that are then flipped together for the
/// writer, which takes longest; so many of them also alone.
const TOGETHER: usize = 16;
const ALONE: usize = 2;

/// All that a reader can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answers {
    report: Report,
    extent: Extent,
    events: Vec<StoredEvent>,
    records: BTreeMap<Namespace, Vec<(String, Record)>>,
}

/// What a damage did.
#[derive(Debug, PartialEq, Eq)]
enum Damage {
    /// Something says that the store is damaged, or does not read it.
    Found(String),
    /// Every answer is the same.
    Inert,
    /// The store is one that it was before, with so many events.
    Older(u64),
    /// Nothing complains, and something is answered otherwise.
    Silent(String),
}

/// A store as its files, and what it answers.
struct Store {
    folder: TempDir,
    files: BTreeMap<&'static str, Vec<u8>>,
    /// What it answered after each number of events.
    past: BTreeMap<u64, Answers>,
    blobs: Vec<(BlobId, Vec<u8>)>,
    head: Head,
}

impl Store {
    /// The file after `count` batches, closed; or, `open`, the file and the write-ahead log of a
    /// ledger in use, most of which lies in the log.
    fn new(count: u64, open: bool) -> Self {
        let folder = folder();
        let path = folder.path().join(LEDGER);
        let (mut past, mut files) = (BTreeMap::new(), BTreeMap::new());
        let ledger = SqliteLedger::open(&path, OpenOptions::default()).unwrap();
        past.insert(0, answers(&path).unwrap());
        for number in 0..count {
            story::append(&ledger, number).unwrap();
            if open {
                past.insert(number + 1, answers(&path).unwrap());
            }
        }
        if open {
            files = read(&path, &["", "-wal"]);
        }
        let head = ledger.head().unwrap();
        let blobs = named(&ledger);
        drop(ledger);
        if !open {
            files = read(&path, &[""]);
            past.insert(count, answers(&path).unwrap());
        }
        Self { folder, files, past, blobs, head }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(LEDGER)
    }

    fn whole(&self) -> &Answers {
        &self.past[&self.head.size]
    }

    /// Puts these files in place of all that is there.
    fn put(&self, files: &[(&str, &[u8])]) {
        let _ = std::fs::remove_file(self.path());
        self.clear();
        for (suffix, bytes) in files {
            std::fs::write(beside(&self.path(), suffix), bytes).unwrap();
        }
    }

    /// Removes what lies beside the file.
    fn clear(&self) {
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(beside(&self.path(), suffix));
        }
    }

    /// The same store in a folder of its own, for another thread.
    fn copy(&self) -> Self {
        let (files, past) = (self.files.clone(), self.past.clone());
        let (blobs, head) = (self.blobs.clone(), self.head.clone());
        Self { folder: folder(), files, past, blobs, head }
    }

    /// What became of the store with these files.
    fn judge(&self, files: &[(&str, &[u8])]) -> Damage {
        self.put(files);
        self.read(None).unwrap_or_else(|| self.write())
    }

    /// What a reader says of the files as they lie there; `None` when it says what it always said.
    /// The number of one of many cases says which events are asked for alone; otherwise all are.
    fn read(&self, drawn: Option<u64>) -> Option<Damage> {
        let found = match answers(&self.path()) {
            Err(error) => return Some(Damage::Found(error)),
            Ok(answers) => answers,
        };
        let size = found.report.head.size;
        if self.past.get(&size) != Some(&found) {
            let whole = self.past.get(&size).unwrap_or_else(|| self.whole());
            return Some(Damage::Silent(change(whole, &found)));
        }
        assert!(says_that_it_may_be_cut(&found.report), "{:?}", found.report);
        if size < self.head.size {
            let with_head = self.verify(Some(&self.head));
            assert!(with_head.is_err(), "cut to {size}, and the head fits");
            return Some(Damage::Older(size));
        }
        match self.ask(drawn) {
            Err(error) => Some(Damage::Found(error.to_string())),
            Ok(Some(other)) => Some(Damage::Silent(other)),
            Ok(None) => None,
        }
    }

    fn verify(&self, head: Option<&Head>) -> Result<Report, String> {
        let reader = Reader::open(self.path()).map_err(|error| error.to_string())?;
        verify(&reader, head).map_err(|error| error.to_string())
    }

    /// Asks for each event alone, and for its proof, as far as `answers` did not.
    fn ask(&self, drawn: Option<u64>) -> Result<Option<String>, LedgerError> {
        let reader = Reader::open(self.path())?;
        let head = &self.head;
        for (seq, event) in (0_u64..).zip(&self.whole().events) {
            // Verification has found each by its own number already.
            if drawn.is_some_and(|number| !(seq + number).is_multiple_of(5)) && !long() {
                continue;
            }
            let alone = reader.events(seq, 1)?;
            if alone.first() != Some(event) {
                return Ok(Some(format!("event {seq} alone is {alone:?}")));
            }
            // Each proof reads all leaves of a log as short as this.
            if !(seq + drawn.unwrap_or(33)).is_multiple_of(if drawn.is_some() { 50 } else { 40 }) {
                continue;
            }
            let leaf = leaf_hash(&event.header);
            let path = reader.inclusion(seq, head.size)?;
            if !verify_inclusion(&leaf, seq, head.size, &path, head.root.as_bytes()) {
                return Ok(Some(format!("the proof of event {seq} is {path:?}")));
            }
        }
        Ok(None)
    }

    /// Opens it for writing: the blobs are there, and it goes on as the store would.
    fn write(&self) -> Damage {
        let ledger = match SqliteLedger::open(self.path(), OpenOptions::default()) {
            Err(error) => return Damage::Found(error.to_string()),
            Ok(ledger) => ledger,
        };
        let blobs = ledger.blobs();
        for (id, bytes) in &self.blobs {
            match blobs.get(id) {
                Ok(found) if found.as_ref() == Some(bytes) => {}
                Ok(found) => return Damage::Silent(format!("blob {id} is {found:?}")),
                Err(error) => return Damage::Found(error.to_string()),
            }
        }
        if let Err(error) = story::append(&ledger, self.head.size) {
            return Damage::Found(error.to_string());
        }
        match verify(&ledger, Some(&self.head)) {
            Ok(_) => Damage::Inert,
            Err(error) => Damage::Found(error.to_string()),
        }
    }
}

fn says_that_it_may_be_cut(report: &Report) -> bool {
    report.not_proven().join("; ").contains("cannot rule out truncation")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn read(path: &Path, suffixes: &[&'static str]) -> BTreeMap<&'static str, Vec<u8>> {
    let read = |suffix: &'static str| (suffix, std::fs::read(beside(path, suffix)).unwrap());
    suffixes.iter().copied().map(read).collect()
}

/// The blobs that the events name.
fn named(ledger: &SqliteLedger) -> Vec<(BlobId, Vec<u8>)> {
    let (mut found, blobs) = (Vec::new(), ledger.blobs());
    for event in ledger.events(0, MAX_PAGE).unwrap() {
        let text = String::from_utf8(event.payload.unwrap_or_default()).unwrap();
        let name = text.strip_prefix("{\"blob\":\"").and_then(|rest| rest.split('"').next());
        if let Some(id) = name.map(|name| BlobId(name.parse::<Digest>().unwrap())) {
            found.push((id, blobs.get(&id).unwrap().unwrap()));
        }
    }
    found
}

/// Everything that a reader is told, or the first thing that it complains of.
fn answers(path: &Path) -> Result<Answers, String> {
    fn text<T>(result: Result<T, LedgerError>) -> Result<T, String> {
        result.map_err(|error| error.to_string())
    }
    let reader = text(Reader::open(path))?;
    let report = verify(&reader, None).map_err(|error| error.to_string())?;
    let extent = text(reader.extent())?;
    let events = text(reader.events(0, MAX_PAGE))?;
    let mut records = BTreeMap::new();
    for namespace in Namespace::ALL {
        let found = text(reader.records(&Tenant::default(), *namespace, None, MAX_PAGE))?;
        records.insert(*namespace, found);
    }
    Ok(Answers { report, extent, events, records })
}

/// The first difference, for a message.
fn change(before: &Answers, after: &Answers) -> String {
    if before.report != after.report {
        return format!("{:?} instead of {:?}", after.report, before.report);
    }
    if before.extent != after.extent {
        return format!("{:?} instead of {:?}", after.extent, before.extent);
    }
    for (before, after) in before.events.iter().zip(&after.events) {
        if before != after {
            return format!("{after:?} instead of {before:?}");
        }
    }
    for (namespace, before) in &before.records {
        let after = &after.records[namespace];
        if before != after {
            let other = before.iter().zip(after).find(|(before, after)| before != after);
            return format!("{} records of {}: {other:?}", after.len(), before.len());
        }
    }
    "a difference of length".to_owned()
}

fn write_at(path: &Path, place: usize, byte: u8) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[byte], place as u64).unwrap();
}

fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// All numbers below `end`, or the share of them that was asked for, or so many that are drawn.
fn drawn(end: usize, count: usize) -> Vec<usize> {
    if long() {
        let (share, shares) = share();
        return (share..end).step_by(shares).collect();
    }
    let mut draw = Draw(42);
    (0..count).map(|_| draw.below(end)).collect()
}

#[test]
fn a_flipped_bit_of_the_file_is_found_or_changes_no_answer() {
    let store = Store::new(EVENTS, false);
    let all = store.files[""].len() * 8;
    let bits = drawn(all, BITS);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = bits.len().div_ceil(threads).max(1);
    let sums: Vec<Sum> = std::thread::scope(|scope| {
        let shares = bits.chunks(share).map(|bits| (bits, store.copy()));
        let started: Vec<_> =
            shares.map(|(bits, store)| scope.spawn(move || Sum::of(&store, bits))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let found: usize = sums.iter().map(|sum| sum.found).sum();
    let inert: usize = sums.iter().map(|sum| sum.inert).sum();
    println!("{} bits of {all}: {found} found, {inert} inert", bits.len());
    let silent: Vec<_> = sums.into_iter().flat_map(|sum| sum.silent).collect();
    assert_eq!(silent, [""; 0]);
    assert!(found > bits.len() / 4 && inert > 0);
}

/// What became of the bits of a file, each flipped alone.
#[derive(Default)]
struct Sum {
    found: usize,
    inert: usize,
    silent: Vec<String>,
}

impl Sum {
    fn of(store: &Store, bits: &[usize]) -> Self {
        let (mut sum, mut same) = (Self::default(), Vec::new());
        let whole = &store.files[""];
        store.put(&[("", whole)]);
        for (count, bit) in bits.iter().enumerate() {
            write_at(&store.path(), bit / 8, whole[bit / 8] ^ (1 << (bit % 8)));
            let read = store.read(Some(*bit as u64));
            // A reader leaves the file alone, and an empty write-ahead log beside it.
            assert_eq!(std::fs::metadata(store.path()).unwrap().len(), whole.len() as u64);
            write_at(&store.path(), bit / 8, whole[bit / 8]);
            store.clear();
            match read {
                Some(damage) => sum.take(*bit, damage),
                None => same.push(*bit),
            }
            if same.len() == TOGETHER || count + 1 == bits.len() {
                sum.write(store, &std::mem::take(&mut same));
            }
            if count % 20_000 == 19_999 {
                let Self { found, inert, silent } = &sum;
                println!("{} bits: {found} found, {inert} inert, {silent:?}", count + 1);
            }
        }
        sum
    }

    /// Opens the store for writing with these bits flipped: all at once, and some of them alone.
    fn write(&mut self, store: &Store, bits: &[usize]) {
        let (alone, others) = bits.split_at(bits.len().min(ALONE));
        for bit in alone {
            let damage = Self::with(store, &[*bit]);
            self.take(*bit, damage);
        }
        self.part(store, others);
        store.put(&[("", &store.files[""])]);
    }

    /// The same, all at once. If that changes anything, it is split until each bit that does is alone.
    fn part(&mut self, store: &Store, bits: &[usize]) {
        match (bits, (!bits.is_empty()).then(|| Self::with(store, bits))) {
            ([bit], Some(damage)) => self.take(*bit, damage),
            (_, Some(Damage::Inert)) => bits.iter().for_each(|bit| self.take(*bit, Damage::Inert)),
            (_, Some(_)) => {
                let (left, right) = bits.split_at(bits.len() / 2);
                self.part(store, left);
                self.part(store, right);
            }
            (_, None) => {}
        }
    }

    /// What the writer says with these bits flipped, of which no reader says anything.
    fn with(store: &Store, bits: &[usize]) -> Damage {
        let mut bytes = store.files[""].clone();
        bits.iter().for_each(|bit| flip(&mut bytes, *bit));
        store.put(&[("", &bytes)]);
        store.write()
    }

    fn take(&mut self, bit: usize, damage: Damage) {
        match damage {
            Damage::Found(_) => self.found += 1,
            Damage::Inert => self.inert += 1,
            other => self.silent.push(format!(
                "bit {} of byte {} in page {}: {other:?}",
                bit % 8,
                bit / 8 % 4096,
                bit / 32768 + 1
            )),
        }
    }
}

#[test]
fn a_flipped_bit_of_the_write_ahead_log_is_found_or_cuts_the_log() {
    let store = Store::new(40, true);
    let (file, mut log) = (store.files[""].clone(), store.files["-wal"].clone());
    let bits = drawn(log.len() * 8, 800);
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for bit in &bits {
        flip(&mut log, *bit);
        let end = match store.judge(&[("", &file), ("-wal", &log)]) {
            Damage::Found(_) => "found",
            Damage::Inert => "inert",
            Damage::Older(_) => "cut",
            Damage::Silent(what) => panic!("bit {bit}: {what}"),
        };
        *ends.entry(end).or_default() += 1;
        flip(&mut log, *bit);
    }
    println!("{} bits of {}: {ends:?}", bits.len(), log.len() * 8);
}

#[test]
fn a_file_cut_at_any_length_is_found() {
    let store = Store::new(EVENTS, false);
    let bytes = &store.files[""];
    for length in (512..bytes.len()).step_by(512) {
        let damage = store.judge(&[("", &bytes[..length])]);
        let whole = bytes.len();
        // The end of the last page may hold nothing but zeros, which is what SQLite reads there.
        let zeros = bytes[length..].iter().all(|byte| *byte == 0);
        let good = matches!(damage, Damage::Found(_)) || (zeros && damage == Damage::Inert);
        assert!(good, "cut to {length} of {whole}: {damage:?}");
    }
    assert!(matches!(store.judge(&[("", &[])]), Damage::Found(_)));
}

#[test]
fn a_write_ahead_log_cut_at_any_length_leaves_an_older_state_that_a_head_gives_away() {
    let store = Store::new(40, true);
    let (file, log) = (&store.files[""], &store.files["-wal"]);
    let mut sizes = std::collections::BTreeSet::new();
    for length in (0..log.len()).step_by(512) {
        match store.judge(&[("", file), ("-wal", &log[..length])]) {
            Damage::Older(size) => drop(sizes.insert(size)),
            Damage::Found(_) => {}
            other => panic!("cut to {length} of {}: {other:?}", log.len()),
        }
    }
    assert!(sizes.len() > 20, "{sizes:?}");
}

#[test]
fn an_older_state_put_back_is_given_away_by_a_head() {
    let folder = folder();
    let path = folder.path().join(LEDGER);
    let ledger = SqliteLedger::open(&path, OpenOptions::default()).unwrap();
    let mut states = Vec::new();
    let mut heads = Vec::new();
    for number in 0..60 {
        story::append(&ledger, number).unwrap();
        states.push(read(&path, &["", "-wal"]));
        heads.push(ledger.head().unwrap());
    }
    drop(ledger);
    let last = heads.last().unwrap();
    let back = folder.path().join("back.db");
    for (state, own) in states.iter().zip(&heads) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(&back, suffix));
        }
        for (suffix, bytes) in state {
            std::fs::write(beside(&back, suffix), bytes).unwrap();
        }
        let reader = Reader::open(&back).unwrap();
        let report = verify(&reader, None).unwrap();
        assert_eq!(report.head, *own);
        assert!(says_that_it_may_be_cut(&report));
        assert!(verify(&reader, Some(own)).is_ok());
        assert_eq!(verify(&reader, Some(last)).is_err(), own.size < last.size);
    }
    // The file of one state with the write-ahead log of another: found, or one of the states.
    for (file, log) in [(5, 50), (50, 5), (0, 59), (59, 0), (30, 31), (31, 30)] {
        for (suffix, bytes) in [("", &states[file][""]), ("-wal", &states[log]["-wal"])] {
            std::fs::write(beside(&back, suffix), bytes).unwrap();
        }
        let _ = std::fs::remove_file(beside(&back, "-shm"));
        if let Ok(answers) = answers(&back) {
            let head = answers.report.head;
            assert!(heads.contains(&head), "{file} with {log}: {head:?}");
        }
    }
}

/// A log that anybody may change, beside its file.
struct Copied {
    extent: Extent,
    rows: Vec<Row>,
}

impl Source for Copied {
    fn extent(&self) -> Result<Extent, LedgerError> {
        Ok(self.extent.clone())
    }

    fn rows(&self, from: u64, limit: usize) -> Result<Vec<Row>, LedgerError> {
        let from = usize::try_from(from).unwrap();
        Ok(self.rows.iter().skip(from).take(limit).cloned().collect())
    }
}

/// What of an event is changed.
#[derive(Debug, Clone, Copy)]
enum Part {
    Header,
    Leaf,
    Salt,
    Payload,
}

const PARTS: [Part; 4] = [Part::Header, Part::Leaf, Part::Salt, Part::Payload];

/// The number of bits of a part; none of a payload that was pruned.
fn bits(row: &Row, part: Part) -> usize {
    let event = &row.event;
    8 * match part {
        Part::Header => event.header.len(),
        Part::Leaf => 32,
        Part::Salt => event.salt.as_ref().map_or(0, Vec::len),
        Part::Payload => event.payload.as_ref().map_or(0, Vec::len),
    }
}

fn flip_part(row: &mut Row, part: Part, bit: usize) {
    match part {
        Part::Header => flip(&mut row.event.header, bit),
        Part::Salt => flip(row.event.salt.as_mut().unwrap(), bit),
        Part::Payload => flip(row.event.payload.as_mut().unwrap(), bit),
        Part::Leaf => {
            let mut leaf = *row.leaf.as_bytes();
            flip(&mut leaf, bit);
            row.leaf = Digest::from_bytes(leaf);
        }
    }
}

/// Verification stops at the first bad event, so the normal run takes every bit of the first few
/// events, where it is quick, and draws bits of the others.
#[test]
fn every_bit_of_leaf_header_salt_and_payload_counts() {
    let folder = folder();
    let path = folder.path().join(LEDGER);
    let ledger = SqliteLedger::open(&path, OpenOptions::default()).unwrap();
    (0..EVENTS).for_each(|number| drop(story::append(&ledger, number).unwrap()));
    let rows = Source::rows(&ledger, 0, MAX_PAGE).unwrap();
    let mut log = Copied { extent: ledger.extent().unwrap(), rows };
    assert!(verify(&log, None).is_ok());
    let (mut draw, mut count) = (Draw(7), 0);
    for seq in 0..log.rows.len() {
        for part in PARTS {
            let all = bits(&log.rows[seq], part);
            let chosen: Vec<usize> = match () {
                () if long() || seq < 6 => (0..all).collect(),
                () if all == 0 => Vec::new(),
                () => (0..2).map(|_| draw.below(all)).collect(),
            };
            for bit in chosen {
                flip_part(&mut log.rows[seq], part, bit);
                let error = verify(&log, None).expect_err("a flipped bit was not seen");
                assert_eq!(error.seq(), Some(seq as u64), "{part:?} bit {bit}: {error}");
                flip_part(&mut log.rows[seq], part, bit);
                count += 1;
            }
        }
    }
    println!("{count} bits of {EVENTS} events, all found and named");
}

/// Whether an event was synced is in no hash, but in a count.
#[test]
fn a_changed_durability_is_found() {
    let store = Store::new(EVENTS, false);
    let reader = Reader::open(store.path()).unwrap();
    let rows = Source::rows(&reader, 0, MAX_PAGE).unwrap();
    let mut log = Copied { extent: reader.extent().unwrap(), rows };
    for seq in 0..log.rows.len() {
        let before = log.rows[seq].event.durability;
        log.rows[seq].event.durability = match before {
            Durability::Os => Durability::Disk,
            Durability::Disk => Durability::Os,
        };
        assert!(verify(&log, None).is_err(), "event {seq} was {before:?}");
        log.rows[seq].event.durability = before;
    }
}
