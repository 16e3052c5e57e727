//! Checks every request before it is processed: host, origin and token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HOST, LOCATION, ORIGIN};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::caller::Caller;
use super::refusals::{RefusedRequest, RefusedSender};
use super::unproven_connections::ConnectionProof;
use super::{ClientAccess, HttpGateway};
use crate::oauth::WELL_KNOWN;
use crate::telemetry::HttpRefusal;

/// What a token for metrics opens.
const METRICS: &str = "/metrics";
const METRICS_PATHS: [&str; 2] = [METRICS, "/readyz"];

/// Checks a request and passes it on.
pub(super) async fn check_request(
    State(gateway): State<Arc<HttpGateway>>,
    mut request: Request,
    next: Next,
) -> Response {
    gateway.server.telemetry().http.requests.add(1);
    if gateway.connections.closing.is_cancelled() {
        return send_again(request.uri());
    }
    let headers = request.headers();
    if !is_host_known(&gateway, headers) {
        return refuse(
            HttpRefusal::Host,
            StatusCode::FORBIDDEN,
            "this host is not served here; name it under `[http] hosts`",
        );
    }
    if !is_origin_known(&gateway, headers) {
        return refuse(
            HttpRefusal::Origin,
            StatusCode::FORBIDDEN,
            "requests of this origin are not served; name it under `[http] origins`",
        );
    }
    // Liveness, and where to get a token, are public; everything else needs a token.
    let path = request.uri().path();
    if path == "/healthz" || path.starts_with(WELL_KNOWN) {
        return next.run(request).await;
    }
    match Caller::authenticate(&gateway, headers).await {
        Ok(caller)
            if caller.access() == ClientAccess::Metrics && !METRICS_PATHS.contains(&path) =>
        {
            let problem = "this token is for /metrics and /readyz; `weaver clients add NAME` makes \
                           one for sessions";
            refuse_caller(&caller, problem)
        }
        Ok(caller) if path == METRICS && !caller.may_read_metrics(&gateway) => {
            let problem = "this token is not for /metrics; `weaver clients add NAME --metrics-only` \
                           makes one that is";
            refuse_caller(&caller, problem)
        }
        Ok(caller) => {
            if let Some(proof) = request.extensions().get::<ConnectionProof>() {
                proof.give();
            }
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Lets a client send its request once more on another connection, which the next gateway accepts: this
/// one ends, and a connection of its own cannot be handed over. A redirect by 307 repeats method and body
/// (RFC 9110, section 15.4.8).
fn send_again(uri: &Uri) -> Response {
    let target = uri.path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, target), (CONNECTION, "close".to_owned())])
        .into_response()
}

fn refuse(reason: HttpRefusal, status: StatusCode, problem: &'static str) -> Response {
    refused_response(status, RefusedRequest::new(reason, problem))
}

/// Refuses a caller whose token is for something else.
fn refuse_caller(caller: &Caller, problem: &'static str) -> Response {
    let sender = caller.client_name().map(|name| RefusedSender::Client(name.to_owned()));
    let refused = RefusedRequest::new(HttpRefusal::Purpose, problem);
    let sender = sender.unwrap_or_default();
    refused_response(StatusCode::FORBIDDEN, RefusedRequest { sender, ..refused })
}

fn refused_response(status: StatusCode, refused: RefusedRequest) -> Response {
    let mut response = (status, format!("{}\n", refused.problem)).into_response();
    response.extensions_mut().insert(refused);
    response
}

/// The request must name this host: a page whose own name was made to resolve to this address names
/// that one.
fn is_host_known(gateway: &HttpGateway, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).into_iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let name = host_name(host);
    let address = gateway.address.ip();
    let loopback = address.is_loopback() && is_loopback(name);
    loopback
        || name == address.to_string()
        || name == format!("[{address}]")
        || gateway.settings.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// A browser sends the origin of the page with its requests. Other programs send none.
fn is_origin_known(gateway: &HttpGateway, headers: &HeaderMap) -> bool {
    headers.get_all(ORIGIN).into_iter().all(|origin| {
        let Ok(origin) = origin.to_str() else { return false };
        gateway.settings.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
    })
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

/// A host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty() => {
            // A bracketed IPv6 address contains colons.
            if name.starts_with('[') && !name.ends_with(']') { host } else { name }
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_part_of_a_host() {
        for (host, name) in [
            ("localhost:80", "localhost"),
            ("localhost", "localhost"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("evil.example:80", "evil.example"),
            ("127.0.0.1.evil.example", "127.0.0.1.evil.example"),
            (":80", ":80"),
        ] {
            assert_eq!(host_name(host), name, "{host}");
        }
        assert!(is_loopback("LOCALHOST") && !is_loopback("localhost.evil.example"));
    }
}
