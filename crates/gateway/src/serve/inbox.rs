//! The folder into which approvers drop what they signed.
//!
//! Whoever can write there is not trusted: every file is only bytes until the kernel has verified
//! it. So a file is opened without following links, read within a bound, and removed once it was
//! taken in; a look takes a bounded number of files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use weaver_policy::approval::MAX_SIGNED_FILE;

use crate::config::file;

/// How many files one look takes; the others wait for the next.
const MAX_LOOK: usize = 64;
/// How many names one look goes through, whatever they are.
const MAX_NAMES: usize = 262_144;
/// The ending of the files that count; others are being written, or are not ours.
const ENDING: &str = "json";

/// A file that lay in the inbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    path: PathBuf,
    /// Its bytes, or what was wrong with the file itself.
    pub(crate) bytes: Result<Vec<u8>, String>,
}

impl Dropped {
    /// The name of the file, for the log.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Takes the file away, after it was taken in.
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

/// What lies in the folder now, in the order of the names. A folder that is not there is empty.
///
/// # Errors
/// [`io::Error`], when the folder cannot be read.
pub(crate) fn look(folder: &Path) -> io::Result<Vec<Dropped>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut paths: Vec<PathBuf> = entries
        .take(MAX_NAMES)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
        .collect();
    paths.sort();
    paths.truncate(MAX_LOOK);
    Ok(paths.into_iter().map(|path| Dropped { bytes: read(&path), path }).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = open(path).map_err(|error| format!("the file cannot be opened: {error}"))?;
    let kind = file.metadata().map_err(|error| format!("the file cannot be read: {error}"))?;
    if !kind.is_file() {
        return Err("it is no regular file".to_owned());
    }
    file::all(file, MAX_SIGNED_FILE).map_err(|error| error.to_string())
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
    fn only_whole_json_files_are_taken_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.json", "c.json.part", "d"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let found = look(folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(Dropped::name).collect();
        assert_eq!(names, ["a.json", "b.json"]);
        assert_eq!(found[0].bytes.as_deref(), Ok(b"a.json".as_slice()));
        found[0].remove().unwrap();
        found[0].remove().unwrap();
        assert_eq!(look(folder.path()).unwrap().len(), 1);
        assert!(look(&folder.path().join("absent")).unwrap().is_empty());
    }

    #[test]
    fn a_look_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..MAX_LOOK + 5 {
            fs::write(folder.path().join(format!("{n:04}.json")), "{}").unwrap();
        }
        fs::write(folder.path().join("0000.json"), vec![b' '; MAX_SIGNED_FILE + 1]).unwrap();
        let found = look(folder.path()).unwrap();
        assert_eq!(found.len(), MAX_LOOK);
        assert!(found[0].bytes.as_ref().is_err_and(|problem| problem.contains("more than")));
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
        let found = look(folder.path()).unwrap();
        assert_eq!(found.len(), 2, "a folder is no file");
        assert!(found.iter().all(|dropped| dropped.bytes.is_err()), "{found:?}");
    }
}
