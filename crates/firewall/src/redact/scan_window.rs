//! A text with the classes of its bytes, found once for all scanners.

use std::ops::Range;
use std::sync::LazyLock;

use weaver_text::byte_classes::{self, ByteClassBitmaps, ClassTable};
use weaver_text::reveal;

use super::covered_ranges::CoveredRanges;

/// Signs between a name and its value.
const SIGN: usize = 0;
/// Characters of tokens.
const TOKEN: usize = 1;
/// Decimal digits.
const DIGIT: usize = 2;
/// Where personal data can stand: digits, colons, `@` and opening brackets.
const STOP: usize = 3;
/// Dashes.
const DASH: usize = 4;

fn class(byte: u8) -> u8 {
    let digit = byte.is_ascii_digit();
    let dash = byte == b'-';
    let colon = byte == b':';
    let sign = dash | colon | matches!(byte, b',' | b'=' | b'>' | b';' | b'|' | b'\t');
    let token =
        byte.is_ascii_alphanumeric() | dash | matches!(byte, b'_' | b'+' | b'/' | b'.' | b'~');
    let stop = digit | colon | matches!(byte, b'@' | b'[' | b'(');
    u8::from(sign) << SIGN
        | u8::from(token) << TOKEN
        | u8::from(digit) << DIGIT
        | u8::from(stop) << STOP
        | u8::from(dash) << DASH
        | reveal::classes(byte)
}

/// The classes of every byte.
static TABLE: LazyLock<ClassTable> = LazyLock::new(|| byte_classes::class_table(class));

/// A text that is about to be searched.
#[derive(Debug)]
pub(crate) struct ScanWindow<'t> {
    pub(crate) text: &'t str,
    masks: ByteClassBitmaps,
    /// What is masked whatever a scanner finds.
    pub(crate) covered: CoveredRanges,
}

impl<'t> ScanWindow<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let covered = CoveredRanges::default();
        Self { text, masks: ByteClassBitmaps::of(text.as_bytes(), &TABLE), covered }
    }

    pub(crate) fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    /// The same for the search for what is hidden; what is covered is of no interest.
    pub(crate) fn source(&self) -> reveal::Source<'_> {
        reveal::Source { text: self.text, masks: &self.masks, known: self.covered.ranges() }
    }

    /// The signs `,` `-` `:` `;` `=` `>` `|` and tabs.
    pub(crate) fn signs(&self) -> impl Iterator<Item = usize> {
        self.masks.places(SIGN)
    }

    /// Runs of characters of tokens that are not covered, with a digit among them, at least so
    /// long; at most 64.
    pub(crate) fn tokens(&self, least: u32) -> impl Iterator<Item = Range<usize>> {
        let runs = self.masks.runs(TOKEN, least, 0..self.text.len());
        runs.filter(|run| self.masks.any(DIGIT, run.clone()) && !self.covered.holds(run))
    }

    /// Digits, colons, `@` and opening brackets.
    pub(crate) fn stops(&self) -> impl Iterator<Item = usize> {
        self.masks.places(STOP)
    }

    /// Where a run of at least `least` dashes begins; `least` is at most 64.
    pub(crate) fn dashes(&self, least: u32) -> impl Iterator<Item = usize> {
        self.masks.places_where(0, move |near| near.run(DASH, least))
    }
}
