//! Unix sockets, in a folder that only one user can enter.

use std::io;
use std::net::Shutdown;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use super::{ClientInput, ClientOutput, PeerError, Transport};
use crate::daemon::error::DaemonError;
use crate::daemon::folder::DaemonFolder;
use crate::daemon::inherited_socket;

/// The socket of a daemon.
pub(in crate::daemon) struct UnixSockets {
    listener: UnixListener,
    path: PathBuf,
    /// The device and number of the socket's file; `None` if it was gone at the beginning.
    identity: Option<(u64, u64)>,
    /// It belongs to the service manager, which keeps it.
    is_inherited: bool,
}

impl Transport for UnixSockets {
    type Stream = UnixStream;
    type ReadHalf = OwnedReadHalf;
    type WriteHalf = OwnedWriteHalf;
    type Reader = StdStream;
    type Writer = StdStream;
    type Inherited = StdListener;

    fn take_over(folder: &DaemonFolder) -> Result<Option<StdListener>, DaemonError> {
        inherited_socket::take_over(folder)
    }

    fn listen(folder: &DaemonFolder, inherited: Option<&StdListener>) -> Result<Self, DaemonError> {
        let listener = match inherited {
            Some(inherited) => inherited
                .try_clone()
                .and_then(UnixListener::from_std)
                .map_err(DaemonError::connection)?,
            None => bind(folder.socket())?,
        };
        let path = folder.socket().to_path_buf();
        let identity = file_identity(&path);
        Ok(Self { listener, path, identity, is_inherited: inherited.is_some() })
    }

    async fn accept(&mut self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }

    fn is_reachable(&self) -> bool {
        file_identity(&self.path) == self.identity
    }

    /// If the folder was removed and recreated, the socket in it belongs to another daemon.
    fn close(self) {
        let is_own = self.identity.is_some() && self.is_reachable();
        drop(self.listener);
        if !self.is_inherited && is_own {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// The folder already admits only this user; systems differ in whether a socket's own mode is
    /// enforced.
    fn peer(stream: &UnixStream) -> Result<Option<u32>, PeerError> {
        let peer = stream.peer_cred()?;
        if peer.uid() != rustix::process::getuid().as_raw() {
            return Err(PeerError::OtherUser(format!("uid {}", peer.uid())));
        }
        Ok(peer.pid().and_then(|pid| u32::try_from(pid).ok()))
    }

    fn split(stream: UnixStream) -> (OwnedReadHalf, OwnedWriteHalf) {
        stream.into_split()
    }

    fn connect(folder: &DaemonFolder) -> Result<(StdStream, StdStream), DaemonError> {
        let reader = StdStream::connect(folder.socket()).map_err(DaemonError::connecting)?;
        let writer = reader.try_clone().map_err(DaemonError::connecting)?;
        Ok((reader, writer))
    }
}

/// Binds a socket under a temporary name and renames it onto the address, so that no connection is
/// refused in between and a dead daemon's socket is replaced.
fn bind(socket: &Path) -> Result<UnixListener, DaemonError> {
    let failed = |error: &io::Error| DaemonError::folder(socket, error);
    let new_socket = socket.with_extension("new");
    match std::fs::remove_file(&new_socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&error)),
        _ => {}
    }
    let listener = UnixListener::bind(&new_socket).map_err(|error| failed(&error))?;
    std::fs::set_permissions(&new_socket, std::fs::Permissions::from_mode(0o600))
        .map_err(|error| failed(&error))?;
    std::fs::rename(&new_socket, socket).map_err(|error| failed(&error))?;
    Ok(listener)
}

/// The identity of the file at the daemon's address.
fn file_identity(socket: &Path) -> Option<(u64, u64)> {
    let about = std::fs::symlink_metadata(socket).ok()?;
    Some((about.dev(), about.ino()))
}

impl ClientInput for StdStream {
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))
    }
}

impl ClientOutput for StdStream {
    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        // That of `Write`, which this method has its name from.
        io::Write::write_all(&mut &*self, bytes)
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}
