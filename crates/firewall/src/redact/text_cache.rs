//! Caches what rules ask again and again of one text.

use std::ops::Range;

use super::token_run::run_end;
use super::work_meter;

/// True for a digit, or a sign that makes a word a password. The patterns of the rules that need one
/// name the same bytes.
const fn is_password_sign(byte: u8) -> bool {
    byte.is_ascii_digit()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'*'
                | b'+'
                | b'@'
                | b'^'
                | b'~'
                | b'?'
                | b'-'
                | b'_'
                | b'/'
        )
}

/// Caches what is asked again and again of one text, so that it is scanned once for all of it.
#[derive(Debug, Default)]
pub(crate) struct TextCache {
    /// The last run.
    run: Range<usize>,
    /// A stretch without a password sign, up to the next one or the end of the text.
    signless: Range<usize>,
}

impl TextCache {
    /// Where the run around `at` ends.
    pub(crate) fn run_end(&mut self, text: &str, at: usize) -> usize {
        if !self.run.contains(&at) {
            self.run = at..run_end(text, at);
            work_meter::add_bytes(self.run.len());
        }
        self.run.end
    }

    /// Whether there is a digit or a sign as passwords have them from `at` on, before `end`.
    pub(crate) fn has_password_sign(&mut self, bytes: &[u8], at: usize, end: usize) -> bool {
        if !(self.signless.start..=self.signless.end).contains(&at) || self.signless.is_empty() {
            let rest = bytes.get(at..).unwrap_or_default();
            let length = rest.iter().position(|byte| is_password_sign(*byte));
            self.signless = at..at + length.unwrap_or(rest.len());
            work_meter::add_bytes(self.signless.len());
        }
        self.signless.end < end
    }
}
