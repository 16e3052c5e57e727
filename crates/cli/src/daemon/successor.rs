//! Replaces the program of a daemon by the installed one, in the same process.
//!
//! A service manager, a container or a terminal watches the process that it started. Its daemon
//! keeps that process over an upgrade, with its parent, its limits and its environment: `exec`.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use weaver_gateway::daemon::installed_program;
use weaver_gateway::secret::Passphrase;

use crate::exit::Exit;
use crate::failure::Failure;

/// The option whose descriptor can be read only once.
const PASSPHRASE_OPTION: &str = "--log-passphrase-fd";

/// Starts the installed program in this process, with this command line. Returns only if that
/// fails. A passphrase that came from a descriptor is handed on.
pub(super) fn start(passphrase: Option<&Passphrase>) -> Failure {
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
    let message = format!("the installed program cannot be started: {error}");
    Failure::new(Exit::Internal, "daemon.restart", message)
}

/// A pipe with the passphrase that stays open in the next program.
fn inheritable_pipe(passphrase: &Passphrase) -> io::Result<OwnedFd> {
    let pipe = OwnedFd::from(passphrase.to_pipe()?);
    rustix::io::fcntl_setfd(&pipe, rustix::io::FdFlags::empty())?;
    Ok(pipe)
}

/// Names another descriptor for the passphrase.
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
