//! The input, and which of its two forms it has.

use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::line_reader::LineReader;
use crate::{Exit, Failure};

/// The longest line of JSON, in bytes.
pub(super) const MAX_LINE: usize = 64 << 20;
/// How far a first line is looked for behind blank ones.
const MAX_BLANK: usize = 64 << 10;

/// What goes in and comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON lines.
    Records,
    /// Plain text.
    Text,
}

/// One text. Other keys of its line are left alone.
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

    /// The form asked for, or that of the first line.
    pub(super) fn form(&mut self, asked: Option<Form>) -> Result<Form, Failure> {
        match asked {
            Some(form) => Ok(form),
            None => self.look().map_err(|error| self.unreadable(&error)),
        }
    }

    /// Reads until the form is clear, and puts back what was read.
    fn look(&mut self) -> io::Result<Form> {
        let mut head: Vec<u8> = Vec::new();
        let form = loop {
            let piece = self.from.piece()?;
            let (length, ended) = (piece.len(), piece.is_empty());
            head.extend_from_slice(piece);
            self.from.pass(length);
            if let Some(form) = form_of(&head, ended) {
                break form;
            }
        };
        self.from.put_back(head);
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

/// The form, as far as the beginning of the input tells it.
fn form_of(head: &[u8], ended: bool) -> Option<Form> {
    let Some(start) = head.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        return (ended || head.len() > MAX_BLANK).then_some(Form::Text);
    };
    let first = head.get(start..).unwrap_or_default();
    if !first.starts_with(b"{") {
        return Some(Form::Text);
    }
    let line = match first.iter().position(|byte| *byte == b'\n') {
        Some(end) => first.get(..end).unwrap_or_default(),
        None if ended => first,
        None => return (first.len() > MAX_LINE).then_some(Form::Text),
    };
    let is_record = serde_json::from_slice::<Record>(line).is_ok();
    Some(if is_record { Form::Records } else { Form::Text })
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let message = format!("{name}: the input cannot be read: {error}");
    Failure::new(Exit::Invalid, "redact.unreadable", message).next("name a file, or `-`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_form() {
        for (head, ended, form) in [
            ("", true, Some(Form::Text)),
            ("", false, None),
            ("\n \n", false, None),
            ("plain", false, Some(Form::Text)),
            ("{\"id\": 1, \"te", false, None),
            ("\n{\"id\": 1, \"text\": \"a\"}\nx", false, Some(Form::Records)),
            ("{\"text\": \"a\"}", true, Some(Form::Records)),
            ("{\"text\": \"a\"}", false, None),
            ("{\"text\": 1}\n", false, Some(Form::Text)),
            ("{\"level\": \"info\"}\n{\"text\": \"a\"}\n", false, Some(Form::Text)),
            ("{ braces\n", false, Some(Form::Text)),
        ] {
            assert_eq!(form_of(head.as_bytes(), ended), form, "{head:?}");
        }
        assert_eq!(form_of(&vec![b' '; MAX_BLANK + 1], false), Some(Form::Text));
    }
}
