//! The folder into which approvers drop what they signed.
//!
//! Whoever can write there is not trusted: every file is only bytes until the kernel has verified
//! it. So a file is opened without following links, read within a bound, and removed once it was
//! taken in; a look takes a bounded number of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use weaver_policy::approval::MAX_SIGNED_FILE;

use crate::bounded_file::{self, ReadError};

/// How many files one poll reads; the rest wait for the next poll.
const MAX_LOOK: usize = 64;
/// How many of them are for files that answer no request that waits: words of operators, standing
/// approvals.
const MIN_OTHERS: usize = 16;
/// How many directory entries one poll examines.
const MAX_NAMES: usize = 262_144;
/// The ending of the files that count; others are being written, or are not ours.
const ENDING: &str = "json";

/// Why a file of the inbox is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InboxError {
    /// The system does not open it, as where it is a link.
    #[error("the file cannot be opened: {0}")]
    Open(io::Error),
    /// It is a pipe or the like.
    #[error("it is no regular file")]
    NotRegular,
    /// It cannot be read, or is too long.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A file read from the inbox.
#[derive(Debug)]
pub(crate) struct InboxFile {
    path: PathBuf,
    /// Its bytes, or what was wrong with the file itself.
    pub(crate) bytes: Result<Vec<u8>, InboxError>,
}

impl InboxFile {
    /// The name of the file, for the log.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Removes the file after it was processed.
    ///
    /// # Errors
    /// [`io::Error`], when it cannot be removed; it will be found again.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// The files now in the folder. Answers to pending requests come first, the requests by turns, and
/// within each the newest first, so that an answer does not wait behind files left there before.
/// The files taken are returned in the order of their times. A missing folder is empty.
///
/// # Errors
/// [`io::Error`], when the folder cannot be read.
pub(crate) fn look(folder: &Path, waiting: &BTreeSet<String>) -> io::Result<Vec<InboxFile>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let paths = entries
        .take(MAX_NAMES)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
    let mut found: Vec<InboxEntry> = paths.map(|path| InboxEntry::of(path, waiting)).collect();
    found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.path.cmp(&b.path)));
    let mut of_request: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    // The newest of each request first, then the second of each; other files after the answers.
    let mut ranked: Vec<(bool, usize, &InboxEntry)> = Vec::with_capacity(found.len());
    for one in &found {
        let turn = of_request.entry(one.request.as_deref()).or_default();
        ranked.push((one.request.is_none(), *turn, one));
        *turn += 1;
    }
    ranked.sort_by_key(|(other, turn, _)| (*other, *turn));
    let answers = ranked.iter().filter(|(other, ..)| !other).take(MAX_LOOK - MIN_OTHERS);
    let mut taken: Vec<&InboxEntry> = answers.map(|(.., one)| *one).collect();
    let room = MAX_LOOK - taken.len();
    let others = ranked.iter().filter(|(other, ..)| *other).take(room);
    taken.extend(others.map(|(.., one)| *one));
    taken.sort_by(|a, b| {
        (a.request.is_none(), a.at, &a.path).cmp(&(b.request.is_none(), b.at, &b.path))
    });
    Ok(taken
        .into_iter()
        .map(|one| InboxFile { bytes: read(&one.path), path: one.path.clone() })
        .collect())
}

/// A file by its name and time, not opened yet.
struct InboxEntry {
    path: PathBuf,
    /// When it was written last.
    at: Option<SystemTime>,
    /// The request that waits and that it is named after.
    request: Option<String>,
}

impl InboxEntry {
    fn of(path: PathBuf, waiting: &BTreeSet<String>) -> Self {
        let about = path.symlink_metadata().ok();
        let at = about.and_then(|about| about.modified().ok());
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let about = stem.rsplit_once('-').map_or(stem, |(about, _)| about);
        let request = waiting.get(about).cloned();
        Self { path, at, request }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, InboxError> {
    let file = open(path).map_err(InboxError::Open)?;
    let kind = file.metadata().map_err(ReadError::System)?;
    if !kind.is_file() {
        return Err(InboxError::NotRegular);
    }
    Ok(bounded_file::all(file, MAX_SIGNED_FILE)?)
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    // A link could lead anywhere, and a pipe could wait for ever.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_json_files_are_taken_in_the_order_of_their_time() {
        let folder = tempfile::tempdir().unwrap();
        for (at, name) in ["a.json", "b.json", "c.json.part", "d"].into_iter().enumerate() {
            write_at(&folder.path().join(name), name, at);
        }
        let found = look(folder.path(), &BTreeSet::new()).unwrap();
        let names: Vec<_> = found.iter().map(InboxFile::name).collect();
        assert_eq!(names, ["a.json", "b.json"]);
        assert_eq!(found[0].bytes.as_deref().unwrap(), b"a.json");
        found[0].remove().unwrap();
        found[0].remove().unwrap();
        assert_eq!(look(folder.path(), &BTreeSet::new()).unwrap().len(), 1);
        assert!(look(&folder.path().join("absent"), &BTreeSet::new()).unwrap().is_empty());
    }

    #[test]
    fn a_look_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..MAX_LOOK + 5 {
            write_at(&folder.path().join(format!("{n:04}.json")), "{}", n + 1);
        }
        write_at(&folder.path().join("0099.json"), &" ".repeat(MAX_SIGNED_FILE + 1), 0);
        fs::remove_file(folder.path().join("0000.json")).unwrap();
        for n in 1..6 {
            fs::remove_file(folder.path().join(format!("{n:04}.json"))).unwrap();
        }
        let found = look(folder.path(), &BTreeSet::new()).unwrap();
        assert_eq!(found.len(), MAX_LOOK);
        assert!(
            found[0].bytes.as_ref().is_err_and(|error| error.to_string().contains("more than"))
        );
    }

    fn write_at(path: &Path, text: &str, seconds: usize) {
        fs::write(path, text).unwrap();
        let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds as u64);
        File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }

    #[test]
    fn an_answer_does_not_wait_behind_junk() {
        let (folder, junk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // Names of few files: as many files are slow to write. NTFS has 1,023 names of one at most.
        for one in 0..200 {
            write_at(&junk.path().join(one.to_string()), "{}", one % 10);
        }
        for n in 0..100_000 {
            let name = if n % 2 == 0 { format!("0-{n}.json") } else { format!("req_2-{n}.json") };
            let one = junk.path().join((n % 200).to_string());
            fs::hard_link(one, folder.path().join(name)).unwrap();
        }
        // Older than all of it, and the name of a word is as good as any.
        write_at(&folder.path().join("req_1-abc.json"), "answer", 1);
        write_at(&folder.path().join("zz-word.json"), "word", 20);
        let waiting = BTreeSet::from(["req_1".to_owned(), "req_2".to_owned()]);
        let found = look(folder.path(), &waiting).unwrap();
        assert_eq!(found.len(), MAX_LOOK);
        let names: Vec<_> = found.iter().map(InboxFile::name).collect();
        for name in ["req_1-abc.json", "zz-word.json"] {
            assert!(names.contains(&name.to_owned()), "{name}: {names:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("a.json"))
            .unwrap();
        let pipe = folder.path().join("b.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::create_dir(folder.path().join("c.json")).unwrap();
        let found = look(folder.path(), &BTreeSet::new()).unwrap();
        assert_eq!(found.len(), 2, "a folder is no file");
        assert!(found.iter().all(|dropped| dropped.bytes.is_err()), "{found:?}");
    }
}
