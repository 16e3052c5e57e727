//! Opens the input, and detects which of the two formats it has.

use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::line_reader::LineReader;
use crate::{Exit, Failure};

/// The longest line of JSON, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 64 << 20;
/// How many blank bytes may come before the first line.
const MAX_BLANK_BYTES: usize = 64 << 10;

/// The format of input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputFormat {
    /// JSON lines.
    Records,
    /// Plain text.
    Text,
}

/// One text. Other keys of its line are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Record {
    #[serde(default)]
    pub(super) id: Value,
    pub(super) text: String,
}

/// A file or standard input.
pub(super) struct Source {
    pub(super) from: LineReader,
    name: String,
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        match LineReader::open(path) {
            Ok(from) => Ok(Self { from, name }),
            Err(error) => Err(unreadable(&name, &error)),
        }
    }

    /// The requested format, or the one of the first line.
    pub(super) fn form(&mut self, requested: Option<InputFormat>) -> Result<InputFormat, Failure> {
        match requested {
            Some(form) => Ok(form),
            None => self.detect_format().map_err(|error| self.unreadable(&error)),
        }
    }

    /// Reads until the format is clear, and puts the bytes back.
    fn detect_format(&mut self) -> io::Result<InputFormat> {
        let mut head: Vec<u8> = Vec::new();
        let form = loop {
            let piece = self.from.fill_buffer()?;
            let (length, ended) = (piece.len(), piece.is_empty());
            head.extend_from_slice(piece);
            self.from.pass(length);
            if let Some(form) = detect(&head, ended) {
                break form;
            }
        };
        self.from.unread(head);
        Ok(form)
    }

    pub(super) fn unreadable(&self, error: &io::Error) -> Failure {
        unreadable(&self.name, error)
    }

    /// A failure at a line of this input.
    pub(super) fn at(&self, line: u64, code: &'static str, problem: &str) -> Failure {
        Failure::new(Exit::Invalid, code, format!("{}:{line}: {problem}", self.name))
    }
}

/// The format, if the beginning of the input decides it.
fn detect(head: &[u8], ended: bool) -> Option<InputFormat> {
    let Some(start) = head.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        return (ended || head.len() > MAX_BLANK_BYTES).then_some(InputFormat::Text);
    };
    let first = head.get(start..).unwrap_or_default();
    if !first.starts_with(b"{") {
        return Some(InputFormat::Text);
    }
    let line = match first.iter().position(|byte| *byte == b'\n') {
        Some(end) => first.get(..end).unwrap_or_default(),
        None if ended => first,
        None => return (first.len() > MAX_LINE_BYTES).then_some(InputFormat::Text),
    };
    let is_record = serde_json::from_slice::<Record>(line).is_ok();
    Some(if is_record { InputFormat::Records } else { InputFormat::Text })
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let message = format!("{name}: the input cannot be read: {error}");
    Failure::new(Exit::Invalid, "redact.unreadable", message).with_next_step("name a file, or `-`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_form() {
        for (head, ended, form) in [
            ("", true, Some(InputFormat::Text)),
            ("", false, None),
            ("\n \n", false, None),
            ("plain", false, Some(InputFormat::Text)),
            ("{\"id\": 1, \"te", false, None),
            ("\n{\"id\": 1, \"text\": \"a\"}\nx", false, Some(InputFormat::Records)),
            ("{\"text\": \"a\"}", true, Some(InputFormat::Records)),
            ("{\"text\": \"a\"}", false, None),
            ("{\"text\": 1}\n", false, Some(InputFormat::Text)),
            ("{\"level\": \"info\"}\n{\"text\": \"a\"}\n", false, Some(InputFormat::Text)),
            ("{ braces\n", false, Some(InputFormat::Text)),
        ] {
            assert_eq!(detect(head.as_bytes(), ended), form, "{head:?}");
        }
        assert_eq!(detect(&vec![b' '; MAX_BLANK_BYTES + 1], false), Some(InputFormat::Text));
    }
}
