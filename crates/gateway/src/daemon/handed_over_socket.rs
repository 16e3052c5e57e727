//! Hands the listening socket of clients over HTTP to the program that follows in the same process.
//!
//! Between two programs nobody would listen, and clients would be refused. So the socket stays open
//! as the standard input of the next program, as `inetd` passes one, and connections wait in its
//! queue meanwhile.

//!
//! On Windows no program takes the place of another in a process, so nothing is left and nothing is
//! taken.

use std::io;
use std::net::{SocketAddr, TcpListener};

/// Leaves a socket to the next program.
///
/// # Errors
/// Those of the system.
#[cfg(unix)]
pub(super) fn leave(socket: &TcpListener) -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdin(socket)?)
}

/// The socket that the program before left, if it listens at this address. Another one is closed:
/// clients would wait in its queue for nobody.
#[cfg(unix)]
pub(super) fn take(address: Option<SocketAddr>) -> Option<TcpListener> {
    use std::os::fd::AsFd as _;

    use super::inherited_socket::is_listening;

    let input = io::stdin();
    let is_socket = is_listening(input.as_fd()).unwrap_or(false);
    // Open in no program that this one starts.
    let socket = is_socket.then(|| input.as_fd().try_clone_to_owned().ok()).flatten()?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null").ok()?).ok()?;
    let listener = TcpListener::from(socket);
    let (bound, address) = (listener.local_addr().ok()?, address?);
    let is_same = bound.ip() == address.ip() && [0, bound.port()].contains(&address.port());
    is_same.then_some(listener)
}

#[cfg(not(unix))]
pub(super) fn leave(_socket: &TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
pub(super) fn take(_address: Option<SocketAddr>) -> Option<TcpListener> {
    None
}
