//! The places that checkpoints are published to: a file, a command or an HTTP address.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::Mutex;
use weaver_drivers::{HttpPoster, PostError};
use weaver_trace_store::checkpoint::{CheckpointError, MAX_NOTE_BYTES, SignedNote};

use crate::clients::replace_public_file;
use crate::config;

/// Why a checkpoint was not delivered.
#[derive(Debug, thiserror::Error)]
pub(super) enum PublishError {
    #[error("it cannot be written: {0}")]
    File(io::Error),
    #[error("it cannot be run: {0}")]
    Command(io::Error),
    #[error("it ended with {0}")]
    ExitStatus(std::process::ExitStatus),
    #[error("it did not end within {0:?}")]
    TimedOut(Duration),
    #[error(transparent)]
    Http(#[from] PostError),
    #[error("what it answered counts for nothing: {0}")]
    Answer(#[from] CheckpointError),
    #[error("it answered with another checkpoint")]
    WrongCheckpoint,
}

/// A target, which accepts a checkpoint within its timeout.
pub(super) enum Target {
    File(FileTarget),
    Command(CommandTarget),
    Http(HttpPoster),
}

impl Target {
    /// The target that the configuration describes.
    pub(super) fn from_config(
        target: &config::PublishTarget,
        folder: PathBuf,
    ) -> Result<Self, PublishError> {
        let timeout = target.timeout;
        Ok(match &target.location {
            config::CheckpointTarget::File(path) => {
                Self::File(FileTarget { path: path.clone(), writing: Arc::default(), timeout })
            }
            config::CheckpointTarget::Command(words) => {
                Self::Command(CommandTarget { words: words.clone(), folder, timeout })
            }
            config::CheckpointTarget::Http(url) => {
                Self::Http(HttpPoster::new(url, timeout, MAX_NOTE_BYTES)?)
            }
        })
    }

    /// Whether it may return cosignatures.
    pub(super) fn cosigns(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Delivers the note entirely or not at all, and returns the note that the target answered
    /// with.
    pub(super) async fn publish(
        &self,
        note: &SignedNote,
    ) -> Result<Option<SignedNote>, PublishError> {
        let text = note.to_string();
        let poster = match self {
            Self::File(file) => return within(file.timeout, file.write(text)).await,
            Self::Command(command) => return within(command.timeout, command.run(&text)).await,
            Self::Http(poster) => poster,
        };
        let answer = poster.send(text).await?;
        // Any other successful answer only acknowledges.
        let Ok(answer) = SignedNote::parse(&answer) else { return Ok(None) };
        if answer.text() == note.text() {
            Ok(Some(answer))
        } else {
            Err(PublishError::WrongCheckpoint)
        }
    }
}

/// Delivers to a target that answers nothing.
async fn within(
    timeout: Duration,
    delivery: impl Future<Output = Result<(), PublishError>>,
) -> Result<Option<SignedNote>, PublishError> {
    let outcome = tokio::time::timeout(timeout, delivery).await;
    outcome.map_err(|_| PublishError::TimedOut(timeout))??;
    Ok(None)
}

pub(super) struct FileTarget {
    path: PathBuf,
    /// One write at a time: a delivery that timed out may still be writing. Later ones wait for it
    /// without a thread.
    writing: Arc<Mutex<()>>,
    timeout: Duration,
}

impl FileTarget {
    async fn write(&self, text: String) -> Result<(), PublishError> {
        let (path, turn) = (self.path.clone(), Arc::clone(&self.writing).lock_owned().await);
        let written = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            make_folder(&path)?;
            replace_public_file(&path, &text)
        });
        written.await.map_err(io::Error::other).flatten().map_err(PublishError::File)
    }
}

/// Makes the folder of a file. Only that one: where a whole path is missing, a file system is
/// probably not mounted, and the file must not lie on this disk instead.
fn make_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.map(std::fs::create_dir) {
        Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

pub(super) struct CommandTarget {
    words: Vec<String>,
    folder: PathBuf,
    timeout: Duration,
}

impl CommandTarget {
    async fn run(&self, text: &str) -> Result<(), PublishError> {
        let (program, arguments) = self
            .words
            .split_first()
            .ok_or_else(|| PublishError::Command(io::Error::from(io::ErrorKind::InvalidInput)))?;
        let mut command = tokio::process::Command::new(program);
        // The gateway's standard output may carry the MCP protocol, so the command must not write
        // to it.
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        let mut child = command.kill_on_drop(true).spawn().map_err(PublishError::Command)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command may ignore its input; only its exit status matters.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
        let status = child.wait().await.map_err(PublishError::Command)?;
        if status.success() { Ok(()) } else { Err(PublishError::ExitStatus(status)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "log\n1\nAAAA\n\n\u{2014} log AAAAAAAA\n";

    #[tokio::test]
    async fn the_folder_of_a_file_is_made_but_no_path_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let note = SignedNote::parse(NOTE.as_bytes()).unwrap();
        let target = |path: &str| {
            Target::File(FileTarget {
                path: folder.path().join(path),
                writing: Arc::default(),
                timeout: Duration::from_secs(5),
            })
        };
        target("checkpoints/latest.txt").publish(&note).await.unwrap();
        target("checkpoints/latest.txt").publish(&note).await.unwrap();
        let written = std::fs::read_to_string(folder.path().join("checkpoints/latest.txt"));
        assert_eq!(written.unwrap(), note.to_string());
        let absent = target("not/mounted/latest.txt").publish(&note).await.unwrap_err();
        assert!(matches!(absent, PublishError::File(_)), "{absent}");
        assert!(!folder.path().join("not").exists());
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_cannot_be_written_in_time_is_a_failure_and_may_be_written_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint.txt");
        let (writing, timeout) = (Arc::<Mutex<()>>::default(), Duration::from_secs(5));
        let target = FileTarget { path: path.clone(), writing: Arc::clone(&writing), timeout };
        let target = Target::File(target);
        let note = SignedNote::parse(NOTE.as_bytes()).unwrap();
        // An earlier write that does not end, as on a server of files that is gone.
        let hanging = writing.lock_owned().await;
        let failed = tokio::time::timeout(2 * timeout, target.publish(&note)).await;
        let failed = failed.expect("it ends").unwrap_err();
        assert!(matches!(failed, PublishError::TimedOut(limit) if limit == timeout), "{failed}");
        assert!(!path.exists());
        drop(hanging);
        tokio::time::resume();
        assert!(target.publish(&note).await.unwrap().is_none());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), note.to_string());
    }
}
