//! Checkpoint files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use weaver_trace_store::checkpoint::{Checkpoint, CheckpointError, MAX_NOTE_BYTES, SignedNote};
use weaver_types::LogId;

/// The file beside the key that holds the last checkpoint signed with it for `log`. It is not in
/// the ledger, so restoring an old ledger from a backup does not hide what was already signed.
pub fn signed_checkpoint_path(key: &Path, log: &LogId) -> PathBuf {
    key.with_added_extension(format!("{log}.signed"))
}

/// Why no checkpoint could be read from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointFileError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content is not a checkpoint.
    #[error("{}: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CheckpointError,
    },
}

/// The checkpoint in a file; `None` if there is no file. The signature is not verified: a forged
/// checkpoint can only stop signing.
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
    let max_bytes = u64::try_from(MAX_NOTE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(max_bytes).read_to_end(&mut bytes).map_err(unreadable)?;
    let note = SignedNote::parse(&bytes).and_then(|note| Checkpoint::parse(note.text()));
    note.map(Some).map_err(|source| CheckpointFileError::Damaged { path: path.to_owned(), source })
}
