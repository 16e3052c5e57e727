//! Streams of server-sent events: the answer to a request, and the messages of a session that are
//! not answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::json_response::{error_response, json_response};
use super::sessions::{AnswerStream, HttpSession};
use crate::serve::code;

/// After this time without an answer the response becomes a stream with heartbeats.
const STREAM_AFTER: Duration = Duration::from_secs(5);
/// The interval of heartbeats: proxies commonly close connections that are silent for a minute.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The form of the response to a request.
pub(super) enum AnswerForm {
    /// Only the answer, because the client accepts no stream.
    Single,
    /// A stream that ends with its connection, if there is more than the answer.
    Stream,
    /// The same, but the stream can be resumed.
    ResumableStream { session: Arc<HttpSession>, primed: bool },
}

/// The response to a request: the answer alone if it comes at once, otherwise a stream that ends
/// with it.
pub(super) async fn answer_response(
    mut answers: mpsc::Receiver<Vec<u8>>,
    form: AnswerForm,
    status: fn(&[u8]) -> StatusCode,
) -> Response {
    let cancelled = || error_response(StatusCode::OK, code::INTERNAL, "the request was cancelled");
    if matches!(form, AnswerForm::Single) {
        while let Some(line) = answers.recv().await {
            if is_answer(&line) {
                return json_response(status, line);
            }
        }
        return cancelled();
    }
    let early = match tokio::time::timeout(STREAM_AFTER, answers.recv()).await {
        Ok(None) => return cancelled(),
        Ok(Some(line)) if is_answer(&line) => return json_response(status, line),
        Ok(Some(line)) => Some(line),
        Err(_) => None,
    };
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
    session: &Arc<HttpSession>,
    early: Option<Vec<u8>>,
    mut answers: mpsc::Receiver<Vec<u8>>,
    primed: bool,
) -> Response {
    let stream = session.open_answer_stream();
    let collected = Arc::clone(&stream.events);
    early.into_iter().for_each(|line| collected.push(line));
    let session = Arc::clone(session);
    tokio::spawn(async move {
        while let Some(line) = answers.recv().await {
            collected.push(line);
        }
        collected.end_in_run(session.messages.last_run().await);
    });
    // An event without data gives the client an id to resume from before the first message.
    let first = format!("id: {}-0\ndata:\n\n", stream.number);
    let first = primed.then(|| Ok::<_, Infallible>(Bytes::from(first)));
    let events = stream::iter(first).chain(events_after(stream, 0));
    event_stream(Body::from_stream(events))
}

/// The events of a stream after `seen`, to its end.
pub(super) fn events_after(
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
pub(super) fn answer_event(id: &str) -> Option<(u64, u64)> {
    let (stream, event) = id.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

/// The session's messages after `seen` that are not answers, until the session ends or the client
/// opens another stream, so that each message is sent on one stream only.
pub(super) fn notices_after(
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

pub(super) fn event_stream(body: Body) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}
