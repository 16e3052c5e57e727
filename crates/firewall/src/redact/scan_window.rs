//! A text with the classes of its bytes, computed once for all scanners.

use std::ops::Range;
use std::sync::LazyLock;

use weaver_text::byte_classes::{self, ByteClassBitmaps, ClassTable};
use weaver_text::reveal;

use super::covered_ranges::CoveredRanges;

/// Signs between a name and its value.
const SIGN: usize = 0;
/// Token characters.
const TOKEN: usize = 1;
/// Decimal digits.
const DIGIT: usize = 2;
/// Where personal data can begin: digits, colons, `@` and opening brackets.
const PERSONAL_START: usize = 3;
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
        | u8::from(stop) << PERSONAL_START
        | u8::from(dash) << DASH
        | reveal::classes(byte)
}

/// The classes of every byte value.
static TABLE: LazyLock<ClassTable> = LazyLock::new(|| byte_classes::class_table(class));

/// Where a text begins that is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStart {
    /// At its own beginning, or where its place in a token run does not matter.
    Anywhere,
    /// Within a token run of a longer text, so that the first digits of an encoding are missing.
    InRun,
}

/// A text to be scanned.
#[derive(Debug)]
pub(crate) struct ScanWindow<'t> {
    pub(crate) text: &'t str,
    byte_classes: ByteClassBitmaps,
    /// Ranges that are masked anyway and need no scan.
    pub(crate) covered: CoveredRanges,
    /// Where the text begins.
    pub(crate) start: TextStart,
}

impl<'t> ScanWindow<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let covered = CoveredRanges::default();
        let byte_classes = ByteClassBitmaps::from_bytes(text.as_bytes(), &TABLE);
        Self { text, byte_classes, covered, start: TextStart::Anywhere }
    }

    pub(crate) fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    /// The text as input of the search for encoded views, which skips covered ranges.
    pub(crate) fn reveal_source(&self) -> reveal::ClassifiedText<'_> {
        reveal::ClassifiedText {
            text: self.text,
            bitmaps: &self.byte_classes,
            skipped_ranges: self.covered.ranges(),
            begins_in_run: self.start == TextStart::InRun,
        }
    }

    /// The positions of the signs `,` `-` `:` `;` `=` `>` `|` and tab.
    pub(crate) fn sign_positions(&self) -> impl Iterator<Item = usize> {
        self.byte_classes.positions(SIGN)
    }

    /// Token runs of at least `min_len` characters (at most 64) that contain a digit and are not
    /// covered.
    pub(crate) fn token_runs(&self, min_len: u32) -> impl Iterator<Item = Range<usize>> {
        let runs = self.byte_classes.runs(TOKEN, min_len, 0..self.text.len());
        runs.filter(|run| {
            self.byte_classes.contains_any(DIGIT, run.clone()) && !self.covered.covers(run)
        })
    }

    /// The positions of digits, colons, `@` and opening brackets.
    pub(crate) fn personal_data_positions(&self) -> impl Iterator<Item = usize> {
        self.byte_classes.positions(PERSONAL_START)
    }

    /// Where runs of at least `min_len` dashes begin; `min_len` is at most 64.
    pub(crate) fn dash_runs(&self, min_len: u32) -> impl Iterator<Item = usize> {
        let all = 0..self.text.len();
        self.byte_classes.positions_where(all, move |near| near.run_starts(DASH, min_len))
    }
}
