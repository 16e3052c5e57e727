//! Folders in memory, the paths of the programs, and the settings of long runs.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weaver_faults::run::{Run, RunOutcome};

pub(crate) const LEDGER: &str = "ledger.db";

/// Whether all cases are run, not only a sample that is drawn with fixed seeds.
pub(crate) fn is_long_run() -> bool {
    std::env::var_os("WEAVER_FAULTS_LONG").is_some_and(|value| value == "1")
}

/// Which share of a long run over bits is run, and of how many shares: `WEAVER_FAULTS_SHARE=3/64`;
/// all bits unless set. Share `k` of `n` has the bits `k`, `k + n`, `k + 2n` and so on.
pub(crate) fn share() -> (usize, usize) {
    let Ok(share) = std::env::var("WEAVER_FAULTS_SHARE") else { return (0, 1) };
    let (share, shares) = share.split_once('/').unwrap();
    let (share, shares) = (share.parse().unwrap(), shares.parse().unwrap());
    assert!(share < shares, "share {share} of {shares}");
    (share, shares)
}

/// A folder for many small stores, in memory if possible: none of these tests needs the files to
/// survive a real crash.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap()
}

/// The shared object, which Cargo puts beside the tests.
pub(crate) fn shim() -> PathBuf {
    let beside = std::env::current_exe().unwrap().with_file_name("libweaver_faults_shim.so");
    assert!(beside.exists(), "{} was not built", beside.display());
    beside
}

/// The program that runs every query.
pub(crate) fn query_program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_query"))
}

pub(crate) fn append() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_append"))
}

/// Runs `append` on the ledger in the folder `place`, with these numbers.
pub(crate) fn run(place: &Path, numbers: &[&str], fault: Option<&str>) -> RunOutcome {
    run_append(place, numbers, fault, false)
}

/// The same, with syncs that report success without being done.
pub(crate) fn run_without_syncs(place: &Path, numbers: &[&str]) -> RunOutcome {
    run_append(place, numbers, None, true)
}

fn run_append(place: &Path, numbers: &[&str], fault: Option<&str>, drop_syncs: bool) -> RunOutcome {
    std::fs::create_dir_all(place).unwrap();
    let ledger = place.canonicalize().unwrap().join(LEDGER);
    let arguments = [&[ledger.to_str().unwrap()], numbers].concat();
    let run = Run {
        program: &append(),
        shim: &shim(),
        folder: place,
        arguments: &arguments,
        fault,
        drop_syncs,
    };
    run.run().unwrap()
}

/// SplitMix64, so that a seed draws the same everywhere.
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}
