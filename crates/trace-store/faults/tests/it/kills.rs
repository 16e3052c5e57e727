//! A process that is killed from outside, at no chosen moment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use weaver_faults::workload::{self, Acknowledgement, check_recovery};

use crate::support::{LEDGER, SplitMix64, append, folder, is_long_run};

/// Kills `append` after `acks` acknowledgements and `pause`; gives all that it acknowledged.
fn append_until_killed(ledger: &Path, acks: usize, pause: Duration) -> Vec<Acknowledgement> {
    let mut child = Command::new(append())
        .args([ledger.to_str().unwrap(), "1000", "1000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = move || {
        let mut line = String::new();
        let length = out.read_line(&mut line).unwrap();
        (length > 0).then_some(line)
    };
    let mut lines: Vec<String> = std::iter::from_fn(&mut line).take(acks).collect();
    std::thread::sleep(pause);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success(), "it ended by itself: {lines:?}");
    lines.extend(std::iter::from_fn(line));
    // A torn last line was not heard.
    let whole = lines.iter().filter_map(|line| line.strip_suffix('\n'));
    whole.map(|line| Acknowledgement::parse(line).expect(line)).collect()
}

/// On the real disk, unlike the other tests. `WEAVER_FAULTS_LONG=1` kills 500 times.
#[test]
fn killed_again_and_again_it_loses_nothing_acknowledged() {
    let rounds = if is_long_run() { 500 } else { 30 };
    let mut draw = SplitMix64(1);
    let mut folder = tempfile::tempdir().unwrap();
    let (mut kept, mut heads) = (0, Vec::new());
    for round in 0..rounds {
        if round % 25 == 0 {
            folder = tempfile::tempdir().unwrap();
            (kept, heads) = (0, Vec::new());
        }
        let ledger = folder.path().join(LEDGER);
        let pause = Duration::from_micros(draw.next() % 4_000);
        let acknowledged = append_until_killed(&ledger, draw.below(20), pause);
        heads.extend(acknowledged.iter().map(|one| one.head.clone()));
        let left = check_recovery(&ledger, &heads)
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert!(left.size >= kept, "round {round}: {} of {kept}", left.size);
        assert_eq!(
            workload::lost_batches(&acknowledged, left.size, false),
            [0; 0],
            "round {round}"
        );
        // The check appended one more.
        kept = left.size + 1;
    }
    println!("killed {rounds} times");
}

/// After a crash, opening reads the write-ahead log and the ends of the log, not the log.
#[test]
fn opening_after_a_crash_reads_no_more_of_a_longer_log() {
    let folder = folder();
    let read = |batches: &str| {
        let place = folder.path().join(batches);
        // Written and closed, so that all of it lies in the file; then killed with a little more.
        assert!(crate::support::run(&place, &["1", batches], None).success);
        crate::support::run(&place, &["1", "10"], Some("sync:4:kill-after"));
        let opened = crate::support::run(&place, &["1", "0"], None);
        assert!(opened.success, "{opened:?}");
        let bytes = opened.steps.iter().filter_map(|step| match step {
            weaver_faults::trace::Step::Read { bytes, .. } => Some(*bytes),
            _ => None,
        });
        let bytes: u64 = bytes.sum();
        let file = std::fs::metadata(place.join(LEDGER)).unwrap().len();
        println!("{batches} events, {file} bytes: {bytes} read");
        (bytes, file)
    };
    // What opening reads differs by a third from crash to crash, with the pages that were in the
    // write-ahead log; both logs are long enough that this is no matter of their length.
    let ((short, small), (long, large)) = (read("1500"), read("9000"));
    assert!(large > 5 * small, "{small} {large}");
    assert!(long < 2 * short, "{short} bytes of {small}, {long} bytes of {large}");
}
