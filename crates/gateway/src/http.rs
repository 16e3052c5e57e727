//! The gateway over HTTP: `/mcp` in both eras of the protocol, and what operators look at.
//!
//! Before anything else a request must name this host and come from no other web page: a page that
//! a browser shows can send requests to programs on the same machine, also under a name of its own
//! that it had resolved to this address (DNS rebinding). Then it must have the token of a client.
//! Sizes, times and numbers are bounded: header, body, connections, sessions, and clients that send or
//! read slowly.
//! Where the configuration names a certificate, TLS ends here.

mod caller;
mod clients;
mod event_buffer;
mod guard;
mod mcp;
mod metrics;
mod modern;
mod sessions;
mod tls;
mod write_limit;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use weaver_types::Clock as _;

pub use clients::{Clients, ClientsError, HttpClient, NewClient};

use crate::config::Http;
use crate::connection_places::ConnectionPlaces;
use crate::oauth::{ResourceServer, WELL_KNOWN};
use crate::serve::Server;
use sessions::HttpSessions;
use tls::Tls;
pub(crate) use tls::TlsError;
use write_limit::WriteLimited;

/// The most connections at once, where the process may open twice as many files.
const MAX_CONNECTIONS: usize = 1024;
/// How long the header of a request may take.
const HEADER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a write may wait for a client that does not read.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// The largest header, in bytes.
const MAX_HEADER: usize = 32 * 1024;
/// How long a pause lasts after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What all requests share.
pub(crate) struct HttpGateway {
    pub(crate) server: Arc<Server>,
    pub(crate) clients: Clients,
    pub(crate) settings: Http,
    /// Takes tokens of issuers, where the configuration asks for it.
    pub(crate) resource: Option<ResourceServer>,
    /// Ends TLS, where the configuration names a certificate.
    pub(crate) tls: Option<Tls>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    pub(crate) sessions: HttpSessions,
    /// Cancelled when nothing new is taken any more.
    pub(crate) closing: CancellationToken,
}

impl HttpGateway {
    /// The gateway of a server, which listens at `address`.
    ///
    /// # Errors
    /// [`TlsError`], when the certificate cannot be used.
    pub(crate) fn new(
        server: Arc<Server>,
        settings: Http,
        address: SocketAddr,
        closing: CancellationToken,
    ) -> Result<Self, TlsError> {
        let tls = settings.tls.clone().map(Tls::open).transpose()?;
        let clients = Clients::of_store(&server.config().store);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{address}");
        let resource = settings.oauth.clone().map(|oauth| ResourceServer::new(oauth, &origin));
        let sessions = HttpSessions::default();
        Ok(Self { server, clients, settings, resource, tls, address, sessions, closing })
    }
}

/// Serves until the gateway closes. Requests under way are answered as long as the process lives.
pub(crate) async fn serve(gateway: Arc<HttpGateway>, listener: TcpListener) {
    let closing = gateway.closing.clone();
    let router = router(Arc::clone(&gateway));
    let mut places = ConnectionPlaces::new(max_connections(), "HTTP");
    let sweep = tokio::spawn(sessions::watch(Arc::clone(&gateway)));
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Too many open files, for instance: the next attempt may succeed.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Some(place) = places.take() else { continue };
        let _ = stream.set_nodelay(true);
        // Below TLS, so that what it writes is limited, too.
        let stream = WriteLimited::new(stream, WRITE_PATIENCE);
        let (router, tls) = (router.clone(), gateway.tls.as_ref().map(Tls::acceptor));
        tokio::spawn(async move {
            match tls {
                None => connection(stream, router).await,
                Some(tls) => {
                    let shaken = tokio::time::timeout(HEADER_PATIENCE, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = shaken {
                        connection(stream, router).await;
                    }
                }
            }
            drop(place);
        });
    }
    sweep.abort();
}

/// The most connections at once. Half of the files that the process may open are left to the ledger and
/// to servers.
fn max_connections() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};

        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        usize::try_from(files / 2).map_or(MAX_CONNECTIONS, |half| half.min(MAX_CONNECTIONS))
    }
    #[cfg(not(unix))]
    MAX_CONNECTIONS
}

/// Answers the requests of one connection.
async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(MAX_HEADER)
        .keep_alive(true);
    let service = TowerToHyperService::new(router);
    // What a client does wrong at this level concerns nobody else.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

fn router(gateway: Arc<HttpGateway>) -> Router {
    let mcp = post(mcp::post).get(mcp::get).delete(mcp::delete);
    Router::new()
        .route("/mcp", mcp)
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics::show))
        .route(WELL_KNOWN, get(protected_resource))
        .route(&format!("{WELL_KNOWN}/{{*path}}"), get(protected_resource))
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Arc::clone(&gateway), guard::check))
        .with_state(gateway)
}

/// The process runs.
async fn healthy() -> &'static str {
    "ok\n"
}

/// Clients can be served: the ledger takes what calls write. Servers that are away are counted and
/// change nothing else, for calls of all others go on.
async fn ready(State(gateway): State<Arc<HttpGateway>>) -> Response {
    if let Err(problem) = gateway.server.probe_ledger().await {
        let text = format!("not ready: {problem}\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    let away = gateway.server.status().servers.values().filter(|server| !server.is_ready()).count();
    let text = match away {
        0 => "ready\n".to_owned(),
        1 => "ready; 1 server is away\n".to_owned(),
        many => format!("ready; {many} servers are away\n"),
    };
    text.into_response()
}

/// Whom a client asks for a token (RFC 9728).
async fn protected_resource(State(gateway): State<Arc<HttpGateway>>) -> Response {
    match &gateway.resource {
        Some(resource) => {
            let metadata = resource.metadata(gateway.server.policy().policy());
            ([(CACHE_CONTROL, "no-store")], Json(metadata)).into_response()
        }
        None => nothing().await,
    }
}

async fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "there is /mcp, /healthz, /readyz and /metrics\n").into_response()
}

/// The time now, for what expires.
pub(crate) fn now() -> weaver_types::Timestamp {
    weaver_types::SystemClock::default().now()
}

#[cfg(test)]
mod tests;
