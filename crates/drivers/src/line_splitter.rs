//! Splits a byte stream at line breaks.

/// The longest line that is kept in one piece, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Returns complete lines, and overlong ones in pieces.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter<'t> {
    buffer: Vec<u8>,
    /// Texts that must not be split.
    unsplittable: &'t [&'t str],
}

impl<'t> LineSplitter<'t> {
    /// A splitter that keeps these texts, which contain no line break, in one piece.
    pub(crate) fn with_unsplittable(unsplittable: &'t [&'t str]) -> Self {
        Self { buffer: Vec::new(), unsplittable }
    }

    /// Adds a piece. Returns the lines completed so far, or the part of an overlong line that can
    /// be released.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        self.buffer.extend_from_slice(piece);
        let end = self.buffer.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let end = end.or_else(|| {
            (self.buffer.len() > MAX_LINE_BYTES).then(|| self.split_point()).flatten()
        })?;
        let rest = self.buffer.split_off(end);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// Where to split an overlong line: before an incomplete protected text, and never inside a
    /// complete one.
    fn split_point(&self) -> Option<usize> {
        let longest = self.unsplittable.iter().map(|text| text.len()).max().unwrap_or_default();
        let limit = self.buffer.len().checked_sub(longest.max(1))?;
        let mut at = 0;
        // From the left, because that is how a consumer searches the output for these texts.
        while at < limit {
            let rest = self.buffer.get(at..)?;
            let begins = |text: &&&str| !text.is_empty() && rest.starts_with(text.as_bytes());
            let found = self.unsplittable.iter().filter(begins).map(|text| text.len()).max();
            match at.saturating_add(found.unwrap_or(1)) {
                end if end > limit => return (at > 0).then_some(at),
                end => at = end,
            }
        }
        Some(limit)
    }

    /// Returns the last line if no line break ended it.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.buffer);
        (!rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_long_ones_keep_their_end() {
        let mut cutter = LineSplitter::with_unsplittable(&["0123456789"]);
        assert_eq!(cutter.push(b"half"), None);
        assert_eq!(cutter.push(b" one\ntwo\nthr").as_deref(), Some(&b"half one\ntwo\n"[..]));
        let long = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(cutter.push(&long).map(|part| part.len()), Some(MAX_LINE_BYTES + 3 - 10));
        assert_eq!(cutter.finish().map(|rest| rest.len()), Some(10));
        assert_eq!(cutter.finish(), None);
    }
}
