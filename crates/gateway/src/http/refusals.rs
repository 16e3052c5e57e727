//! Counts refused requests by reason, and logs them so that neither an attack nor a broken team is
//! anonymous, and a flood does not fill the log.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::HttpGateway;
use crate::telemetry::HttpRefusal;

/// The length of a window, in which each kind of refusal is logged once.
const WINDOW: Duration = Duration::from_secs(60);
/// How many kinds are told apart in a window. Whoever sends requests chooses some of them.
const MAX_KINDS: usize = 32;
/// The longest claim in the log, in characters.
const MAX_CLAIM_CHARS: usize = 120;

/// The peer of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerAddress(pub(super) SocketAddr);

/// A request that is refused, as its response carries it to [`record_refusal`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedRequest {
    pub(super) reason: HttpRefusal,
    /// What the sender is told.
    pub(super) problem: String,
    /// Who sent it, as far as that is known.
    pub(super) sender: RefusedSender,
}

/// Who sent a refused request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum RefusedSender {
    #[default]
    Unknown,
    /// The name of a client of the gateway, whose token it was.
    Client(String),
    /// What a token of an issuer says of itself, verified or not.
    Claims { issuer: String, subject: String },
}

impl RefusedRequest {
    pub(super) fn new(reason: HttpRefusal, problem: impl Into<String>) -> Self {
        Self { reason, problem: problem.into(), sender: RefusedSender::Unknown }
    }
}

impl RefusedSender {
    /// The subject of a token whose signature was verified.
    pub(super) fn identified(issuer: &str, subject: &str) -> Self {
        Self::Claims { issuer: printable(issuer), subject: printable(subject) }
    }

    /// The issuer and subject that a token names, if it is a JWT. Its signature is not verified.
    pub(super) fn claimed_by(token: &str) -> Self {
        let payload = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        let claims: Option<Value> = payload.and_then(|json| serde_json::from_slice(&json).ok());
        let Some(claims) = claims else { return Self::Unknown };
        let claim = |name: &str| {
            let text = claims.get(name).and_then(Value::as_str).unwrap_or_default();
            printable(text)
        };
        Self::Claims { issuer: claim("iss"), subject: claim("sub") }
    }
}

/// A text of somebody else, on one line and shortened.
fn printable(text: &str) -> String {
    let text: String = text.chars().take(MAX_CLAIM_CHARS).collect();
    weaver_text::escape::line(&text).into_owned()
}

/// What was logged in the current window.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<RefusalWindow>);

#[derive(Debug, Default)]
struct RefusalWindow {
    started: Option<Instant>,
    logged: BTreeSet<(HttpRefusal, String)>,
    /// How many of each reason were only counted.
    unlogged: BTreeMap<HttpRefusal, u64>,
}

/// What is to be done about one refusal.
#[derive(Debug, PartialEq, Eq)]
struct LogAction {
    /// It is the first of its kind.
    is_logged: bool,
    /// It is the first that is only counted: the count is due at the end of the window.
    count_due: Option<Duration>,
}

impl RefusalLog {
    fn lock(&self) -> MutexGuard<'_, RefusalWindow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a refusal. A kind is a reason with a sender.
    fn note(&self, reason: HttpRefusal, sender: String, now: Instant) -> LogAction {
        let mut window = self.lock();
        let age = window.started.map_or(WINDOW, |started| now.saturating_duration_since(started));
        // The counts of a window that is over are still to be logged.
        if age >= WINDOW && window.unlogged.is_empty() {
            (window.started, window.logged) = (Some(now), BTreeSet::new());
        }
        let kind = (reason, sender);
        if !window.logged.contains(&kind) && window.logged.len() < MAX_KINDS {
            window.logged.insert(kind);
            return LogAction { is_logged: true, count_due: None };
        }
        let is_first = window.unlogged.is_empty();
        *window.unlogged.entry(reason).or_default() += 1;
        let left = WINDOW.saturating_sub(age);
        LogAction { is_logged: false, count_due: is_first.then_some(left) }
    }

    /// Ends the window, and returns what was only counted in it.
    fn end_window(&self) -> BTreeMap<HttpRefusal, u64> {
        std::mem::take(&mut *self.lock()).unlogged
    }
}

/// Counts and logs the requests that are refused further in.
pub(super) async fn record_refusal(
    State(gateway): State<Arc<HttpGateway>>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<PeerAddress>().copied();
    let forwarded = forwarded_for(request.headers());
    let path = printable(request.uri().path());
    let response = next.run(request).await;
    if let Some(refused) = response.extensions().get::<RefusedRequest>() {
        let peer = peer.map_or_else(|| "unknown".to_owned(), |PeerAddress(peer)| peer.to_string());
        let refusal = LoggedRefusal { refused, peer, forwarded, path };
        record(&gateway, &refusal, response.status().as_u16());
    }
    response
}

struct LoggedRefusal<'a> {
    refused: &'a RefusedRequest,
    peer: String,
    /// Whom a proxy says that it forwards for. Anybody can write that.
    forwarded: Option<String>,
    path: String,
}

fn record(gateway: &Arc<HttpGateway>, refusal: &LoggedRefusal<'_>, status: u16) {
    let RefusedRequest { reason, problem, sender } = refusal.refused;
    gateway.server.telemetry().http.refused.add(*reason);
    let action = gateway.refusals.note(*reason, format!("{sender:?}"), Instant::now());
    if action.is_logged {
        let (client, issuer, subject) = match sender {
            RefusedSender::Unknown => (None, None, None),
            RefusedSender::Client(name) => (Some(name), None, None),
            RefusedSender::Claims { issuer, subject } => (None, Some(issuer), Some(subject)),
        };
        tracing::warn!(
            reason = reason.as_str(),
            problem,
            status,
            peer = refusal.peer,
            forwarded_for = refusal.forwarded,
            path = refusal.path,
            client,
            claimed_issuer = issuer,
            claimed_subject = subject,
            "a request over HTTP was refused"
        );
    }
    if let Some(left) = action.count_due {
        let gateway = Arc::clone(gateway);
        tokio::spawn(async move {
            tokio::time::sleep(left).await;
            for (reason, count) in gateway.refusals.end_window() {
                let reason = reason.as_str();
                tracing::warn!(reason, count, "more requests over HTTP were refused in a minute");
            }
        });
    }
}

fn forwarded_for(headers: &HeaderMap) -> Option<String> {
    headers
        .get("x-forwarded-for")
        .map(|value| printable(&String::from_utf8_lossy(value.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASON: HttpRefusal = HttpRefusal::UnknownToken;

    #[test]
    fn the_first_of_each_kind_is_logged_and_the_rest_of_a_minute_is_counted() {
        let (log, start) = (RefusalLog::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let note = |reason, sender: &str, seconds| log.note(reason, sender.to_owned(), at(seconds));
        let logged = LogAction { is_logged: true, count_due: None };
        let counted = LogAction { is_logged: false, count_due: None };
        assert_eq!(note(REASON, "a", 0), logged);
        let due = Some(Duration::from_secs(50));
        assert_eq!(note(REASON, "a", 10), LogAction { is_logged: false, count_due: due });
        assert_eq!(note(REASON, "a", 20), counted);
        assert_eq!(note(REASON, "b", 20), logged, "another sender");
        assert_eq!(note(HttpRefusal::Host, "a", 21), logged, "another reason");
        assert_eq!(note(HttpRefusal::Host, "a", 22), counted);
        // Until the counts are logged the window goes on.
        assert_eq!(note(REASON, "a", 61), counted);
        assert_eq!(log.end_window(), BTreeMap::from([(HttpRefusal::Host, 1), (REASON, 3)]));
        assert_eq!(note(REASON, "a", 62), logged);
        assert_eq!(note(REASON, "a", 123), logged, "a minute later");
    }

    #[test]
    fn a_flood_of_made_up_senders_is_counted_too() {
        let (log, now) = (RefusalLog::default(), Instant::now());
        let logged = (0..1_000).filter(|n| log.note(REASON, n.to_string(), now).is_logged).count();
        assert_eq!(logged, MAX_KINDS);
        assert_eq!(log.end_window()[&REASON], 1_000 - u64::try_from(MAX_KINDS).unwrap());
    }

    #[test]
    fn a_token_tells_whose_it_claims_to_be_on_one_short_line() {
        let token = |claims: &str| format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims));
        let claims = |issuer: &str, subject: &str| RefusedSender::Claims {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
        };
        let read = |json: &str| RefusedSender::claimed_by(&token(json));
        assert_eq!(read(r#"{"iss":"https://a","sub":"ana"}"#), claims("https://a", "ana"));
        assert_eq!(read(r#"{"sub":"a\nb","iss":7}"#), claims("", "a\\nb"));
        let long = read(&format!(r#"{{"sub":"{}"}}"#, "x".repeat(500)));
        assert_eq!(long, claims("", &"x".repeat(MAX_CLAIM_CHARS)));
        for token in ["", "opaque", "a.b.c", "a..c"] {
            assert_eq!(RefusedSender::claimed_by(token), RefusedSender::Unknown, "{token}");
        }
    }
}
