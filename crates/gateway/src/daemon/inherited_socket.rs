//! Socket activation: a listening socket that a service manager made and passed to this process
//! (`sd_listen_fds(3)`).
//!
//! A socket is taken over only if it is exactly the one that clients of the store look for. Whatever
//! else was passed is refused: to listen elsewhere would leave clients with a daemon of their own.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::path::Path;

use listenfd::ListenFd;

use super::error::DaemonError;
use super::folder::DaemonFolder;

/// What the environment says of sockets that were passed.
struct Announcement {
    count: Option<OsString>,
    process: Option<OsString>,
}

impl Announcement {
    fn of_environment() -> Self {
        Self { count: std::env::var_os("LISTEN_FDS"), process: std::env::var_os("LISTEN_PID") }
    }

    /// True when it is meant for this process. The variables reach a child too, whose descriptors
    /// are others.
    fn is_for(&self, process: u32) -> bool {
        let of = self.process.as_ref().and_then(|text| text.to_str()?.parse::<u32>().ok());
        self.count.is_some() && of == Some(process)
    }

    fn count(&self) -> Option<u32> {
        self.count.as_ref()?.to_str()?.parse().ok()
    }
}

/// Takes over the socket that was passed to this process; `None` when there is none. It must run
/// before the process has other threads, since it clears the variables.
///
/// # Errors
/// [`DaemonError::InheritedSocket`], when what was passed is not the one listening socket at the
/// folder's address.
pub(super) fn take(folder: &DaemonFolder) -> Result<Option<UnixListener>, DaemonError> {
    let announcement = Announcement::of_environment();
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
    // It checks for a Unix stream socket, and keeps it from programs that are started from here.
    let taken = ListenFd::from_env().take_unix_listener(0);
    let listener = taken.map_err(|error| refused(error.to_string()))?;
    let listener = listener.ok_or_else(|| refused("no socket was passed".to_owned()))?;
    check(&listener, folder.socket()).map_err(|error| refused(error.to_string()))?;
    listener.set_nonblocking(true).map_err(|error| refused(error.to_string()))?;
    Ok(Some(listener))
}

/// Why a listener is not the one that clients look for.
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

/// Whether this listener is the one that clients look for.
fn check(listener: &UnixListener, socket: &Path) -> Result<(), ListenerError> {
    if !listens(listener).unwrap_or(false) {
        return Err(ListenerError::Idle);
    }
    let address = listener.local_addr().map_err(|_| ListenerError::Unaddressed)?;
    if address.as_pathname() != Some(socket) {
        return Err(ListenerError::OtherAddress);
    }
    let about = std::fs::symlink_metadata(socket).map_err(|_| ListenerError::Gone)?;
    let own = about.uid() == rustix::process::getuid().as_raw();
    if !about.file_type().is_socket() || !own {
        return Err(ListenerError::OtherFile);
    }
    Ok(())
}

#[cfg(not(target_vendor = "apple"))]
fn listens(listener: &UnixListener) -> io::Result<bool> {
    rustix::net::sockopt::socket_acceptconn(listener).map_err(Into::into)
}

/// Nobody passes sockets this way there, and the option cannot be read.
#[cfg(target_vendor = "apple")]
fn listens(_: &UnixListener) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_another_process_are_none_of_ours() {
        let said = |count: Option<&str>, process: Option<&str>| Announcement {
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
        let (own, other) = (folder.path().join("d.sock"), folder.path().join("other.sock"));
        let listener = UnixListener::bind(&own).unwrap();
        assert!(check(&listener, &own).is_ok());
        assert!(check(&listener, &other).unwrap_err().to_string().contains("another address"));
        std::fs::remove_file(&own).unwrap();
        assert!(check(&listener, &own).unwrap_err().to_string().contains("gone"));
        std::fs::write(&own, "").unwrap();
        assert!(check(&listener, &own).unwrap_err().to_string().contains("not a socket"));
    }
}
