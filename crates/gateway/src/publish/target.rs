//! Where checkpoints go: a file, a program, an address.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use weaver_drivers::{Post, PostError};
use weaver_trace_store::checkpoint::{CheckpointError, MAX_NOTE, Note};
use weaver_types::BoxFuture;

use super::memory;
use crate::config;

/// Why a checkpoint was not delivered.
#[derive(Debug, thiserror::Error)]
pub(super) enum PublishError {
    #[error("it cannot be written: {0}")]
    File(io::Error),
    #[error("it cannot be run: {0}")]
    Command(io::Error),
    #[error("it ended with {0}")]
    Ended(std::process::ExitStatus),
    #[error("it did not end within {0:?}")]
    Late(Duration),
    #[error(transparent)]
    Http(#[from] PostError),
    #[error("what it answered counts for nothing: {0}")]
    Answer(#[from] CheckpointError),
    #[error("it answered with another checkpoint")]
    Other,
}

/// A target that accepts a checkpoint within its timeout.
pub(super) trait Target: Send + Sync {
    /// Whether it may give back cosignatures.
    fn cosigns(&self) -> bool {
        false
    }

    /// Delivers the note whole or not at all. Returns what the target answered.
    fn publish<'a>(&'a self, note: &'a Note) -> BoxFuture<'a, Result<Option<Note>, PublishError>>;
}

/// The target that the configuration names.
pub(super) fn of(
    target: &config::Target,
    folder: PathBuf,
) -> Result<Box<dyn Target>, PublishError> {
    let timeout = target.timeout;
    Ok(match &target.place {
        config::CheckpointTarget::File(path) => {
            Box::new(FileTarget { path: path.clone(), writing: Arc::default() })
        }
        config::CheckpointTarget::Command(words) => {
            Box::new(Command { words: words.clone(), folder, timeout })
        }
        config::CheckpointTarget::Http(url) => {
            Box::new(Address(Post::new(url, timeout, MAX_NOTE)?))
        }
    })
}

struct FileTarget {
    path: PathBuf,
    /// One at a time: an attempt that nobody waits for any more still writes.
    writing: Arc<Mutex<()>>,
}

impl Target for FileTarget {
    fn publish<'a>(&'a self, note: &'a Note) -> BoxFuture<'a, Result<Option<Note>, PublishError>> {
        let (path, text, writing) =
            (self.path.clone(), note.to_string(), Arc::clone(&self.writing));
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || {
                let _turn = writing.lock();
                memory::replace(&path, &text)
            });
            let written = written.await;
            written.map_err(io::Error::other).flatten().map_err(PublishError::File)?;
            Ok(None)
        })
    }
}

struct Command {
    words: Vec<String>,
    folder: PathBuf,
    timeout: Duration,
}

impl Command {
    async fn run(&self, text: &str) -> Result<(), PublishError> {
        let (program, arguments) = self
            .words
            .split_first()
            .ok_or_else(|| PublishError::Command(io::Error::from(io::ErrorKind::InvalidInput)))?;
        let mut command = tokio::process::Command::new(program);
        // Standard output belongs to the protocol.
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        let mut child = command.kill_on_drop(true).spawn().map_err(PublishError::Command)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program need not read; how it ends is what counts.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
        let status = child.wait().await.map_err(PublishError::Command)?;
        if status.success() { Ok(()) } else { Err(PublishError::Ended(status)) }
    }
}

impl Target for Command {
    fn publish<'a>(&'a self, note: &'a Note) -> BoxFuture<'a, Result<Option<Note>, PublishError>> {
        let text = note.to_string();
        Box::pin(async move {
            let ran = tokio::time::timeout(self.timeout, self.run(&text)).await;
            ran.map_err(|_| PublishError::Late(self.timeout))??;
            Ok(None)
        })
    }
}

struct Address(Post);

impl Target for Address {
    fn cosigns(&self) -> bool {
        true
    }

    fn publish<'a>(&'a self, note: &'a Note) -> BoxFuture<'a, Result<Option<Note>, PublishError>> {
        let text = note.to_string();
        Box::pin(async move {
            let answer = self.0.send(text).await?;
            // Any other success is an acknowledgement and nothing more.
            let Ok(answer) = Note::parse(&answer) else { return Ok(None) };
            if answer.text() == note.text() { Ok(Some(answer)) } else { Err(PublishError::Other) }
        })
    }
}
