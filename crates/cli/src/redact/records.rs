//! Redacts JSON lines.

use std::io::{self, BufWriter, Write as _};

use serde::Serialize;
use serde_json::{Value, json};

use super::char_offsets::CharOffsets;
use super::masker::{Masker, RedactedText};
use super::source::{MAX_LINE_BYTES, Record, Source};
use crate::{Exit, Failure};

pub(super) fn run(masker: &Masker, mut source: Source) -> Result<Exit, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut invalid: u64 = 0;
    loop {
        let line = source.from.line(MAX_LINE_BYTES).map_err(|error| source.unreadable(&error))?;
        let Some(line) = line else { break };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse_record(&line) {
            Ok(record) => {
                let output = masker.text(&record.text);
                serde_json::to_writer(&mut out, &redacted_record(&record, &output))
            }
            Err(problem) => {
                invalid += 1;
                let error = json!({ "code": "redact.line", "message": problem.to_string() });
                let number = source.from.number();
                serde_json::to_writer(&mut out, &json!({ "line": number, "error": error }))
            }
        }
        .map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        if !source.from.never_waits() {
            out.flush()?;
        }
    }
    out.flush()?;
    if invalid == 0 { Ok(Exit::Ok) } else { Err(invalid_lines_failure(invalid)) }
}

/// Why a line is no record. The messages do not repeat its content, which may be secret.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error("the line has more than {MAX_LINE_BYTES} bytes")]
    TooLong,
    #[error("it has no string `text` (column {column}); {FORMAT_HINT}")]
    NoText { column: usize },
    #[error("it is not a JSON object (column {column}); {FORMAT_HINT}")]
    NoObject { column: usize },
}

/// The format of a record.
const FORMAT_HINT: &str = "write {\"id\", \"text\"} in one object a line";

fn parse_record(line: &[u8]) -> Result<Record, RecordError> {
    if line.len() > MAX_LINE_BYTES {
        return Err(RecordError::TooLong);
    }
    serde_json::from_slice(line).map_err(|error| {
        let column = error.column();
        match error.classify() {
            serde_json::error::Category::Data => RecordError::NoText { column },
            _ => RecordError::NoObject { column },
        }
    })
}

/// The answer to one text.
#[derive(Serialize)]
struct RedactedRecord<'a> {
    id: &'a Value,
    text: &'a str,
    spans: Vec<RedactedSpan<'a>>,
}

/// Where a value was, in characters of the input.
#[derive(Serialize)]
struct RedactedSpan<'a> {
    start: usize,
    end: usize,
    #[serde(rename = "type")]
    kind: &'a str,
    rule: &'a str,
}

fn redacted_record<'a>(record: &'a Record, output: &'a RedactedText) -> RedactedRecord<'a> {
    let mut offsets = CharOffsets::of(&record.text);
    let spans = output.spans.iter().map(|span| RedactedSpan {
        start: offsets.chars(span.range.start),
        end: offsets.chars(span.range.end),
        kind: &span.kind,
        rule: &span.rule,
    });
    RedactedRecord { spans: spans.collect(), id: &record.id, text: &output.text }
}

fn invalid_lines_failure(wrong: u64) -> Failure {
    let what = if wrong == 1 {
        "1 line could not be read".to_owned()
    } else {
        format!("{wrong} lines could not be read")
    };
    Failure::new(Exit::Invalid, "redact.lines", what)
        .with_next_step("see `error` in their answers, and `weaver redact --help` for the form")
}
