//! Reads requests line by line, in bounded memory.

use std::io;
use std::path::Path;

use serde_json::{Value, json};
use weaver_policy_analysis::{MAX_LINE, RecordedRequest, RequestError};
use weaver_types::{Clock as _, SystemClock};

use crate::line_reader::LineReader;
use crate::{Exit, Failure};

/// Reads the requests of a file or of standard input.
pub(super) struct RequestReader {
    input: LineReader,
    name: String,
    clock: SystemClock,
}

/// One line that is not blank.
pub(super) struct RequestLine {
    pub(super) number: u64,
    /// The request, or why the line is none.
    pub(super) request: Result<RecordedRequest, RequestError>,
    /// Whether the next line is read without waiting.
    pub(super) more_at_hand: bool,
}

impl RequestReader {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let input = LineReader::open(path).map_err(|error| unreadable(path, &error))?;
        let name = path.display().to_string();
        Ok(Self { input, name, clock: SystemClock::default() })
    }

    /// The next line that is not blank; `None` at the end.
    pub(super) fn read_next(&mut self) -> Result<Option<RequestLine>, Failure> {
        loop {
            let read = self.input.line(MAX_LINE);
            let read = read.map_err(|error| unreadable(Path::new(&self.name), &error))?;
            let Some(bytes) = read else { return Ok(None) };
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Ok(Some(RequestLine {
                number: self.input.number(),
                request: RecordedRequest::parse(&bytes, self.clock.now()),
                more_at_hand: self.input.never_waits(),
            }));
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: the requests cannot be read: {error}", path.display());
    Failure::new(Exit::Invalid, "policy.unreadable", message).with_next_step("name a file, or `-`")
}

/// The answer to a line that is no request.
pub(super) fn error_json(number: u64, error: &RequestError) -> Value {
    json!({
        "id": error.id,
        "line": number,
        "error": { "code": error.code(), "message": error.message },
    })
}

/// The failure of a command with lines that are no requests.
pub(super) fn invalid_lines_failure(wrong: u64) -> Failure {
    let what = if wrong == 1 {
        "1 line is not a request".to_owned()
    } else {
        format!("{wrong} lines are not requests")
    };
    Failure::new(Exit::Invalid, "policy.requests", what).with_next_step(
        "see `error` in their answers, and `weaver help policy decide` for the form",
    )
}
