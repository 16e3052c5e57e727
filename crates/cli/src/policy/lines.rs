//! Requests, a line at a time and in bounded memory.

use std::io;
use std::path::Path;

use serde_json::{Value, json};
use weaver_policy_analysis::{MAX_LINE, RecordedRequest, RequestError};
use weaver_types::{Clock as _, SystemClock};

use crate::line_reader::LineReader;
use crate::{Exit, Failure};

/// The lines of a file or of standard input.
pub(super) struct Lines {
    from: LineReader,
    name: String,
    clock: SystemClock,
}

/// One line that is not blank.
pub(super) struct Line {
    pub(super) number: u64,
    /// What it asks, or why it asks nothing.
    pub(super) request: Result<RecordedRequest, RequestError>,
    /// Whether more can be read without waiting.
    pub(super) more_at_hand: bool,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let from = LineReader::open(path).map_err(|error| unreadable(path, &error))?;
        let name = path.display().to_string();
        Ok(Self { from, name, clock: SystemClock::default() })
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line>, Failure> {
        loop {
            let read = self.from.line(MAX_LINE);
            let read = read.map_err(|error| unreadable(Path::new(&self.name), &error))?;
            let Some(bytes) = read else { return Ok(None) };
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Ok(Some(Line {
                number: self.from.number(),
                request: RecordedRequest::parse(&bytes, self.clock.now()),
                more_at_hand: self.from.more_at_hand(),
            }));
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("{}: the requests cannot be read: {error}", path.display());
    Failure::new(Exit::Invalid, "policy.unreadable", message).next("name a file, or `-`")
}

/// The answer to a line that is no request.
pub(super) fn error(number: u64, error: &RequestError) -> Value {
    json!({
        "id": error.id,
        "line": number,
        "error": { "code": error.code(), "message": error.message },
    })
}

/// How a command ends whose input had lines like that.
pub(super) fn invalid(wrong: u64) -> Failure {
    let what = if wrong == 1 {
        "1 line is not a request".to_owned()
    } else {
        format!("{wrong} lines are not requests")
    };
    Failure::new(Exit::Invalid, "policy.requests", what)
        .next("see `error` in their answers, and `weaver policy decide --help` for the form")
}
