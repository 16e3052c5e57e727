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
        assert_eq!(tail.torn_bytes, 0, "turn {turns}, commit {n}");
        ends.push(usize::try_from(tail.committed_bytes).unwrap());
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
    scan_frames(&mut &*log, log.len() as u64).unwrap()
}

#[test]
fn what_an_earlier_turn_left_is_not_torn() {
    for turns in 1..4 {
        let made = made(turns);
        let end = *made.ends.last().unwrap();
        assert_eq!(tail(&made.log), WalTail { committed_bytes: end as u64, torn_bytes: 0 });
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
            None => HEADER_BYTES.min(cut) * usize::from(cut >= HEADER_BYTES),
        };
        assert_eq!(
            found,
            WalTail { committed_bytes: whole as u64, torn_bytes: (cut - whole) as u64 },
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
        let commits = made.ends.iter().filter(|end| **end as u64 <= found.committed_bytes).count();
        assert_eq!(rows(&made.base, &changed), commits, "byte {place}");
        assert!(found.torn_bytes > 0, "byte {place}");
        assert!(found.committed_bytes <= place as u64, "byte {place}");
    }
}

#[test]
fn pages_that_were_lost_before_a_later_one_are_torn() {
    let made = made(3);
    let older = *made.ends.last().unwrap();
    let mut log = made.log.clone();
    let frame = FRAME_HEADER_BYTES + 4096;
    // A frame of this turn, a gap where the older turn shows, and one more frame of this turn.
    let copy = log[HEADER_BYTES..HEADER_BYTES + frame].to_vec();
    log[older + frame..older + 2 * frame].copy_from_slice(&copy);
    assert_eq!(tail(&log), WalTail { committed_bytes: older as u64, torn_bytes: 2 * frame as u64 });
    // A hole where a frame should be.
    let mut log = made.log.clone();
    log[older..older + frame].fill(0);
    assert_eq!(tail(&log), WalTail { committed_bytes: older as u64, torn_bytes: frame as u64 });
}

#[test]
fn files_that_are_no_log_are_torn_as_a_whole_and_empty_ones_are_not() {
    assert_eq!(tail(b""), WalTail::default());
    assert_eq!(tail(&[0; 4096]), WalTail::default());
    assert_eq!(tail(b"short"), WalTail { committed_bytes: 0, torn_bytes: 5 });
    assert_eq!(tail(&[7; 100]), WalTail { committed_bytes: 0, torn_bytes: 100 });
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read(&folder.path().join("none")), Ok(WalTail::default()));
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let below = folder.path().join("file").join("a.db-wal");
    assert!(read(&below).is_err(), "what cannot be read is not what is not there");
}

/// A header of the log with a checksum that fits.
fn header(magic: u32, version: u32, page: u32, salts: (u32, u32)) -> Vec<u8> {
    let words = [magic, version, page, 0, salts.0, salts.1];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let big_endian = magic & 1 == 1;
    let sum = Checksum::default();
    let generation = WalGeneration { page: 0, big_endian, salts, sum };
    let mut sum = Checksum::default();
    generation.add(&bytes, &mut sum);
    bytes.extend(sum.first.to_be_bytes());
    bytes.extend(sum.second.to_be_bytes());
    bytes
}

#[test]
fn a_header_that_sqlite_would_not_take_begins_no_generation() {
    for (magic, version, page, taken) in [
        (MAGIC, VERSION, 4_096, true),
        (MAGIC + 1, VERSION, 4_096, true),
        (MAGIC + 2, VERSION, 4_096, false),
        (MAGIC - 1, VERSION, 4_096, false),
        (MAGIC, VERSION + 1, 4_096, false),
        (MAGIC, VERSION, 512, true),
        (MAGIC, VERSION, 256, false),
        (MAGIC, VERSION, 65_536, true),
        (MAGIC, VERSION, 131_072, false),
        (MAGIC, VERSION, 4_095, false),
        (MAGIC, VERSION, 1_536, false),
        (MAGIC, VERSION, 0, false),
    ] {
        let bytes = header(magic, version, page, (7, 9));
        let found = WalGeneration::parse(&bytes);
        let wanted = taken.then_some((page as usize, magic == MAGIC + 1, (7, 9)));
        let found = found.map(|found| (found.page, found.big_endian, found.salts));
        assert_eq!(found, wanted, "{magic:x} {version} {page}");
        for byte in 16..32 {
            let mut changed = bytes.clone();
            changed[byte] ^= 1;
            assert!(WalGeneration::parse(&changed).is_none(), "byte {byte}");
        }
    }
}

#[test]
fn frames_of_this_generation_or_of_none_that_was_are_its_own() {
    let owns = |own: (u32, u32), found: (u32, u32)| {
        let generation = WalGeneration::parse(&header(MAGIC, VERSION, 512, own)).unwrap();
        let words = [1, 0, found.0, found.1];
        let frame: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        generation.owns(&frame)
    };
    for (own, found, wanted) in [
        ((5, 9), (5, 9), true),
        ((5, 9), (5, 8), true),
        ((5, 9), (4, 9), false),
        ((5, 9), (4, 8), false),
        ((5, 9), (6, 8), true),
        ((5, 9), (0, 0), true),
        ((5, 9), (0, 9), false),
        ((5, 9), (1, 0), false),
        ((0, 9), (u32::MAX, 9), false),
        ((1 << 31, 9), (0, 9), true),
        (((1 << 31) - 1, 9), (0, 9), false),
    ] {
        assert_eq!(owns(own, found), wanted, "{found:?} in {own:?}");
    }
}

#[test]
fn a_frame_that_the_file_ends_in_is_torn_from_its_first_byte() {
    let made = made(1);
    for end in made.ends.iter().copied().chain([HEADER_BYTES]) {
        for more in (0..26).filter(|more| end + more <= made.log.len()) {
            let found = tail(&made.log[..end + more]);
            let wanted = WalTail { committed_bytes: end as u64, torn_bytes: more as u64 };
            assert_eq!(found, wanted, "{more} bytes after {end}");
        }
    }
}

#[test]
fn a_commit_behind_a_frame_of_an_older_generation_is_not_whole() {
    let made = made(1);
    let frame = FRAME_HEADER_BYTES + 4_096;
    let end = made.ends[1];
    let mut older = made.log[end..end + frame].to_vec();
    let salt = word(&older, 8).wrapping_sub(1);
    older[8..12].copy_from_slice(&salt.to_be_bytes());
    let log = [&made.log[..end], &older, &made.log[end..]].concat();
    let last = *made.ends.last().unwrap() + frame;
    let found = tail(&log[..last]);
    assert_eq!(found, WalTail { committed_bytes: end as u64, torn_bytes: (last - end) as u64 });
}

/// Input whose every second read is interrupted by a signal.
struct Interrupted<'a> {
    bytes: &'a [u8],
    interrupt: bool,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt { Err(ErrorKind::Interrupted.into()) } else { self.bytes.read(buffer) }
    }
}

/// Input that ends with an error.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() { Err(ErrorKind::Other.into()) } else { self.0.read(buffer) }
    }
}

#[test]
fn an_interrupted_read_is_repeated_and_a_failed_one_is_an_error() {
    let Made { log, .. } = made(1);
    let length = log.len() as u64;
    let whole = tail(&log);
    let found = scan_frames(&mut Interrupted { bytes: &log, interrupt: false }, length).unwrap();
    assert_eq!(found, whole);
    let found = scan_frames(&mut Failing(&log[..log.len() / 2]), length);
    assert_eq!(found.unwrap_err().kind(), ErrorKind::Other);
}
