//! Streams a response: events, rows and lines, with the request's secrets masked.

use reqwest::header::HeaderMap;
use weaver_agent_kernel::{DriverError, StreamSummary};
use weaver_types::{RawChunk, RawContent};

use super::Refusal;
use super::error::RequestFailure;
use super::media::{self, StreamFormat};
use super::restricted_client::{HttpRequest, RestrictedClient, WholeResponse};
use crate::chunk_task::{self, Chunks};
use crate::line_splitter::LineSplitter;
use crate::mcp::sse::SseDecoder;

/// The longest event, in bytes; a longer one ends the stream.
const MAX_EVENT: usize = 256 * 1024;

/// Why a response was not read to its end.
pub(super) enum ReadFailure {
    Failed(RequestFailure),
    /// The consumer is gone.
    ConsumerGone(DriverError),
}

impl From<RequestFailure> for ReadFailure {
    fn from(failure: RequestFailure) -> Self {
        Self::Failed(failure)
    }
}

/// Reads the chunks of a response body.
pub(super) struct ResponseReader<'s> {
    format: StreamFormat,
    events: SseDecoder,
    lines: LineSplitter<'s>,
    secrets: &'s [&'s str],
    /// A secret was masked.
    pub(super) found_secret: bool,
    /// An event was too long, so nothing more is read.
    pub(super) event_too_long: bool,
}

impl<'s> ResponseReader<'s> {
    /// A reader for a response with these headers, which may echo these secrets.
    pub(super) fn new(headers: &HeaderMap, secrets: &'s [&'s str]) -> Self {
        Self {
            format: StreamFormat::from_headers(headers),
            events: SseDecoder::for_any_event(MAX_EVENT),
            lines: LineSplitter::with_unsplittable(secrets),
            secrets,
            found_secret: false,
            event_too_long: false,
        }
    }

    /// The chunks that these bytes complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<RawChunk> {
        if self.event_too_long {
            return Vec::new();
        }
        let found = match self.format {
            StreamFormat::Whole => Vec::new(),
            StreamFormat::Events => match self.events.push(bytes) {
                Ok(events) => events.iter().map(|data| media::parse_row(data)).collect(),
                Err(_) => {
                    self.event_too_long = true;
                    Vec::new()
                }
            },
            StreamFormat::JsonLines | StreamFormat::Lines => match self.lines.push(bytes) {
                Some(lines) => self.chunks_from_lines(lines),
                None => Vec::new(),
            },
        };
        self.without_secrets(found)
    }

    /// The last chunk, if nothing terminated it.
    pub(super) fn finish(&mut self) -> Vec<RawChunk> {
        let rest = self.lines.finish();
        let found = rest.map(|rest| self.chunks_from_lines(rest)).unwrap_or_default();
        self.without_secrets(found)
    }

    fn chunks_from_lines(&self, lines: Vec<u8>) -> Vec<RawChunk> {
        if self.format == StreamFormat::JsonLines {
            let lines = lines.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            return lines.filter(|line| !line.is_empty()).map(media::parse_row).collect();
        }
        vec![match String::from_utf8(lines) {
            Ok(text) => RawChunk::Text(text),
            Err(error) => RawChunk::Bytes(error.into_bytes()),
        }]
    }

    fn without_secrets(&mut self, mut found: Vec<RawChunk>) -> Vec<RawChunk> {
        for chunk in &mut found {
            self.found_secret |= media::mask_chunk(chunk, self.secrets);
        }
        found
    }
}

/// Makes a request and forwards the chunks of its response. A response that cannot be streamed is
/// forwarded as one value.
pub(super) async fn send_and_stream(
    client: &RestrictedClient,
    outgoing: HttpRequest,
    types: &[String],
    secrets: &[&str],
    chunks: &Chunks,
) -> Result<StreamSummary, ReadFailure> {
    let mut response = client.send_streaming(outgoing).await?;
    let mut reader = ResponseReader::new(&response.headers, secrets);
    if reader.format == StreamFormat::Whole {
        return send_whole(response, types, secrets, chunks).await;
    }
    if !media::is_declared(&response.headers, types) {
        return Err(response.failure(Refusal::Content).into());
    }
    while let Some(bytes) = response.chunk().await? {
        for piece in reader.push(&bytes) {
            chunk_task::send(chunks, piece).await.map_err(ReadFailure::ConsumerGone)?;
        }
        if reader.event_too_long {
            return Err(response.failure(Refusal::TooLarge(MAX_EVENT)).into());
        }
    }
    for piece in reader.finish() {
        chunk_task::send(chunks, piece).await.map_err(ReadFailure::ConsumerGone)?;
    }
    let findings = reader.found_secret.then_some(media::SECRET_MASKED).into_iter().collect();
    Ok(StreamSummary { findings, ..StreamSummary::default() })
}

async fn send_whole(
    mut response: super::restricted_client::StreamingResponse,
    types: &[String],
    secrets: &[&str],
    chunks: &Chunks,
) -> Result<StreamSummary, ReadFailure> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        body.extend_from_slice(&bytes);
    }
    let headers = std::mem::take(&mut response.headers);
    let answer = WholeResponse { status: response.status, headers, body };
    let mut raw =
        media::to_raw_result(answer, types).map_err(|refusal| response.failure(refusal))?;
    if media::mask_content(&mut raw.content, secrets) {
        raw.findings.push(media::SECRET_MASKED);
    }
    let chunk = content_to_chunk(raw.content.clone());
    chunk_task::send(chunks, chunk).await.map_err(ReadFailure::ConsumerGone)?;
    let findings = raw.findings.clone();
    Ok(StreamSummary { findings, result: Some(raw), ..StreamSummary::default() })
}

/// The content as the only chunk of a stream.
pub(crate) fn content_to_chunk(content: RawContent) -> RawChunk {
    match content {
        RawContent::Json(value) => RawChunk::Json(value),
        RawContent::Rows(rows) => RawChunk::Json(rows.to_value()),
        RawContent::Text(text) => RawChunk::Text(text),
        RawContent::Binary { bytes, .. } => RawChunk::Bytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{CONTENT_TYPE, HeaderValue};

    use super::*;

    #[test]
    fn a_secret_in_a_long_line_is_masked_wherever_the_line_is_cut() {
        let headers =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/plain"))]);
        let secrets = ["s3cr3t-X", "aaaa"];
        for before in 64 * 1024 - 24..64 * 1024 + 8 {
            for (secret, more) in
                [(secrets[0], "."), (secrets[1], ""), ("s3cr3t-Xaaaas3cr3t-X", ".")]
            {
                let mut reader = ResponseReader::new(&headers, &secrets);
                let line = format!("{}{}{}", ".".repeat(before), secret, more.repeat(20));
                let mut pieces = reader.push(line.as_bytes());
                pieces.extend(reader.push(format!("{}\n", ".".repeat(70_000)).as_bytes()));
                pieces.extend(reader.finish());
                let text = |piece: &RawChunk| match piece {
                    RawChunk::Text(text) => text.clone(),
                    other => panic!("{other:?}"),
                };
                let shown: String = pieces.iter().map(text).collect();
                assert!(!secrets.iter().any(|secret| shown.contains(secret)), "at {before}");
                assert!(
                    reader.found_secret && !shown.contains("s3c") && shown.contains("[secret]")
                );
            }
        }
    }
}
