//! Standard input and output of the only client. Pipes are read and written without blocking
//! threads.
//!
//! A shared stream must not be made non-blocking for others. A pipe is therefore reopened through
//! `/proc`, which creates an open file description of our own with its own mode. A pipe with a name
//! in the file system keeps its thread: if it is reopened after its last writer has gone, its end
//! is never reported (Linux reports the end only of writers that an open file description has
//! seen).

use std::io;

use tokio::io::{Stdin, Stdout};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio_util::either::Either;

/// Standard input. If it is not a pipe, or cannot be reopened, a thread reads it.
pub(super) fn input() -> Either<Receiver, Stdin> {
    match unnamed_pipe("/proc/self/fd/0").and_then(|path| OpenOptions::new().open_receiver(path)) {
        Ok(pipe) => Either::Left(pipe),
        Err(_) => Either::Right(tokio::io::stdin()),
    }
}

/// Standard output. If it is not a pipe, or cannot be reopened, a thread writes it.
pub(super) fn output() -> Either<Sender, Stdout> {
    match unnamed_pipe("/proc/self/fd/1").and_then(|path| OpenOptions::new().open_sender(path)) {
        Ok(pipe) => Either::Left(pipe),
        Err(_) => Either::Right(tokio::io::stdout()),
    }
}

/// The path, if it leads to a pipe without a name in the file system.
fn unnamed_pipe(path: &str) -> io::Result<&str> {
    let is_one = std::fs::read_link(path)?.as_os_str().as_encoded_bytes().starts_with(b"pipe:");
    is_one.then_some(path).ok_or_else(|| io::ErrorKind::Unsupported.into())
}
