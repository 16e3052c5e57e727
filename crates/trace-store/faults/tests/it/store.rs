//! A store whose files are damaged, and the effect of that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use weaver_faults::query::{self, Query, QueryResult};
use weaver_faults::workload;
use weaver_trace_store::verify::{VerificationReport, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::SeededRandom;
use weaver_types::ledger::{BlobId, Ledger, TreeHead};

use crate::support::{LEDGER, SplitMix64, folder, is_long_run, share};

/// What damage to a file led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DamageEffect {
    /// An error reported it.
    Detected(String),
    /// Every query returns the same.
    Inert,
    /// The store is in an earlier state, with this number of events.
    Older(u64),
    /// No error, but a query returns something else.
    Undetected(String),
}

/// A store as its files, with the expected results of all queries.
pub(crate) struct Store {
    folder: TempDir,
    pub(crate) files: BTreeMap<&'static str, Vec<u8>>,
    /// The results of [`Query::whole_log`] after each number of events.
    past: BTreeMap<u64, Vec<QueryResult>>,
    /// Every query on the intact store, with its result.
    pub(crate) baseline: Vec<(Query, QueryResult)>,
    pub(crate) blobs: Vec<(BlobId, Vec<u8>)>,
    pub(crate) head: TreeHead,
}

impl Store {
    /// The file after `count` batches, closed; or, `open`, the file and the write-ahead log of a
    /// ledger in use, most of which lies in the log. A closed file is the same each time, byte for
    /// byte.
    pub(crate) fn new(count: u64, open: bool) -> Self {
        let folder = folder();
        let path = folder.path().join(LEDGER);
        let (mut past, mut files) = (BTreeMap::new(), BTreeMap::new());
        let random = Arc::new(SeededRandom::new(7));
        let options = OpenOptions { random, ..OpenOptions::default() };
        let ledger = SqliteLedger::open(&path, options).unwrap();
        past.insert(0, answers(&path).unwrap());
        for number in 0..count {
            workload::append(&ledger, number).unwrap();
            if open {
                past.insert(number + 1, answers(&path).unwrap());
            }
        }
        if open {
            files = read(&path, &["", "-wal"]);
        }
        let head = ledger.head().unwrap();
        drop(ledger);
        if !open {
            files = read(&path, &[""]);
            past.insert(count, answers(&path).unwrap());
        }
        let reader = Reader::open(&path).unwrap();
        let blobs = query::referenced_blobs(&reader).unwrap();
        let run_query = |query: Query| (query, query.run(&reader).unwrap());
        let baseline = Query::all(head.size).into_iter().map(run_query).collect();
        Self { folder, files, past, baseline, blobs, head }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(LEDGER)
    }

    /// Replaces all files by these.
    pub(crate) fn write_files(&self, files: &[(&str, &[u8])]) {
        let _ = std::fs::remove_file(self.path());
        self.remove_side_files();
        for (suffix, bytes) in files {
            std::fs::write(with_suffix(&self.path(), suffix), bytes).unwrap();
        }
    }

    /// Removes the files that SQLite keeps next to the database.
    pub(crate) fn remove_side_files(&self) {
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(with_suffix(&self.path(), suffix));
        }
    }

    /// The same store in a folder of its own, for another thread.
    pub(crate) fn copy(&self) -> Self {
        let (files, past) = (self.files.clone(), self.past.clone());
        let (baseline, blobs, head) =
            (self.baseline.clone(), self.blobs.clone(), self.head.clone());
        Self { folder: folder(), files, past, baseline, blobs, head }
    }

    /// The effect of these files.
    pub(crate) fn examine(&self, files: &[(&str, &[u8])]) -> DamageEffect {
        self.write_files(files);
        self.read().unwrap_or_else(|| self.write())
    }

    /// What a reader reports of the files as they are; `None` if every result is as expected.
    fn read(&self) -> Option<DamageEffect> {
        let found = match answers(&self.path()) {
            Err(error) => return Some(DamageEffect::Detected(error)),
            Ok(answers) => answers,
        };
        let report = report(&found);
        let size = report.head.size;
        if self.past.get(&size) != Some(&found) {
            let whole = self.past.get(&size).unwrap_or(&self.past[&self.head.size]);
            return Some(DamageEffect::Undetected(change(whole, &found)));
        }
        assert!(warns_of_truncation(report), "{report:?}");
        if size < self.head.size {
            let reader = Reader::open(self.path()).unwrap();
            let with_head = verify(&reader, Some(&self.head));
            assert!(with_head.is_err(), "cut to {size}, and the head fits");
            return Some(DamageEffect::Older(size));
        }
        let numbers: Vec<usize> = (0..self.baseline.len()).collect();
        self.rerun(&numbers)
    }

    /// Runs these queries, by their numbers; `None` if the results are the same.
    pub(crate) fn rerun(&self, numbers: &[usize]) -> Option<DamageEffect> {
        let reader = match Reader::open(self.path()) {
            Err(error) => return Some(DamageEffect::Detected(error.to_string())),
            Ok(reader) => reader,
        };
        let baseline = numbers.iter().map(|number| &self.baseline[*number]);
        for (query, answer) in baseline {
            match query.run(&reader) {
                Err(error) => return Some(DamageEffect::Detected(error)),
                Ok(other) if other != *answer => {
                    return Some(DamageEffect::Undetected(format!(
                        "{query:?}: {other:?}, not {answer:?}"
                    )));
                }
                Ok(_) => {}
            }
        }
        None
    }

    /// Opens the store for writing, checks the blobs, appends and verifies.
    pub(crate) fn write(&self) -> DamageEffect {
        match query::append_and_verify(&self.path(), &self.blobs, &self.head) {
            Err(error) => DamageEffect::Detected(error),
            Ok(Some(other)) => DamageEffect::Undetected(other),
            Ok(None) => DamageEffect::Inert,
        }
    }
}

/// The answers to [`Query::whole_log`], or the first error of the reader.
pub(crate) fn answers(path: &Path) -> Result<Vec<QueryResult>, String> {
    let reader = Reader::open(path).map_err(|error| error.to_string())?;
    Query::whole_log().into_iter().map(|query| query.run(&reader)).collect()
}

/// What verification said.
pub(crate) fn report(answers: &[QueryResult]) -> &VerificationReport {
    match answers.first() {
        Some(QueryResult::Report(report)) => report,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn warns_of_truncation(report: &VerificationReport) -> bool {
    report.not_proven().join("; ").contains("cannot rule out truncation")
}

/// The first difference, for a message.
fn change(before: &[QueryResult], after: &[QueryResult]) -> String {
    let other = before.iter().zip(after).find(|(before, after)| before != after);
    format!("{other:?}")
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(crate) fn read(path: &Path, suffixes: &[&'static str]) -> BTreeMap<&'static str, Vec<u8>> {
    let read = |suffix: &'static str| (suffix, std::fs::read(with_suffix(path, suffix)).unwrap());
    suffixes.iter().copied().map(read).collect()
}

pub(crate) fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// In a long run all numbers below `end`, or this share of them; otherwise a random sample of
/// `count`.
pub(crate) fn sampled_bits(end: usize, count: usize) -> Vec<usize> {
    if is_long_run() {
        let (share, shares) = share();
        return (share..end).step_by(shares).collect();
    }
    let mut draw = SplitMix64(42);
    (0..count).map(|_| draw.below(end)).collect()
}
