//! Reports partial results as progress, for a caller that gets the result as a whole.

use serde_json::Value;
use weaver_types::{Progress, RawChunk};

use crate::driver::AuthorizedCall;

/// Lines of this many bytes and longer are counted, but their text is not reported: the kernel
/// shows no part of a message that it could not redact as a whole.
const MAX_LINE_BYTES: usize = 4_096;

/// Reports the lines and rows of a result that have arrived as progress of its call, with their
/// number.
///
/// The kernel redacts, shortens and throttles them like any progress of a tool
/// ([`AuthorizedCall::report_progress`]).
#[derive(Debug)]
pub struct PartialResultReporter {
    call: AuthorizedCall,
    /// How many lines and rows have arrived.
    count: u32,
    /// The start of an unfinished line.
    unfinished_line: Vec<u8>,
}

impl PartialResultReporter {
    /// `None` when nobody asked for the progress of the call.
    #[must_use]
    pub fn new(call: &AuthorizedCall) -> Option<Self> {
        let wanted = call.wants_progress();
        wanted.then(|| Self { call: call.clone(), count: 0, unfinished_line: Vec::new() })
    }

    /// Reports the lines and rows that this chunk completes.
    pub fn push(&mut self, chunk: &RawChunk) {
        match chunk {
            RawChunk::Json(Value::Array(items)) => {
                items.iter().for_each(|item| self.report_row(item))
            }
            RawChunk::Json(value) => self.report_row(value),
            RawChunk::Text(text) => self.push_bytes(text.as_bytes()),
            RawChunk::Bytes(bytes) => self.push_bytes(bytes),
        }
    }

    /// Reports the lines that this piece of text completes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // This much is enough to recognise a line that is too long.
            let room = MAX_LINE_BYTES.saturating_sub(self.unfinished_line.len());
            let text = piece.strip_suffix(b"\n");
            self.unfinished_line.extend(text.unwrap_or(piece).iter().take(room));
            if text.is_some() {
                let line = std::mem::take(&mut self.unfinished_line);
                let message =
                    String::from_utf8(line).ok().filter(|line| line.len() < MAX_LINE_BYTES);
                // The line break is kept, so that the redactor does not join two lines into one
                // word.
                self.report(message.map(|line| format!("{}\n", line.trim_end())));
            }
        }
    }

    fn report_row(&mut self, row: &Value) {
        let text = match row {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.report(Some(text).filter(|text| text.len() < MAX_LINE_BYTES));
    }

    fn report(&mut self, message: Option<String>) {
        self.count = self.count.saturating_add(1);
        let message = message.filter(|message| !message.trim().is_empty());
        self.call.report_progress(Progress { progress: self.count.into(), total: None, message });
    }
}
