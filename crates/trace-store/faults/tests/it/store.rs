//! A store whose files are damaged, and what became of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use weaver_faults::question::{self, Answer, Question};
use weaver_faults::story;
use weaver_trace_store::verify::{VerificationReport, verify};
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::SeededRandom;
use weaver_types::ledger::{BlobId, Ledger, TreeHead};

use crate::support::{Draw, LEDGER, folder, long, share};

/// What a damage did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Damage {
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
pub(crate) struct Store {
    folder: TempDir,
    pub(crate) files: BTreeMap<&'static str, Vec<u8>>,
    /// What it answered to [`Question::of_the_whole`] after each number of events.
    past: BTreeMap<u64, Vec<Answer>>,
    /// Every question to the whole store, with its answer.
    pub(crate) asked: Vec<(Question, Answer)>,
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
            story::append(&ledger, number).unwrap();
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
        let blobs = question::named(&reader).unwrap();
        let ask = |question: Question| (question, question.ask(&reader).unwrap());
        let asked = Question::all(head.size).into_iter().map(ask).collect();
        Self { folder, files, past, asked, blobs, head }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(LEDGER)
    }

    /// Puts these files in place of all that is there.
    pub(crate) fn put(&self, files: &[(&str, &[u8])]) {
        let _ = std::fs::remove_file(self.path());
        self.clear();
        for (suffix, bytes) in files {
            std::fs::write(beside(&self.path(), suffix), bytes).unwrap();
        }
    }

    /// Removes what lies beside the file.
    pub(crate) fn clear(&self) {
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(beside(&self.path(), suffix));
        }
    }

    /// The same store in a folder of its own, for another thread.
    pub(crate) fn copy(&self) -> Self {
        let (files, past) = (self.files.clone(), self.past.clone());
        let (asked, blobs, head) = (self.asked.clone(), self.blobs.clone(), self.head.clone());
        Self { folder: folder(), files, past, asked, blobs, head }
    }

    /// What became of the store with these files.
    pub(crate) fn judge(&self, files: &[(&str, &[u8])]) -> Damage {
        self.put(files);
        self.read().unwrap_or_else(|| self.write())
    }

    /// What a reader says of the files as they lie there; `None` when it says what it always said.
    fn read(&self) -> Option<Damage> {
        let found = match answers(&self.path()) {
            Err(error) => return Some(Damage::Found(error)),
            Ok(answers) => answers,
        };
        let report = report(&found);
        let size = report.head.size;
        if self.past.get(&size) != Some(&found) {
            let whole = self.past.get(&size).unwrap_or(&self.past[&self.head.size]);
            return Some(Damage::Silent(change(whole, &found)));
        }
        assert!(says_that_it_may_be_cut(report), "{report:?}");
        if size < self.head.size {
            let reader = Reader::open(self.path()).unwrap();
            let with_head = verify(&reader, Some(&self.head));
            assert!(with_head.is_err(), "cut to {size}, and the head fits");
            return Some(Damage::Older(size));
        }
        let numbers: Vec<usize> = (0..self.asked.len()).collect();
        self.ask(&numbers)
    }

    /// Asks these questions, by their numbers; `None` when the answers are the same.
    pub(crate) fn ask(&self, numbers: &[usize]) -> Option<Damage> {
        let reader = match Reader::open(self.path()) {
            Err(error) => return Some(Damage::Found(error.to_string())),
            Ok(reader) => reader,
        };
        let asked = numbers.iter().map(|number| &self.asked[*number]);
        for (question, answer) in asked {
            match question.ask(&reader) {
                Err(error) => return Some(Damage::Found(error)),
                Ok(other) if other != *answer => {
                    return Some(Damage::Silent(format!(
                        "{question:?}: {other:?}, not {answer:?}"
                    )));
                }
                Ok(_) => {}
            }
        }
        None
    }

    /// Opens it for writing: the blobs are there, and it goes on as the store would.
    pub(crate) fn write(&self) -> Damage {
        match question::write(&self.path(), &self.blobs, &self.head) {
            Err(error) => Damage::Found(error),
            Ok(Some(other)) => Damage::Silent(other),
            Ok(None) => Damage::Inert,
        }
    }
}

/// The answers to [`Question::of_the_whole`], or the first thing that a reader complains of.
pub(crate) fn answers(path: &Path) -> Result<Vec<Answer>, String> {
    let reader = Reader::open(path).map_err(|error| error.to_string())?;
    Question::of_the_whole().into_iter().map(|question| question.ask(&reader)).collect()
}

/// What verification said.
pub(crate) fn report(answers: &[Answer]) -> &VerificationReport {
    match answers.first() {
        Some(Answer::Report(report)) => report,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn says_that_it_may_be_cut(report: &VerificationReport) -> bool {
    report.not_proven().join("; ").contains("cannot rule out truncation")
}

/// The first difference, for a message.
fn change(before: &[Answer], after: &[Answer]) -> String {
    let other = before.iter().zip(after).find(|(before, after)| before != after);
    format!("{other:?}")
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(crate) fn read(path: &Path, suffixes: &[&'static str]) -> BTreeMap<&'static str, Vec<u8>> {
    let read = |suffix: &'static str| (suffix, std::fs::read(beside(path, suffix)).unwrap());
    suffixes.iter().copied().map(read).collect()
}

pub(crate) fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// All numbers below `end`, or the share of them that was asked for, or so many that are drawn.
pub(crate) fn drawn(end: usize, count: usize) -> Vec<usize> {
    if long() {
        let (share, shares) = share();
        return (share..end).step_by(shares).collect();
    }
    let mut draw = Draw(42);
    (0..count).map(|_| draw.below(end)).collect()
}
