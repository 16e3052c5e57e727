//! `/mcp`: Streamable HTTP of 2025-03-26 to 2025-11-25 with sessions, and of 2026-07-28 with
//! self-contained requests.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use serde_json::Value;
use weaver_drivers::mcp::{LEGACY_VERSIONS, MODERN_VERSION};

use super::HttpGateway;
use super::caller::Caller;
use super::event_stream::{
    AnswerForm, answer_event, answer_response, event_stream, events_after, notices_after,
};
use super::json_response::{always_ok, error_response, json_response};
use super::modern;
use super::request_body::read_body;
use super::sessions::{HttpSession, SessionRefusal};
use crate::serve::code;
use crate::serve::{ClientMessage, ResponseStreaming};

const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID_HEADER: HeaderName = HeaderName::from_static("last-event-id");

/// The first protocol revision whose clients accept events without data.
const FIRST_PRIMED_VERSION: &str = "2025-11-25";

type GatewayState = State<Arc<HttpGateway>>;

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
            code::INVALID_REQUEST,
            "the body must be application/json",
        );
    }
    if let Some(name) = repeated_header(&parts.headers) {
        let problem = format!("the header `{name}` is there more than once");
        return error_response(StatusCode::BAD_REQUEST, code::HEADER_MISMATCH, &problem);
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
        return error_response(
            StatusCode::BAD_REQUEST,
            code::INVALID_REQUEST,
            &problem.to_string(),
        );
    }
    let (new_session_id, session) =
        match resolve_session(&gateway, &caller, &parts.headers, (&message, &body)).await {
            Ok(found) => found,
            Err(response) => return *response,
        };
    if is_modern
        && let Err(response) = modern::check_parameters(&parts.headers, &message, &session).await
    {
        return *response;
    }
    if !is_modern && let Some(id) = new_session_id.as_deref().or(session_id(&parts.headers)) {
        gateway.archive.record(id, &caller.session_key(), &message);
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

/// The session of a message, and its id if the message opens it.
async fn resolve_session(
    gateway: &Arc<HttpGateway>,
    caller: &Caller,
    headers: &HeaderMap,
    (message, body): (&Value, &[u8]),
) -> Result<(Option<String>, Arc<HttpSession>), Box<Response>> {
    if modern::is_modern(headers, message) {
        let session = gateway.sessions.stateless_session(gateway, caller);
        return session.map(|session| (None, session)).map_err(no_session_response);
    }
    match session_id(headers) {
        Some(id) => match gateway.sessions.find_or_restore(gateway, id, caller).await {
            Some(session) => Ok((None, session)),
            None => Err(Box::new(error_response(
                StatusCode::NOT_FOUND,
                code::UNKNOWN_SESSION,
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
            code::INVALID_REQUEST,
            "send `initialize` first, then its `Mcp-Session-Id` with every request",
        ))),
    }
}

/// The id of the session that a request names.
fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID_HEADER).map(|id| id.to_str().unwrap_or_default())
}

fn no_session_response(reason: SessionRefusal) -> Box<Response> {
    Box::new(match reason {
        SessionRefusal::TooManySessions => error_response(
            StatusCode::SERVICE_UNAVAILABLE,
            code::INTERNAL,
            "there are too many sessions; try again later",
        ),
        SessionRefusal::TooManyOfClient => error_response(
            StatusCode::SERVICE_UNAVAILABLE,
            code::INTERNAL,
            "this client has too many sessions; end those that it does not use with DELETE",
        ),
        SessionRefusal::Refused(refused) => {
            error_response(StatusCode::FORBIDDEN, code::INTERNAL, &refused.to_string())
        }
    })
}

/// Opens the stream of messages that are not answers to requests.
pub(super) async fn get(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    if !accepts_stream(&headers) {
        return error_response(
            StatusCode::NOT_ACCEPTABLE,
            code::INVALID_REQUEST,
            "accept text/event-stream",
        );
    }
    let id = session_id(&headers);
    let seen = headers.get(LAST_EVENT_ID_HEADER).and_then(|id| id.to_str().ok());
    let Some(id) = id else {
        return error_response(
            StatusCode::METHOD_NOT_ALLOWED,
            code::INVALID_REQUEST,
            "a stream needs an `Mcp-Session-Id`",
        );
    };
    let Some(session) = gateway.sessions.find_or_restore(&gateway, id, &caller).await else {
        return error_response(
            StatusCode::NOT_FOUND,
            code::UNKNOWN_SESSION,
            "there is no such session; initialize again",
        );
    };
    if let Some((stream, seen)) = seen.and_then(answer_event) {
        let stream = session.answer_stream(stream);
        // Shown in another run, the answer would not taint it.
        let is_current = match stream.as_ref().and_then(|stream| stream.events.run()) {
            Some(run) => session.messages.is_in_run(&run).await,
            None => true,
        };
        return match stream.filter(|_| is_current) {
            Some(stream) => event_stream(Body::from_stream(events_after(stream, seen))),
            None => error_response(
                StatusCode::NOT_FOUND,
                code::UNKNOWN_SESSION,
                "the stream of this event is not kept, or its run has ended",
            ),
        };
    }
    let seen = seen.and_then(|seen| seen.parse().ok());
    // Messages from before the client opened its first stream are delivered there.
    let seen: u64 = seen.unwrap_or_else(|| session.notices.last_read());
    let ending = gateway.connections.ending.clone().cancelled_owned();
    event_stream(Body::from_stream(notices_after(&session, seen).take_until(Box::pin(ending))))
}

/// Ends a session.
pub(super) async fn delete(
    State(gateway): GatewayState,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    let id = session_id(&headers).unwrap_or_default();
    match gateway.sessions.remove(id, &caller) {
        Some(session) => {
            gateway.archive.remove(id);
            session.end();
            StatusCode::NO_CONTENT.into_response()
        }
        None => {
            error_response(StatusCode::NOT_FOUND, code::UNKNOWN_SESSION, "there is no such session")
        }
    }
}

/// The protocol version is not supported.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the `MCP-Protocol-Version` is not supported; 2025-11-25 and 2026-07-28 are")]
struct ProtocolVersionError;

fn check_headers(headers: &HeaderMap) -> Result<(), ProtocolVersionError> {
    match headers.get(VERSION_HEADER).map(|version| version.to_str().unwrap_or_default()) {
        Some(version) if version != MODERN_VERSION && !LEGACY_VERSIONS.contains(&version) => {
            Err(ProtocolVersionError)
        }
        _ => Ok(()),
    }
}

/// A header of the protocol that is there more than once: a proxy that authorises by one of its
/// values and a server that reads another would see two requests.
fn repeated_header(headers: &HeaderMap) -> Option<HeaderName> {
    const SINGLE: [HeaderName; 5] = [
        VERSION_HEADER,
        SESSION_ID_HEADER,
        LAST_EVENT_ID_HEADER,
        HeaderName::from_static("mcp-method"),
        HeaderName::from_static("mcp-name"),
    ];
    SINGLE.into_iter().find(|name| headers.get_all(name).iter().nth(1).is_some())
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
