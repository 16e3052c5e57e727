//! Cutting bytes that come in pieces between lines.

/// The longest line that is kept together, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// Gives whole lines, and long ones in pieces.
#[derive(Debug, Default)]
pub(crate) struct LineCutter {
    held: Vec<u8>,
    /// The length of the longest text that must not be cut in two.
    keep: usize,
}

impl LineCutter {
    /// A cutter that leaves a text whole which has up to `longest` bytes and no line break.
    pub(crate) fn keeping(longest: usize) -> Self {
        Self { held: Vec::new(), keep: longest }
    }

    /// Takes a piece; gives the lines that are over by now, and what is too long to be held.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        self.held.extend_from_slice(piece);
        let end = self.held.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let long = || {
            let cut = self.held.len().checked_sub(self.keep.max(1))?;
            (self.held.len() > MAX_LINE).then_some(cut)
        };
        let end = end.or_else(long)?;
        let rest = self.held.split_off(end);
        Some(std::mem::replace(&mut self.held, rest))
    }

    /// Gives the last line, where no line break ended it.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.held);
        (!rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_long_ones_keep_their_end() {
        let mut cutter = LineCutter::keeping(10);
        assert_eq!(cutter.push(b"half"), None);
        assert_eq!(cutter.push(b" one\ntwo\nthr").as_deref(), Some(&b"half one\ntwo\n"[..]));
        let long = vec![b'x'; MAX_LINE];
        assert_eq!(cutter.push(&long).map(|part| part.len()), Some(MAX_LINE + 3 - 10));
        assert_eq!(cutter.finish().map(|rest| rest.len()), Some(10));
        assert_eq!(cutter.finish(), None);
    }
}
