//! Damaged files: flipped bits of a write-ahead log, cut ends, older states put back. Whatever is
//! changed, either it is found, or every answer is the same as before. A shorter log is found with
//! a head that was kept elsewhere; without one, the report says that it cannot rule out truncation.

use std::collections::BTreeMap;

use weaver_faults::workload;
use weaver_trace_store::verify::verify;
use weaver_trace_store::{OpenOptions, Reader, SqliteLedger};
use weaver_types::ledger::Ledger;

use crate::store::{
    DamageEffect, Store, answers, flip, read, report, sampled_bits, warns_of_truncation,
    with_suffix,
};
use crate::support::{LEDGER, folder};

const EVENTS: u64 = 200;

#[test]
fn a_flipped_bit_of_the_write_ahead_log_is_found_or_cuts_the_log() {
    let store = Store::new(40, true);
    let (file, mut log) = (store.files[""].clone(), store.files["-wal"].clone());
    let bits = sampled_bits(log.len() * 8, 800);
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    for bit in &bits {
        flip(&mut log, *bit);
        let end = match store.examine(&[("", &file), ("-wal", &log)]) {
            DamageEffect::Detected(_) => "found",
            DamageEffect::Inert => "inert",
            DamageEffect::Older(_) => "cut",
            DamageEffect::Undetected(what) => panic!("bit {bit}: {what}"),
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
        let damage = store.examine(&[("", &bytes[..length])]);
        let whole = bytes.len();
        // The end of the last page may hold nothing but zeros, which is what SQLite reads there.
        let zeros = bytes[length..].iter().all(|byte| *byte == 0);
        let good =
            matches!(damage, DamageEffect::Detected(_)) || (zeros && damage == DamageEffect::Inert);
        assert!(good, "cut to {length} of {whole}: {damage:?}");
    }
    assert!(matches!(store.examine(&[("", &[])]), DamageEffect::Detected(_)));
}

#[test]
fn a_write_ahead_log_cut_at_any_length_leaves_an_older_state_that_a_head_gives_away() {
    let store = Store::new(40, true);
    let (file, log) = (&store.files[""], &store.files["-wal"]);
    let mut sizes = std::collections::BTreeSet::new();
    for length in (0..log.len()).step_by(512) {
        match store.examine(&[("", file), ("-wal", &log[..length])]) {
            DamageEffect::Older(size) => drop(sizes.insert(size)),
            DamageEffect::Detected(_) => {}
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
        workload::append(&ledger, number).unwrap();
        // Read until it stands still: a checkpoint moves pages from one file to the other.
        let files = || read(&path, &["", "-wal"]);
        let mut state = files();
        while std::mem::replace(&mut state, files()) != state {}
        states.push(state);
        heads.push(ledger.head().unwrap());
    }
    drop(ledger);
    let last = heads.last().unwrap();
    let back = folder.path().join("back.db");
    for (state, own) in states.iter().zip(&heads) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(with_suffix(&back, suffix));
        }
        for (suffix, bytes) in state {
            std::fs::write(with_suffix(&back, suffix), bytes).unwrap();
        }
        let reader = Reader::open(&back).unwrap();
        let report = verify(&reader, None).unwrap();
        assert_eq!(report.head, *own);
        assert!(warns_of_truncation(&report));
        assert!(verify(&reader, Some(own)).is_ok());
        assert_eq!(verify(&reader, Some(last)).is_err(), own.size < last.size);
    }
    // The file of one state with the write-ahead log of another: found, or one of the states.
    for (file, log) in [(5, 50), (50, 5), (0, 59), (59, 0), (30, 31), (31, 30)] {
        for (suffix, bytes) in [("", &states[file][""]), ("-wal", &states[log]["-wal"])] {
            std::fs::write(with_suffix(&back, suffix), bytes).unwrap();
        }
        let _ = std::fs::remove_file(with_suffix(&back, "-shm"));
        if let Ok(found) = answers(&back) {
            let head = report(&found).head.clone();
            assert!(heads.contains(&head), "{file} with {log}: {head:?}");
        }
    }
}
