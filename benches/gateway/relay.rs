//! What two processes between client and server take that only copy bytes, as the shim and the
//! daemon lie between them: the floor of every gateway of this form.

use std::fs::File;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::{AS_RELAY_END, AS_SERVER, Failure};

/// Copies between standard input and output and the socket of the second process.
pub(crate) fn begin() -> Result<(), Failure> {
    let (own, other) = UnixStream::pair()?;
    let mut end = Command::new(std::env::current_exe()?)
        .arg(AS_RELAY_END)
        .stdin(OwnedFd::from(other))
        .stdout(Stdio::null())
        .spawn()?;
    let input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let from = own.try_clone()?;
    let answers = std::thread::spawn(move || copy(from, output));
    copy(input, &own);
    own.shutdown(Shutdown::Write)?;
    let _ = answers.join();
    end.wait()?;
    Ok(())
}

/// Copies between the socket, which is standard input, and the server.
pub(crate) fn end() -> Result<(), Failure> {
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut server = Command::new(std::env::current_exe()?)
        .arg(AS_SERVER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err("the server has no pipes".into());
    };
    let to = socket.try_clone()?;
    let answers = std::thread::spawn(move || copy(output, to));
    copy(socket, input);
    let _ = answers.join();
    server.wait()?;
    Ok(())
}

fn copy(mut from: impl Read, mut to: impl Write) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if buffer.get(..count).is_none_or(|bytes| to.write_all(bytes).is_err()) {
            return;
        }
    }
}
