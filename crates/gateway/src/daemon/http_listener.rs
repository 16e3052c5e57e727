//! The address of clients over HTTP, which stays open while one gateway of this process follows
//! another.
//!
//! A gateway that ends answers the calls that it has, which may take half a minute. Connections that
//! come meanwhile are kept for the next one, so clients wait instead of being refused. Checks of
//! liveness and readiness are answered at once: the process is well, and takes no calls yet.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::folder::DaemonFolder;
use super::handed_over_socket;
use crate::http::{self, SessionArchive};

/// How long a connection may take to show what it wants.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time limit for a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// The beginnings of a check.
const CHECKS: [&[u8]; 2] = [b"GET /healthz ", b"GET /readyz "];
/// The most bytes that are looked at.
const MAX_PEEK: usize = 16;

/// The most connections that are kept. When there are more, the oldest is closed.
fn max_kept() -> usize {
    http::max_connections() / 2
}

/// The most connections that are looked at; more stay in the system's queue.
fn max_looked_at() -> usize {
    http::max_connections().div_ceil(4)
}

/// The address of clients over HTTP, and what is kept of their sessions.
#[derive(Debug, Default)]
pub(super) struct HttpListener {
    bound: Option<BoundAddress>,
    /// What clients have set up in their sessions.
    pub(super) sessions: Arc<SessionArchive>,
}

#[derive(Debug)]
struct BoundAddress {
    /// As configured: its port may be 0.
    requested: SocketAddr,
    socket: StdListener,
    kept: Arc<Mutex<KeptConnections>>,
}

/// Connections for the next gateway, oldest first.
#[derive(Debug, Default)]
struct KeptConnections(VecDeque<StdStream>);

impl KeptConnections {
    /// Keeps a connection. When there are too many, those whose client has gone are dropped, and if
    /// there are none, the oldest is closed.
    fn keep(&mut self, stream: StdStream) {
        if self.0.len() >= max_kept() {
            self.0.retain(is_open);
        }
        if self.0.len() >= max_kept() {
            self.0.pop_front();
        }
        self.0.push_back(stream);
    }
}

/// Whether the client has closed neither the connection nor its side of it.
fn is_open(stream: &StdStream) -> bool {
    match stream.peek(&mut [0]) {
        Ok(count) => count > 0,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    }
}

impl HttpListener {
    /// Listens at an address, with the connections that were kept there. Another address that was
    /// listened at is closed.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub(super) fn listen(
        &mut self,
        address: SocketAddr,
        folder: &DaemonFolder,
    ) -> std::io::Result<(TcpListener, Vec<TcpStream>)> {
        let bound = match self.bound.take().filter(|bound| bound.requested == address) {
            Some(bound) => bound,
            None => {
                self.sessions.load(&folder.sessions());
                let handed_over = handed_over_socket::take(Some(address));
                let socket = handed_over.map_or_else(|| StdListener::bind(address), Ok)?;
                socket.set_nonblocking(true)?;
                BoundAddress { requested: address, socket, kept: Arc::default() }
            }
        };
        let listener = TcpListener::from_std(bound.socket.try_clone()?)?;
        let kept = std::mem::take(&mut bound.kept.lock().unwrap_or_else(PoisonError::into_inner).0);
        self.bound = Some(bound);
        Ok((listener, kept.into_iter().filter_map(|one| TcpStream::from_std(one).ok()).collect()))
    }

    /// Keeps what clients have set up in their sessions for the next process.
    pub(super) fn save_sessions(&self, folder: &DaemonFolder) {
        if let Err(error) = self.sessions.save(&folder.sessions()) {
            tracing::warn!(%error, "clients over HTTP have to open their sessions again");
        }
    }

    /// Leaves the socket to the program that follows in this process.
    pub(super) fn hand_over(&self) {
        if let Some(bound) = &self.bound
            && let Err(error) = handed_over_socket::leave(&bound.socket)
        {
            tracing::warn!(%error, "clients over HTTP are refused until the next program listens");
        }
    }

    /// Stops listening, also where the program before listened.
    pub(super) fn close(&mut self) {
        self.bound = None;
        drop(handed_over_socket::take(None));
    }

    /// Does some work; meanwhile keeps the connections that come, and answers checks.
    pub(super) async fn keep_connections_during<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            done = work => done,
            never = self.keep_connections() => match never {},
        }
    }

    async fn keep_connections(&self) -> Infallible {
        let Some(bound) = &self.bound else { return std::future::pending().await };
        let Ok(Ok(listener)) = bound.socket.try_clone().map(TcpListener::from_std) else {
            return std::future::pending().await;
        };
        let places = Arc::new(Semaphore::new(max_looked_at()));
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { continue };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            };
            let kept = Arc::clone(&bound.kept);
            tokio::spawn(async move {
                if is_check(&stream).await {
                    let _ = tokio::time::timeout(CHECK_TIMEOUT, answer_check(stream)).await;
                } else if let Ok(stream) = stream.into_std() {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).keep(stream);
                }
                drop(place);
            });
        }
    }
}

/// Whether a connection begins with a check. Nothing is read: the next gateway gets it whole.
async fn is_check(stream: &TcpStream) -> bool {
    let looked = tokio::time::timeout(FIRST_BYTES_TIMEOUT, async {
        let mut bytes = [0; MAX_PEEK];
        loop {
            let count = stream.peek(&mut bytes).await.unwrap_or_default();
            let seen = bytes.get(..count).unwrap_or_default();
            if CHECKS.iter().any(|check| seen.starts_with(check)) {
                return true;
            }
            // Bytes that are there already would be seen again at once.
            match count > 0 && CHECKS.iter().any(|check| check.starts_with(seen)) {
                true => tokio::time::sleep(POLL_INTERVAL).await,
                false => return false,
            }
        }
    });
    looked.await.unwrap_or(false)
}

/// Answers the check of one connection, and closes it.
async fn answer_check(stream: TcpStream) {
    let answer = service_fn(async |request: Request<Incoming>| {
        let (status, text) = match request.uri().path() {
            "/healthz" => (StatusCode::OK, "ok\n"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "not ready: the gateway restarts\n"),
        };
        let mut response = Response::new(text.to_owned());
        *response.status_mut() = status;
        Ok::<_, Infallible>(response)
    });
    let mut http = http1::Builder::new();
    let connection = http
        .timer(TokioTimer::new())
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    // Errors at this level affect only this client.
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Both ends of a connection, that of the gateway not blocking.
    fn connected(listener: &StdListener) -> (StdStream, StdStream) {
        let client = StdStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = listener.accept().unwrap().0;
        stream.set_nonblocking(true).unwrap();
        (client, stream)
    }

    #[test]
    fn connections_whose_client_has_gone_make_room_and_then_the_oldest_does() {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut kept = KeptConnections::default();
        let mut clients = Vec::new();
        for _ in 0..max_kept() {
            let (client, stream) = connected(&listener);
            clients.push(client);
            kept.keep(stream);
        }
        let address = |stream: &StdStream| stream.peer_addr().unwrap();
        let oldest = clients.first().unwrap().local_addr().unwrap();
        clients.truncate(max_kept() - 2);
        let (client, stream) = connected(&listener);
        clients.push(client);
        kept.keep(stream);
        assert_eq!(kept.0.len(), max_kept() - 1, "two had gone");
        assert_eq!(address(&kept.0[0]), oldest);
        for _ in 0..2 {
            let (client, stream) = connected(&listener);
            clients.push(client);
            kept.keep(stream);
        }
        assert_eq!(kept.0.len(), max_kept());
        assert_ne!(address(&kept.0[0]), oldest);
    }
}
