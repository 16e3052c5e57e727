//! The words of a text that may be secrets.

use std::ops::Range;

use crate::redact::evidence::is_unspaced;

/// The shortest and the longest token, in bytes.
const MIN_BYTES: usize = 3;
const MAX_BYTES: usize = 200;
/// The longest name before a sign, in bytes.
const MAX_NAME: usize = 40;
/// How far back a run without a blank is followed, in bytes.
const MAX_BACK: usize = 64;

/// Where a token stands in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Whole,
    /// `x` in `name=x`
    BehindName,
    /// `b` in `a/b`, and each part of `a,b`
    Part,
    /// `418 820`
    Group,
}

/// A word that may be a secret.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) range: Range<usize>,
    pub(super) place: Place,
}

/// Where the run of text without a blank begins that holds a position.
pub(super) fn run_start(text: &str, at: usize) -> usize {
    let from = text.floor_char_boundary(at.saturating_sub(MAX_BACK));
    let before = text.get(from..at).unwrap_or_default();
    let blank = before.char_indices().rev().find(|(_, c)| c.is_whitespace());
    blank.map_or(from, |(at, c)| from + at + c.len_utf8())
}

/// Calls `visit` with the tokens of all runs that begin in a range. A run that reaches the end of what
/// may be read is left out, because it may go on.
pub(super) fn each(text: &str, runs: Range<usize>, end: usize, visit: &mut dyn FnMut(&Token)) {
    let mut at = runs.start;
    while at < runs.end {
        let rest = text.get(at..end).unwrap_or_default();
        let start = end - rest.trim_start().len();
        if start >= runs.end {
            return;
        }
        let run = text.get(start..end).unwrap_or_default();
        let len = run.find(char::is_whitespace).unwrap_or(run.len());
        at = start + len;
        if at >= end && end < text.len() {
            return;
        }
        if let Some(len) = groups_len(text, start, end) {
            visit(&Token { range: start..start + len, place: Place::Group });
        }
        of_run(text, start..at, visit);
    }
}

fn of_run(text: &str, run: Range<usize>, visit: &mut dyn FnMut(&Token)) {
    let mut at = run.start;
    let whole = text.get(run).unwrap_or_default();
    for piece in whole.split(is_border) {
        let range = at..at + piece.len();
        at = range.end
            + text.get(range.end..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8);
        let has_ascii = piece.bytes().any(|b| b.is_ascii_graphic());
        if has_ascii && piece.contains(is_unspaced) {
            let mut start = range.start;
            for part in piece.split(|c: char| !c.is_ascii()) {
                of_piece(text, start..start + part.len(), visit);
                start += part.len();
                start += text.get(start..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8);
            }
        } else {
            of_piece(text, range, visit);
        }
    }
}

fn of_piece(text: &str, piece: Range<usize>, visit: &mut dyn FnMut(&Token)) {
    let mut report = |range: Range<usize>, place: Place| {
        let range = trim(text, range);
        let word = text.get(range.clone()).unwrap_or_default();
        if (MIN_BYTES..=MAX_BYTES).contains(&word.len()) && may_be_secret(word) {
            visit(&Token { range, place });
        }
    };
    let piece = trim(text, piece);
    let word = text.get(piece.clone()).unwrap_or_default();
    if word.len() < MIN_BYTES || word.contains("://") {
        return;
    }
    if let Some(name) = name_len(word) {
        report(piece.start + name..piece.end, Place::BehindName);
        if word.as_bytes().get(name - 1) == Some(&b'=') {
            return;
        }
    }
    report(piece.clone(), Place::Whole);
    if word.contains([',', ';']) {
        let mut start = piece.start;
        for part in word.split([',', ';']).take(MAX_NAME) {
            report(start..start + part.len(), Place::Part);
            start += part.len() + 1;
        }
    } else if let Some((before, behind)) = word.split_once('/').filter(|(_, b)| !b.contains('/')) {
        let start = piece.start + before.len() + 1;
        report(start..start + behind.len(), Place::Part);
    }
}

/// False for a word of letters alone, and for what has neither letters nor digits.
fn may_be_secret(word: &str) -> bool {
    word.contains(|c: char| !c.is_alphabetic()) && word.contains(char::is_alphanumeric)
}

fn is_border(c: char) -> bool {
    c.is_control() || "\"'`<>()[]{}|«»„“”‘’‹›「」『』【】，。、；：（）\u{3000}".contains(c)
}

fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let word = text.get(range.clone()).unwrap_or_default();
    let bare = word
        .trim_start_matches([',', ';', ':', '?', '!', '=', '→', '—', '–', '…', '*', '_', '\u{a0}']);
    let start = range.end - bare.len();
    let bare = bare.trim_end_matches([',', '.', ';', ':', '?', '…', '*', '\u{a0}']);
    start..start + bare.len()
}

/// The length of a name with its sign, `user=` or `--key:`, before something else.
fn name_len(word: &str) -> Option<usize> {
    let dashes = word.len() - word.trim_start_matches('-').len();
    let name = word.get(dashes..)?;
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let len = name.find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c)))?;
    let is_sign = name.get(len..)?.starts_with([':', '=']) && len <= MAX_NAME;
    let sign = if name.get(len..)?.starts_with(":=") { 2 } else { 1 };
    let behind = dashes + len + sign;
    (is_sign && behind < word.len()).then_some(behind)
}

/// The length of two to six groups of up to four digits: `0 4 7 7`, `418 820`.
fn groups_len(text: &str, start: usize, end: usize) -> Option<usize> {
    const MAX_DIGITS: usize = 4;
    const MAX_GROUPS: usize = 6;
    let rest = text.get(start..end)?.as_bytes();
    let before = text.get(..start)?.trim_end_matches(' ').bytes().next_back().unwrap_or(b'a');
    if before.is_ascii_digit() {
        return None;
    }
    let (mut at, mut groups) = (0, 0);
    loop {
        let digits = rest.get(at..)?.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=MAX_DIGITS).contains(&digits) || groups == MAX_GROUPS {
            return None;
        }
        (at, groups) = (at + digits, groups + 1);
        let next = rest.get(at).copied().unwrap_or(b' ');
        let is_more = rest.get(at + 1).is_some_and(u8::is_ascii_digit);
        if next == b' ' && is_more {
            at += 1;
            continue;
        }
        let ends = !(next.is_ascii_alphanumeric()
            || b"-_/:".contains(&next)
            || b".,".contains(&next) && is_more);
        return (groups > 1 && ends).then_some(at);
    }
}
