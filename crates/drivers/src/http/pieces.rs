//! An answer bit by bit: events, rows and lines, without the secrets of the request.

use reqwest::header::HeaderMap;
use weaver_agent_kernel::{DriverError, StreamSummary};
use weaver_types::{RawChunk, RawContent};

use super::Refusal;
use super::driver::MASKED;
use super::error::Failure;
use super::media::{self, Pieces};
use super::web::{OutgoingRequest, RestrictedClient, WholeResponse};
use crate::chunk_task::{self, Chunks};
use crate::lines::LineCutter;
use crate::mcp::sse::SseDecoder;

/// The longest event, in bytes. Whoever sends a longer one sends no pieces.
const MAX_EVENT: usize = 256 * 1024;

/// Why an answer was not read to its end.
pub(super) enum ReadFailure {
    Failed(Failure),
    /// Nobody reads it any more.
    Unread(DriverError),
}

impl From<Failure> for ReadFailure {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Reads the pieces of a body.
pub(super) struct Reader<'s> {
    how: Pieces,
    events: SseDecoder,
    lines: LineCutter<'s>,
    secrets: &'s [&'s str],
    /// A secret was taken out.
    pub(super) masked: bool,
    /// An event was too long, so that nothing more is read.
    pub(super) broken: bool,
}

impl<'s> Reader<'s> {
    /// Of an answer with these headers, which may repeat these secrets.
    pub(super) fn of(headers: &HeaderMap, secrets: &'s [&'s str]) -> Self {
        Self {
            how: Pieces::of(headers),
            events: SseDecoder::of_any_name(MAX_EVENT),
            lines: LineCutter::keeping(secrets),
            secrets,
            masked: false,
            broken: false,
        }
    }

    /// The pieces that are whole by now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<RawChunk> {
        if self.broken {
            return Vec::new();
        }
        let found = match self.how {
            Pieces::Whole => Vec::new(),
            Pieces::Events => match self.events.push(bytes) {
                Ok(events) => events.iter().map(|data| media::row(data)).collect(),
                Err(_) => {
                    self.broken = true;
                    Vec::new()
                }
            },
            Pieces::Rows | Pieces::Lines => match self.lines.push(bytes) {
                Some(lines) => self.of_lines(lines),
                None => Vec::new(),
            },
        };
        self.without_secrets(found)
    }

    /// The last one, where nothing ended it.
    pub(super) fn finish(&mut self) -> Vec<RawChunk> {
        let rest = self.lines.finish();
        let found = rest.map(|rest| self.of_lines(rest)).unwrap_or_default();
        self.without_secrets(found)
    }

    fn of_lines(&self, lines: Vec<u8>) -> Vec<RawChunk> {
        if self.how == Pieces::Rows {
            let lines = lines.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
            return lines.filter(|line| !line.is_empty()).map(media::row).collect();
        }
        vec![match String::from_utf8(lines) {
            Ok(text) => RawChunk::Text(text),
            Err(error) => RawChunk::Bytes(error.into_bytes()),
        }]
    }

    fn without_secrets(&mut self, mut found: Vec<RawChunk>) -> Vec<RawChunk> {
        for chunk in &mut found {
            self.masked |= media::masked_chunk(chunk, self.secrets);
        }
        found
    }
}

/// Requests, and sends the pieces of the answer on. One that means nothing in pieces is sent as the
/// value that it is.
pub(super) async fn send(
    web: &RestrictedClient,
    outgoing: OutgoingRequest,
    types: &[String],
    secrets: &[&str],
    chunks: &Chunks,
) -> Result<StreamSummary, ReadFailure> {
    let mut begun = web.send_streaming(outgoing).await?;
    let mut reader = Reader::of(&begun.headers, secrets);
    if reader.how == Pieces::Whole {
        return whole(begun, types, secrets, chunks).await;
    }
    if !media::is_declared(&begun.headers, types) {
        return Err(begun.failed(Refusal::Content).into());
    }
    while let Some(bytes) = begun.chunk().await? {
        for piece in reader.push(&bytes) {
            chunk_task::send(chunks, piece).await.map_err(ReadFailure::Unread)?;
        }
        if reader.broken {
            return Err(begun.failed(Refusal::TooLarge(MAX_EVENT)).into());
        }
    }
    for piece in reader.finish() {
        chunk_task::send(chunks, piece).await.map_err(ReadFailure::Unread)?;
    }
    let findings = reader.masked.then_some(MASKED).into_iter().collect();
    Ok(StreamSummary { findings, ..StreamSummary::default() })
}

async fn whole(
    mut begun: super::web::StreamingResponse,
    types: &[String],
    secrets: &[&str],
    chunks: &Chunks,
) -> Result<StreamSummary, ReadFailure> {
    let mut body = Vec::new();
    while let Some(bytes) = begun.chunk().await? {
        body.extend_from_slice(&bytes);
    }
    let headers = std::mem::take(&mut begun.headers);
    let answer = WholeResponse { status: begun.status, headers, body };
    let mut raw = media::result(answer, types).map_err(|refusal| begun.failed(refusal))?;
    if media::masked(&mut raw.content, secrets) {
        raw.findings.push(MASKED);
    }
    let chunk = chunk_of(raw.content.clone());
    chunk_task::send(chunks, chunk).await.map_err(ReadFailure::Unread)?;
    let findings = raw.findings.clone();
    Ok(StreamSummary { findings, whole: Some(raw), ..StreamSummary::default() })
}

/// A content as the one chunk of a stream.
pub(crate) fn chunk_of(content: RawContent) -> RawChunk {
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
                let mut reader = Reader::of(&headers, &secrets);
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
                assert!(reader.masked && !shown.contains("s3c") && shown.contains("[secret]"));
            }
        }
    }
}
