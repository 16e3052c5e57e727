//! `/mcp`: Streamable HTTP of 2025-03-26 to 2025-11-25 with sessions, and of 2026-07-28 with
//! self-contained requests.

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
use super::sessions::{AnswerStream, HttpSession, SessionRefusal};
use crate::serve::{ClientMessage, ResponseStreaming};

/// The largest message.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
/// Time limit for a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// After this time without an answer the response becomes a stream with heartbeats.
const STREAM_AFTER: Duration = Duration::from_secs(5);
/// The interval of heartbeats: proxies commonly close connections that are silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID_HEADER: HeaderName = HeaderName::from_static("last-event-id");
const SUPPORTED_VERSIONS: [&str; 5] =
    ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
pub(super) const MODERN_VERSION: &str = "2026-07-28";

/// The first protocol revision whose clients accept events without data.
const FIRST_PRIMED_VERSION: &str = "2025-11-25";

type GatewayState = State<Arc<HttpGateway>>;

/// The form of the response to a request.
enum AnswerForm {
    /// Only the answer, because the client accepts no stream.
    Single,
    /// A stream that ends with its connection, if there is more than the answer.
    Stream,
    /// The same, but the stream can be resumed.
    ResumableStream { session: Arc<HttpSession>, primed: bool },
}

/// Handles a message of a client.
pub(super) async fn post(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        return error_response(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            -32600,
            "the body must be application/json",
        );
    }
    let body = match read_body(body).await {
        Ok(body) => body,
        Err(response) => return *response,
    };
    gateway.server.telemetry().http.messages.add(1);
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_modern = modern::is_modern(&parts.headers, &message);
    if is_modern && let Err(response) = modern::check_headers(&parts.headers, &message) {
        return *response;
    }
    if !is_modern && let Err(problem) = check_headers(&parts.headers) {
        return error_response(StatusCode::BAD_REQUEST, -32600, &problem.to_string());
    }
    let (new_session_id, session) =
        match resolve_session(&gateway, &caller, &parts.headers, (&message, &body)) {
            Ok(found) => found,
            Err(response) => return *response,
        };
    if is_modern
        && let Err(response) = modern::check_parameters(&parts.headers, &message, &session).await
    {
        return *response;
    }
    let client_reads = match accepts_stream(&parts.headers) {
        true => ResponseStreaming::Streamed,
        false => ResponseStreaming::AnswerOnly,
    };
    let answers = match is_modern {
        true => session.messages.take_standalone(&body).await,
        false => session.messages.take(&body, client_reads).await,
    };
    let mut response = match answers {
        Some(answers) => {
            let form = match (accepts_stream(&parts.headers), is_modern) {
                (false, _) => AnswerForm::Single,
                (true, true) => AnswerForm::Stream,
                (true, false) => {
                    let primed = parts
                        .headers
                        .get(VERSION_HEADER)
                        .is_some_and(|version| version == FIRST_PRIMED_VERSION);
                    AnswerForm::ResumableStream { session: Arc::clone(&session), primed }
                }
            };
            answer_response(
                answers,
                form,
                if is_modern { modern::response_status } else { always_ok },
            )
            .await
        }
        // A notification, or an answer of the client.
        None => StatusCode::ACCEPTED.into_response(),
    };
    if let Some(id) = new_session_id.and_then(|id| id.parse().ok()) {
        response.headers_mut().insert(SESSION_ID_HEADER, id);
    }
    response
}

/// The whole body of a request, bounded in size and time.
pub(super) async fn read_body(body: Body) -> Result<Vec<u8>, Box<Response>> {
    let timed_out = (StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    let read =
        tokio::time::timeout(BODY_TIMEOUT, read_bounded(body)).await.unwrap_or(Err(timed_out));
    read.map_err(|(status, problem)| Box::new(error_response(status, -32600, problem)))
}

async fn read_bounded(body: Body) -> Result<Vec<u8>, (StatusCode, &'static str)> {
    let (mut chunks, mut whole) = (body.into_data_stream(), Vec::new());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| (StatusCode::BAD_REQUEST, "the body broke off"))?;
        if whole.len().saturating_add(chunk.len()) > MAX_BODY_BYTES {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 16 MiB"));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole)
}

/// The session of a message, and its id if the message opens it.
fn resolve_session(
    gateway: &Arc<HttpGateway>,
    caller: &Caller,
    headers: &HeaderMap,
    (message, body): (&Value, &[u8]),
) -> Result<(Option<String>, Arc<HttpSession>), Box<Response>> {
    if modern::is_modern(headers, message) {
        let session = gateway.sessions.stateless_session(gateway, caller);
        return session.map(|session| (None, session)).map_err(no_session_response);
    }
    match headers.get(SESSION_ID_HEADER).map(|id| id.to_str().unwrap_or_default()) {
        Some(id) => match gateway.sessions.find(id, caller) {
            Some(session) => Ok((None, session)),
            None => Err(Box::new(error_response(
                StatusCode::NOT_FOUND,
                -32001,
                "there is no such session; initialize again",
            ))),
        },
        None if message.get("method").is_some_and(|method| method == "initialize") => {
            if let Some(refusal) = ClientMessage::non_request_refusal(body) {
                return Err(Box::new(json_response(|_| StatusCode::BAD_REQUEST, refusal)));
            }
            let begun = gateway.sessions.begin(gateway, caller);
            begun.map(|(id, session)| (Some(id), session)).map_err(no_session_response)
        }
        None => Err(Box::new(error_response(
            StatusCode::BAD_REQUEST,
            -32600,
            "send `initialize` first, then its `Mcp-Session-Id` with every request",
        ))),
    }
}

fn no_session_response(reason: SessionRefusal) -> Box<Response> {
    Box::new(match reason {
        SessionRefusal::TooManySessions => error_response(
            StatusCode::SERVICE_UNAVAILABLE,
            -32603,
            "there are too many sessions; try again later",
        ),
        SessionRefusal::TooManyOfClient => error_response(
            StatusCode::SERVICE_UNAVAILABLE,
            -32603,
            "this client has too many sessions; end those that it does not use with DELETE",
        ),
        SessionRefusal::Refused(refused) => {
            error_response(StatusCode::FORBIDDEN, -32603, &refused.to_string())
        }
    })
}

/// The response to a request: the answer alone if it comes at once, otherwise a stream that ends
/// with it.
async fn answer_response(
    mut answers: mpsc::Receiver<Vec<u8>>,
    form: AnswerForm,
    status: fn(&[u8]) -> StatusCode,
) -> Response {
    let streams = !matches!(form, AnswerForm::Single);
    let first = tokio::time::timeout(STREAM_AFTER, answers.recv()).await;
    let mut early = None;
    match first {
        Ok(None) => return error_response(StatusCode::OK, -32603, "the request was cancelled"),
        Ok(Some(line)) if is_answer(&line) || !streams => {
            let mut line = line;
            while !is_answer(&line) {
                match answers.recv().await {
                    Some(next) => line = next,
                    None => {
                        return error_response(StatusCode::OK, -32603, "the request was cancelled");
                    }
                }
            }
            return json_response(status, line);
        }
        Ok(Some(line)) => early = Some(line),
        Err(_) if !streams => {
            while let Some(line) = answers.recv().await {
                if is_answer(&line) {
                    return json_response(status, line);
                }
            }
            return error_response(StatusCode::OK, -32603, "the request was cancelled");
        }
        Err(_) => {}
    }
    if let AnswerForm::ResumableStream { session, primed } = form {
        return resumable_stream(&session, early, answers, primed);
    }
    let events = stream::unfold((early, answers), |(mut early, mut answers)| async move {
        if let Some(line) = early.take() {
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

/// A stream that can be resumed after its connection breaks off. Its events are collected whether
/// or not the client reads them.
fn resumable_stream(
    session: &HttpSession,
    early: Option<Vec<u8>>,
    mut answers: mpsc::Receiver<Vec<u8>>,
    primed: bool,
) -> Response {
    let stream = session.open_answer_stream();
    let collected = Arc::clone(&stream.events);
    early.into_iter().for_each(|line| collected.push(line));
    tokio::spawn(async move {
        while let Some(line) = answers.recv().await {
            collected.push(line);
        }
        collected.end();
    });
    // An event without data gives the client an id to resume from before the first message.
    let first = format!("id: {}-0\ndata:\n\n", stream.number);
    let first = primed.then(|| Ok::<_, Infallible>(Bytes::from(first)));
    let events = stream::iter(first).chain(events_after(stream, 0));
    event_stream(Body::from_stream(events))
}

/// The events of a stream after `seen`, to its end.
fn events_after(
    stream: AnswerStream,
    seen: u64,
) -> impl stream::Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((stream, seen), |(stream, seen)| async move {
        match tokio::time::timeout(HEARTBEAT, stream.events.next_after(seen)).await {
            Ok(next) => {
                let (number, line) = next?;
                let id = format!("{}-{number}", stream.number);
                Some((event(Some(&id), &line), (stream, number)))
            }
            Err(_) => Some((Ok(Bytes::from_static(b": waiting\n\n")), (stream, seen))),
        }
    })
}

/// The stream and event numbers in an event id.
fn answer_event(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

/// Opens the stream of messages that are not answers to requests.
pub(super) async fn get(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    if !accepts_stream(&headers) {
        return error_response(StatusCode::NOT_ACCEPTABLE, -32600, "accept text/event-stream");
    }
    let id = headers.get(SESSION_ID_HEADER).and_then(|id| id.to_str().ok());
    let seen = headers.get(LAST_EVENT_ID_HEADER).and_then(|id| id.to_str().ok());
    let Some(id) = id else {
        return error_response(
            StatusCode::METHOD_NOT_ALLOWED,
            -32600,
            "a stream needs an `Mcp-Session-Id`",
        );
    };
    let Some(session) = gateway.sessions.find(id, &caller) else {
        return error_response(
            StatusCode::NOT_FOUND,
            -32001,
            "there is no such session; initialize again",
        );
    };
    if let Some((stream, seen)) = seen.and_then(answer_event) {
        return match session.answer_stream(stream) {
            Some(stream) => event_stream(Body::from_stream(events_after(stream, seen))),
            None => error_response(
                StatusCode::NOT_FOUND,
                -32001,
                "the stream of this event is not kept",
            ),
        };
    }
    let seen = seen.and_then(|seen| seen.parse().ok());
    // Messages from before the client opened its first stream are delivered there.
    let seen: u64 = seen.unwrap_or_else(|| session.notices.last_read());
    event_stream(Body::from_stream(notices_after(&session, seen)))
}

/// The session's messages after `seen` that are not answers, until the session ends or the client
/// opens another stream, so that each message is sent on one stream only.
fn notices_after(
    session: &Arc<HttpSession>,
    seen: u64,
) -> impl stream::Stream<Item = Result<Bytes, Infallible>> + use<> {
    session.stream.send_modify(|number| *number += 1);
    let (listener, newer_stream) = (session.messages.add_listener(), session.stream.subscribe());
    let state = (Arc::clone(session), listener, newer_stream, seen);
    stream::unfold(state, |(session, listener, mut newer_stream, seen)| async move {
        let next = tokio::select! {
            biased;
            () = session.ended() => return None,
            _ = newer_stream.changed() => return None,
            next = tokio::time::timeout(HEARTBEAT, session.notices.next_after(seen)) => next,
        };
        let (line, seen) = match next {
            Ok(next) => {
                let (number, line) = next?;
                (event(Some(&number.to_string()), &line), number)
            }
            Err(_) => (Ok(Bytes::from_static(b": waiting\n\n")), seen),
        };
        Some((line, (session, listener, newer_stream, seen)))
    })
}

/// Ends a session.
pub(super) async fn delete(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    let id = headers.get(SESSION_ID_HEADER).and_then(|id| id.to_str().ok()).unwrap_or_default();
    match gateway.sessions.remove(id, &caller) {
        Some(session) => {
            session.end();
            StatusCode::NO_CONTENT.into_response()
        }
        None => error_response(StatusCode::NOT_FOUND, -32001, "there is no such session"),
    }
}

fn json_response(status: fn(&[u8]) -> StatusCode, line: Vec<u8>) -> Response {
    (status(&line), [(CONTENT_TYPE, "application/json")], line).into_response()
}

/// Revisions with sessions report protocol errors only in the body.
fn always_ok(_: &[u8]) -> StatusCode {
    StatusCode::OK
}

/// The protocol version is not supported.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the `MCP-Protocol-Version` is not supported; 2025-11-25 and 2026-07-28 are")]
struct ProtocolVersionError;

fn check_headers(headers: &HeaderMap) -> Result<(), ProtocolVersionError> {
    match headers.get(VERSION_HEADER).map(|version| version.to_str().unwrap_or_default()) {
        Some(version) if !SUPPORTED_VERSIONS.contains(&version) => Err(ProtocolVersionError),
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

fn error_response(status: StatusCode, code: i64, problem: &str) -> Response {
    let body =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": problem } });
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
