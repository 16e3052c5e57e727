//! Requests, a line at a time and in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use serde_json::{Value, json};
use weaver_policy::analysis::{MAX_LINE, RecordedRequest, RequestError};
use weaver_types::{Clock as _, SystemClock};

use crate::cli::{Exit, Failure};

/// The lines of a file or of standard input.
pub(super) struct Lines {
    from: Box<dyn BufRead>,
    name: String,
    number: u64,
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
        let from: Box<dyn BufRead> = if path.as_os_str() == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(path).map_err(|e| unreadable(path, &e))?))
        };
        let name = path.display().to_string();
        Ok(Self { from, name, number: 0, clock: SystemClock::default() })
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line>, Failure> {
        loop {
            let Some(bytes) = self.read()? else { return Ok(None) };
            self.number += 1;
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let request = RecordedRequest::parse(&bytes, self.clock.now());
            return Ok(Some(Line { number: self.number, request, more_at_hand: self.at_hand() }));
        }
    }

    /// One line without its end; of one that is too long only so much that it is refused.
    fn read(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut out = Vec::new();
        let bound = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(2);
        let read = (&mut self.from).take(bound).read_until(b'\n', &mut out);
        if read.map_err(|error| self.unreadable(&error))? == 0 {
            return Ok(None);
        }
        if out.last() == Some(&b'\n') {
            out.pop();
        } else if out.len() > MAX_LINE {
            self.skip().map_err(|error| self.unreadable(&error))?;
        }
        Ok(Some(out))
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        unreadable(Path::new(&self.name), error)
    }

    /// Drops the rest of a line.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.from.fill_buf()?;
            let (used, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.from.consume(used);
            if ended {
                return Ok(());
            }
        }
    }

    /// Whether nobody waits for the answer to this line before writing the next.
    fn at_hand(&self) -> bool {
        self.name != "-"
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
        "1 line is no request".to_owned()
    } else {
        format!("{wrong} lines are no requests")
    };
    Failure::new(Exit::Invalid, "policy.requests", format!("{what} that can be judged"))
        .next("see `error` in their answers, and `weaver policy decide --help` for the form")
}
