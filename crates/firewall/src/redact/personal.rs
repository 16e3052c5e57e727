//! Personal data: addresses, and numbers of accounts and documents that identify a person.
//!
//! One pass stops at digits, colons, brackets and `@`. What is there is read once, normalised, and
//! passed to the rules for its form. The words around it are looked up only if the form alone is
//! not conclusive.

mod americas;
mod asia;
mod birth_date;
mod candidate;
mod card;
mod checksum;
mod context;
mod dialing_plan;
mod document_numbers;
mod document_rule;
mod email;
mod europe;
mod iban;
mod mentions;
mod network;
mod phone;
mod phone_layout;
mod reserved;
mod rules;
mod test_cards;
#[cfg(test)]
mod tests;
mod us_ssn;
mod userinfo;
mod word_gap;

use std::ops::Range;

use super::scan_window::ScanWindow;
use super::scanner::{ScanHit, ScanRule, Scanner};
use candidate::{Candidate, GroupJoin, Token, byte_at, byte_before, continues_number};
use card::Card;
use context::{CandidateContext, ContextReader, TopicContext, topic};
use network::ColonAddress;
use rules::{
    BIRTH_DATE, CARD, CODED_RULES, EMAIL, IBAN, IPV4, IPV6, MAC, PHONE, RULES, SSN, WRITTEN_EMAIL,
};

/// A text of up to this many bytes may be a single value, whatever its letters.
const MAX_SINGLE_VALUE_BYTES: usize = 64;

/// The fewest letters and digits of a value.
const MIN_VALUE_CHARS: usize = 6;

/// The scanner with its rules.
pub(crate) fn scanner() -> Scanner {
    Scanner { rules: RULES, scan }
}

/// Finds personal data; hits may overlap.
fn scan(window: &ScanWindow<'_>, hits: &mut Vec<ScanHit>) {
    let (text, bytes) = (window.text, window.bytes());
    let reader = ContextReader::new(bytes);
    let mut after = 0;
    for place in window.personal_data_positions() {
        if place < after {
            continue;
        }
        match byte_at(bytes, place) {
            b'@' => push_hit(text, hits, EMAIL, email::email_at(window, place)),
            b'(' | b'[' => {
                push_hit(text, hits, WRITTEN_EMAIL, email::bracketed_email(bytes, place))
            }
            b':' => match network::address_at_colon(&reader, place) {
                Some(ColonAddress::V6(range)) => push_hit(text, hits, IPV6, Some(range)),
                Some(ColonAddress::Mac(range)) => push_hit(text, hits, MAC, Some(range)),
                None => {}
            },
            _ => after = scan_digits(window, &reader, place, hits),
        }
    }
}

/// Scans what is at a digit. Returns the end of what need not be scanned again.
fn scan_digits(
    window: &ScanWindow<'_>,
    reader: &ContextReader<'_>,
    place: usize,
    hits: &mut Vec<ScanHit>,
) -> usize {
    let bytes = window.bytes();
    if let Some(end) = candidate::timestamp_end(bytes, place) {
        return end;
    }
    let (token, fits) = Token::around(bytes, place);
    let hash = token.looks_like_hash && bytes.len() > MAX_SINGLE_VALUE_BYTES;
    if fits
        && !hash
        && !is_too_short_alone(bytes, token)
        && !window.covered.covers(&(token.start..token.end))
    {
        // A value known to be reserved is skipped as a whole; a part of it could look like a phone
        // number.
        if let Some(end) = network::reserved_v4_end(bytes, token) {
            return end;
        }
        match card::card_at(bytes, token) {
            Some(card) if card.is_test_card => return card.range.end,
            card => {
                let followed = card.as_ref().filter(|card| card.followed_by_card);
                let next =
                    followed.filter(|card| may_be_card(reader, card)).map(|card| card.range.end);
                scan_token(window.text, reader, token, card, hits);
                if let Some(next) = next {
                    return next;
                }
            }
        }
    }
    candidate::uuid_end(bytes, token).unwrap_or(token.end)
}

fn push_hit(text: &str, hits: &mut Vec<ScanHit>, rule: usize, range: Option<Range<usize>>) {
    if let Some(range) = range {
        let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
        hits.push(ScanHit { range, rule });
    }
}

/// True for a number that is too short for a value and is not connected to anything beside it.
fn is_too_short_alone(bytes: &[u8], token: Token) -> bool {
    token.end - token.start < MIN_VALUE_CHARS
        && !matches!(byte_before(bytes, token.start), b'-' | b'.')
        && !candidate::may_continue(bytes, token.end)
        && !continues_number(bytes, token.start, GroupJoin::Loose)
        && letter_group_start(bytes, token.start).is_none()
        && !iban::is_head(bytes, token)
}

/// Scans a token with digits and the groups that begin with it. A card was searched for before.
fn scan_token(
    text: &str,
    reader: &ContextReader<'_>,
    token: Token,
    card: Option<Card>,
    hits: &mut Vec<ScanHit>,
) {
    let bytes = reader.bytes;
    push_hit(text, hits, IPV4, network::ipv4_at(reader, token));
    push_hit(text, hits, MAC, network::mac_at(reader, token));
    if let Some(card) = card
        && may_be_card(reader, &card)
    {
        push_hit(text, hits, CARD, Some(card.range));
    }
    if !token.is_numeric {
        push_hit(text, hits, IBAN, iban::iban_at(bytes, token));
    }
    scan_groups(text, reader, token, hits);
}

/// Scans the token with the groups that follow it: joined across blanks, joined without blanks, and
/// alone.
fn scan_groups(text: &str, reader: &ContextReader<'_>, token: Token, hits: &mut Vec<ScanHit>) {
    let bytes = reader.bytes;
    let long = token.end - token.start >= MIN_VALUE_CHARS;
    let follows = continues_number(bytes, token.start, GroupJoin::Loose);
    let joined = candidate::may_continue(bytes, token.end);
    let mut end = token.end;
    let mut blanks = follows;
    if !follows && (joined || long || letter_group_start(bytes, token.start).is_some()) {
        if let Some(candidate) = Candidate::parse(bytes, token.start, GroupJoin::Loose) {
            scan_candidate(text, reader, &candidate, GroupJoin::Loose, hits);
            end = candidate.end;
            blanks = candidate.separators & (candidate::BLANK | candidate::BRACKET) != 0;
        } else {
            blanks = true;
        }
    }
    if !blanks || continues_number(bytes, token.start, GroupJoin::Tight) {
        return;
    }
    if joined
        && let Some(candidate) = Candidate::parse(bytes, token.start, GroupJoin::Tight)
        && candidate.end != token.end
        && (follows || candidate.end != end)
    {
        scan_candidate(text, reader, &candidate, GroupJoin::Tight, hits);
    } else if long
        && (follows || end != token.end)
        && let Some(candidate) = Candidate::parse(bytes, token.start, GroupJoin::Token)
    {
        scan_candidate(text, reader, &candidate, GroupJoin::Token, hits);
    }
    if follows
        && may_restart(bytes, token)
        && let Some(candidate) = Candidate::parse(bytes, token.start, GroupJoin::Loose)
    {
        let context = CandidateContext::new(reader, candidate.start, candidate.end);
        push_hit(text, hits, PHONE, phone::restarted_number(&context, &candidate));
    }
}

/// Applies the rules to one candidate.
fn scan_candidate(
    text: &str,
    reader: &ContextReader<'_>,
    candidate: &Candidate,
    join: GroupJoin,
    hits: &mut Vec<ScanHit>,
) {
    let bytes = reader.bytes;
    if candidate.len() >= MIN_VALUE_CHARS {
        let context = CandidateContext::new(reader, candidate.start, candidate.end);
        if us_ssn::is_ssn(&context, candidate) {
            push_hit(text, hits, SSN, Some(candidate.start..candidate.end));
        }
        push_hit(text, hits, PHONE, phone::phone_number(&context, candidate));
        push_hit(text, hits, BIRTH_DATE, birth_date::birth_date(&context, candidate));
        scan_documents(text, &context, candidate, hits);
    }
    if let Some(start) = letter_group_start(bytes, candidate.start)
        && let Some(candidate) = Candidate::parse(bytes, start, join)
    {
        let context = CandidateContext::new(reader, candidate.start, candidate.end);
        scan_documents(text, &context, &candidate, hits);
    }
}

/// Applies the rules for document and register numbers.
fn scan_documents(
    text: &str,
    context: &CandidateContext<'_>,
    candidate: &Candidate,
    hits: &mut Vec<ScanHit>,
) {
    document_numbers::for_each_match(context, candidate, |row| {
        push_hit(text, hits, CODED_RULES.len() + row, Some(candidate.start..candidate.end));
    });
}

/// The start of a short word before a number that may be its first group, as in `AA 12 34 56 B`.
fn letter_group_start(bytes: &[u8], start: usize) -> Option<usize> {
    if !matches!(byte_before(bytes, start), b' ' | b'-' | b'.') {
        return None;
    }
    let end = start.checked_sub(1)?;
    let last = byte_before(bytes, end);
    if bytes.len() > MAX_SINGLE_VALUE_BYTES && !last.is_ascii_uppercase() {
        return None;
    }
    let mut at = end;
    while end - at <= 4 && byte_before(bytes, at).is_ascii_alphabetic() {
        at -= 1;
    }
    let bounded = !byte_before(bytes, at).is_ascii_alphanumeric() && byte_before(bytes, at) != b'_';
    (at < end && end - at <= 4 && bounded).then_some(at)
}

/// True for a number after a blank that may begin a new value: it has a bracket or a trunk zero.
fn may_restart(bytes: &[u8], token: Token) -> bool {
    let left = byte_before(bytes, token.start);
    let zero = byte_at(bytes, token.start) == b'0' && token.end - token.start >= 2;
    token.is_numeric && (left == b'(' || left == b' ' && zero)
}

/// False if the words before it are about orders, parcels and the like, and not about cards.
fn may_be_card(reader: &ContextReader<'_>, card: &Card) -> bool {
    let Range { start, end } = card.range;
    let context = TopicContext::around(reader, start, end);
    let named = context.last_label & topic::CARD != 0;
    if card.needs_keyword {
        return named || context.label & topic::CARD != 0;
    }
    let hash = byte_before(reader.bytes, start) == b'#';
    let other = hash || context.right_before & topic::OTHER != 0;
    let order =
        context.is_adjacent && context.last_label & context.right_before & topic::ORDER != 0;
    named || !(order || card.has_weak_form && other)
}
