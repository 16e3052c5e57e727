//! Logs that SQLite wrote, cut and changed. SQLite itself says how many commits are left.

use std::path::PathBuf;

use rusqlite::Connection;

use super::*;

/// A database with a write-ahead log of some commits, as copies of both files, and where each
/// commit ends.
struct Made {
    base: Vec<u8>,
    log: Vec<u8>,
    ends: Vec<usize>,
}

/// `turns` beyond one make the log begin anew over an older, longer one.
fn made(turns: usize) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let place = folder.path().join("a.db-wal");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)",
    )
    .unwrap();
    for turn in 1..turns {
        for _ in 0..20 + turn {
            db.execute("INSERT INTO t VALUES (zeroblob(9000))", []).unwrap();
        }
        db.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    }
    db.execute("DELETE FROM t", []).unwrap();
    db.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    let mut ends = Vec::new();
    for n in 0..4 {
        db.execute("INSERT INTO t VALUES (?1 || hex(zeroblob(3000)))", [n]).unwrap();
        let tail = super::read(&place).unwrap();
        assert_eq!(tail.torn, 0, "turn {turns}, commit {n}");
        ends.push(usize::try_from(tail.whole).unwrap());
    }
    assert!(ends.is_sorted() && ends.len() == 4);
    Made { base: std::fs::read(&path).unwrap(), log: std::fs::read(&place).unwrap(), ends }
}

/// How many commits SQLite finds.
fn rows(base: &[u8], log: &[u8]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("a.db");
    std::fs::write(&path, base).unwrap();
    std::fs::write(folder.path().join("a.db-wal"), log).unwrap();
    let db = Connection::open(path).unwrap();
    db.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap() as usize
}

fn tail(log: &[u8]) -> WalTail {
    walk(&mut &*log, log.len() as u64).unwrap()
}

#[test]
fn what_an_earlier_turn_left_is_not_torn() {
    for turns in 1..4 {
        let made = made(turns);
        let end = *made.ends.last().unwrap();
        assert_eq!(tail(&made.log), WalTail { whole: end as u64, torn: 0 });
        assert_eq!(made.log.len() > end, turns > 1, "the older turn was longer");
    }
}

#[test]
fn a_log_cut_anywhere_says_what_was_cut() {
    let made = made(1);
    let log = made.log.get(..*made.ends.last().unwrap()).unwrap();
    for cut in (0..log.len()).step_by(509).chain(made.ends.iter().copied()) {
        let found = tail(&log[..cut]);
        let commits = made.ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(rows(&made.base, &log[..cut]), commits, "cut at {cut}");
        let whole = match commits.checked_sub(1) {
            Some(last) => made.ends[last],
            None => HEADER.min(cut) * usize::from(cut >= HEADER),
        };
        assert_eq!(
            found,
            WalTail { whole: whole as u64, torn: (cut - whole) as u64 },
            "cut at {cut}"
        );
    }
}

#[test]
fn a_changed_byte_ends_the_whole_commits_where_sqlite_ends_them() {
    let made = made(1);
    let log = made.log.get(..*made.ends.last().unwrap()).unwrap();
    for place in (0..log.len()).step_by(397) {
        let mut changed = log.to_vec();
        changed[place] ^= 0x10;
        let found = tail(&changed);
        let commits = made.ends.iter().filter(|end| **end as u64 <= found.whole).count();
        assert_eq!(rows(&made.base, &changed), commits, "byte {place}");
        assert!(found.torn > 0, "byte {place}");
        assert!(found.whole <= place as u64, "byte {place}");
    }
}

#[test]
fn pages_that_were_lost_before_a_later_one_are_torn() {
    let made = made(3);
    let older = *made.ends.last().unwrap();
    let mut log = made.log.clone();
    let frame = FRAME + 4096;
    // A frame of this turn, a gap where the older turn shows, and one more frame of this turn.
    let copy = log[HEADER..HEADER + frame].to_vec();
    log[older + frame..older + 2 * frame].copy_from_slice(&copy);
    assert_eq!(tail(&log), WalTail { whole: older as u64, torn: 2 * frame as u64 });
    // A hole where a frame should be.
    let mut log = made.log.clone();
    log[older..older + frame].fill(0);
    assert_eq!(tail(&log), WalTail { whole: older as u64, torn: frame as u64 });
}

#[test]
fn files_that_are_no_log_are_torn_as_a_whole_and_empty_ones_are_not() {
    assert_eq!(tail(b""), WalTail::default());
    assert_eq!(tail(&[0; 4096]), WalTail::default());
    assert_eq!(tail(b"short"), WalTail { whole: 0, torn: 5 });
    assert_eq!(tail(&[7; 100]), WalTail { whole: 0, torn: 100 });
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read(&folder.path().join("none")), Ok(WalTail::default()));
}
