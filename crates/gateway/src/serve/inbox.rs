//! The inbox: the folder into which approvers drop signed files.
//!
//! Writers to the folder are not trusted: a file is mere bytes until the kernel has verified it. So
//! a file is opened without following links, read up to a limit, and removed after it was
//! processed; a poll takes a bounded number of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use weaver_policy::approval::MAX_SIGNED_FILE_BYTES;

use crate::bounded_file::{self, ReadError};

/// The most files read in one poll; the rest wait for the next.
const MAX_FILES_PER_POLL: usize = 64;
/// How many of them are reserved for files that answer no pending request: operator statements,
/// standing approvals.
const MIN_OTHER_FILES: usize = 16;
/// The most directory entries examined in one poll.
const MAX_ENTRIES: usize = 262_144;
/// The extension of complete files. Files with another one are still being written, or not ours.
const EXTENSION: &str = "json";

/// Why a file of the inbox is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InboxError {
    /// The file cannot be opened, for example because it is a link.
    #[error("the file cannot be opened: {0}")]
    Open(io::Error),
    /// It is a pipe or another special file.
    #[error("it is not a regular file")]
    NotRegular,
    /// It cannot be read, or is too long.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A file read from the inbox.
#[derive(Debug)]
pub(crate) struct InboxFile {
    path: PathBuf,
    /// Its bytes, or why it could not be read.
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
    /// [`io::Error`], when it cannot be removed; the next poll finds it again.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }
}

/// Reads a bounded number of files. Answers to pending requests come first, round-robin over the
/// requests and the newest first within each, so that no flood of files can delay the answer to
/// another request. The result is in the order of modification times. A missing folder counts as
/// empty.
///
/// # Errors
/// [`io::Error`], when the folder cannot be read.
pub(crate) fn poll(folder: &Path, pending: &BTreeSet<String>) -> io::Result<Vec<InboxFile>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries
        .take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    let mut candidates: Vec<InboxEntry> =
        paths.map(|path| InboxEntry::from_path(path, pending)).collect();
    candidates.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    let mut turns: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    // The newest file of each request first, then the second of each; other files after the
    // answers.
    let mut ranked: Vec<(bool, usize, &InboxEntry)> = Vec::with_capacity(candidates.len());
    for entry in &candidates {
        let turn = turns.entry(entry.request.as_deref()).or_default();
        ranked.push((entry.request.is_none(), *turn, entry));
        *turn += 1;
    }
    ranked.sort_by_key(|(is_other_file, turn, _)| (*is_other_file, *turn));
    let answers = ranked
        .iter()
        .filter(|(is_other_file, ..)| !is_other_file)
        .take(MAX_FILES_PER_POLL - MIN_OTHER_FILES);
    let mut taken: Vec<&InboxEntry> = answers.map(|(.., entry)| *entry).collect();
    let remaining = MAX_FILES_PER_POLL - taken.len();
    let other_files = ranked.iter().filter(|(is_other_file, ..)| *is_other_file).take(remaining);
    taken.extend(other_files.map(|(.., entry)| *entry));
    taken.sort_by(|a, b| {
        (a.request.is_none(), a.modified, &a.path).cmp(&(b.request.is_none(), b.modified, &b.path))
    });
    Ok(taken
        .into_iter()
        .map(|entry| InboxFile { bytes: read(&entry.path), path: entry.path.clone() })
        .collect())
}

/// A directory entry that was not opened yet.
struct InboxEntry {
    path: PathBuf,
    /// Its modification time.
    modified: Option<SystemTime>,
    /// The pending request that its name refers to.
    request: Option<String>,
}

impl InboxEntry {
    fn from_path(path: PathBuf, pending: &BTreeSet<String>) -> Self {
        let metadata = path.symlink_metadata().ok();
        let modified = metadata.and_then(|metadata| metadata.modified().ok());
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let request_id = stem.rsplit_once('-').map_or(stem, |(request_id, _)| request_id);
        let request = pending.get(request_id).cloned();
        Self { path, modified, request }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, InboxError> {
    let file = open(path).map_err(InboxError::Open)?;
    let kind = file.metadata().map_err(ReadError::System)?;
    if !kind.is_file() {
        return Err(InboxError::NotRegular);
    }
    Ok(bounded_file::read_all(file, MAX_SIGNED_FILE_BYTES)?)
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    // A link could lead anywhere, and opening a pipe could block forever.
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
        let found = poll(folder.path(), &BTreeSet::new()).unwrap();
        let names: Vec<_> = found.iter().map(InboxFile::name).collect();
        assert_eq!(names, ["a.json", "b.json"]);
        assert_eq!(found[0].bytes.as_deref().unwrap(), b"a.json");
        found[0].remove().unwrap();
        found[0].remove().unwrap();
        assert_eq!(poll(folder.path(), &BTreeSet::new()).unwrap().len(), 1);
        assert!(poll(&folder.path().join("absent"), &BTreeSet::new()).unwrap().is_empty());
    }

    #[test]
    fn a_look_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..MAX_FILES_PER_POLL + 5 {
            write_at(&folder.path().join(format!("{n:04}.json")), "{}", n + 1);
        }
        write_at(&folder.path().join("0099.json"), &" ".repeat(MAX_SIGNED_FILE_BYTES + 1), 0);
        fs::remove_file(folder.path().join("0000.json")).unwrap();
        for n in 1..6 {
            fs::remove_file(folder.path().join(format!("{n:04}.json"))).unwrap();
        }
        let found = poll(folder.path(), &BTreeSet::new()).unwrap();
        assert_eq!(found.len(), MAX_FILES_PER_POLL);
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
        let found = poll(folder.path(), &waiting).unwrap();
        assert_eq!(found.len(), MAX_FILES_PER_POLL);
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
        let found = poll(folder.path(), &BTreeSet::new()).unwrap();
        assert_eq!(found.len(), 2, "a folder is not a file");
        assert!(found.iter().all(|dropped| dropped.bytes.is_err()), "{found:?}");
    }
}
