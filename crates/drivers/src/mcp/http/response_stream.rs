//! The stream that answers one request over HTTP, resumed where it breaks off.
//!
//! A server of the legacy era may give its events ids. A stream that ends before its answer is then requested again
//! from the last event on (`Last-Event-ID`). The request itself is never sent again, because the server may have
//! executed it.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use tokio::time::sleep;

use super::super::error::{McpError, McpErrorKind};
use super::super::fault::{HttpFault, MessageFault};
use super::super::message::RpcResult;
use super::super::sse::SseDecoder;
use super::{Exchange, HttpTransport, MediaKind, StreamMessage, response_media};

/// Most server requests that are answered during one request of ours.
const MAX_ANSWERS: usize = 100;
/// The pause before a stream is resumed, unless the server names one.
const DEFAULT_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause that a server may name.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);
/// How often a stream is resumed without a new event in between.
const MAX_RESUMES: usize = 5;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How far a stream has been read.
#[derive(Debug, Default)]
pub(super) struct StreamPosition {
    pub(super) last_id: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl StreamPosition {
    pub(super) fn note(&mut self, decoder: &SseDecoder) {
        let id = decoder.last_id().and_then(|id| HeaderValue::from_bytes(id).ok());
        self.last_id = id.or_else(|| self.last_id.take());
        self.retry = decoder.retry().or(self.retry);
    }

    /// The pause that the server named, bounded.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.retry.map(|pause| pause.min(MAX_RETRY_PAUSE))
    }
}

/// The state of reading the answer to one request.
#[derive(Default)]
struct AnswerStreamState {
    position: StreamPosition,
    /// How many server requests were answered.
    answers: usize,
    /// How many events were not messages.
    garbage: usize,
    /// How often the stream was resumed since its last event.
    resumes: usize,
}

impl HttpTransport {
    /// Reads events until one answers the request.
    pub(super) async fn read_answer(
        &self,
        response: Response,
        exchange: &Exchange<'_>,
    ) -> Result<RpcResult, McpError> {
        let (mut response, mut reading) = (response, AnswerStreamState::default());
        loop {
            let broken = match self.read_until_answer(response, exchange, &mut reading).await {
                Ok(Some(answer)) => return answer,
                Ok(None) => HttpFault::StreamEnded,
                Err(McpError {
                    kind: McpErrorKind::Http { fault: HttpFault::Connection }, ..
                }) => HttpFault::Connection,
                Err(error) => return Err(error),
            };
            response = self.resume(&mut reading).await.ok_or_else(|| self.http_error(broken))?;
        }
    }

    /// Reads one stream; `None` if it ends before the answer.
    async fn read_until_answer(
        &self,
        mut response: Response,
        exchange: &Exchange<'_>,
        reading: &mut AnswerStreamState,
    ) -> Result<Option<Result<RpcResult, McpError>>, McpError> {
        let mut decoder = SseDecoder::new(self.message_bytes);
        while let Some(chunk) = self.next_chunk(&mut response).await? {
            let events = decoder.push(&chunk);
            reading.position.note(&decoder);
            for event in events.map_err(|_| self.inbox.malformed(MessageFault::LineTooLong))? {
                reading.resumes = 0;
                match self.classify_for(&event, exchange) {
                    StreamMessage::Answer(answer) => return Ok(Some(answer)),
                    StreamMessage::Unrelated(Some(reply)) if reading.answers < MAX_ANSWERS => {
                        reading.answers = reading.answers.saturating_add(1);
                        let _ = self.send_answer(reply).await;
                    }
                    StreamMessage::Unrelated(_) => {}
                    StreamMessage::NotJsonRpc => {
                        reading.garbage = reading.garbage.saturating_add(1)
                    }
                }
                if reading.garbage >= self.garbage_limit {
                    let lines = reading.garbage;
                    return Err(self.inbox.error(McpErrorKind::Garbage { lines }));
                }
            }
        }
        Ok(None)
    }

    /// Requests the rest of a stream that broke off; `None` if the server does not continue it.
    async fn resume(&self, reading: &mut AnswerStreamState) -> Option<Response> {
        let position = reading.position.last_id.clone().filter(|_| !self.lock().modern)?;
        while reading.resumes < MAX_RESUMES {
            reading.resumes = reading.resumes.saturating_add(1);
            sleep(reading.position.pause().unwrap_or(DEFAULT_RETRY_PAUSE)).await;
            let Ok(response) = self.open_event_stream(Some(&position)).await else { continue };
            let goes_on = response.status().is_success()
                && matches!(response_media(&response), MediaKind::Events);
            return goes_on.then_some(response);
        }
        None
    }

    pub(super) async fn open_event_stream(
        &self,
        position: Option<&HeaderValue>,
    ) -> Result<Response, McpError> {
        self.send_authorized(|| {
            let get = self.with_common_headers(self.client.get(self.url.clone()));
            let get = get.header(ACCEPT, "text/event-stream");
            match position {
                Some(position) => get.header(LAST_EVENT_ID, position),
                None => get,
            }
        })
        .await
    }
}
