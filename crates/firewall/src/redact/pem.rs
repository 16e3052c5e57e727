//! Finds PEM blocks of private keys.

use std::ops::Range;

use super::scan_window::ScanWindow;
use super::scanner::{ScanHit, ScanRule, Scanner};

/// The scanner for the engine.
pub(crate) const SCANNER: Scanner = Scanner { rules: RULES, scan };

/// Its rule.
const RULES: &[ScanRule] = &[ScanRule {
    id: "private-key",
    kind: "private_key",
    masks: &[
        (
            "x -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- y",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        ),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
        ),
        ("Private-Lines: 2\nAAAAIGx\nkU2Zk==\nPrivate-MAC: 9f86", "AAAAIGx\nkU2Zk=="),
    ],
    keeps: &[
        "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
        "Public-Lines: 1\nAAAAB3Nz",
        "Private-Lines: 1 or more",
        "starts_with(\"-----BEGIN PRIVATE KEY-----\") && x.ends_with(\"-----END PRIVATE KEY-----\")",
        "It begins with `-----BEGIN OPENSSH PRIVATE KEY-----` and has 7 lines.",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    ],
}];

fn scan(window: &ScanWindow<'_>, hits: &mut Vec<ScanHit>) {
    hits.extend(blocks(window).into_iter().map(|range| ScanHit { range, rule: 0 }));
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// The longest label, and the longest block that is masked as a whole, in bytes.
const MAX_LABEL: usize = 64;
const MAX_BLOCK: usize = 64 * 1024;

/// Private keys from BEGIN to END; without an END, as far as the text looks like a block.
fn blocks(window: &ScanWindow<'_>) -> Vec<Range<usize>> {
    let text = window.text;
    let mut found: Vec<Range<usize>> = Vec::new();
    // The next END at or after a position. It only moves forward, so the scan stays linear.
    let mut next_end: Option<usize> = Some(0);
    for start in window.dash_runs(5) {
        let begins = window.bytes().get(start..).is_some_and(|at| at.starts_with(BEGIN.as_bytes()));
        if !begins || found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let Some(body) = header_end(text, start).filter(|body| has_body(text, *body)) else {
            continue;
        };
        while next_end.is_some_and(|end| end < body) {
            next_end = text.get(body..).and_then(|rest| rest.find(END)).map(|at| at + body);
        }
        let end = match next_end {
            // Later text completes the trailer; until then the block goes on.
            Some(end) if end - body <= MAX_BLOCK && is_trailer_cut(text, end) => text.len(),
            Some(end) if end - body <= MAX_BLOCK => trailer_end(text, end),
            _ => body + body_len(text.get(body..).unwrap_or_default()),
        };
        found.push(start..end);
    }
    found.extend(putty_blocks(text));
    found
}

/// What precedes the lines of a private key in a file of PuTTY.
const PUTTY_HEADER: &str = "Private-Lines: ";

/// The private keys of PuTTY: so many lines of base64 as their header says.
fn putty_blocks(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for header in memchr::memmem::find_iter(text.as_bytes(), PUTTY_HEADER) {
        let at = header + PUTTY_HEADER.len();
        let rest = text.get(at..).unwrap_or_default();
        let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let count = rest.get(..digits).and_then(|digits| digits.parse::<usize>().ok());
        let after = rest.get(digits..).unwrap_or_default();
        let line_break = if after.starts_with('\r') { 2 } else { 1 };
        let (Some(count), Some(body)) = (count, after.get(line_break..)) else { continue };
        if !after.starts_with(['\r', '\n']) {
            continue;
        }
        let lines = body.split_inclusive('\n').take(count);
        let is_base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=\r\n".contains(&b);
        let len: usize = lines.take_while(|line| line.bytes().all(is_base64)).map(str::len).sum();
        let len = body.get(..len).map_or(0, |lines| lines.trim_ascii_end().len());
        let start = at + digits + line_break;
        if len > 0 && found.last().is_none_or(|last| last.end <= start) {
            found.push(start..start + len);
        }
    }
    found
}

/// Where a block ends of which `seen` bytes precede `from`, and whether that is its final end. It is
/// not while later text may complete the trailer.
pub(crate) fn block_rest_end(text: &str, from: usize, seen: usize) -> (usize, bool) {
    let tail = text.get(from..).unwrap_or_default();
    let body = from + body_len(tail);
    match tail.find(END).map(|at| from + at) {
        Some(end) if end <= body && !is_trailer_cut(text, end) => (trailer_end(text, end), true),
        _ if seen >= MAX_BLOCK => (from, true),
        _ => (body, body < text.len()),
    }
}

/// Where a marker at the end of the text begins whose label later text may complete.
pub(crate) fn cut_marker_start(text: &str) -> Option<usize> {
    let from = text.floor_char_boundary(text.len().saturating_sub(BEGIN.len() + MAX_LABEL));
    let tail = text.get(from..)?;
    let begin = tail.rfind(BEGIN).map(|at| (at, BEGIN.len()));
    let (at, length) = begin.max(tail.rfind(END).map(|at| (at, END.len())))?;
    let label = tail.get(at + length..)?;
    (label.len() < MAX_LABEL && !label.contains(DASHES)).then_some(from + at)
}

/// Where the header of a private key ends; `None` for other blocks.
fn header_end(text: &str, start: usize) -> Option<usize> {
    let label = start + BEGIN.len();
    let bytes = text.as_bytes().get(label..)?;
    let head = bytes.get(..bytes.len().min(MAX_LABEL))?;
    let length = head.windows(DASHES.len()).position(|w| w == DASHES.as_bytes())?;
    let label_text = head.get(..length)?.to_ascii_uppercase();
    let is_key = label_text.windows(11).any(|w| w == b"PRIVATE KEY");
    is_key.then_some(label + length + DASHES.len())
}

/// False if what follows a header says that no key does, as in program text that looks for headers and
/// in instructions: a quotation mark, a bracket or points, and no long run of base64 nearby.
fn has_body(text: &str, body: usize) -> bool {
    const MAX_DISTANCE: usize = 96;
    const MIN_RUN: usize = 40;
    let bytes = text.as_bytes();
    let near = bytes.get(body..bytes.len().min(body + MAX_DISTANCE + MIN_RUN)).unwrap_or_default();
    let first = near.trim_ascii_start();
    let first = first.strip_prefix(b"\\n").unwrap_or(first).trim_ascii_start();
    let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    let inner = first.get(..memchr::memmem::find(first, b"--").unwrap_or(first.len()));
    let is_cut = inner.is_some_and(|inner| memchr::memmem::find(inner, b"...").is_some());
    !is_cut && !first.first().is_some_and(|b| b"\"'`<([{$.*".contains(b))
        || near.chunk_by(|a, b| is_base64(a) && is_base64(b)).any(|run| run.len() >= MIN_RUN)
}

/// Where the trailer that begins here ends.
fn trailer_end(text: &str, end: usize) -> usize {
    let label = end + END.len();
    let rest = text.as_bytes().get(label..).unwrap_or_default();
    let head = rest.get(..rest.len().min(MAX_LABEL)).unwrap_or_default();
    let length = head.windows(DASHES.len()).position(|w| w == DASHES.as_bytes());
    length.map_or(label, |length| label + length + DASHES.len())
}

/// True if the text ends before the trailer that begins here could.
fn is_trailer_cut(text: &str, end: usize) -> bool {
    let label = text.get(end + END.len()..).unwrap_or_default();
    label.len() < MAX_LABEL && !label.contains(DASHES)
}

/// How many bytes look like the body of a block: base64, line breaks, also escaped ones, and header
/// lines.
fn body_len(text: &str) -> usize {
    text.bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || b"+/=\r\n \t\\-:,".contains(b))
        .take(MAX_BLOCK)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "-----BEGIN RSA PRIVATE KEY-----";
    const TAIL: &str = "-----END RSA PRIVATE KEY-----";

    fn found(text: &str) -> Vec<&str> {
        let mut hits = Vec::new();
        scan(&ScanWindow::new(text), &mut hits);
        hits.into_iter().map(|hit| text.get(hit.range).unwrap()).collect()
    }

    #[test]
    fn a_block_reaches_to_its_end_or_as_far_as_it_looks_like_one() {
        let block = format!("{HEAD}\nMIIE\n{TAIL}");
        assert_eq!(found(&format!("x {block} y")), [&block]);
        assert_eq!(found(&format!("{block} {block}")), [&block, &block]);
        assert_eq!(found(&format!("{TAIL} {block}")), [&block]);
        assert_eq!(found(&format!("----{block}")), [&block]);
        let cut = format!("{HEAD}\nMIIE");
        assert_eq!(found(&cut), [&cut]);
        assert_eq!(found(&format!("{cut}{{x")), [&cut]);
        for whole in [
            format!("{HEAD}{TAIL}"),
            format!("{HEAD}\nMI{{IE\n{TAIL}"),
            format!("{HEAD}\nMIIE {HEAD}\nMIIF\n{TAIL}"),
            format!("{HEAD}\nMIIE\n-----END "),
            format!("{HEAD}\nMIIE\n-----END RSA PRIVATE KEY--"),
            "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----".to_owned(),
        ] {
            assert_eq!(found(&whole), [&whole]);
        }
        for other in [
            "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
            "-----begin rsa private key-----\nMIIE",
            "-----BEGIN PRIVATE KE-----\nMIIE",
            "-----BEGIN RSA PRIVATE KEY",
        ] {
            assert!(found(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_block_and_its_label_are_not_longer_than_64_kibibytes_and_bytes() {
        let block = |length: usize| format!("{HEAD}{}{TAIL}", "A".repeat(length));
        assert_eq!(found(&block(65_536)), [&block(65_536)]);
        let cut = format!("{HEAD}{}", "A".repeat(65_536));
        assert_eq!(found(&block(65_537)), [&cut]);
        assert_eq!(found(&format!("{cut}{cut}")), [&cut, &cut]);
        let labelled =
            |length: usize| format!("-----BEGIN {} PRIVATE KEY-----\nMIIE", "A".repeat(length));
        assert_eq!(found(&labelled(47)).len(), 1);
        assert!(found(&labelled(48)).is_empty());
    }

    #[test]
    fn a_marker_is_cut_until_its_label_ends() {
        let labelled = |marker: &str, length: usize| format!("x {marker}{}", "X".repeat(length));
        for (text, start) in [
            ("x -----BEGIN RSA PRIV", Some(2)),
            ("x -----BEGIN ", Some(2)),
            ("x -----BEGIN RSA PRIVATE KEY----", Some(2)),
            ("x -----BEGIN RSA PRIVATE KEY-----", None),
            ("x -----END RSA", Some(2)),
            ("-----BEGIN X-----\n-----END X", Some(18)),
            ("-----END X-----\n-----BEGIN X", Some(16)),
            ("x ----BEGIN X", None),
            ("", None),
            (&labelled(BEGIN, 63), Some(2)),
            (&labelled(BEGIN, 64), None),
            (&labelled(END, 63), Some(2)),
            (&labelled(END, 64), None),
        ] {
            assert_eq!(cut_marker_start(text), start, "{text}");
        }
    }

    #[test]
    fn the_rest_of_a_block_ends_with_it() {
        let label = |length: usize| format!("MIIE\n-----END {}", "X".repeat(length));
        let (cut, long) = (label(MAX_LABEL - 1), label(MAX_LABEL));
        for (text, from, seen, expected) in [
            ("MIIE\n-----END X----- y", 0, 10, (20, true)),
            ("MIIE\n-----END X----- y", 2, 10, (20, true)),
            ("MIIE{ -----END X-----", 0, 10, (4, true)),
            ("MIIE", 0, 10, (4, false)),
            ("", 0, 10, (0, false)),
            ("MIIE", 0, MAX_BLOCK - 1, (4, false)),
            ("MIIE", 0, MAX_BLOCK, (0, true)),
            ("MI\n-----END X-----", 0, MAX_BLOCK, (18, true)),
            // What follows may go on with the trailer.
            ("MIIE\n-----END RSA PRIV", 0, 10, (22, false)),
            ("MIIE\n-----END X----", 0, 10, (19, false)),
            (cut.as_str(), 0, 10, (77, false)),
            (long.as_str(), 0, 10, (14, true)),
        ] {
            assert_eq!(block_rest_end(text, from, seen), expected, "{text} {from} {seen}");
        }
    }
}
