//! The gateway over HTTP: `/mcp` in both eras of the protocol, and endpoints for operators.
//!
//! First of all a request must name this host and must not come from another web page: a page in a
//! browser can send requests to programs on the same machine, even under a host name of its own
//! that resolves to this address (DNS rebinding). Then it must carry a client's token. Sizes, times
//! and numbers are bounded: header, body, connections, sessions, and slow clients. If the
//! configuration names a certificate, TLS ends here.

mod caller;
mod connections;
mod cors;
mod event_buffer;
mod event_stream;
mod guard;
mod json_response;
mod mcp;
mod metrics;
mod modern;
mod refusals;
mod request_body;
mod session_archive;
mod sessions;
mod tls;
mod token_keys;
mod trace_context;
mod unproven_connections;
mod write_timeout;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::http::{Request, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use weaver_types::Clock as _;

pub use session_archive::SessionArchive;

pub use crate::client_registry::{
    ClientAccess, ClientRegistry, ClientsError, FormerToken, HttpClient, NewClient, RemovedClient,
    TokenRotation,
};
use crate::config::HttpSettings;
use crate::connection_limit::ConnectionLimit;
use crate::oauth::{ResourceServer, WELL_KNOWN};
use crate::serve::Server;
pub(crate) use connections::HttpConnections;
use refusals::{PeerAddress, RefusalLog};
use sessions::HttpSessions;
pub(crate) use tls::{TlsError, TlsReloader};
use unproven_connections::{ConnectionProof, UnprovenConnections};
use write_timeout::WriteTimeoutStream;

/// The most connections at once, if the process may open twice as many files.
const MAX_CONNECTIONS: usize = 1024;
/// Time limit for the header of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a write may block on a client that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest header.
const MAX_HEADER_BYTES: usize = 32 * 1024;
/// How long a new connection waits for the place of one that is closed for it.
const PLACE_TIMEOUT: Duration = Duration::from_millis(200);
/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The state that all requests share.
pub(crate) struct HttpGateway {
    pub(crate) server: Arc<Server>,
    pub(crate) clients: ClientRegistry,
    pub(crate) settings: HttpSettings,
    /// Verifies tokens of issuers, if configured.
    pub(crate) resource_server: Option<ResourceServer>,
    /// Terminates TLS, if a certificate is configured.
    pub(crate) tls: Option<TlsReloader>,
    /// The address it listens at.
    pub(crate) address: SocketAddr,
    pub(crate) sessions: HttpSessions,
    /// What its clients have set up in their sessions, for the gateway after it.
    pub(crate) archive: Arc<SessionArchive>,
    pub(crate) connections: Arc<HttpConnections>,
    pub(crate) refusals: RefusalLog,
}

impl HttpGateway {
    /// The gateway of a server that listens at `address`.
    ///
    /// # Errors
    /// [`TlsError`], if the certificate cannot be used.
    pub(crate) fn new(
        server: Arc<Server>,
        settings: HttpSettings,
        address: SocketAddr,
        connections: Arc<HttpConnections>,
        archive: Arc<SessionArchive>,
    ) -> Result<Self, TlsError> {
        let tls = settings.tls.clone().map(TlsReloader::open).transpose()?;
        let clients = ClientRegistry::of_store(&server.config().store_path);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{address}");
        let resource_server =
            settings.oauth.clone().map(|oauth| ResourceServer::new(oauth, &origin));
        Ok(Self {
            server,
            clients,
            settings,
            resource_server,
            tls,
            address,
            sessions: HttpSessions::default(),
            archive,
            connections,
            refusals: RefusalLog::default(),
        })
    }
}

/// Serves until the gateway closes, first the connections that were `kept` for it. Current requests
/// are answered as long as the process lives.
pub(crate) async fn serve(gateway: Arc<HttpGateway>, listener: TcpListener, kept: Vec<TcpStream>) {
    let closing = gateway.connections.closing.clone();
    let router = router(Arc::clone(&gateway));
    let mut connection_limit = ConnectionLimit::new(max_connections(), "HTTP");
    let unproven = Arc::new(UnprovenConnections::default());
    let sweeper = tokio::spawn(sessions::sweep_sessions(Arc::clone(&gateway)));
    let mut kept = kept.into_iter();
    loop {
        let (stream, peer) = match kept.next().map(|stream| (stream.peer_addr(), stream)) {
            Some((Ok(peer), stream)) => (stream, peer),
            // Its client has gone.
            Some((Err(_), _)) => continue,
            None => {
                let accepted = tokio::select! {
                    () = closing.cancelled() => break,
                    accepted = listener.accept() => accepted,
                };
                let Ok(accepted) = accepted else {
                    // For example too many open files: the next attempt may succeed.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                accepted
            }
        };
        let permit = match connection_limit.try_acquire() {
            None if unproven.close_oldest() => connection_limit.acquire(PLACE_TIMEOUT).await,
            permit => permit,
        };
        let Some(permit) = permit else { continue };
        let (proof, closed) = unproven.begin();
        let _ = stream.set_nodelay(true);
        // Below TLS, so that its own writes are limited too.
        let stream = WriteTimeoutStream::new(stream, WRITE_TIMEOUT);
        let connection = HttpConnection { router: router.clone(), peer: PeerAddress(peer), proof };
        let tls = gateway.tls.as_ref().map(TlsReloader::acceptor);
        let (open, closing) = (gateway.connections.begin(), closing.clone());
        tokio::spawn(async move {
            let served = async {
                match tls {
                    None => connection.serve(stream, &closing).await,
                    Some(tls) => {
                        let accepted = tls.accept(stream);
                        let handshake = tokio::time::timeout(HEADER_TIMEOUT, accepted).await;
                        if let Ok(Ok(stream)) = handshake {
                            connection.serve(stream, &closing).await;
                        }
                    }
                }
            };
            tokio::select! {
                () = served => {}
                () = closed.cancelled() => {}
            }
            connection.proof.give();
            drop((permit, open));
        });
    }
    sweeper.abort();
}

/// The most connections at once. Half of the files that the process may open are reserved for the
/// ledger and servers.
pub(crate) fn max_connections() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};

        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        usize::try_from(files / 2).map_or(MAX_CONNECTIONS, |half| half.min(MAX_CONNECTIONS))
    }
    #[cfg(not(unix))]
    MAX_CONNECTIONS
}

/// A connection of a client.
struct HttpConnection {
    router: Router,
    peer: PeerAddress,
    proof: ConnectionProof,
}

impl HttpConnection {
    /// Serves its requests; once the gateway is `closing`, only those that it has. The next request of
    /// its client comes on another connection, to the next gateway.
    async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        closing: &CancellationToken,
    ) {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES)
            .keep_alive(true);
        let router = TowerToHyperService::new(self.router.clone());
        // Not a layer, which would build all routes anew: many clients open a connection for each request.
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(self.peer);
            request.extensions_mut().insert(self.proof.clone());
            router.call(request)
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            // Protocol errors at this level affect only this client.
            _ = connection.as_mut() => return,
            () = closing.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

fn router(gateway: Arc<HttpGateway>) -> Router {
    let mcp = post(mcp::post).get(mcp::get).delete(mcp::delete);
    Router::new()
        .route("/mcp", mcp)
        .route("/healthz", get(health))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics::show))
        .route(WELL_KNOWN, get(protected_resource))
        .route(&format!("{WELL_KNOWN}/{{*path}}"), get(protected_resource))
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(Arc::clone(&gateway), guard::check_request))
        .layer(middleware::from_fn_with_state(Arc::clone(&gateway), refusals::record_refusal))
        .layer(middleware::from_fn(trace_context::take_header))
        .layer(middleware::from_fn_with_state(Arc::clone(&gateway), cors::share_with_origins))
        .with_state(gateway)
}

/// Liveness: the process runs.
async fn health() -> &'static str {
    "ok\n"
}

/// Readiness: the ledger accepts writes. Unavailable servers are only counted, because calls of
/// other servers still work.
async fn readiness(State(gateway): State<Arc<HttpGateway>>) -> Response {
    if let Err(problem) = gateway.server.probe_ledger().await {
        let text = format!("not ready: {problem}\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    let status = gateway.server.status();
    let unavailable = status.servers.values().filter(|server| !server.is_ready()).count();
    let mut text = match unavailable {
        0 => "ready".to_owned(),
        1 => "ready; 1 server is away".to_owned(),
        many => format!("ready; {many} servers are away"),
    };
    // It serves on, but would not start again.
    if status.refused_configuration.is_some() {
        text.push_str("; the configuration on disk is refused");
    }
    if status.refused_documents.is_some() {
        text.push_str("; the documents on disk are refused");
    }
    text.push('\n');
    text.into_response()
}

/// The metadata that tells clients where to get a token (RFC 9728).
async fn protected_resource(State(gateway): State<Arc<HttpGateway>>) -> Response {
    match &gateway.resource_server {
        Some(resource) => {
            let metadata = resource.metadata(gateway.server.policy().policy());
            ([(CACHE_CONTROL, "no-store")], Json(metadata)).into_response()
        }
        None => not_found().await,
    }
}

async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "there is /mcp, /healthz, /readyz and /metrics\n").into_response()
}

/// The current time, for expiry checks.
pub(crate) fn now() -> weaver_types::Timestamp {
    weaver_types::SystemClock::default().now()
}

#[cfg(test)]
mod tests;
