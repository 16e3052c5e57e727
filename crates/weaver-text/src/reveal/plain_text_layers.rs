//! The heuristic layers, which rewrite plain text the way a person would read it.

use super::edit::Edits;
use super::layer::Layer;
use super::map::Shape;
use crate::work;

/// Minimum number of characters separated by blanks that are joined to a word.
const MIN_SPACED_CHARS: usize = 8;

/// Maximum distance between two marks of one address.
const MAX_MARK_DISTANCE: usize = 32;

/// Lengths of words that are reversed, and the minimum number of digits in one.
const REVERSED_WORD_LEN: std::ops::RangeInclusive<usize> = 9..=512;
const MIN_DIGITS: usize = 9;

/// Maximum bytes of a word that are read on each side of a line break.
const MAX_WORD_PART: usize = 128;

/// Collects the replacements of one of the four heuristic layers.
pub(super) fn collect(text: &str, layer: Layer, edits: &mut Edits) {
    match layer {
        Layer::Joined => joined(text.as_bytes(), edits),
        Layer::Defanged => defanged(text, edits),
        Layer::Spaced => spaced(text, edits),
        Layer::Reversed => reversed(text.as_bytes(), edits),
        _ => {}
    }
}

/// Removes line breaks inside long words with digits or `@`.
fn joined(bytes: &[u8], edits: &mut Edits) {
    let mut from = 0;
    while let Some(i) = bytes.get(from..).and_then(|rest| rest.iter().position(|b| *b == b'\n')) {
        let at = from + i;
        from = at + 1;
        let start = if at > 0 && bytes.get(at - 1) == Some(&b'\r') { at - 1 } else { at };
        let before = bytes.get(start.saturating_sub(MAX_WORD_PART)..start).unwrap_or_default();
        let after = bytes.get(from..bytes.len().min(from + MAX_WORD_PART)).unwrap_or_default();
        let left = before.iter().rev().take_while(|b| is_word(**b));
        let right = after.iter().take_while(|b| is_word(**b));
        work::add_steps(left.clone().chain(right.clone()).count());
        if left.clone().count() == 0 || right.clone().count() == 0 {
            continue;
        }
        let looks_like_value =
            left.clone().chain(right.clone()).any(|b| b.is_ascii_digit() || *b == b'@');
        if looks_like_value && left.chain(right).count() >= *REVERSED_WORD_LEN.start() {
            edits.replace(start..from, "", Layer::Joined);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"@._+/=-".contains(&byte)
}

/// Joins single characters separated by one blank.
fn spaced(text: &str, edits: &mut Edits) {
    let bytes = text.as_bytes();
    let (mut at, mut done) = (0, 0);
    // Any run of `MIN_SPACED_CHARS` characters with blanks includes three such bytes.
    while let Some(probe) = bytes.get(at..at + 3) {
        let apart = matches!(probe, [b' ', x, b' '] | [x, b' ', _] if *x != b' ');
        if !apart {
            at += MIN_SPACED_CHARS;
            continue;
        }
        let (start, end) = spaced_run(bytes, at, done);
        let run = bytes.get(start..end).unwrap_or_default();
        if run.len() >= 2 * MIN_SPACED_CHARS - 1 {
            let word: String = run.iter().step_by(2).map(|b| char::from(*b)).collect();
            edits.push_piece(start..end, &word, Shape::Spaced);
            edits.close(start..end, Layer::Spaced);
        }
        done = end.max(at);
        at = end.max(at + MIN_SPACED_CHARS);
    }
}

/// The longest run around `at`, from `floor` on, of printing ASCII characters separated by one
/// blank.
fn spaced_run(bytes: &[u8], at: usize, floor: usize) -> (usize, usize) {
    let single = |i: usize| {
        let lone = bytes.get(i).is_some_and(u8::is_ascii_graphic);
        lone && bytes.get(i + 1).is_none_or(|b| b.is_ascii_whitespace())
    };
    let first = if bytes.get(at) == Some(&b' ') { at + 1 } else { at };
    let mut start = first;
    while start >= floor + 2 && bytes.get(start - 1) == Some(&b' ') && single(start - 2) {
        start -= 2;
    }
    if start > 0 && !bytes.get(start - 1).is_some_and(u8::is_ascii_whitespace) {
        // The end of a longer word.
        start += 2;
    }
    let mut end = start;
    let mut next = start;
    while single(next) {
        end = next + 1;
        if bytes.get(end) != Some(&b' ') {
            break;
        }
        next = end + 1;
    }
    work::add_steps(first.saturating_sub(start) + end.saturating_sub(start));
    (start, end)
}

/// A disguised punctuation mark of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    start: usize,
    end: usize,
    sign: &'static str,
    bracketed: bool,
}

/// Replaces bracketed marks (`[.]`, `[at]`), and ` at ` and ` dot ` near such marks or each other.
fn defanged(text: &str, edits: &mut Edits) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut marks: Vec<Mark> = Vec::new();
    while let Some(i) = next_bracket(bytes, at) {
        at = i + 1;
        if let Some((end, sign)) = bracketed(bytes, i) {
            let (start, end) = include_blanks(bytes, i, end);
            at = end;
            marks.push(Mark { start, end, sign, bracketed: true });
        }
    }
    let mut words = |word: &str, sign| {
        marks.extend(text.match_indices(word).map(|(start, _)| Mark {
            start,
            end: start + word.len(),
            sign,
            bracketed: false,
        }));
    };
    if text.contains(" dot ") {
        words(" dot ", ".");
        words(" at ", "@");
    } else if at > 0 {
        words(" at ", "@");
    }
    marks.sort_unstable();
    let near = |a: &Mark, b: &Mark| b.start <= a.end + MAX_MARK_DISTANCE;
    for group in marks.chunk_by(near) {
        let sign = group.first().map(|mark| mark.sign);
        if group.iter().any(|mark| mark.bracketed || Some(mark.sign) != sign) {
            replace_marks(group, edits);
        }
    }
}

fn replace_marks(group: &[Mark], edits: &mut Edits) {
    let mut from = 0;
    for mark in group {
        if mark.start >= from {
            edits.replace(mark.start..mark.end, mark.sign, Layer::Defanged);
            from = mark.end;
        }
    }
}

fn next_bracket(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let seconds = rest.get(1..)?;
    rest.iter()
        .zip(seconds)
        .position(|(a, b)| {
            matches!(a, b'[' | b'(' | b'{')
                & matches!(b, b'.' | b'@' | b':' | b'a' | b'A' | b'd' | b'D')
        })
        .map(|i| at + i)
}

/// The end of the bracketed mark at `at`, and the punctuation that it stands for.
fn bracketed(bytes: &[u8], at: usize) -> Option<(usize, &'static str)> {
    let rest = bytes.get(at + 1..bytes.len().min(at + 6))?;
    let len = rest.iter().position(|b| matches!(b, b']' | b')' | b'}'))?;
    let sign = match rest.get(..len)?.to_ascii_lowercase().as_slice() {
        b"." | b"dot" => ".",
        b"@" | b"at" => "@",
        b":" => ":",
        b"://" => "://",
        _ => return None,
    };
    Some((at + len + 2, sign))
}

/// The range with the blank on each side, if both sides have one.
fn include_blanks(bytes: &[u8], start: usize, end: usize) -> (usize, usize) {
    let before = start.checked_sub(1).and_then(|i| bytes.get(i)) == Some(&b' ');
    if before && bytes.get(end) == Some(&b' ') { (start - 1, end + 1) } else { (start, end) }
}

/// Reverses ASCII words that look like values.
fn reversed(bytes: &[u8], edits: &mut Edits) {
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let len = rest.iter().take_while(|b| is_reversible(**b)).count();
        let word = rest.get(..len).unwrap_or_default();
        if REVERSED_WORD_LEN.contains(&len) && looks_like_value(word) {
            let turned: String = word.iter().rev().map(|b| char::from(*b)).collect();
            edits.push_piece(at..at + len, &turned, Shape::Backwards);
            edits.close(at..at + len, Layer::Reversed);
        }
        at += len + 1;
    }
}

fn is_reversible(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';')
}

/// Whether a word may be a value: an address, a number, or a key of letters and digits.
fn looks_like_value(word: &[u8]) -> bool {
    let digits = word.iter().filter(|b| b.is_ascii_digit()).count();
    let dots = word.contains(&b'.') && word.contains(&b'@');
    let key = word.len() >= 2 * REVERSED_WORD_LEN.start() && digits > 1;
    dots || digits >= MIN_DIGITS || key
}
