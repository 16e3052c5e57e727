//! Cutting bytes that come in pieces between lines.

/// The longest line that is kept together, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// Gives whole lines, and long ones in pieces.
#[derive(Debug, Default)]
pub(crate) struct LineCutter<'t> {
    held: Vec<u8>,
    /// Texts that must not be cut in two.
    whole: &'t [&'t str],
}

impl<'t> LineCutter<'t> {
    /// A cutter that leaves these texts whole, which have no line break.
    pub(crate) fn keeping(whole: &'t [&'t str]) -> Self {
        Self { held: Vec::new(), whole }
    }

    /// Takes a piece; gives the lines that are over by now, and what is too long to be held.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        self.held.extend_from_slice(piece);
        let end = self.held.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let end = end.or_else(|| (self.held.len() > MAX_LINE).then(|| self.cut()).flatten())?;
        let rest = self.held.split_off(end);
        Some(std::mem::replace(&mut self.held, rest))
    }

    /// Where a line that is too long is cut: before a text that may not be whole yet, and before one
    /// that is.
    fn cut(&self) -> Option<usize> {
        let longest = self.whole.iter().map(|text| text.len()).max().unwrap_or_default();
        let cut = self.held.len().checked_sub(longest.max(1))?;
        let mut at = 0;
        // From the left, as whoever looks for them in what is given finds them.
        while at < cut {
            let rest = self.held.get(at..)?;
            let begins = |text: &&&str| !text.is_empty() && rest.starts_with(text.as_bytes());
            let found = self.whole.iter().filter(begins).map(|text| text.len()).max();
            match at.saturating_add(found.unwrap_or(1)) {
                end if end > cut => return (at > 0).then_some(at),
                end => at = end,
            }
        }
        Some(cut)
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
        let mut cutter = LineCutter::keeping(&["0123456789"]);
        assert_eq!(cutter.push(b"half"), None);
        assert_eq!(cutter.push(b" one\ntwo\nthr").as_deref(), Some(&b"half one\ntwo\n"[..]));
        let long = vec![b'x'; MAX_LINE];
        assert_eq!(cutter.push(&long).map(|part| part.len()), Some(MAX_LINE + 3 - 10));
        assert_eq!(cutter.finish().map(|rest| rest.len()), Some(10));
        assert_eq!(cutter.finish(), None);
    }
}
