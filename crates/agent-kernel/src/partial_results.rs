//! Partial results as progress: for whoever asked how far a call is, and gets its result as one.

use serde_json::Value;
use weaver_types::{Progress, RawChunk};

use crate::driver::AuthorizedCall;

/// The longest line that is reported, in bytes. Of a longer one nothing is: the kernel shows no part
/// of a message that it could not redact as a whole.
const MAX_LINE: usize = 4_096;

/// Reports what came of a result so far as progress of its call: lines of texts and rows, counted.
///
/// The kernel redacts, shortens and thins them out as it does with everything that a tool says of
/// its progress ([`AuthorizedCall::report_progress`]).
#[derive(Debug)]
pub struct PartialResults {
    call: AuthorizedCall,
    /// How many lines and rows came.
    count: u32,
    /// The beginning of a line that is not over.
    line: Vec<u8>,
}

impl PartialResults {
    /// For a call whose progress somebody wants.
    #[must_use]
    pub fn of(call: &AuthorizedCall) -> Option<Self> {
        let wanted = call.wants_progress();
        wanted.then(|| Self { call: call.clone(), count: 0, line: Vec::new() })
    }

    /// Reports the lines and rows that are whole by now.
    pub fn push(&mut self, chunk: &RawChunk) {
        match chunk {
            RawChunk::Json(Value::Array(items)) => items.iter().for_each(|item| self.row(item)),
            RawChunk::Json(value) => self.row(value),
            RawChunk::Text(text) => self.push_bytes(text.as_bytes()),
            RawChunk::Bytes(bytes) => self.push_bytes(bytes),
        }
    }

    /// The same for a piece of a text.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // As many bytes as a message has tell a line that is too long, with its line break.
            let room = MAX_LINE.saturating_sub(self.line.len());
            let text = piece.strip_suffix(b"\n");
            self.line.extend(text.unwrap_or(piece).iter().take(room));
            if text.is_some() {
                let line = std::mem::take(&mut self.line);
                let message = String::from_utf8(line).ok().filter(|line| line.len() < MAX_LINE);
                // With its line break: lines are no pieces of one word.
                self.report(message.map(|line| format!("{}\n", line.trim_end())));
            }
        }
    }

    fn row(&mut self, row: &Value) {
        let text = match row {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.report(Some(text).filter(|text| text.len() < MAX_LINE));
    }

    fn report(&mut self, message: Option<String>) {
        self.count = self.count.saturating_add(1);
        let message = message.filter(|message| !message.trim().is_empty());
        self.call.report_progress(Progress { progress: self.count.into(), total: None, message });
    }
}
