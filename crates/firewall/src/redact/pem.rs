//! PEM blocks of private keys.

use std::ops::Range;

use super::scan_window::ScanWindow;
use super::scanner::{Hit, ScanRule, Scanner};

/// The scanner for the engine.
pub(crate) const SCANNER: Scanner = Scanner { rules: RULES, scan };

/// What it finds.
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
    ],
    keeps: &["-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----"],
}];

fn scan(window: &ScanWindow<'_>, hits: &mut Vec<Hit>) {
    hits.extend(blocks(window).into_iter().map(|range| Hit { range, rule: 0 }));
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// The longest label, and the longest block that is taken whole, in bytes.
const MAX_LABEL: usize = 64;
const MAX_BLOCK: usize = 64 * 1024;

/// Private keys, from BEGIN to END; without an END, as far as the text looks like a block.
fn blocks(window: &ScanWindow<'_>) -> Vec<Range<usize>> {
    let text = window.text;
    let mut found: Vec<Range<usize>> = Vec::new();
    // The next END at or after a place; searched for once, whatever stands between.
    let mut next_end: Option<usize> = Some(0);
    for start in window.dashes(5) {
        let begins = window.bytes().get(start..).is_some_and(|at| at.starts_with(BEGIN.as_bytes()));
        if !begins || found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let Some(body) = header_end(text, start) else { continue };
        while next_end.is_some_and(|end| end < body) {
            next_end = text.get(body..).and_then(|rest| rest.find(END)).map(|at| at + body);
        }
        let end = match next_end {
            Some(end) if end - body <= MAX_BLOCK => trailer_end(text, end),
            _ => body + run(text.get(body..).unwrap_or_default()),
        };
        found.push(start..end);
    }
    found
}

/// Where a block of which `seen` bytes came before `from` ends, and whether it ends there for good.
pub(crate) fn rest(text: &str, from: usize, seen: usize) -> (usize, bool) {
    let tail = text.get(from..).unwrap_or_default();
    let body = from + run(tail);
    match tail.find(END).map(|at| from + at) {
        Some(end) if end <= body => (trailer_end(text, end), true),
        _ if seen >= MAX_BLOCK => (from, true),
        _ => (body, body < text.len()),
    }
}

/// Where the header of a private key ends; nothing for other blocks.
fn header_end(text: &str, start: usize) -> Option<usize> {
    let label = start + BEGIN.len();
    let bytes = text.as_bytes().get(label..)?;
    let head = bytes.get(..bytes.len().min(MAX_LABEL))?;
    let length = head.windows(DASHES.len()).position(|w| w == DASHES.as_bytes())?;
    let label_text = head.get(..length)?.to_ascii_uppercase();
    let is_key = label_text.windows(11).any(|w| w == b"PRIVATE KEY");
    is_key.then_some(label + length + DASHES.len())
}

/// Where the trailer that starts here ends.
fn trailer_end(text: &str, end: usize) -> usize {
    let label = end + END.len();
    let rest = text.as_bytes().get(label..).unwrap_or_default();
    let head = rest.get(..rest.len().min(MAX_LABEL)).unwrap_or_default();
    let length = head.windows(DASHES.len()).position(|w| w == DASHES.as_bytes());
    length.map_or(label, |length| label + length + DASHES.len())
}

/// How many bytes look like the inside of a block: base64, line breaks, also escaped ones, and
/// header lines.
fn run(text: &str) -> usize {
    text.bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || b"+/=\r\n \t\\-:,".contains(b))
        .take(MAX_BLOCK)
        .count()
}
