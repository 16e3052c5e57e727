//! How clients reach the daemon, and what systems do differently: Unix sockets, or the named pipes
//! of Windows.

use std::fmt::Debug;
use std::io::{self, Read};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::error::DaemonError;
use super::folder::DaemonFolder;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::UnixSockets as SystemTransport;
#[cfg(windows)]
pub(super) use windows::NamedPipes as SystemTransport;

/// The connection of a daemon to a client.
pub(super) type DaemonStream = <SystemTransport as Transport>::Stream;
/// The end of a connection that a client reads.
pub(super) type ClientReader = <SystemTransport as Transport>::Reader;
/// The end of a connection that a client writes.
pub(super) type ClientWriter = <SystemTransport as Transport>::Writer;
/// What a service manager passed to a daemon.
pub(super) type InheritedListener = <SystemTransport as Transport>::Inherited;

/// A way to reach the daemon of a store. Both ends are sure that the other one is a process of the
/// same user.
pub(super) trait Transport: Sized {
    /// A connection, in the daemon.
    type Stream: Send + 'static;
    /// What the daemon reads.
    type ReadHalf: AsyncRead + Unpin + Send + 'static;
    /// What the daemon writes.
    type WriteHalf: AsyncWrite + Unpin + Send + 'static;
    /// What a client reads.
    type Reader: Read + ClientInput + Send + 'static;
    /// What a client writes.
    type Writer: ClientOutput + Send + Sync + 'static;
    /// A listener that a service manager passed.
    type Inherited: Debug;

    /// Takes over what a service manager passed; `None` if it passed nothing. Must run before the
    /// process has other threads.
    fn take_over(folder: &DaemonFolder) -> Result<Option<Self::Inherited>, DaemonError>;

    /// Listens at the address of a folder, or with what a service manager passed. Only the holder of
    /// the daemon's lock may call this. Needs a runtime.
    fn listen(
        folder: &DaemonFolder,
        inherited: Option<&Self::Inherited>,
    ) -> Result<Self, DaemonError>;

    /// Waits for a connection.
    async fn accept(&mut self) -> io::Result<Self::Stream>;

    /// Whether clients still reach this listener.
    fn is_reachable(&self) -> bool;

    /// Stops listening. Who connects from now on finds nobody.
    fn close(self);

    /// The process at the other end, if it is known.
    ///
    /// # Errors
    /// [`PeerError::OtherUser`], if it is one of another user.
    fn peer(stream: &Self::Stream) -> Result<Option<u32>, PeerError>;

    /// The two directions of a connection.
    fn split(stream: Self::Stream) -> (Self::ReadHalf, Self::WriteHalf);

    /// Connects to the daemon of a folder that only this user can have created.
    fn connect(folder: &DaemonFolder) -> Result<(Self::Reader, Self::Writer), DaemonError>;

    /// Whether a daemon accepts connections there.
    fn is_answered(folder: &DaemonFolder) -> bool {
        Self::connect(folder).is_ok()
    }
}

/// What a client reads from the daemon.
pub(super) trait ClientInput {
    /// Limits how long each later read may wait.
    fn set_timeout(&mut self, timeout: Duration) -> io::Result<()>;
}

/// What a client writes to the daemon. Any thread may write while another one reads.
pub(super) trait ClientOutput {
    /// Writes all of it.
    fn write_all(&self, bytes: &[u8]) -> io::Result<()>;

    /// Tells the daemon that nothing more comes. The other direction stays open.
    fn end(&self);
}

/// Why a peer is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    /// It runs as another user.
    #[error("it is of another user: {0}")]
    OtherUser(String),
    /// The system does not say who it is.
    #[error(transparent)]
    Unknown(#[from] io::Error),
}
