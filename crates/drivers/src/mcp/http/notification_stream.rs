//! The stream on which a server over HTTP sends notifications while the connection lives.
//!
//! Notifications sent while the stream is interrupted are lost: in the modern era nothing is sent again, and in the
//! legacy era few servers keep them. So each time the stream reopens, all lists that it reports on count as changed.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use reqwest::{Response, StatusCode};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::super::message::{self, IncomingMessage};
use super::super::server_list::ServerList;
use super::super::sse::SseDecoder;
use super::response_stream::StreamPosition;
use super::{HttpTransport, MediaKind, response_media};

/// How long the handshake waits for the stream. Some servers send the response head only with the first event.
const OPEN_WAIT: Duration = Duration::from_millis(500);
/// The pause before the stream is requested again, unless the server names one. It doubles with each attempt that
/// yields no event.
const INITIAL_RETRY_PAUSE: Duration = Duration::from_secs(5);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(60);
/// The shortest pause that a server may name.
const MIN_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Whether the server has opened its stream of notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    Open,
    /// The server has not answered yet.
    Pending,
    /// The server offers no stream, at least for now.
    Refused,
}

/// A stream of notifications that has been requested.
pub(crate) struct StreamOpening(oneshot::Receiver<()>);

impl StreamOpening {
    /// Waits up to half a second for the server to open or refuse it.
    pub(crate) async fn state(self) -> StreamState {
        match timeout(OPEN_WAIT, self.0).await {
            Ok(Ok(())) => StreamState::Open,
            Ok(Err(_)) => StreamState::Refused,
            Err(_) => StreamState::Pending,
        }
    }
}

/// The tasks that read the stream. The old task keeps reading until the new stream is open, so that nothing is missed
/// in between.
#[derive(Default)]
pub(super) struct StreamTasks {
    last: u64,
    opening: Option<(u64, JoinHandle<()>)>,
    open: Option<JoinHandle<()>>,
}

/// The notification stream as one task reads it.
struct NotificationStream {
    number: u64,
    /// The request that opens the stream in the modern era.
    request: Option<Vec<u8>>,
    /// The lists whose changes the server reports.
    lists: Vec<ServerList>,
    position: StreamPosition,
    /// Signalled when the stream first opens; dropped when it is first refused.
    opened: Option<oneshot::Sender<()>>,
    was_open: bool,
    /// How many consecutive attempts yielded no event.
    empty_attempts: u32,
}

impl NotificationStream {
    fn retry_pause(&self) -> Duration {
        let first = self.position.pause().unwrap_or(INITIAL_RETRY_PAUSE).max(MIN_RETRY_PAUSE);
        let factor = 2_u32.saturating_pow(self.empty_attempts.saturating_sub(1));
        first.saturating_mul(factor).min(MAX_RETRY_PAUSE)
    }

    /// Whether a response that opens no stream means that there will never be one. Other statuses may come from a
    /// proxy whose server is down.
    fn is_final_refusal(&self, answer: &Response) -> bool {
        match answer.status() {
            StatusCode::NOT_FOUND
            | StatusCode::METHOD_NOT_ALLOWED
            | StatusCode::GONE
            | StatusCode::NOT_IMPLEMENTED => true,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                false
            }
            status if status.is_client_error() => !self.was_open,
            status => {
                status.is_success()
                    && !self.was_open
                    && matches!(response_media(answer), MediaKind::Json)
            }
        }
    }
}

impl HttpTransport {
    /// Opens the stream on which the server reports changes of `lists`, if it offers one: with a POST of `request` in
    /// the modern era, with a GET in the legacy era. The returned value tells whether it is open yet.
    pub(crate) fn start_notification_stream(
        self: &Arc<Self>,
        request: Option<Vec<u8>>,
        lists: Vec<ServerList>,
    ) -> StreamOpening {
        let (opened, opening) = oneshot::channel();
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.last = listeners.last.saturating_add(1);
        let (number, link) = (listeners.last, Arc::downgrade(self));
        let (position, opened) = (StreamPosition::default(), Some(opened));
        let (was_open, empty_attempts) = (false, 0);
        let mut stream = NotificationStream {
            number,
            request,
            lists,
            position,
            opened,
            was_open,
            empty_attempts,
        };
        let task = tokio::spawn(async move {
            loop {
                let Some(link) = link.upgrade() else { return };
                if !link.follow_stream(&mut stream).await {
                    return;
                }
                drop(link);
                sleep(stream.retry_pause()).await;
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

    /// Reads the stream to its end. False if the server offers none.
    async fn follow_stream(&self, stream: &mut NotificationStream) -> bool {
        let sent = match &stream.request {
            Some(body) => self.post(Some("subscriptions/listen"), None, &[], body.clone()).await,
            None => self.open_event_stream(stream.position.last_id.as_ref()).await,
        };
        stream.empty_attempts = stream.empty_attempts.saturating_add(1);
        let response = match sent {
            Ok(response) if is_stream(&response) => response,
            other => {
                stream.opened = None;
                return !other.is_ok_and(|answer| stream.is_final_refusal(&answer));
            }
        };
        self.mark_open(stream);
        let begun = Instant::now();
        if self.read_notifications(response, &mut stream.position).await
            || begun.elapsed() > MAX_RETRY_PAUSE
        {
            stream.empty_attempts = 0;
        }
        true
    }

    /// Records that a stream is open; the previous one is no longer needed.
    fn mark_open(&self, stream: &mut NotificationStream) {
        if let Some(opened) = stream.opened.take() {
            let _ = opened.send(());
        }
        if std::mem::replace(&mut stream.was_open, true) {
            self.inbox.mark_possibly_changed(&stream.lists);
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let task_of_stream = listeners.opening.take_if(|(number, _)| *number == stream.number);
        if let Some((_, task)) = task_of_stream
            && let Some(before) = listeners.open.replace(task)
        {
            before.abort();
        }
    }

    /// Reads a stream to its end and delivers its notifications. True if any event arrived.
    async fn read_notifications(
        &self,
        mut response: Response,
        position: &mut StreamPosition,
    ) -> bool {
        let (mut decoder, mut received_any) = (SseDecoder::new(self.message_bytes), false);
        while let Ok(Some(chunk)) = response.chunk().await {
            let events = decoder.push(&chunk);
            position.note(&decoder);
            let Ok(events) = events else { return received_any };
            for event in events {
                received_any = true;
                match message::classify(&event) {
                    IncomingMessage::NotJsonRpc => self.inbox.count_not_json_rpc(),
                    IncomingMessage::Reply { .. } | IncomingMessage::Invalid { .. } => {
                        self.inbox.count_dropped()
                    }
                    other => {
                        if let Some(reply) = self.inbox.handle_non_reply(other) {
                            let _ = self.send_answer(reply).await;
                        }
                    }
                }
            }
        }
        received_any
    }
}

fn is_stream(response: &Response) -> bool {
    response.status().is_success() && matches!(response_media(response), MediaKind::Events)
}
