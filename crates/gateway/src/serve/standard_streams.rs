//! Standard input and output of the only client, where they are pipes without a thread that blocks on
//! each.
//!
//! A stream that others share must not be made non-blocking for them. A pipe is opened anew instead,
//! by its name in `/proc`: that makes an open file description of our own, whose mode is nobody
//! else's. A pipe with a name in the file system stays with a thread: opened anew after its last
//! writer has gone, it is never reported as ended (Linux reports the end only of writers that an open
//! file description has seen).

use std::io;

use tokio::io::{Stdin, Stdout};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio_util::either::Either;

/// Standard input; what is no pipe, or cannot be opened anew, is read by a thread.
pub(super) fn input() -> Either<Receiver, Stdin> {
    match unnamed_pipe("/proc/self/fd/0").and_then(|path| OpenOptions::new().open_receiver(path)) {
        Ok(pipe) => Either::Left(pipe),
        Err(_) => Either::Right(tokio::io::stdin()),
    }
}

/// Standard output; what is no pipe, or cannot be opened anew, is written by a thread.
pub(super) fn output() -> Either<Sender, Stdout> {
    match unnamed_pipe("/proc/self/fd/1").and_then(|path| OpenOptions::new().open_sender(path)) {
        Ok(pipe) => Either::Left(pipe),
        Err(_) => Either::Right(tokio::io::stdout()),
    }
}

/// The path, where what it leads to is a pipe without a name in the file system.
fn unnamed_pipe(path: &str) -> io::Result<&str> {
    let is_one = std::fs::read_link(path)?.as_os_str().as_encoded_bytes().starts_with(b"pipe:");
    is_one.then_some(path).ok_or_else(|| io::ErrorKind::Unsupported.into())
}
