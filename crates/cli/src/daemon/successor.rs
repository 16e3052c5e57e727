//! Replaces the program of a daemon by the installed one, in the same process.
//!
//! Windows cannot replace the program of a process. There the installed program is a child of this
//! process, which waits for it, so that whoever watches this one still watches the daemon.
//!
//! A service manager, a container or a terminal watches the process that it started. Its daemon
//! keeps that process over an upgrade, with its parent, its limits and its environment: `exec`.

use std::ffi::OsString;
use std::io;

use weaver_gateway::daemon::installed_program;
use weaver_gateway::secret::Passphrase;

use crate::exit::Exit;
use crate::failure::Failure;

/// The option whose descriptor can be read only once.
#[cfg(unix)]
const PASSPHRASE_OPTION: &str = "--log-passphrase-fd";

/// Starts the installed program in this process, with this command line. Returns only if that
/// fails. A passphrase that came from a descriptor is handed on.
///
/// # Errors
/// Why the program cannot be started.
#[cfg(unix)]
pub(super) fn start(passphrase: Option<&Passphrase>) -> Result<Exit, Failure> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    let error = match passphrase.map(inheritable_pipe).transpose() {
        Ok(pipe) => {
            let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
            if let Some(pipe) = &pipe {
                replace_descriptor(&mut arguments, &pipe.as_raw_fd().to_string());
            }
            match installed_program() {
                Some(program) => Command::new(program).args(arguments).exec(),
                None => io::ErrorKind::NotFound.into(),
            }
        }
        Err(error) => error,
    };
    Err(failure(error))
}

/// Runs the installed program with this command line, until it ends. Its standard input is that of
/// this process, so a passphrase that this one has read from there is lost.
///
/// # Errors
/// Why the program cannot be started.
#[cfg(not(unix))]
pub(super) fn start(passphrase: Option<&Passphrase>) -> Result<Exit, Failure> {
    if passphrase.is_some() {
        let message =
            "the passphrase cannot be handed on; name a command as `passphrase` under `[log]`";
        return Err(failure(io::Error::new(io::ErrorKind::Unsupported, message)));
    }
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let program = installed_program().ok_or_else(|| failure(io::ErrorKind::NotFound.into()))?;
    let ended = std::process::Command::new(program).args(arguments).status().map_err(failure)?;
    // What went wrong is on its own standard error.
    std::process::exit(ended.code().unwrap_or(1))
}

fn failure(error: io::Error) -> Failure {
    let message = format!("the installed program cannot be started: {error}");
    Failure::new(Exit::Internal, "daemon.restart", message)
}

/// A pipe with the passphrase that stays open in the next program.
#[cfg(unix)]
fn inheritable_pipe(passphrase: &Passphrase) -> io::Result<std::os::fd::OwnedFd> {
    let pipe = std::os::fd::OwnedFd::from(passphrase.to_pipe()?);
    rustix::io::fcntl_setfd(&pipe, rustix::io::FdFlags::empty())?;
    Ok(pipe)
}

/// Names another descriptor for the passphrase.
#[cfg(unix)]
fn replace_descriptor(arguments: &mut [OsString], descriptor: &str) {
    let mut is_value = false;
    for argument in arguments {
        let text = argument.to_string_lossy();
        if is_value {
            *argument = descriptor.into();
            return;
        }
        if text.strip_prefix(PASSPHRASE_OPTION).is_some_and(|rest| rest.starts_with('=')) {
            *argument = format!("{PASSPHRASE_OPTION}={descriptor}").into();
            return;
        }
        is_value = text == PASSPHRASE_OPTION;
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_of_the_passphrase_is_replaced_in_both_forms() {
        let replaced = |line: &str| {
            let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            replace_descriptor(&mut words, "17");
            words.join(" ".as_ref()).into_string().unwrap()
        };
        assert_eq!(replaced("daemon --log-passphrase-fd 3"), "daemon --log-passphrase-fd 17");
        assert_eq!(replaced("daemon --log-passphrase-fd=3 x"), "daemon --log-passphrase-fd=17 x");
        assert_eq!(replaced("daemon --http 3"), "daemon --http 3");
    }
}
