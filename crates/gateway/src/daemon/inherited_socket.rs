//! Socket activation: takes over a listening socket that a service manager passed to this process
//! (`sd_listen_fds(3)`).
//!
//! A socket is taken over only if it is exactly the one that the store's clients connect to.
//! Anything else is refused: a daemon that listens elsewhere would be a second one beside that of
//! the clients.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::path::Path;

use listenfd::ListenFd;

use super::error::DaemonError;
use super::folder::DaemonFolder;

/// The environment variables that announce passed sockets.
struct PassedSockets {
    count: Option<OsString>,
    process: Option<OsString>,
}

impl PassedSockets {
    fn from_environment() -> Self {
        Self { count: std::env::var_os("LISTEN_FDS"), process: std::env::var_os("LISTEN_PID") }
    }

    /// True if the sockets are meant for this process. Child processes inherit the variables too,
    /// but not the descriptors.
    fn is_for(&self, process: u32) -> bool {
        let process_id = self.process.as_ref().and_then(|text| text.to_str()?.parse::<u32>().ok());
        self.count.is_some() && process_id == Some(process)
    }

    fn count(&self) -> Option<u32> {
        self.count.as_ref()?.to_str()?.parse().ok()
    }
}

/// Takes over the passed socket; `None` if there is none. Must run before the process has other
/// threads, because it clears environment variables.
///
/// # Errors
/// [`DaemonError::InheritedSocket`], if not exactly one listening socket at the folder's address
/// was passed.
pub(super) fn take_over(folder: &DaemonFolder) -> Result<Option<UnixListener>, DaemonError> {
    let announcement = PassedSockets::from_environment();
    if !announcement.is_for(std::process::id()) {
        return Ok(None);
    }
    let refused = |problem: String| DaemonError::InheritedSocket {
        socket: folder.socket().to_path_buf(),
        problem,
    };
    if announcement.count() != Some(1) {
        return Err(refused("exactly one socket is taken over".to_owned()));
    }
    // Checks for a Unix stream socket, and sets close-on-exec.
    let taken = ListenFd::from_env().take_unix_listener(0);
    let listener = taken.map_err(|error| refused(error.to_string()))?;
    let listener = listener.ok_or_else(|| refused("no socket was passed".to_owned()))?;
    check_listener(&listener, folder.socket()).map_err(|error| refused(error.to_string()))?;
    listener.set_nonblocking(true).map_err(|error| refused(error.to_string()))?;
    Ok(Some(listener))
}

/// Why a listener is not the one that clients connect to.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum ListenerError {
    #[error("the socket that was passed does not listen")]
    Idle,
    #[error("its address cannot be read")]
    Unaddressed,
    #[error("the socket that was passed has another address")]
    OtherAddress,
    #[error("its file is gone")]
    Gone,
    #[error("its file is not a socket of this user")]
    OtherFile,
}

/// Checks that this listener is the one that clients connect to.
fn check_listener(listener: &UnixListener, socket: &Path) -> Result<(), ListenerError> {
    if !is_listening(listener).unwrap_or(false) {
        return Err(ListenerError::Idle);
    }
    let address = listener.local_addr().map_err(|_| ListenerError::Unaddressed)?;
    if address.as_pathname() != Some(socket) {
        return Err(ListenerError::OtherAddress);
    }
    let about = std::fs::symlink_metadata(socket).map_err(|_| ListenerError::Gone)?;
    let is_own = about.uid() == rustix::process::getuid().as_raw();
    if !about.file_type().is_socket() || !is_own {
        return Err(ListenerError::OtherFile);
    }
    Ok(())
}

/// Whether a socket listens.
///
/// # Errors
/// Those of the system, also where it is no socket.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn is_listening(socket: impl AsFd) -> io::Result<bool> {
    rustix::net::sockopt::socket_acceptconn(socket).map_err(Into::into)
}

/// The option cannot be read there.
#[cfg(target_vendor = "apple")]
pub(super) fn is_listening(socket: impl AsFd) -> io::Result<bool> {
    Ok(rustix::net::getsockname(socket).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_another_process_are_none_of_ours() {
        let said = |count: Option<&str>, process: Option<&str>| PassedSockets {
            count: count.map(Into::into),
            process: process.map(Into::into),
        };
        assert!(said(Some("1"), Some("42")).is_for(42));
        for (count, process) in
            [(Some("1"), Some("41")), (Some("1"), None), (Some("1"), Some("")), (None, Some("42"))]
        {
            assert!(!said(count, process).is_for(42), "{count:?} {process:?}");
        }
        assert_eq!(said(Some("2"), None).count(), Some(2));
        assert_eq!(said(Some("x"), None).count(), None);
    }

    #[test]
    fn a_listener_at_another_address_is_not_the_one() {
        let folder = tempfile::tempdir().unwrap();
        let (is_own, other) = (folder.path().join("d.sock"), folder.path().join("other.sock"));
        let listener = UnixListener::bind(&is_own).unwrap();
        assert!(check_listener(&listener, &is_own).is_ok());
        assert!(
            check_listener(&listener, &other).unwrap_err().to_string().contains("another address")
        );
        std::fs::remove_file(&is_own).unwrap();
        assert!(check_listener(&listener, &is_own).unwrap_err().to_string().contains("gone"));
        std::fs::write(&is_own, "").unwrap();
        assert!(
            check_listener(&listener, &is_own).unwrap_err().to_string().contains("not a socket")
        );
    }
}
