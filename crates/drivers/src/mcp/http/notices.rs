//! The stream on which a server over HTTP tells of changes, for as long as its connection is there.
//!
//! What a server tells while the stream is away is lost: in the modern era nothing is told again, and
//! in the legacy era few servers keep it. So the lists of whose changes it tells count as changed
//! whenever the stream is open again.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use reqwest::{Response, StatusCode};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::super::message::{self, IncomingMessage};
use super::super::server_list::ServerList;
use super::super::sse::SseDecoder;
use super::streams::StreamPlace;
use super::{HttpLink, Media, media};

/// How long the handshake waits for the stream of notifications. A server may send the head of its
/// answer with the first event only.
const OPENING: Duration = Duration::from_millis(500);
/// The pause before the stream is asked for again, where the server names none. It doubles with each
/// try that brings nothing.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The shortest pause that a server may name.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// Whether the server has opened its stream of notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    Open,
    /// It has not answered yet.
    Pending,
    /// It offers none, or none for now.
    Refused,
}

/// A stream of notifications that was asked for.
pub(crate) struct StreamOpening(oneshot::Receiver<()>);

impl StreamOpening {
    /// Waits until the server has opened or refused it, at most for half a second.
    pub(crate) async fn state(self) -> StreamState {
        match timeout(OPENING, self.0).await {
            Ok(Ok(())) => StreamState::Open,
            Ok(Err(_)) => StreamState::Refused,
            Err(_) => StreamState::Pending,
        }
    }
}

/// The tasks that follow the stream. The one before goes on until the next one is open, so that
/// nothing is missed in between.
#[derive(Default)]
pub(super) struct Listeners {
    last: u64,
    opening: Option<(u64, JoinHandle<()>)>,
    open: Option<JoinHandle<()>>,
}

/// The stream, as one task follows it.
struct NoticeStream {
    number: u64,
    /// In the modern era, what asks for the stream.
    request: Option<Vec<u8>>,
    /// The lists of whose changes the server tells.
    lists: Vec<ServerList>,
    place: StreamPlace,
    /// Told when the stream is first open; dropped when it is first refused.
    opened: Option<oneshot::Sender<()>>,
    was_open: bool,
    /// How many tries in a row brought nothing.
    fruitless: u32,
}

impl NoticeStream {
    fn pause(&self) -> Duration {
        let first = self.place.pause().unwrap_or(FIRST_PAUSE).max(SHORTEST_PAUSE);
        let factor = 2_u32.saturating_pow(self.fruitless.saturating_sub(1));
        first.saturating_mul(factor).min(LONGEST_PAUSE)
    }

    /// Whether an answer that opens no stream says that there will be none. A proxy says many other
    /// things while its server is away.
    fn is_over(&self, answer: &Response) -> bool {
        match answer.status() {
            StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::GONE
            | StatusCode::NOT_IMPLEMENTED => true,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                false
            }
            status if status.is_client_error() => !self.was_open,
            status => status.is_success() && !self.was_open && matches!(media(answer), Media::Json),
        }
    }
}

impl HttpLink {
    /// Opens the stream on which the server tells of changes of these lists, if it offers one: with a
    /// request in the modern era, with none in the legacy era. Tells how far that has come in the
    /// meantime.
    pub(crate) fn listen(
        self: &Arc<Self>,
        request: Option<Vec<u8>>,
        lists: Vec<ServerList>,
    ) -> StreamOpening {
        let (opened, opening) = oneshot::channel();
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.last = listeners.last.saturating_add(1);
        let (number, link) = (listeners.last, Arc::downgrade(self));
        let (place, opened) = (StreamPlace::default(), Some(opened));
        let (was_open, fruitless) = (false, 0);
        let mut stream =
            NoticeStream { number, request, lists, place, opened, was_open, fruitless };
        let task = tokio::spawn(async move {
            loop {
                let Some(link) = link.upgrade() else { return };
                if !link.follow(&mut stream).await {
                    return;
                }
                drop(link);
                sleep(stream.pause()).await;
            }
        });
        if let Some((_, before)) = listeners.opening.replace((number, task)) {
            before.abort();
        }
        StreamOpening(opening)
    }

    pub(crate) fn stop_listening(&self) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let opening = listeners.opening.take().map(|(_, task)| task);
        for task in opening.into_iter().chain(listeners.open.take()) {
            task.abort();
        }
    }

    /// Follows the stream of notifications to its end. False when the server offers none.
    async fn follow(&self, stream: &mut NoticeStream) -> bool {
        let sent = match &stream.request {
            Some(body) => self.post("subscriptions/listen", None, &[], body.clone()).await,
            None => self.get(stream.place.last_id.as_ref()).await,
        };
        stream.fruitless = stream.fruitless.saturating_add(1);
        let response = match sent {
            Ok(response) if is_stream(&response) => response,
            other => {
                stream.opened = None;
                return !other.is_ok_and(|answer| stream.is_over(&answer));
            }
        };
        self.note_open(stream);
        let begun = Instant::now();
        if self.hear_all(response, &mut stream.place).await || begun.elapsed() > LONGEST_PAUSE {
            stream.fruitless = 0;
        }
        true
    }

    /// A stream is open: the one before it is needed no longer.
    fn note_open(&self, stream: &mut NoticeStream) {
        if let Some(opened) = stream.opened.take() {
            let _ = opened.send(());
        }
        if std::mem::replace(&mut stream.was_open, true) {
            self.inbox.has_missed(&stream.lists);
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let own = listeners.opening.take_if(|(number, _)| *number == stream.number);
        if let Some((_, task)) = own
            && let Some(before) = listeners.open.replace(task)
        {
            before.abort();
        }
    }

    /// Hears what is told on a stream, up to its end. Whether that was anything.
    async fn hear_all(&self, mut response: Response, place: &mut StreamPlace) -> bool {
        let (mut decoder, mut has_told) = (SseDecoder::new(self.message_bytes), false);
        while let Ok(Some(chunk)) = response.chunk().await {
            let events = decoder.push(&chunk);
            place.note(&decoder);
            let Ok(events) = events else { return has_told };
            for event in events {
                has_told = true;
                match message::classify(&event) {
                    IncomingMessage::Noise => self.inbox.count_noise(),
                    IncomingMessage::Reply { .. } | IncomingMessage::Faulty { .. } => {
                        self.inbox.count_dropped()
                    }
                    other => {
                        if let Some(reply) = self.inbox.aside(other) {
                            let _ = self.notify("", reply).await;
                        }
                    }
                }
            }
        }
        has_told
    }
}

fn is_stream(response: &Response) -> bool {
    response.status().is_success() && matches!(media(response), Media::Events)
}
