//! Lines of a file or of standard input, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::mem;
use std::path::Path;

/// Reads one line after the other.
pub(super) struct LineReader {
    from: Box<dyn BufRead>,
    interactive: bool,
    number: u64,
}

impl LineReader {
    /// Of a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let interactive = path.as_os_str() == "-";
        let from: Box<dyn BufRead> = if interactive {
            Box::new(BufReader::with_capacity(64 * 1024, io::stdin()))
        } else {
            Box::new(BufReader::with_capacity(64 * 1024, File::open(path)?))
        };
        Ok(Self { from, interactive, number: 0 })
    }

    /// The number of the line read last, from 1 on.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the next line can be read without waiting for whoever writes it.
    pub(super) fn more_at_hand(&self) -> bool {
        !self.interactive
    }

    /// What can be read at once; empty at the end.
    pub(super) fn piece(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.from.fill_buf().map(<[u8]>::len) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => return Ok(&[]),
                // The same piece again: it was read, nothing waits.
                Ok(_) => return self.from.fill_buf(),
            }
        }
    }

    /// Has these bytes read again, before all others.
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) {
        let rest = mem::replace(&mut self.from, Box::new(io::empty()));
        self.from = Box::new(Cursor::new(bytes).chain(rest));
    }

    /// Passes over bytes of the last piece.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.from.consume(bytes);
    }

    /// One line without its end, `None` at the end of the input. Of a line with more than `max`
    /// bytes, `max + 1` or a few more, so that its reader refuses it; the rest is dropped.
    pub(super) fn line(&mut self, max: usize) -> io::Result<Option<Vec<u8>>> {
        let mut out = Vec::new();
        let bound = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(2);
        if (&mut self.from).take(bound).read_until(b'\n', &mut out)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if out.last() == Some(&b'\n') {
            out.pop();
        } else if out.len() > max {
            self.from.skip_until(b'\n')?;
        }
        Ok(Some(out))
    }
}
