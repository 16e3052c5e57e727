//! Bits of the closed file, each flipped alone. Every query whose result could change is run: a
//! query is skipped only if a trace of its calls shows that it does not read the block of the bit.

use std::os::unix::fs::FileExt;
use std::path::Path;

use weaver_faults::query::Query;
use weaver_faults::run::Run;
use weaver_faults::trace::Step;
use weaver_trace_store::merkle::leaf_hash;
use weaver_trace_store::{OpenOptions, SqliteLedger};
use weaver_types::digest::Digest;
use weaver_types::ledger::BlobStore;

use crate::store::{DamageEffect, Store, flip, sampled_bits};
use crate::support::{LEDGER, folder, query_program, shim};

const EVENTS: u64 = 200;
/// How many bits of the file are sampled in the normal run.
const BITS: usize = 8_000;
/// Bytes of a block, for the trace of what is read.
const BLOCK: usize = 4096;
/// Of the proofs that read a block, one in this many is checked, different ones for each bit: in so
/// short a log each proof reads all leaves.
const PROOF_SAMPLING: usize = 50;

/// Bits that no reader detects are flipped in groups of this size for the writer, which takes
/// longest; the first ones of a group also alone.
const BITS_PER_GROUP: usize = 16;
const BITS_ALONE: usize = 2;

/// Which queries read each block of the file.
struct BlockReaders {
    /// For each block, the numbers of the queries that read it.
    queries: Vec<Vec<usize>>,
    /// For each block, whether the writer reads it.
    writer: Vec<bool>,
    /// For each block, the numbers of the blobs for which it is read.
    blobs: Vec<Vec<usize>>,
}

impl BlockReaders {
    /// Runs all queries on a copy under the shim.
    fn of(store: &Store) -> Self {
        let file = &store.files[""];
        let folder = folder();
        let dir = folder.path().canonicalize().unwrap().join("queried");
        std::fs::create_dir(&dir).unwrap();
        let path = dir.join(LEDGER);
        std::fs::write(&path, file).unwrap();
        let run = Run {
            program: &query_program(),
            shim: &shim(),
            folder: &dir,
            arguments: &[path.to_str().unwrap()],
            fault: None,
            drop_syncs: false,
        };
        let outcome = run.run().unwrap();
        assert!(outcome.success, "{:?} {}", outcome.lines.last(), outcome.stderr);
        let blocks = file.len().div_ceil(BLOCK);
        let mut read = Self {
            queries: vec![Vec::new(); blocks],
            writer: vec![false; blocks],
            blobs: vec![Vec::new(); blocks],
        };
        let mut now = String::new();
        for step in &outcome.steps {
            match step {
                Step::Output(line) => line.trim_end().clone_into(&mut now),
                Step::Read { path: from, offset, bytes } if *from == path => {
                    read.note(&now, offset.expect("a read without an offset"), *bytes);
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
                && self.queries[block].last() != Some(&number)
            {
                self.queries[block].push(number);
            }
        }
    }

    /// The queries that may depend on this bit.
    fn queries(&self, store: &Store, bit: usize) -> Vec<usize> {
        let readers = self.queries[bit / 8 / BLOCK].iter().copied();
        let sampled = readers.filter(|number| match store.baseline[*number].0 {
            Query::Proof(seq) => {
                (usize::try_from(seq).unwrap() + bit).is_multiple_of(PROOF_SAMPLING)
            }
            _ => true,
        });
        sampled.collect()
    }
}

/// Checks the trace: after a block is overwritten, the queries that do not read it return the same.
#[test]
fn what_a_question_does_not_read_has_no_say() {
    let store = Store::new(EVENTS, false);
    let (read, file) = (BlockReaders::of(&store), &store.files[""]);
    let mut free = 0;
    for (block, readers) in read.queries.iter().enumerate() {
        let others: Vec<usize> =
            (0..store.baseline.len()).filter(|number| !readers.contains(number)).collect();
        free += others.len();
        let mut bytes = file.clone();
        let end = bytes.len().min((block + 1) * BLOCK);
        bytes[block * BLOCK..end].iter_mut().for_each(|byte| *byte ^= 0xa5);
        store.write_files(&[("", &bytes)]);
        if !others.is_empty() {
            assert_eq!(store.rerun(&others), None, "block {block}");
        }
        if !read.writer[block] {
            assert_eq!(store.write(), DamageEffect::Inert, "block {block}");
        }
    }
    // There is something to leave out, and verification reads most of the file.
    let verified = read.queries.iter().filter(|queries| queries.contains(&0)).count();
    println!("{free} pairs of a block and a query; verification reads {verified} blocks");
    assert!(free > 1_000 && verified * 2 > read.queries.len(), "{free} {verified}");
}

#[test]
fn a_flipped_bit_of_the_file_is_found_or_changes_no_answer() {
    let store = Store::new(EVENTS, false);
    let whole = &store.files[""];
    let (bits, read) = (sampled_bits(whole.len() * 8, BITS), BlockReaders::of(&store));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = bits.len().div_ceil(threads).max(1);
    let sums: Vec<Tally> = std::thread::scope(|scope| {
        let shares = bits.chunks(share).map(|bits| (bits, store.copy(), &read));
        let started: Vec<_> = shares
            .map(|(bits, store, read)| scope.spawn(move || Tally::of(&store, read, bits)))
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

/// How many flipped bits were detected or harmless, and those that changed a result undetected.
#[derive(Default)]
struct Tally {
    found: usize,
    inert: usize,
    silent: Vec<String>,
}

impl Tally {
    fn of(store: &Store, read: &BlockReaders, bits: &[usize]) -> Self {
        let (mut sum, mut undetected, open) = (Self::default(), Vec::new(), OpenLedger::of(store));
        let whole = &store.files[""];
        store.write_files(&[("", whole)]);
        for (count, bit) in bits.iter().enumerate() {
            let queries = read.queries(store, *bit);
            let damage = if queries.is_empty() {
                open.blobs(&read.blobs[bit / 8 / BLOCK], *bit)
            } else {
                Self::read(store, &queries, *bit)
            };
            match damage {
                Some(damage) => sum.take(*bit, damage),
                None if read.writer[bit / 8 / BLOCK] => undetected.push(*bit),
                None => sum.take(*bit, DamageEffect::Inert),
            }
            if undetected.len() == BITS_PER_GROUP || count + 1 == bits.len() {
                sum.write(store, &std::mem::take(&mut undetected));
            }
        }
        sum
    }

    /// What these queries return with this bit flipped.
    fn read(store: &Store, queries: &[usize], bit: usize) -> Option<DamageEffect> {
        let whole = &store.files[""];
        write_at(&store.path(), bit / 8, whole[bit / 8] ^ (1 << (bit % 8)));
        let damage = store.rerun(queries);
        // A reader leaves the file alone, and an empty write-ahead log beside it.
        assert_eq!(std::fs::metadata(store.path()).unwrap().len(), whole.len() as u64);
        write_at(&store.path(), bit / 8, whole[bit / 8]);
        store.remove_side_files();
        damage
    }

    /// Opens the store for writing with these bits flipped, which no reader detected: the first
    /// ones alone, the others together unless one of the first was detected.
    fn write(&mut self, store: &Store, bits: &[usize]) {
        let (alone, others) = bits.split_at(bits.len().min(BITS_ALONE));
        let before = self.found;
        for bit in alone {
            self.take(*bit, Self::with(store, &[*bit]));
        }
        if self.found == before {
            self.part(store, others);
        } else {
            others.iter().for_each(|bit| self.take(*bit, Self::with(store, &[*bit])));
        }
        store.write_files(&[("", &store.files[""])]);
    }

    /// Flips all these bits at once. If that has an effect, the group is split until each bit with
    /// an effect is alone.
    fn part(&mut self, store: &Store, bits: &[usize]) {
        match (bits, (!bits.is_empty()).then(|| Self::with(store, bits))) {
            ([bit], Some(damage)) => self.take(*bit, damage),
            (_, Some(DamageEffect::Inert)) => {
                bits.iter().for_each(|bit| self.take(*bit, DamageEffect::Inert))
            }
            (_, Some(_)) => {
                let (left, right) = bits.split_at(bits.len() / 2);
                self.part(store, left);
                self.part(store, right);
            }
            (_, None) => {}
        }
    }

    /// What the writer reports with these bits flipped.
    fn with(store: &Store, bits: &[usize]) -> DamageEffect {
        let mut bytes = store.files[""].clone();
        bits.iter().for_each(|bit| flip(&mut bytes, *bit));
        store.write_files(&[("", &bytes)]);
        store.write()
    }

    fn take(&mut self, bit: usize, damage: DamageEffect) {
        match damage {
            DamageEffect::Detected(_) => self.found += 1,
            DamageEffect::Inert => self.inert += 1,
            other => self.silent.push(format!(
                "bit {} of byte {} in page {}: {other:?}",
                bit % 8,
                bit / 8 % 4096,
                bit / 32768 + 1
            )),
        }
    }
}

/// A ledger that is open, for damage in blocks that nothing reads before the blob in them is
/// wanted: opening it for each bit would give the same.
struct OpenLedger {
    store: Store,
    ledger: SqliteLedger,
}

impl OpenLedger {
    fn of(store: &Store) -> Self {
        let store = store.copy();
        store.write_files(&[("", &store.files[""])]);
        let ledger = SqliteLedger::open(store.path(), OpenOptions::default()).unwrap();
        Self { store, ledger }
    }

    /// What it says of these blobs with this bit flipped; `None` when they are as they were, which
    /// may be a block that is remembered and not read.
    fn blobs(&self, numbers: &[usize], bit: usize) -> Option<DamageEffect> {
        if numbers.is_empty() {
            return None;
        }
        let whole = &self.store.files[""];
        write_at(&self.store.path(), bit / 8, whole[bit / 8] ^ (1 << (bit % 8)));
        let damage = numbers.iter().find_map(|number| self.blob(*number));
        write_at(&self.store.path(), bit / 8, whole[bit / 8]);
        damage
    }

    fn blob(&self, number: usize) -> Option<DamageEffect> {
        let (id, bytes) = &self.store.blobs[number];
        match self.ledger.blobs().get(id) {
            Err(error) => Some(DamageEffect::Detected(error.to_string())),
            Ok(Some(found)) if found == *bytes => None,
            Ok(found) => Some(DamageEffect::Undetected(format!("blob {id} is {found:?}"))),
        }
    }
}

fn write_at(path: &Path, offset: usize, byte: u8) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[byte], offset as u64).unwrap();
}
