//! Tokens that look random near the name of a vendor or a word such as `secret`.
//!
//! The scan visits runs of token characters. Only for a run that looks random is the text before it
//! searched, at most [`SEARCH_BYTES`] bytes.

use std::ops::Range;

use super::assignment;
use super::credential_value;
use super::keywords::{self, Keyword, KeywordContext, Link};
use super::secret_name;
use super::token_form;
use super::token_stats::{self, TokenStats, is_dated, is_uuid};
use super::vendor_id;
use super::{NAMED_TOKEN_RULE, ScanHit, TOKEN_FORM_RULE, VENDOR_TOKEN_RULE, byte_at, slice};
use crate::redact::covered_ranges::CoveredRanges;
use crate::redact::scan_window::ScanWindow;
use crate::redact::validators::{not_a_path, not_placeholder};
use crate::redact::work_meter;

/// The shortest and the longest run that counts as a token.
const MIN_TOKEN_LEN: u32 = 12;
const MAX_TOKEN_LEN: usize = 300;
/// The shortest token that may contain slashes.
const MIN_SLASHED_LEN: usize = 32;
/// The length of the identifier of an object of MongoDB.
const OBJECT_ID_LEN: usize = 24;
/// How far before a token keywords are searched, in bytes.
const SEARCH_BYTES: usize = 72;

/// Finds tokens by their context and form, except those that are already known.
pub(super) fn scan(window: &ScanWindow<'_>, known: &CoveredRanges, hits: &mut Vec<ScanHit>) {
    for run in window
        .token_runs(MIN_TOKEN_LEN)
        .filter(|run| run.len() <= MAX_TOKEN_LEN && !known.covers(run))
    {
        check_run(window.bytes(), run, hits);
    }
}

fn check_run(bytes: &[u8], run: Range<usize>, hits: &mut Vec<ScanHit>) {
    let whole = slice(bytes, run.clone());
    work_meter::add_bytes(whole.len());
    if !whole.iter().any(u8::is_ascii_alphabetic) {
        return;
    }
    if let Some(range) = token_form::known_token(bytes, run.clone()) {
        hits.push(ScanHit { range, rule: TOKEN_FORM_RULE });
        return;
    }
    let Some(token) = trim_punctuation(bytes, run.clone()) else { return };
    let raw = slice(bytes, token.clone());
    let before = byte_at(bytes, run.start.wrapping_sub(1));
    if before == b'#'
        || before == b'@'
        || before == b'%'
        // A parameter or an index: `test_password[q8Vn…]`.
        || before == b'[' && is_name_byte(byte_at(bytes, run.start.wrapping_sub(2)))
        // The name of a function.
        || byte_at(bytes, run.end) == b'('
        || slice(bytes, run.clone()).starts_with(b"//")
        || is_of_application(bytes, run.start)
        // The boundary of a part of a message.
        || whole.starts_with(b"--") && matches!(before, 0 | b'\n')
    {
        return;
    }
    // Short texts with slashes are paths.
    if is_dated(raw) || is_version(raw) || raw.len() < MIN_SLASHED_LEN && raw.contains(&b'/') {
        return;
    }
    let shape = TokenStats::of(raw);
    let uuid = is_uuid(raw);
    if !uuid && (!shape.looks_random() || shape.len < 14) {
        return;
    }
    let Ok(text) = std::str::from_utf8(raw) else { return };
    if !is_one_token(text, &shape)
        || vendor_id::is_vendor_id(raw)
        || is_of_words(raw)
        || credential_value::is_memory_address(raw)
        || credential_value::is_digest_name(raw)
        || credential_value::is_of_badge(bytes, token.start)
        || token_stats::ends_in_words(raw)
        || credential_value::is_ciphertext(text)
        || is_host_key(bytes, &run)
        || is_line_of_block(bytes, &run)
    {
        return;
    }
    let Some(near) = keywords::keyword_before(bytes, token.start, SEARCH_BYTES) else { return };
    if shape.is_hex && credential_value::is_in_list_of_checksums(bytes, token.start) {
        return;
    }
    if let Some(rule) = matching_rule(bytes, token.start, &shape, uuid, &near)
        && !assignment::is_in_resource_name(bytes, run.start)
        && (rule == VENDOR_TOKEN_RULE || !is_name_of_field(bytes, &run))
        && (rule != VENDOR_TOKEN_RULE || !is_behind_thing(bytes, token.start))
        && not_placeholder(text)
    {
        hits.push(ScanHit { range: with_suffix(bytes, token), rule });
    }
}

/// The run without punctuation at its ends.
fn trim_punctuation(bytes: &[u8], run: Range<usize>) -> Option<Range<usize>> {
    let raw = slice(bytes, run.clone());
    let first = raw.iter().position(u8::is_ascii_alphanumeric)?;
    let last = raw.iter().rposition(u8::is_ascii_alphanumeric)?;
    (last + 1 - first >= 12).then(|| run.start + first..run.start + last + 1)
}

/// True for a version, and what follows it: `v0.0.0-20220304095617-2e8d9baf4ac2`.
fn is_version(raw: &[u8]) -> bool {
    let numbers = raw.strip_prefix(b"v").unwrap_or(raw).split(|b| *b == b'.').take(2);
    let is_number =
        |part: &[u8]| (1..=4).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
    raw.contains(&b'.') && numbers.map(is_number).filter(|is| *is).count() == 2
}

/// True for the last part of the identifier of an application of Firebase: `1:4417:web:9c4e1f7a…`.
fn is_of_application(bytes: &[u8], start: usize) -> bool {
    let before = slice(bytes, start.saturating_sub(9)..start);
    [&b":web:"[..], b":ios:", b":android:"].iter().any(|platform| before.ends_with(platform))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// True for a name of words, whose digits and capitals look random otherwise: `OAuth2SessionT`,
/// `V1beta1CustomResource`. At least three of four letters are in words, of which one has six.
fn is_of_words(raw: &[u8]) -> bool {
    const MIN_WORD: usize = 4;
    const MIN_LONG_WORD: usize = 6;
    let same_word =
        |left: &u8, right: &u8| left.is_ascii_alphabetic() && right.is_ascii_lowercase();
    let capitals = raw.iter().filter(|b| b.is_ascii_uppercase()).count();
    let letters = raw.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let (mut in_words, mut longest) = (0, 0);
    for word in raw.chunk_by(same_word).filter(|word| word.len() >= MIN_WORD) {
        in_words += word.len();
        longest = longest.max(word.len());
    }
    capitals >= 2 && longest >= MIN_LONG_WORD && in_words * 4 >= letters * 3
}

/// Not a path, host, file or date.
fn is_one_token(text: &str, shape: &TokenStats) -> bool {
    let base64 = shape.irregular_capitals >= 2 && shape.letter_digit_transitions >= 4;
    let dotted = text.split('.').any(|part| part.len() >= 14) || !text.contains('.');
    let dated = text.get(4..5) == Some("-") && text.get(7..8) == Some("-") && shape.letters <= 3;
    (base64 || !text.contains('/')) && dotted && !dated && not_a_path(text)
}

/// True for a public key as OpenSSH writes it, or the hash of a host in `known_hosts`.
fn is_host_key(bytes: &[u8], run: &Range<usize>) -> bool {
    let raw = slice(bytes, run.clone());
    [&b"AAAAC3NzaC1l"[..], b"AAAAB3NzaC1", b"AAAAE2VjZHNh", b"AAAAGnNrLX"]
        .iter()
        .any(|head| raw.starts_with(head))
        || slice(bytes, run.start.saturating_sub(3)..run.start) == b"|1|"
}

/// True for a line of base64 with another of its length above or below it: a certificate or a file.
fn is_line_of_block(bytes: &[u8], run: &Range<usize>) -> bool {
    let is_line = |line: &[u8]| {
        line.len() == run.len()
            && line.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
    };
    let above = slice(bytes, run.start.saturating_sub(run.len() + 1)..run.start);
    let below = slice(bytes, run.end..(run.end + run.len() + 1).min(bytes.len()));
    (60..=76).contains(&run.len())
        && (above.strip_suffix(b"\n").is_some_and(is_line)
            || below.strip_prefix(b"\n").is_some_and(is_line))
}

/// What an identifier is of. Beside the name of a vendor, the token behind such a word is no key:
/// `todoist project tKWjbI2e9bTbzZ45`.
const IDENTIFIED: [&[u8]; 24] = [
    b"project", b"item", b"service", b"node", b"nodeid", b"zone", b"accessor", b"team",
    b"workspace", b"site", b"tenant", b"account", b"customer", b"order", b"device", b"channel",
    b"request", b"commit", b"build", b"version", b"folder", b"album", b"localpart", b"delivery",
];

/// True for a token behind the word for what it identifies, and at most a sign between.
fn is_behind_thing(bytes: &[u8], token: usize) -> bool {
    const MAX_WORD_BYTES: usize = 20;
    let before = slice(bytes, token.saturating_sub(MAX_WORD_BYTES)..token);
    let is_letter = |byte: &&u8| byte.is_ascii_alphabetic();
    let len = before.len() - before.iter().rev().take_while(|b| b" :=\"'".contains(b)).count();
    let word = before.iter().take(len).rev().take_while(is_letter).count();
    let word = slice(before, len - word..len);
    len < before.len() && IDENTIFIED.iter().any(|thing| thing.eq_ignore_ascii_case(word))
}

/// The name that a token is assigned to.
fn named_of<'t>(bytes: &'t [u8], near: &KeywordContext) -> &'t [u8] {
    slice(bytes, near.name.clone())
}

/// True for what a vendor knows an application by, `trello key da47…`, and for the name of a token that
/// cannot be used as one, `-accessor 7LFr…`.
pub(super) fn is_of_known_application(bytes: &[u8], token: usize) -> bool {
    const MAX_DISTANCE: usize = 40;
    let before = slice(bytes, token.saturating_sub(MAX_DISTANCE)..token).to_ascii_lowercase();
    let is_key =
        [&b" key "[..], b" key: ", b" key=", b"=key="].iter().any(|key| before.ends_with(key));
    let names = |vendor: &[u8]| memchr::memmem::find(&before, vendor).is_some();
    is_key && (names(b"trello") || names(b"pusher")) || before.ends_with(b"-accessor ")
}

/// The rule that the token matches, given its context.
fn matching_rule(
    bytes: &[u8],
    token: usize,
    shape: &TokenStats,
    uuid: bool,
    near: &KeywordContext,
) -> Option<usize> {
    if near.is_refused
        || is_of_known_application(bytes, token)
        || near.in_name && secret_name::is_published(named_of(bytes, near))
        || secret_name::is_name_of_type(bytes, near.name.start)
    {
        return None;
    }
    let common = uuid || shape.is_hex && matches!(shape.len, 40 | 64 | 128);
    let named = slice(bytes, near.name.clone());
    // A number of program text is a hash, too: `0x9f86…`.
    let is_number = slice(bytes, token..token + 2) == b"0x";
    let is_assigned =
        slice(bytes, near.name.end..token).iter().any(|b| matches!(b, b'=' | b':' | b'>'));
    let identifier = secret_name::is_identifier(named)
        || is_assigned && !near.in_name && secret_name::is_of_thing(named);
    if identifier && secret_name::is_of_directory(named) {
        return None;
    }
    let is_vendors = near.keyword == Keyword::Vendor;
    if !is_vendors && secret_name::is_attribute(named)
        || !(is_vendors && near.in_name && !secret_name::is_published(named))
            && secret_name::is_public(named)
    {
        return None;
    }
    let is_named =
        near.in_name && near.has_separator || near.in_other_name || near.is_called_a_secret;
    match near.keyword {
        Keyword::Vendor
            if uuid
                && !near.is_called_a_secret
                && (near.link == Link::None && !near.in_name
                    || !near.is_set_off && near.gap > 3) =>
        {
            None
        }
        // A hash beside the name of a vendor, as in a list of changes.
        Keyword::Vendor if (common && !uuid || is_number) && !is_named => None,
        // Of these, most are not secret: what a host serves, and objects of a database.
        Keyword::Vendor
            if (near.is_host || shape.is_hex && shape.len == OBJECT_ID_LEN)
                && !near.in_name
                && !near.is_called_a_secret =>
        {
            None
        }
        Keyword::Vendor if !identifier => Some(VENDOR_TOKEN_RULE),
        Keyword::CommonWordVendor
            if shape.len >= 16
                && !identifier
                && near.is_set_off
                && (!(common || is_number) || near.in_name) =>
        {
            Some(VENDOR_TOKEN_RULE)
        }
        Keyword::Strong
            if shape.len >= 16
                && !identifier
                && near.link != Link::None
                // A digest in a table: `SECRET_KEY    41706e0d8db443ec`.
                && (near.is_set_off || !(shape.is_hex && shape.len < 32))
                && (!common || near.has_separator || near.link == Link::Verb) =>
        {
            Some(NAMED_TOKEN_RULE)
        }
        Keyword::Weak
            if shape.len >= 16
                && !identifier
                && matches!(near.link, Link::Direct | Link::Neutral)
                && near.is_set_off
                && !common
                && !shape.is_hex =>
        {
            Some(NAMED_TOKEN_RULE)
        }
        // `the old key was …`
        Keyword::Weak
            if shape.len >= 20
                && !identifier
                && near.link == Link::Verb
                && !shape.is_hex
                && !uuid =>
        {
            Some(NAMED_TOKEN_RULE)
        }
        _ => None,
    }
}

/// True for the name of a field: `"q8Vn…": [`.
fn is_name_of_field(bytes: &[u8], run: &Range<usize>) -> bool {
    let after = slice(bytes, run.end..(run.end + 4).min(bytes.len()));
    let quoted = after.strip_prefix(b"\\").unwrap_or(after).strip_prefix(b"\"");
    quoted.is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
}

/// The token with what belongs to it: padding, or a second part after a colon.
fn with_suffix(bytes: &[u8], token: Range<usize>) -> Range<usize> {
    let run = slice(bytes, token.end..(token.end + 128).min(bytes.len()));
    let hangs = |b: &&u8| b.is_ascii_alphanumeric() || b"_-+=~.:$!*^/".contains(b);
    let len = run.iter().take_while(hangs).count();
    let tail = slice(bytes, token.end..token.end + len);
    let loose = tail.iter().rev().take_while(|b| b".:-!*/".contains(b)).count();
    token.start..token.end + len - loose
}

#[cfg(test)]
mod tests;
