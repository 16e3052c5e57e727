//! Reads lines of bounded length from a pipe or a socket.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// How much of an overlong line is kept: enough to look for the id of the request it answers.
const OVERSIZE_PREFIX_BYTES: usize = 4 * 1024;

/// One line that is not blank, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The complete line.
    Complete(Vec<u8>),
    /// The first bytes of a line over the limit; the rest of the line is skipped.
    Oversize(Vec<u8>),
}

/// Reads lines without ever holding more than the limit.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    limit: usize,
    line: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// A reader of lines with at most `limit` bytes.
    pub fn new(source: R, limit: usize) -> Self {
        Self { source, limit, line: Vec::new(), skipping: false }
    }

    /// The next line that is not blank, or `None` at the end. An overlong line is reported as soon as it exceeds the limit. The method
    /// is cancellation-safe.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = match self.source.fill_buf().await {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.trim_ascii().is_empty()).then_some(Line::Complete(rest)));
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            let taken = part.len().saturating_add(usize::from(end.is_some()));
            let fits = self.line.len().saturating_add(part.len()) <= self.limit;
            if !self.skipping {
                let room = if fits {
                    part.len()
                } else {
                    OVERSIZE_PREFIX_BYTES.saturating_sub(self.line.len())
                };
                self.line.extend_from_slice(part.get(..room).unwrap_or(part));
            }
            self.source.consume(taken);
            let was_skipping = self.skipping;
            if end.is_some() {
                self.skipping = false;
            } else if !fits {
                self.skipping = true;
            }
            if was_skipping || (fits && end.is_none()) {
                continue;
            }
            let mut line = std::mem::take(&mut self.line);
            if !fits {
                line.truncate(OVERSIZE_PREFIX_BYTES);
                return Ok(Some(Line::Oversize(line)));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(Some(Line::Complete(line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::BufReader;

    use super::*;

    fn lines(input: &[u8], limit: usize, chunk: usize) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut reader = LineReader::new(BufReader::with_capacity(chunk, input), limit);
            let mut found = Vec::new();
            while let Some(line) = reader.next().await.unwrap() {
                found.push(line);
            }
            found
        })
    }

    #[test]
    fn an_oversize_line_is_skipped_and_the_next_one_read() {
        let input = [b"aa\r\n".as_slice(), &[b'x'; 10_000], b"\nbb\n\ncc"].concat();
        for chunk in [1, 3, 64, 20_000] {
            let found = lines(&input, 100, chunk);
            assert_eq!(found.len(), 4, "chunk {chunk}: {found:?}");
            assert_eq!(found[0], Line::Complete(b"aa".to_vec()));
            assert!(matches!(&found[1], Line::Oversize(head) if head.starts_with(b"xx")));
            assert_eq!(found[2], Line::Complete(b"bb".to_vec()));
            assert_eq!(found[3], Line::Complete(b"cc".to_vec()));
        }
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole() {
        assert_eq!(lines(b"1234\n12345\n", 4, 2).len(), 2);
        for text in [&b"1234\n"[..], b"1234"] {
            assert_eq!(lines(text, 4, 2), [Line::Complete(b"1234".to_vec())]);
        }
        for text in [&b"12345\nb\n"[..], b"12345\nb"] {
            let found = lines(text, 4, 2);
            let next = Line::Complete(b"b".to_vec());
            assert!(matches!(&found[..], [Line::Oversize(_), last] if *last == next), "{found:?}");
        }
    }

    #[test]
    fn blank_lines_are_none_and_the_last_needs_no_end() {
        let whole = |text: &str| Line::Complete(text.as_bytes().to_vec());
        assert_eq!(lines(b"\n \r\na\n\nb", 4, 3), [whole("a"), whole("b")]);
        assert_eq!(lines(b" \n ", 4, 3), []);
    }

    proptest! {
        #[test]
        fn chunking_changes_nothing(input in "[a\n]{0,60}", chunk in 1_usize..20) {
            let whole = lines(input.as_bytes(), 1000, 4096);
            prop_assert_eq!(lines(input.as_bytes(), 1000, chunk), whole);
        }
    }
}
