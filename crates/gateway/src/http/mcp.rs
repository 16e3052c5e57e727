//! `/mcp`: Streamable HTTP of 2025-03-26 to 2025-11-25, with sessions, and of 2026-07-28, whose
//! requests stand alone.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::HttpGateway;
use super::caller::Caller;
use super::modern;
use super::sessions::{AnswerStream, HttpSession, NoSession};
use crate::serve::{ClientMessage, ClientReads};

/// The largest message, in bytes.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// How long a body may take.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// After how long an answer that does not come becomes a stream, on which signs of life are sent.
const STREAM_AFTER: Duration = Duration::from_secs(5);
/// How often they are sent: proxies commonly end what is silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const VERSIONS: [&str; 5] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
pub(super) const MODERN: &str = "2026-07-28";

/// The first revision whose clients know events without data.
const PRIMED: &str = "2025-11-25";

type GatewayState = State<Arc<HttpGateway>>;

/// How a request is answered.
enum AnswerForm {
    /// By its answer alone: the client takes no stream.
    Alone,
    /// By a stream, where there is more than the answer, that ends with its connection.
    Stream,
    /// Likewise, and the stream may be taken up again.
    ResumableStream { session: Arc<HttpSession>, primed: bool },
}

/// A message of a client.
pub(super) async fn post(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        return error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            -32600,
            "the body must be application/json",
        );
    }
    let body = match whole(body).await {
        Ok(body) => body,
        Err(response) => return *response,
    };
    gateway.server.telemetry().http.messages.add(1);
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    let is_modern = modern::is_modern(&parts.headers, &message);
    if is_modern && let Err(response) = modern::check(&parts.headers, &message) {
        return *response;
    }
    if !is_modern && let Err(problem) = check_headers(&parts.headers) {
        return error(StatusCode::BAD_REQUEST, -32600, &problem.to_string());
    }
    let (opened, session) = match session_of(&gateway, &caller, &parts.headers, (&message, &body)) {
        Ok(found) => found,
        Err(response) => return *response,
    };
    if is_modern
        && let Err(response) = modern::check_parameters(&parts.headers, &message, &session).await
    {
        return *response;
    }
    let reads = match accepts_stream(&parts.headers) {
        true => ClientReads::Stream,
        false => ClientReads::Answer,
    };
    let answers = match is_modern {
        true => session.messages.take_alone(&body).await,
        false => session.messages.take(&body, reads).await,
    };
    // A notification and an answer of the client have none.
    let is_request = message.get("id").is_some() && !method.is_empty() || !message.is_object();
    let mut response = match is_request {
        true => {
            let form = match (accepts_stream(&parts.headers), is_modern) {
                (false, _) => AnswerForm::Alone,
                (true, true) => AnswerForm::Stream,
                (true, false) => {
                    let primed =
                        parts.headers.get(VERSION).is_some_and(|version| version == PRIMED);
                    AnswerForm::ResumableStream { session: Arc::clone(&session), primed }
                }
            };
            answer(answers, form, if is_modern { modern::status } else { always_ok }).await
        }
        false => StatusCode::ACCEPTED.into_response(),
    };
    if let Some(id) = opened.and_then(|id| id.parse().ok()) {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

/// The whole body of a request, which is bounded in size and time.
pub(super) async fn whole(body: Body) -> Result<Vec<u8>, Box<Response>> {
    let late = (StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    let read = tokio::time::timeout(BODY_PATIENCE, bounded(body)).await.unwrap_or(Err(late));
    read.map_err(|(status, problem)| Box::new(error(status, -32600, problem)))
}

async fn bounded(body: Body) -> Result<Vec<u8>, (StatusCode, &'static str)> {
    let (mut chunks, mut whole) = (body.into_data_stream(), Vec::new());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| (StatusCode::BAD_REQUEST, "the body broke off"))?;
        if whole.len().saturating_add(chunk.len()) > MAX_BODY {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 16 MiB"));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// The session of a message, with its id where it begins with it.
fn session_of(
    gateway: &Arc<HttpGateway>,
    caller: &Caller,
    headers: &HeaderMap,
    (message, body): (&Value, &[u8]),
) -> Result<(Option<String>, Arc<HttpSession>), Box<Response>> {
    if modern::is_modern(headers, message) {
        let standing = gateway.sessions.standing(gateway, caller);
        return standing.map(|session| (None, session)).map_err(no_session);
    }
    match headers.get(SESSION).map(|id| id.to_str().unwrap_or_default()) {
        Some(id) => match gateway.sessions.find(id, caller) {
            Some(session) => Ok((None, session)),
            None => Err(Box::new(error(
                StatusCode::NOT_FOUND,
                -32001,
                "there is no such session; initialize again",
            ))),
        },
        None if message.get("method").is_some_and(|method| method == "initialize") => {
            if let Some(refusal) = ClientMessage::refusal(body) {
                return Err(Box::new(answered(|_| StatusCode::BAD_REQUEST, refusal)));
            }
            let begun = gateway.sessions.begin(gateway, caller);
            begun.map(|(id, session)| (Some(id), session)).map_err(no_session)
        }
        None => Err(Box::new(error(
            StatusCode::BAD_REQUEST,
            -32600,
            "send `initialize` first, then its `Mcp-Session-Id` with every request",
        ))),
    }
}

fn no_session(reason: NoSession) -> Box<Response> {
    Box::new(match reason {
        NoSession::TooMany => error(
            StatusCode::SERVICE_UNAVAILABLE,
            -32603,
            "there are too many sessions; try again later",
        ),
        NoSession::TooManyOfClient => error(
            StatusCode::SERVICE_UNAVAILABLE,
            -32603,
            "this client has too many sessions; end those that it does not use with DELETE",
        ),
        NoSession::Refused(refused) => error(StatusCode::FORBIDDEN, -32603, &refused.to_string()),
    })
}

/// The answer to a request: at once where it comes alone, else a stream that ends with it.
async fn answer(
    mut answers: mpsc::Receiver<Vec<u8>>,
    form: AnswerForm,
    status: fn(&[u8]) -> StatusCode,
) -> Response {
    let streams = !matches!(form, AnswerForm::Alone);
    let first = tokio::time::timeout(STREAM_AFTER, answers.recv()).await;
    let mut early = Vec::new();
    match first {
        Ok(None) => return error(StatusCode::OK, -32603, "the request was cancelled"),
        Ok(Some(line)) if is_answer(&line) || !streams => {
            let mut line = line;
            while !is_answer(&line) {
                match answers.recv().await {
                    Some(next) => line = next,
                    None => return error(StatusCode::OK, -32603, "the request was cancelled"),
                }
            }
            return answered(status, line);
        }
        Ok(Some(line)) => early.push(line),
        Err(_) if !streams => {
            while let Some(line) = answers.recv().await {
                if is_answer(&line) {
                    return answered(status, line);
                }
            }
            return error(StatusCode::OK, -32603, "the request was cancelled");
        }
        Err(_) => {}
    }
    if let AnswerForm::ResumableStream { session, primed } = form {
        return resumable(&session, early, answers, primed);
    }
    let events = stream::unfold((early, answers), |(mut early, mut answers)| async move {
        if let Some(line) = early.pop() {
            return Some((event(None, &line), (early, answers)));
        }
        let bytes = match tokio::time::timeout(HEARTBEAT, answers.recv()).await {
            Ok(Some(line)) => event(None, &line),
            Ok(None) => return None,
            Err(_) => Ok(Bytes::from_static(b": waiting\n\n")),
        };
        Some((bytes, (early, answers)))
    });
    event_stream(Body::from_stream(events))
}

/// A stream that goes on for a client whose connection breaks off. Its events are collected whether
/// the client reads them or not.
fn resumable(
    session: &HttpSession,
    early: Vec<Vec<u8>>,
    mut answers: mpsc::Receiver<Vec<u8>>,
    primed: bool,
) -> Response {
    let stream = session.begin_answer();
    let collected = Arc::clone(&stream.events);
    early.into_iter().for_each(|line| collected.push(line));
    tokio::spawn(async move {
        while let Some(line) = answers.recv().await {
            collected.push(line);
        }
        collected.end();
    });
    // An event without data, so that there is a place to go on from before anything is said.
    let first = format!("id: {}-0\ndata:\n\n", stream.number);
    let first = primed.then(|| Ok::<_, Infallible>(Bytes::from(first)));
    let events = stream::iter(first).chain(events_after(stream, 0));
    event_stream(Body::from_stream(events))
}

/// The events of a stream after this one, to its end.
fn events_after(
    stream: AnswerStream,
    seen: u64,
) -> impl stream::Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((stream, seen), |(stream, seen)| async move {
        match tokio::time::timeout(HEARTBEAT, stream.events.after(seen)).await {
            Ok(next) => {
                let (number, line) = next?;
                let id = format!("{}-{number}", stream.number);
                Some((event(Some(&id), &line), (stream, number)))
            }
            Err(_) => Some((Ok(Bytes::from_static(b": waiting\n\n")), (stream, seen))),
        }
    })
}

/// The stream and the event that an id of an answer's event names.
fn answer_event(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

/// The stream of what a client is told beside the answers to its requests.
pub(super) async fn get(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    if !accepts_stream(&headers) {
        return error(StatusCode::NOT_ACCEPTABLE, -32600, "accept text/event-stream");
    }
    let id = headers.get(SESSION).and_then(|id| id.to_str().ok());
    let seen = headers.get(LAST_EVENT).and_then(|id| id.to_str().ok());
    let Some(id) = id else {
        return error(StatusCode::METHOD_NOT_ALLOWED, -32600, "a stream needs an `Mcp-Session-Id`");
    };
    let Some(session) = gateway.sessions.find(id, &caller) else {
        return error(StatusCode::NOT_FOUND, -32001, "there is no such session; initialize again");
    };
    if let Some((stream, seen)) = seen.and_then(answer_event) {
        return match session.answer_stream(stream) {
            Some(stream) => event_stream(Body::from_stream(events_after(stream, seen))),
            None => error(StatusCode::NOT_FOUND, -32001, "the stream of this event is not kept"),
        };
    }
    let seen = seen.and_then(|seen| seen.parse().ok());
    // What the client was told or asked before it opened its first stream waits for it there.
    let seen: u64 = seen.unwrap_or_else(|| session.notices.read());
    event_stream(Body::from_stream(notices_after(&session, seen)))
}

/// What a client is told beside answers after this event, to the end of its session or until it opens
/// another stream: a message comes on one of them.
fn notices_after(
    session: &Arc<HttpSession>,
    seen: u64,
) -> impl stream::Stream<Item = Result<Bytes, Infallible>> + use<> {
    session.stream.send_modify(|number| *number += 1);
    let (listener, later) = (session.messages.listen(), session.stream.subscribe());
    let state = (Arc::downgrade(session), listener, later, seen);
    stream::unfold(state, |(session, listener, mut later, seen)| async move {
        let open = session.upgrade()?;
        let next = tokio::select! {
            biased;
            _ = later.changed() => return None,
            next = tokio::time::timeout(HEARTBEAT, open.notices.after(seen)) => next,
        };
        let (line, seen) = match next {
            Ok(next) => {
                let (number, line) = next?;
                (event(Some(&number.to_string()), &line), number)
            }
            Err(_) => (Ok(Bytes::from_static(b": waiting\n\n")), seen),
        };
        Some((line, (session, listener, later, seen)))
    })
}

/// The end of a session.
pub(super) async fn delete(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    let id = headers.get(SESSION).and_then(|id| id.to_str().ok()).unwrap_or_default();
    match gateway.sessions.take(id, &caller) {
        Some(session) => {
            tokio::spawn(async move { session.messages.end().await });
            StatusCode::NO_CONTENT.into_response()
        }
        None => error(StatusCode::NOT_FOUND, -32001, "there is no such session"),
    }
}

fn answered(status: fn(&[u8]) -> StatusCode, line: Vec<u8>) -> Response {
    (status(&line), [(CONTENT_TYPE, "application/json")], line).into_response()
}

/// Revisions with sessions tell errors of the protocol in the body alone.
fn always_ok(_: &[u8]) -> StatusCode {
    StatusCode::OK
}

/// A revision of the protocol that is not spoken here.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the `MCP-Protocol-Version` is not spoken here; 2025-11-25 and 2026-07-28 are")]
struct ProtocolVersionError;

fn check_headers(headers: &HeaderMap) -> Result<(), ProtocolVersionError> {
    match headers.get(VERSION).map(|version| version.to_str().unwrap_or_default()) {
        Some(version) if !VERSIONS.contains(&version) => Err(ProtocolVersionError),
        _ => Ok(()),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn accepts_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).into_iter().filter_map(|accept| accept.to_str().ok());
    accepted.flat_map(|accept| accept.split(',')).any(|kind| {
        matches!(
            kind.split(';').next().unwrap_or_default().trim(),
            "text/event-stream" | "*/*" | "text/*"
        )
    })
}

fn is_answer(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind {
        method: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Kind>(line).is_ok_and(|kind| kind.method.is_none())
}

/// One event of a stream (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). A
/// message of ours is one line, so its data is too.
fn event(id: Option<&str>, line: &[u8]) -> Result<Bytes, Infallible> {
    let mut out = Vec::with_capacity(line.len() + 64);
    if let Some(id) = id {
        out.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    out.extend_from_slice(b"event: message\ndata: ");
    out.extend_from_slice(line.trim_ascii_end());
    out.extend_from_slice(b"\n\n");
    Ok(Bytes::from(out))
}

fn event_stream(body: Body) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}

fn error(status: StatusCode, code: i64, problem: &str) -> Response {
    let body =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": problem } });
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
