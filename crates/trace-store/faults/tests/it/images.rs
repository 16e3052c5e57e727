//! Power cuts: every moment of a recorded run, with what was not synced kept, lost, torn and in
//! another order. And the control: with syncs that do nothing, the same replay must find losses.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weaver_faults::image::{Disk, Image, Loss};
use weaver_faults::trace::Step;
use weaver_faults::workload::{self, Acknowledgement, RecoveredLog, check_recovery};
use weaver_types::ledger::{Durability, TreeHead};

use crate::support::{LEDGER, folder, is_long_run, run, run_without_syncs};

/// Opens images, each only once.
struct ImageChecker {
    folder: TempDir,
    /// The heads that were given out.
    heads: Vec<TreeHead>,
    seen: BTreeMap<u64, Result<RecoveredLog, String>>,
}

impl ImageChecker {
    fn new(acknowledged: &[Acknowledgement]) -> Self {
        let heads = acknowledged.iter().map(|one| one.head.clone()).collect();
        Self { folder: folder(), heads, seen: BTreeMap::new() }
    }

    fn open(&mut self, image: &Image) -> Result<RecoveredLog, String> {
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        let Self { folder, heads, seen } = self;
        let opened = seen.entry(hasher.finish()).or_insert_with(|| {
            let place = folder.path().join("image");
            write_image(image, &place);
            check_recovery(&place.join(LEDGER), heads)
        });
        opened.clone()
    }
}

/// Writes the files of an image. The shared memory of SQLite is filled with rubbish: what processes
/// wrote there through mappings is not in a trace, and nothing may depend on it.
pub(crate) fn write_image(image: &Image, place: &Path) {
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(place).unwrap();
    for (path, bytes) in image {
        let name = path.file_name().unwrap();
        let shared = name.to_string_lossy().ends_with("-shm");
        let rubbish = || vec![0xa5; bytes.len()];
        let bytes = if shared { rubbish() } else { bytes.clone() };
        std::fs::write(place.join(name), bytes).unwrap();
    }
}

/// What a replay found.
#[derive(Debug, Default)]
struct Findings {
    images: usize,
    /// Images in which something acknowledged is missing.
    losses: Vec<String>,
    /// Images that do not open, do not verify, or whose records are not those of the head.
    broken: Vec<String>,
}

/// Plays the steps on `disk`, and crashes after every call from the step `from` on.
fn replay(steps: &[Step], mut disk: Disk, from: usize) -> Findings {
    let all = acknowledged_in(steps);
    let mut bench = ImageChecker::new(&all);
    let (mut findings, mut stdout) = (Findings::default(), String::new());
    for (index, step) in steps.iter().enumerate() {
        disk.apply(step);
        match step {
            Step::Output(text) => stdout.push_str(text),
            Step::Read { .. } | Step::Close(_) => continue,
            _ => {}
        }
        if index < from {
            continue;
        }
        let acknowledged: Vec<_> = stdout.lines().filter_map(Acknowledgement::parse).collect();
        for loss in losses(&disk, index) {
            findings.images += 1;
            let place = || format!("after step {index} {loss:?} {}", describe(step));
            match bench.open(&disk.crash(loss)) {
                Err(error) => findings.broken.push(format!("{}: {error}", place())),
                Ok(RecoveredLog { size }) => {
                    let lost = workload::lost_batches(&acknowledged, size, loss != Loss::None);
                    if !lost.is_empty() {
                        findings.losses.push(format!("{}: {lost:?} of {size}", place()));
                    }
                }
            }
        }
    }
    println!("{} crashes, {} images", findings.images, bench.seen.len());
    findings
}

/// What may happen to a disk. Each crash draws others.
fn losses(disk: &Disk, index: usize) -> Vec<Loss> {
    if disk.is_fully_synced() {
        return vec![Loss::None];
    }
    let seeds = if is_long_run() { 40 } else { 1 };
    let seeds = (0..seeds).map(|seed| seed + index as u64 * 1_000);
    let torn = seeds.flat_map(|seed| [512, 4096].map(|page| Loss::Torn { page, seed }));
    [Loss::None, Loss::All].into_iter().chain(torn).collect()
}

fn acknowledged_in(steps: &[Step]) -> Vec<Acknowledgement> {
    let said = steps.iter().filter_map(|step| match step {
        Step::Output(text) => Some(text.as_str()),
        _ => None,
    });
    said.collect::<String>().lines().filter_map(Acknowledgement::parse).collect()
}

fn describe(step: &Step) -> String {
    match step {
        Step::Write { path, offset, bytes } => {
            format!("write of {} at {offset} in {}", bytes.len(), path.display())
        }
        other => format!("{other:?}"),
    }
}

/// Two sessions, one after the other.
fn two_sessions(folder: &Path) -> Vec<Step> {
    let outcome = run(&folder.join("two"), &["2", "10"], None);
    assert!(outcome.success, "{outcome:?}");
    // A barrier in each ten is acknowledged too.
    assert_eq!(outcome.acknowledged().len(), 22);
    outcome.steps
}

/// One that pauses long enough for a checkpoint in its middle, and the step before that.
fn run_with_pause(folder: &Path) -> (Vec<Step>, usize) {
    let outcome = run(&folder.join("paused"), &["1", "78", "70"], None);
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(outcome.acknowledged().len(), 86);
    let said = |(index, step): (usize, &Step)| matches!(step, Step::Output(_)).then_some(index);
    let before = outcome.steps.iter().enumerate().filter_map(said).nth(75).unwrap();
    (outcome.steps, before)
}

#[test]
fn a_power_cut_at_any_call_loses_nothing_acknowledged() {
    let folder = folder();
    let findings = replay(&two_sessions(folder.path()), Disk::new(), 0);
    assert_eq!(findings.broken, [""; 0]);
    assert_eq!(findings.losses, [""; 0]);
}

#[test]
fn a_power_cut_in_a_checkpoint_loses_nothing_acknowledged() {
    let folder = folder();
    let (steps, before) = run_with_pause(folder.path());
    let findings = replay(&steps, Disk::new(), if is_long_run() { 0 } else { before });
    assert_eq!(findings.broken, [""; 0]);
    assert_eq!(findings.losses, [""; 0]);
}

/// The control. A harness that sees no loss here would see none anywhere.
#[test]
fn without_syncs_the_same_replay_finds_losses() {
    let folder = folder();
    let findings = replay(&two_sessions(folder.path()), Disk::without_syncs(), 0);
    assert!(findings.losses.len() > 100, "{findings:?}");
    // What is lost is not only the last one.
    assert!(findings.losses.iter().any(|loss| loss.contains("[0, 1, 2, 3")), "{findings:?}");

    let outcome = run_without_syncs(&folder.path().join("dropped"), &["2", "10"]);
    assert!(outcome.success);
    assert!(outcome.steps.iter().all(|step| !matches!(step, Step::Sync(_))));
    let findings = replay(&outcome.steps, Disk::new(), outcome.steps.len() / 2);
    assert!(findings.losses.len() > 100, "{findings:?}");
    println!("{} losses, {} broken", findings.losses.len(), findings.broken.len());
}

/// What the trace must show for the replay to mean anything.
#[test]
fn the_shim_sees_what_the_ledger_does() {
    let folder = folder();
    let short = two_sessions(folder.path());
    let (paused, before) = run_with_pause(folder.path());
    let place = |steps: &[Step], name: &str| -> PathBuf {
        let opened = steps.iter().find_map(|step| match step {
            Step::Open { path, .. } if path.ends_with(name) => Some(path.clone()),
            _ => None,
        });
        opened.unwrap_or_else(|| panic!("{name} was never opened"))
    };
    // Between each acknowledgement of a synced batch and the one before it, the log was synced after
    // it was last written.
    let log = place(&short, &format!("{LEDGER}-wal"));
    let mut clean = false;
    let mut synced = 0;
    for step in &short {
        match step {
            Step::Write { path, .. } if *path == log => clean = false,
            Step::Sync(path) if *path == log => clean = true,
            Step::Output(line) => {
                let Some(said) = Acknowledgement::parse(line.trim_end()) else { continue };
                if said.durability == Durability::Disk {
                    assert!(clean, "{line} before its sync");
                    synced += 1;
                }
            }
            _ => {}
        }
    }
    assert!(synced >= 6, "{synced}");
    // The folder was synced before the first acknowledgement.
    let first = short.iter().position(|step| matches!(step, Step::Output(_))).unwrap();
    let parent = log.parent().unwrap().to_owned();
    assert!(short[..first].contains(&Step::Sync(parent)));
    // A checkpoint ran in the middle of the run that paused, and the log began anew after it.
    let said = |step: &&Step| matches!(step, Step::Output(_));
    let (file, log) = (place(&paused, LEDGER), place(&paused, &format!("{LEDGER}-wal")));
    let rest = &paused[before..];
    let checkpoint = rest.iter().position(|step| *step == Step::Sync(file.clone()));
    let rest = &rest[checkpoint.expect("no checkpoint while it was open")..];
    assert!(rest.iter().filter(said).count() >= 5, "the checkpoint came at the end");
    let anew =
        rest.iter().any(|step| matches!(step, Step::Write { path, offset: 0, .. } if *path == log));
    assert!(anew, "the write-ahead log never began anew");
}
