//! Words before a token: vendors, words for secrets, and words that say it is something else.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::{byte, name, part};
use crate::redact::validate::words;
use crate::redact::work;

/// Names of vendors, one a line; a name that is a common word too has a `?` after it.
const VENDORS: &str = include_str!("../../../assets/vendors.txt");

/// How far a word may stand before a token.
const GAP: usize = 44;
/// How far before a token a word says that it is no secret.
const REFUSAL: usize = 28;

/// How far before a token a word stands right before it.
const RIGHT_BEFORE: usize = 3;

/// What a word stands for, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keyword {
    /// `key`, `api`.
    Weak,
    /// The name of a vendor that is a common word.
    Plain,
    /// `token`, `secret`.
    Strong,
    /// The name of a vendor.
    Vendor,
    /// `commit`, `checksum`.
    Refusal,
}

/// What stands before a token.
#[derive(Debug)]
pub(super) struct KeywordContext {
    pub(super) word: Keyword,
    /// A word says that the token is a hash, a version, an identifier of a request.
    pub(super) refused: bool,
    /// The name that the token is given, where there is one.
    pub(super) name: Range<usize>,
    /// The word stands in that name.
    pub(super) in_name: bool,
    /// A sign such as `=` or `:` stands between.
    pub(super) signed: bool,
    /// How many bytes stand between.
    pub(super) gap: usize,
    /// A sign or a quote stands between.
    pub(super) quoted: bool,
    /// A word such as `token` stands right before.
    pub(super) is_called_a_secret: bool,
}

const STRONG: &[&str] = words![
    "token" "secret" "password" "passwd" "apikey" "api_key" "api-key" "api key" "credential"
    "bearer" "access key" "accesskey" "access_key" "auth_key" "authkey"
];

const WEAK: &[&str] = words![
    "key" "api" "auth" "access" "client" "login" "pass" "creds"
];

const REFUSALS: &[&str] = words![
    "sha" "sha1" "sha224" "sha256" "sha384" "sha512" "md5" "crc32" "commit" "checksum" "digest"
    "hash" "etag" "revision" "rev" "srcrev" "integrity" "version" "uuid" "guid" "trace" "traceid"
    "span" "request" "correlation" "fingerprint" "thumbprint" "image" "layer" "blob" "subproject"
    "checkout" "merged" "merge" "ref" "refs" "tree" "parent" "cherry" "branch" "public" "pubkey"
    "nonce" "filename" "serial" "session_id" "transaction" "tx" "txid" "block" "contract" "wallet"
    "etags" "build" "snapshot" "container" "pod" "_id" "objectid" "boundary" "color" "enc["
    "playlist" "playlists" "album" "track" "episode" "video" "videos" "watch" "channel" "changeset"
    "customer" "price" "product" "invoice" "order" "guild" "board" "design" "head" "pipeline"
    "document" "page" "article" "issue" "event" "card" "file" "base" "h1:"
];

struct Words {
    search: AhoCorasick,
    kinds: Vec<Keyword>,
}

static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| {
    let mut list: Vec<(&str, Keyword)> = VENDORS
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| match line.strip_suffix('?') {
            Some(word) => (word, Keyword::Plain),
            None => (line, Keyword::Vendor),
        })
        .collect();
    list.extend(STRONG.iter().map(|word| (*word, Keyword::Strong)));
    list.extend(WEAK.iter().map(|word| (*word, Keyword::Weak)));
    list.extend(REFUSALS.iter().map(|word| (*word, Keyword::Refusal)));
    let search = AhoCorasickBuilder::new()
        .match_kind(MatchKind::Standard)
        .ascii_case_insensitive(true)
        .build(list.iter().map(|(word, _)| *word))
        .ok()?;
    Some(Words { search, kinds: list.into_iter().map(|(_, kind)| kind).collect() })
});

/// The strongest word before the token that starts at this place.
pub(super) fn before(bytes: &[u8], token: usize, reach: usize) -> Option<KeywordContext> {
    let words = WORDS.as_ref()?;
    let from = token.saturating_sub(reach);
    let window = part(bytes, from..token);
    work::add(window.len());
    let name = name_of(bytes, token);
    let mut best: Option<(Keyword, usize, usize)> = None;
    let (mut refused, mut is_called_a_secret) = (false, false);
    for found in words.search.find_overlapping_iter(window) {
        let (start, end) = (from + found.start(), from + found.end());
        let word = words.kinds.get(found.pattern().as_usize()).copied()?;
        let gap = token - end;
        if gap > GAP || !stands_alone(bytes, start..end, word) {
            continue;
        }
        if matches!(word, Keyword::Strong | Keyword::Weak) && is_open(bytes, start..end) {
            continue;
        }
        is_called_a_secret |= word == Keyword::Strong && gap <= RIGHT_BEFORE;
        if word == Keyword::Refusal {
            refused |= gap <= REFUSAL || byte(bytes, end - 1) == b'[';
        } else if best.is_none_or(|(known, ..)| word >= known) {
            best = Some((word, start, end));
        }
    }
    let (word, start, end) = best?;
    let gap = part(bytes, end..token);
    let signed = gap.iter().any(|b| b"=:>".contains(b));
    Some(KeywordContext {
        word,
        refused,
        in_name: name.start <= start && end <= name.end,
        name,
        signed,
        gap: token - end,
        is_called_a_secret,
        quoted: signed || gap.iter().any(|b| b"\"'`{(".contains(b)),
    })
}

/// True when the word ends a name of something that anyone may see: `csrf_token`.
fn is_open(bytes: &[u8], word: Range<usize>) -> bool {
    let run = part(bytes, word.start.saturating_sub(32)..word.start);
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    let len = run.iter().rev().take_while(named).count();
    len > 0 && name::is_open(part(bytes, word.start - len..word.end))
}

/// The name before the sign before a token; empty where there is none.
fn name_of(bytes: &[u8], token: usize) -> Range<usize> {
    let run = part(bytes, token.saturating_sub(24)..token);
    let between = |b: &&u8| b.is_ascii_whitespace() || b"\"'`=:>,\\(".contains(b);
    let end = token - run.iter().rev().take_while(between).count();
    let run = part(bytes, end.saturating_sub(48)..end);
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    end - run.iter().rev().take_while(named).count()..end
}

/// True unless the word is the inside of a longer one: `api` in `rapid`, `box` in `boxes`.
fn stands_alone(bytes: &[u8], word: Range<usize>, kind: Keyword) -> bool {
    let long = word.len() >= 7 && kind == Keyword::Vendor;
    let (before, first) = (byte(bytes, word.start.wrapping_sub(1)), byte(bytes, word.start));
    let (last, after) = (byte(bytes, word.end.wrapping_sub(1)), byte(bytes, word.end));
    let hump = first.is_ascii_uppercase() && before.is_ascii_lowercase();
    let begins = word.start == 0 || !before.is_ascii_alphabetic() || hump || long;
    let plural = kind == Keyword::Strong && after == b's';
    let capital = last.is_ascii_lowercase() && after.is_ascii_uppercase();
    let upper = kind != Keyword::Refusal && last.is_ascii_uppercase() && after.is_ascii_uppercase();
    let ends = matches!(last, b'[' | b':')
        || !after.is_ascii_alphabetic()
        || capital
        || long
        || plural
        || upper && word.len() >= 5
        || kind == Keyword::Vendor && word.len() >= 5;
    begins && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_plain_sorted_and_named_once() {
        let names: Vec<&str> = VENDORS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "sort the names; each stands once");
        assert!(names.len() > 1_000);
        for name in names {
            let plain = name.trim_end_matches('?');
            assert!(plain.len() >= 3, "{name}");
            let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
            assert!(plain.bytes().all(known), "{name}");
        }
        assert!(WORDS.is_some());
    }
}
