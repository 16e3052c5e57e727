//! The streams of a server over HTTP, taken up again where they break off.
//!
//! A server of the legacy era may name its events. A stream that ends before its answer is then asked
//! for again from the last event on (`Last-Event-ID`), and never is the request itself made again.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::{ACCEPT, HeaderName, HeaderValue};
use tokio::time::sleep;

use super::super::error::McpError;
use super::super::fault::{Fault, HttpFault};
use super::super::message::RpcResult;
use super::super::sse::SseDecoder;
use super::{Exchange, HttpLink, Media, StreamMessage, media};

/// Most requests of the server that are answered during one of ours.
const ANSWERS: usize = 100;
/// The pause before a stream is taken up again, where the server names none.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest pause that a server may name.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often a stream is taken up again without any event in between.
const MAX_RESUMES: usize = 5;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How far a stream was read.
#[derive(Debug, Default)]
pub(super) struct StreamPlace {
    pub(super) last_id: Option<HeaderValue>,
    retry: Option<Duration>,
}

impl StreamPlace {
    pub(super) fn note(&mut self, decoder: &SseDecoder) {
        let id = decoder.last_id().and_then(|id| HeaderValue::from_bytes(id).ok());
        self.last_id = id.or_else(|| self.last_id.take());
        self.retry = decoder.retry().or(self.retry);
    }

    /// The pause that the server names.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.retry.map(|pause| pause.min(LONGEST_PAUSE))
    }
}

/// What was read of the streams that answer one request.
#[derive(Default)]
struct StreamReading {
    place: StreamPlace,
    /// How many requests of the server were answered.
    answers: usize,
    /// How many events were no messages.
    garbage: usize,
    /// How often the stream was taken up again since its last event.
    resumes: usize,
}

impl HttpLink {
    /// Reads events until the one that answers the request.
    pub(super) async fn stream(
        &self,
        response: Response,
        exchange: &Exchange<'_>,
    ) -> Result<RpcResult, McpError> {
        let (mut response, mut reading) = (response, StreamReading::default());
        loop {
            let broken = match self.read_stream(response, exchange, &mut reading).await {
                Ok(Some(answer)) => return answer,
                Ok(None) => HttpFault::StreamEnded,
                Err(McpError::Http { fault: HttpFault::Connection, .. }) => HttpFault::Connection,
                Err(error) => return Err(error),
            };
            response = self.resumed(&mut reading).await.ok_or_else(|| self.fault(broken))?;
        }
    }

    /// Reads one stream; `None` where it ends before the answer.
    async fn read_stream(
        &self,
        mut response: Response,
        exchange: &Exchange<'_>,
        reading: &mut StreamReading,
    ) -> Result<Option<Result<RpcResult, McpError>>, McpError> {
        let mut decoder = SseDecoder::new(self.message_bytes);
        while let Some(chunk) = self.chunk(&mut response).await? {
            let events = decoder.push(&chunk);
            reading.place.note(&decoder);
            for event in events.map_err(|_| self.inbox.malformed(Fault::LineTooLong))? {
                reading.resumes = 0;
                match self.sift(&event, exchange) {
                    StreamMessage::Answer(answer) => return Ok(Some(answer)),
                    StreamMessage::Aside(Some(reply)) if reading.answers < ANSWERS => {
                        reading.answers = reading.answers.saturating_add(1);
                        let _ = self.notify("", reply).await;
                    }
                    StreamMessage::Aside(_) => {}
                    StreamMessage::Noise => reading.garbage = reading.garbage.saturating_add(1),
                }
                if reading.garbage >= self.garbage_limit {
                    let upstream = self.inbox.upstream().to_owned();
                    return Err(McpError::Garbage { upstream, lines: reading.garbage });
                }
            }
        }
        Ok(None)
    }

    /// The rest of a stream that broke off; `None` where the server does not go on with it.
    async fn resumed(&self, reading: &mut StreamReading) -> Option<Response> {
        let place = reading.place.last_id.clone().filter(|_| !self.lock().modern)?;
        while reading.resumes < MAX_RESUMES {
            reading.resumes = reading.resumes.saturating_add(1);
            sleep(reading.place.pause().unwrap_or(PAUSE)).await;
            let Ok(response) = self.get(Some(&place)).await else { continue };
            let goes_on =
                response.status().is_success() && matches!(media(&response), Media::Events);
            return goes_on.then_some(response);
        }
        None
    }

    pub(super) async fn get(&self, place: Option<&HeaderValue>) -> Result<Response, McpError> {
        self.send(|| {
            let get = self.common(self.client.get(self.url.clone()));
            let get = get.header(ACCEPT, "text/event-stream");
            match place {
                Some(place) => get.header(LAST_EVENT, place),
                None => get,
            }
        })
        .await
    }
}
