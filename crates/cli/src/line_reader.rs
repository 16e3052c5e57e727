//! Reads lines of a file or of standard input, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::mem;
use std::path::Path;

/// Reads lines, or unparsed pieces, of one input.
pub(super) struct LineReader {
    input: Box<dyn BufRead>,
    is_stdin: bool,
    line_number: u64,
}

impl LineReader {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let is_stdin = path.as_os_str() == "-";
        let input: Box<dyn BufRead> = if is_stdin {
            Box::new(BufReader::with_capacity(64 * 1024, io::stdin()))
        } else {
            Box::new(BufReader::with_capacity(64 * 1024, File::open(path)?))
        };
        Ok(Self { input, is_stdin, line_number: 0 })
    }

    /// The number of the last line read, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.line_number
    }

    /// Whether the next line is read without waiting for the process that writes it.
    pub(super) fn never_waits(&self) -> bool {
        !self.is_stdin
    }

    /// The bytes that can be read now; empty at the end.
    pub(super) fn fill_buffer(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.input.fill_buf().map(<[u8]>::len) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => return Ok(&[]),
                // The same bytes again: they are in the buffer, so this does not wait.
                Ok(_) => return self.input.fill_buf(),
            }
        }
    }

    /// Puts bytes back, to be read before all others.
    pub(super) fn unread(&mut self, bytes: Vec<u8>) {
        let rest = mem::replace(&mut self.input, Box::new(io::empty()));
        self.input = Box::new(Cursor::new(bytes).chain(rest));
    }

    /// Consumes bytes of the last piece.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.input.consume(bytes);
    }

    /// The next line without its line break; `None` at the end of the input. Of a line longer than
    /// `max` bytes only `max + 1` or a few more are returned, so that the caller refuses it; the
    /// rest is skipped.
    pub(super) fn line(&mut self, max: usize) -> io::Result<Option<Vec<u8>>> {
        let mut out = Vec::new();
        let bound = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(2);
        if (&mut self.input).take(bound).read_until(b'\n', &mut out)? == 0 {
            return Ok(None);
        }
        self.line_number += 1;
        if out.last() == Some(&b'\n') {
            out.pop();
        } else if out.len() > max {
            self.input.skip_until(b'\n')?;
        }
        Ok(Some(out))
    }
}
