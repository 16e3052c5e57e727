//! Personal data: addresses, numbers and documents that name a person.
//!
//! One pass stops at digits, colons, brackets and `@`. What stands there is read once, brought to one form
//! and shown to the rules of that form. Words around are looked up only for a candidate whose form
//! says too little.

mod americas;
mod asia;
mod birth_date;
mod card;
mod checksum;
mod cluster;
mod context;
mod document_rule;
mod email;
mod europe;
mod gap;
mod iban;
mod mentions;
mod national;
mod network;
mod phone;
mod plan;
mod reserved;
mod rules;
mod security;
mod test_cards;
#[cfg(test)]
mod tests;
mod userinfo;

use std::ops::Range;

use super::scan_window::ScanWindow;
use super::scanner::{Hit, ScanRule, Scanner};
use card::Card;
use cluster::{Cluster, GroupJoin, Token, before, byte, continues};
use context::{Context, ContextReader, Words, topic};
use network::Address;
use rules::{BIRTH, CARD, EMAIL, IBAN, MAC, OWN, PHONE, RULES, SSN, V4, V6, WRITTEN_EMAIL};

/// Texts up to this many bytes may be one value, whatever its letters.
const SHORT: usize = 64;

/// The fewest letters and digits of a value.
const SHORTEST: usize = 6;

/// The rules with their scan.
pub(crate) fn scanner() -> Scanner {
    Scanner { rules: RULES, scan }
}

/// Finds personal data; hits may overlap.
fn scan(window: &ScanWindow<'_>, hits: &mut Vec<Hit>) {
    let (text, bytes) = (window.text, window.bytes());
    let near = ContextReader::new(bytes);
    let mut after = 0;
    for place in window.stops() {
        if place < after {
            continue;
        }
        match byte(bytes, place) {
            b'@' => push(text, hits, EMAIL, email::address(window, place)),
            b'(' | b'[' => push(text, hits, WRITTEN_EMAIL, email::bracketed(bytes, place)),
            b':' => match network::colons(&near, place) {
                Some(Address::V6(range)) => push(text, hits, V6, Some(range)),
                Some(Address::Mac(range)) => push(text, hits, MAC, Some(range)),
                None => {}
            },
            _ => after = digits(window, &near, place, hits),
        }
    }
}

/// Finds what stands at a digit. Gives the end of what need not be looked at again.
fn digits(
    window: &ScanWindow<'_>,
    near: &ContextReader<'_>,
    place: usize,
    hits: &mut Vec<Hit>,
) -> usize {
    let bytes = window.bytes();
    if let Some(end) = cluster::timestamp_end(bytes, place) {
        return end;
    }
    let (token, fits) = Token::around(bytes, place);
    let hash = token.hash && bytes.len() > SHORT;
    if fits
        && !hash
        && !stands_alone(bytes, token)
        && !window.covered.holds(&(token.start..token.end))
    {
        // What is known to be nobody's is passed over as a whole: a part of it may look like a
        // phone number.
        if let Some(end) = network::reserved_v4_end(bytes, token) {
            return end;
        }
        match card::starting(bytes, token) {
            Some(card) if card.published => return card.range.end,
            card => {
                let followed = card.as_ref().filter(|card| card.followed_by_card);
                let next = followed.filter(|card| is_owned(near, card)).map(|card| card.range.end);
                numbers(window.text, near, token, card, hits);
                if let Some(next) = next {
                    return next;
                }
            }
        }
    }
    cluster::uuid_end(bytes, token).unwrap_or(token.end)
}

fn push(text: &str, hits: &mut Vec<Hit>, rule: usize, range: Option<Range<usize>>) {
    if let Some(range) = range {
        let range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
        hits.push(Hit { range, rule });
    }
}

/// True for a number that is too short for a value and has nothing beside it that it goes on with.
fn stands_alone(bytes: &[u8], token: Token) -> bool {
    token.end - token.start < SHORTEST
        && !matches!(before(bytes, token.start), b'-' | b'.')
        && !cluster::is_joined(bytes, token.end)
        && !continues(bytes, token.start, GroupJoin::Loose)
        && lettered(bytes, token.start).is_none()
        && !iban::is_head(bytes, token)
}

/// What a token with digits, and the groups that start with it, can be. The card was looked for
/// before.
fn numbers(
    text: &str,
    near: &ContextReader<'_>,
    token: Token,
    card: Option<Card>,
    hits: &mut Vec<Hit>,
) {
    let bytes = near.bytes;
    push(text, hits, V4, network::v4(near, token));
    push(text, hits, MAC, network::mac(near, token));
    if let Some(card) = card
        && is_owned(near, &card)
    {
        push(text, hits, CARD, Some(card.range));
    }
    if !token.digits {
        push(text, hits, IBAN, iban::starting(bytes, token));
    }
    clusters(text, near, token, hits);
}

/// What the token is with what follows: across blanks, without them, and by itself.
fn clusters(text: &str, near: &ContextReader<'_>, token: Token, hits: &mut Vec<Hit>) {
    let bytes = near.bytes;
    let long = token.end - token.start >= SHORTEST;
    let follows = continues(bytes, token.start, GroupJoin::Loose);
    let joined = cluster::is_joined(bytes, token.end);
    let mut end = token.end;
    let mut blanks = follows;
    if !follows && (joined || long || lettered(bytes, token.start).is_some()) {
        if let Some(cluster) = Cluster::gather(bytes, token.start, GroupJoin::Loose) {
            groups(text, near, &cluster, GroupJoin::Loose, hits);
            end = cluster.end;
            blanks = cluster.separators & (cluster::BLANK | cluster::BRACKET) != 0;
        } else {
            blanks = true;
        }
    }
    if !blanks || continues(bytes, token.start, GroupJoin::Tight) {
        return;
    }
    if joined
        && let Some(cluster) = Cluster::gather(bytes, token.start, GroupJoin::Tight)
        && cluster.end != token.end
        && (follows || cluster.end != end)
    {
        groups(text, near, &cluster, GroupJoin::Tight, hits);
    } else if long
        && (follows || end != token.end)
        && let Some(cluster) = Cluster::gather(bytes, token.start, GroupJoin::Token)
    {
        groups(text, near, &cluster, GroupJoin::Token, hits);
    }
    if follows
        && bracketed(bytes, token)
        && let Some(cluster) = Cluster::gather(bytes, token.start, GroupJoin::Loose)
    {
        let words = Words::new(near, cluster.start, cluster.end);
        push(text, hits, PHONE, phone::restarted(&words, &cluster));
    }
}

/// What groups of digits and letters are, taken together.
fn groups(
    text: &str,
    near: &ContextReader<'_>,
    cluster: &Cluster,
    join: GroupJoin,
    hits: &mut Vec<Hit>,
) {
    let bytes = near.bytes;
    if cluster.len() >= SHORTEST {
        let words = Words::new(near, cluster.start, cluster.end);
        if security::is_ssn(&words, cluster) {
            push(text, hits, SSN, Some(cluster.start..cluster.end));
        }
        push(text, hits, PHONE, phone::phone(&words, cluster));
        push(text, hits, BIRTH, birth_date::date(&words, cluster));
        documents(text, &words, cluster, hits);
    }
    if let Some(start) = lettered(bytes, cluster.start)
        && let Some(cluster) = Cluster::gather(bytes, start, join)
    {
        let words = Words::new(near, cluster.start, cluster.end);
        documents(text, &words, &cluster, hits);
    }
}

/// Numbers of documents and registers.
fn documents(text: &str, words: &Words<'_>, cluster: &Cluster, hits: &mut Vec<Hit>) {
    national::kinds(words, cluster, |row| {
        push(text, hits, OWN.len() + row, Some(cluster.start..cluster.end));
    });
}

/// The start of a short word before a number that may be its first group, as in `AA 12 34 56 B`.
fn lettered(bytes: &[u8], start: usize) -> Option<usize> {
    if !matches!(before(bytes, start), b' ' | b'-' | b'.') {
        return None;
    }
    let end = start.checked_sub(1)?;
    let last = before(bytes, end);
    if bytes.len() > SHORT && !last.is_ascii_uppercase() {
        return None;
    }
    let mut at = end;
    while end - at <= 4 && before(bytes, at).is_ascii_alphabetic() {
        at -= 1;
    }
    let bounded = !before(bytes, at).is_ascii_alphanumeric() && before(bytes, at) != b'_';
    (at < end && end - at <= 4 && bounded).then_some(at)
}

/// True for a number after a blank that starts anew: with a bracket, or the zero of an area.
fn bracketed(bytes: &[u8], token: Token) -> bool {
    let left = before(bytes, token.start);
    let zero = byte(bytes, token.start) == b'0' && token.end - token.start >= 2;
    token.digits && (left == b'(' || left == b' ' && zero)
}

/// False when the words before speak of orders, parcels and the like, and not of cards.
fn is_owned(near: &ContextReader<'_>, card: &Card) -> bool {
    let Range { start, end } = card.range;
    let context = Context::around(near, start, end);
    let named = context.last & topic::CARD != 0;
    if card.short {
        return named || context.label & topic::CARD != 0;
    }
    let hash = before(near.bytes, start) == b'#';
    let other = hash || context.near & topic::OTHER != 0;
    let order = context.adjoins && context.last & context.near & topic::ORDER != 0;
    named || !(order || card.weak && other)
}
