//! Decodes server-sent events of bounded size (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).

use std::time::Duration;

/// Longest event id that is kept.
const MAX_EVENT_ID_BYTES: usize = 1024;

/// Splits a byte stream into the data of its `message` events.
#[derive(Debug)]
pub(crate) struct SseDecoder {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    is_other_event: bool,
    /// Whether events of other types are returned too.
    any_event: bool,
    after_cr: bool,
    started: bool,
    /// The id of the event being read, or of the last one.
    id: Vec<u8>,
    /// The id of the last complete event.
    last_id: Option<Vec<u8>>,
    retry: Option<Duration>,
}

/// An event, or one of its lines, exceeds the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLong;

impl SseDecoder {
    pub(crate) fn new(limit: usize) -> Self {
        let (line, data) = (Vec::new(), Vec::new());
        Self {
            limit,
            line,
            data,
            has_data: false,
            is_other_event: false,
            any_event: false,
            after_cr: false,
            started: false,
            id: Vec::new(),
            last_id: None,
            retry: None,
        }
    }

    /// The same, for events of any type.
    pub(crate) fn for_any_event(limit: usize) -> Self {
        Self { any_event: true, ..Self::new(limit) }
    }

    /// The id of the last complete event, also if it had no data: the position from which the stream can be resumed.
    /// `None` if no event had an id.
    pub(crate) fn last_id(&self) -> Option<&[u8]> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How long the server asks clients to wait before they reconnect.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Feeds a chunk of the stream and returns the events that it completes.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Vec<u8>>, EventTooLong> {
        let mut events = Vec::new();
        let mut rest = chunk;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            if self.line.len().saturating_add(part.len()) > self.limit.saturating_add(16) {
                return Err(EventTooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_cr = rest.get(end) == Some(&b'\r');
            rest = rest.get(end.saturating_add(1)..).unwrap_or_default();
            events.extend(self.end_line()?);
        }
        Ok(events)
    }

    /// Ends a line; an empty one ends the event.
    fn end_line(&mut self) -> Result<Option<Vec<u8>>, EventTooLong> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.started, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.last_id = Some(self.id.clone());
            let data = std::mem::take(&mut self.data);
            let is_unwanted = std::mem::take(&mut self.is_other_event) && !self.any_event;
            let wanted = std::mem::take(&mut self.has_data) && !is_unwanted;
            return Ok((wanted && !data.is_empty()).then_some(data));
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => {
                let value = line.get(colon.saturating_add(1)..).unwrap_or_default();
                (line.get(..colon).unwrap_or_default(), value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line.as_slice(), [].as_slice()),
        };
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                if self.data.len().saturating_add(value.len()) > self.limit {
                    return Err(EventTooLong);
                }
                self.data.extend_from_slice(value);
            }
            // The specification ignores an id that contains NUL; one too long for a header is of no use.
            b"id" if !value.contains(&0) && value.len() <= MAX_EVENT_ID_BYTES => {
                self.id = value.to_vec();
            }
            b"retry" => {
                let digits = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                self.retry = digits.map(Duration::from_millis).or(self.retry);
            }
            b"event" => self.is_other_event = !matches!(value, b"" | b"message"),
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(input: &[u8], chunk: usize) -> Vec<String> {
        let mut decoder = SseDecoder::new(1000);
        let found = input.chunks(chunk).flat_map(|part| decoder.push(part).unwrap());
        found.map(|data| String::from_utf8(data).unwrap()).collect()
    }

    const STREAM: &[u8] = b"\xef\xbb\xbfid: 1\nretry: 3\ndata:\n\n: ping\n\ndata: one\r\n\r\nevent: message\rdata:two\rdata: 2\r\revent: other\ndata: no\n\ndata: three\nx\n\ndata: cut";

    #[test]
    fn events_are_found_however_the_stream_is_cut() {
        for chunk in 1..STREAM.len() {
            assert_eq!(events(STREAM, chunk), ["one", "two\n2", "three"], "chunk {chunk}");
        }
    }

    #[test]
    fn the_place_in_a_stream_is_that_after_its_last_whole_event() {
        let mut decoder = SseDecoder::new(1000);
        assert_eq!(decoder.last_id(), None);
        decoder.push(b"id: a\nretry: 250\ndata:\n\nid: b\ndata: x\n").unwrap();
        assert_eq!(decoder.last_id(), Some(b"a".as_slice()));
        assert_eq!(decoder.retry(), Some(Duration::from_millis(250)));
        decoder.push(b"\ndata: y\nretry: soon\n\n").unwrap();
        assert_eq!(decoder.last_id(), Some(b"b".as_slice()), "an id stays until there is another");
        assert_eq!(decoder.retry(), Some(Duration::from_millis(250)));
    }

    #[test]
    fn events_of_any_name_are_given_where_they_are_wanted() {
        let found = SseDecoder::for_any_event(1000).push(STREAM).unwrap();
        assert_eq!(found[2], b"no");
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn an_event_over_the_limit_is_refused() {
        assert_eq!(SseDecoder::new(10).push(&[b'x'; 100]), Err(EventTooLong));
        assert_eq!(SseDecoder::new(10).push(b"data: 123456\ndata: 123456\n\n"), Err(EventTooLong));
        assert_eq!(SseDecoder::new(10).push(b"data: 1234567890\n\n").unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn chunking_changes_nothing(input in "(data|:| |\r|\n|x|event){0,40}", chunk in 1_usize..9) {
            prop_assert_eq!(events(input.as_bytes(), chunk), events(input.as_bytes(), 4096));
        }
    }
}
