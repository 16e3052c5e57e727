//! Bits of the closed file, each flipped alone. Every answer that could change is asked for: a
//! question is left out only where a trace of its calls shows that it does not read the block in
//! which the bit lies. What it does not read cannot change what it answers.

use std::os::unix::fs::FileExt;
use std::path::Path;

use weaver_faults::question::Question;
use weaver_faults::run::Run;
use weaver_faults::trace::Step;
use weaver_trace_store::merkle::leaf_hash;
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::digest::Digest;
use weaver_types::ledger::BlobStore;

use crate::store::{Damage, Store, drawn, flip};
use crate::support::{LEDGER, ask, folder, shim};

const EVENTS: u64 = 200;
/// Bits of the file that are drawn in the normal run.
const BITS: usize = 20_000;
/// Bytes of a block, for the trace of what is read.
const BLOCK: usize = 4096;
/// Of the proofs that a block bears on, one in so many is asked for, others for each bit: in a log
/// as short as this each reads all leaves.
const PROOFS: usize = 50;

/// Bits of which none changes what a reader is told, and that are then flipped together for the
/// writer, which takes longest; so many of them also alone.
const TOGETHER: usize = 16;
const ALONE: usize = 2;

/// What each question reads of the file.
struct Read {
    /// For each block, the numbers of the questions that read it.
    questions: Vec<Vec<usize>>,
    /// For each block, whether the writer reads it.
    writer: Vec<bool>,
    /// For each block, the numbers of the blobs for which it is read.
    blobs: Vec<Vec<usize>>,
}

impl Read {
    /// Asks everything of a copy under the shim.
    fn of(store: &Store) -> Self {
        let file = &store.files[""];
        let folder = folder();
        let place = folder.path().canonicalize().unwrap().join("asked");
        std::fs::create_dir(&place).unwrap();
        let path = place.join(LEDGER);
        std::fs::write(&path, file).unwrap();
        let run = Run {
            program: &ask(),
            shim: &shim(),
            folder: &place,
            arguments: &[path.to_str().unwrap()],
            fault: None,
            drop_syncs: false,
        };
        let outcome = run.end().unwrap();
        assert!(outcome.success, "{:?} {}", outcome.lines.last(), outcome.complaint);
        let blocks = file.len().div_ceil(BLOCK);
        let mut read = Self {
            questions: vec![Vec::new(); blocks],
            writer: vec![false; blocks],
            blobs: vec![Vec::new(); blocks],
        };
        let mut now = String::new();
        for step in &outcome.steps {
            match step {
                Step::Said(line) => line.trim_end().clone_into(&mut now),
                Step::Read { path: from, offset, bytes } if *from == path => {
                    read.note(&now, offset.expect("a read without a place"), *bytes);
                }
                _ => {}
            }
        }
        read
    }

    fn note(&mut self, now: &str, offset: u64, bytes: u64) {
        let first = usize::try_from(offset).unwrap() / BLOCK;
        let end = usize::try_from(offset + bytes).unwrap().div_ceil(BLOCK);
        for block in first..end.min(self.writer.len()) {
            if now == "write" {
                self.writer[block] = true;
            } else if let Some(number) = now.strip_prefix("blob ") {
                let number = number.parse().unwrap();
                if !self.blobs[block].contains(&number) {
                    self.blobs[block].push(number);
                }
            } else if let Ok(number) = now.parse()
                && self.questions[block].last() != Some(&number)
            {
                self.questions[block].push(number);
            }
        }
    }

    /// The questions on which this bit may bear.
    fn questions(&self, store: &Store, bit: usize) -> Vec<usize> {
        let asked = self.questions[bit / 8 / BLOCK].iter().copied();
        let chosen = asked.filter(|number| match store.asked[*number].0 {
            Question::Proof(seq) => (usize::try_from(seq).unwrap() + bit).is_multiple_of(PROOFS),
            _ => true,
        });
        chosen.collect()
    }
}

/// The trace of what is read holds what it says: with a block full of other bytes, the questions
/// that do not read it answer as before.
#[test]
fn what_a_question_does_not_read_has_no_say() {
    let store = Store::new(EVENTS, false);
    let (read, file) = (Read::of(&store), &store.files[""]);
    let mut free = 0;
    for (block, readers) in read.questions.iter().enumerate() {
        let others: Vec<usize> =
            (0..store.asked.len()).filter(|number| !readers.contains(number)).collect();
        free += others.len();
        let mut bytes = file.clone();
        let end = bytes.len().min((block + 1) * BLOCK);
        bytes[block * BLOCK..end].iter_mut().for_each(|byte| *byte ^= 0xa5);
        store.put(&[("", &bytes)]);
        if !others.is_empty() {
            assert_eq!(store.ask(&others), None, "block {block}");
        }
        if !read.writer[block] {
            assert_eq!(store.write(), Damage::Inert, "block {block}");
        }
    }
    // There is something to leave out, and verification reads most of the file.
    let verified = read.questions.iter().filter(|questions| questions.contains(&0)).count();
    println!("{free} pairs of a block and a question; verification reads {verified} blocks");
    assert!(free > 1_000 && verified * 2 > read.questions.len(), "{free} {verified}");
}

#[test]
fn a_flipped_bit_of_the_file_is_found_or_changes_no_answer() {
    let store = Store::new(EVENTS, false);
    let whole = &store.files[""];
    let (bits, read) = (drawn(whole.len() * 8, BITS), Read::of(&store));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = bits.len().div_ceil(threads).max(1);
    let sums: Vec<Sum> = std::thread::scope(|scope| {
        let shares = bits.chunks(share).map(|bits| (bits, store.copy(), &read));
        let started: Vec<_> = shares
            .map(|(bits, store, read)| scope.spawn(move || Sum::of(&store, read, bits)))
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let found: usize = sums.iter().map(|sum| sum.found).sum();
    let inert: usize = sums.iter().map(|sum| sum.inert).sum();
    let silent: Vec<_> = sums.into_iter().flat_map(|sum| sum.silent).collect();
    println!(
        "{} bits of {}: {found} found, {inert} inert, {} silent; the file is {}",
        bits.len(),
        whole.len() * 8,
        silent.len(),
        Digest::from_bytes(leaf_hash(whole))
    );
    assert_eq!(silent, [""; 0]);
    assert_eq!(found + inert, bits.len());
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
    fn of(store: &Store, read: &Read, bits: &[usize]) -> Self {
        let (mut sum, mut same, open) = (Self::default(), Vec::new(), Open::of(store));
        let whole = &store.files[""];
        store.put(&[("", whole)]);
        for (count, bit) in bits.iter().enumerate() {
            let questions = read.questions(store, *bit);
            let damage = if questions.is_empty() {
                open.blobs(&read.blobs[bit / 8 / BLOCK], *bit)
            } else {
                Self::read(store, &questions, *bit)
            };
            match damage {
                Some(damage) => sum.take(*bit, damage),
                None if read.writer[bit / 8 / BLOCK] => same.push(*bit),
                None => sum.take(*bit, Damage::Inert),
            }
            if same.len() == TOGETHER || count + 1 == bits.len() {
                sum.write(store, &std::mem::take(&mut same));
            }
        }
        sum
    }

    /// What a reader says to these questions with this bit flipped.
    fn read(store: &Store, questions: &[usize], bit: usize) -> Option<Damage> {
        let whole = &store.files[""];
        write_at(&store.path(), bit / 8, whole[bit / 8] ^ (1 << (bit % 8)));
        let damage = store.ask(questions);
        // A reader leaves the file alone, and an empty write-ahead log beside it.
        assert_eq!(std::fs::metadata(store.path()).unwrap().len(), whole.len() as u64);
        write_at(&store.path(), bit / 8, whole[bit / 8]);
        store.clear();
        damage
    }

    /// Opens the store for writing with these bits flipped, of which no reader says anything: some
    /// alone, the others at once unless those alone were found.
    fn write(&mut self, store: &Store, bits: &[usize]) {
        let (alone, others) = bits.split_at(bits.len().min(ALONE));
        let before = self.found;
        for bit in alone {
            self.take(*bit, Self::with(store, &[*bit]));
        }
        if self.found == before {
            self.part(store, others);
        } else {
            others.iter().for_each(|bit| self.take(*bit, Self::with(store, &[*bit])));
        }
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

    /// What the writer says with these bits flipped.
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

/// A ledger that is open, for damage in blocks that nothing reads before the blob in them is wanted:
/// opening it for each bit would come to the same.
struct Open {
    store: Store,
    ledger: SqliteLedger,
}

impl Open {
    fn of(store: &Store) -> Self {
        let store = store.copy();
        store.put(&[("", &store.files[""])]);
        let ledger = SqliteLedger::open(store.path(), OpenOptions::default()).unwrap();
        Self { store, ledger }
    }

    /// What it says of these blobs with this bit flipped; `None` when they are as they were, which
    /// may be a block that is remembered and not read.
    fn blobs(&self, numbers: &[usize], bit: usize) -> Option<Damage> {
        if numbers.is_empty() {
            return None;
        }
        let whole = &self.store.files[""];
        write_at(&self.store.path(), bit / 8, whole[bit / 8] ^ (1 << (bit % 8)));
        let damage = numbers.iter().find_map(|number| self.blob(*number));
        write_at(&self.store.path(), bit / 8, whole[bit / 8]);
        damage
    }

    fn blob(&self, number: usize) -> Option<Damage> {
        let (id, bytes) = &self.store.blobs[number];
        match self.ledger.blobs().get(id) {
            Err(error) => Some(Damage::Found(error.to_string())),
            Ok(Some(found)) if found == *bytes => None,
            Ok(found) => Some(Damage::Silent(format!("blob {id} is {found:?}"))),
        }
    }
}

fn write_at(path: &Path, place: usize, byte: u8) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[byte], place as u64).unwrap();
}
