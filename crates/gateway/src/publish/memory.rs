//! Files that hold a checkpoint: replaced whole and synced, or left as they were.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use weaver_trace_store::checkpoint::{Checkpoint, CheckpointError, MAX_NOTE, Note};
use weaver_types::LogId;

/// Where the last checkpoint stands that a key signed for a log: beside the key, so that restoring
/// the ledger alone does not take it back.
pub fn beside(key: &Path, log: &LogId) -> PathBuf {
    suffixed(key, &format!(".{log}.signed"))
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Replaces a file: after this either the old or the new content is there, also after a power cut.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let fresh = suffixed(path, ".new");
    let mut file = File::create(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    drop(file);
    fs::rename(&fresh, path)?;
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Why the file of a checkpoint does not give one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointFileError {
    /// The system does not give the file out.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What it holds is no checkpoint.
    #[error("{}: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CheckpointError,
    },
}

/// The checkpoint in a file; `None` where there is no file. Its signature is not looked at: a false
/// one can only stop signing.
///
/// # Errors
/// [`CheckpointFileError`]: a file that cannot be read, or holds no checkpoint.
pub fn read(path: &Path) -> Result<Option<Checkpoint>, CheckpointFileError> {
    let unreadable = |source| CheckpointFileError::Unreadable { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_NOTE).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    let note = Note::parse(&bytes).and_then(|note| Checkpoint::parse(note.text()));
    note.map(Some).map_err(|source| CheckpointFileError::Damaged { path: path.to_owned(), source })
}
