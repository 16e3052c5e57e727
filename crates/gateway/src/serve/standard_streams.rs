//! Standard input and output of the only client, where they are pipes without a thread that blocks on
//! each.
//!
//! A stream that others share must not be made non-blocking for them. A pipe is opened anew instead,
//! by its name in `/proc`: that makes an open file description of our own, whose mode is nobody
//! else's.

use tokio::io::{Stdin, Stdout};
use tokio::net::unix::pipe::{OpenOptions, Receiver, Sender};
use tokio_util::either::Either;

/// Standard input; any but a pipe is read by a thread.
pub(super) fn input() -> Either<Receiver, Stdin> {
    match OpenOptions::new().open_receiver("/proc/self/fd/0") {
        Ok(pipe) => Either::Left(pipe),
        Err(_) => Either::Right(tokio::io::stdin()),
    }
}

/// Standard output; any but a pipe is written by a thread.
pub(super) fn output() -> Either<Sender, Stdout> {
    match OpenOptions::new().open_sender("/proc/self/fd/1") {
        Ok(pipe) => Either::Left(pipe),
        Err(_) => Either::Right(tokio::io::stdout()),
    }
}
