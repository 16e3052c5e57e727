//! Keywords before a token: vendors, words for secrets, and words that say it is something else.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use super::{byte_at, secret_name, slice};
use crate::redact::validators::words;
use crate::redact::work_meter;

/// Vendor names, one per line; a `?` marks a name that is also a common word.
const VENDORS: &str = include_str!("../../../assets/vendors.txt");

/// How far before a token a keyword may be, in bytes.
const MAX_GAP: usize = 44;
/// How far before a token a word can say that it is no secret, in bytes.
const MAX_REFUSAL_GAP: usize = 28;

/// How close a word must be to be right before the token, in bytes.
const MAX_ADJACENT_GAP: usize = 3;

/// What a keyword stands for, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Keyword {
    /// `key`, `api`.
    Weak,
    /// The name of a vendor that is also a common word.
    CommonWordVendor,
    /// `token`, `secret`.
    Strong,
    /// The name of a vendor.
    Vendor,
    /// `commit`, `checksum`.
    Refusal,
}

/// The keyword context of a token.
#[derive(Debug, Clone)]
pub(super) struct KeywordContext {
    pub(super) keyword: Keyword,
    /// A word says that the token is a hash, a version, or the id of a request.
    pub(super) is_refused: bool,
    /// The name that the token is assigned to; empty if there is none.
    pub(super) name: Range<usize>,
    /// The keyword is part of that name, or of another: `WANDB_API_KEY"])`.
    pub(super) in_name: bool,
    pub(super) in_other_name: bool,
    /// A sign such as `=` or `:` is in between.
    pub(super) has_separator: bool,
    /// How many bytes are in between.
    pub(super) gap: usize,
    /// A sign or a quote is in between.
    pub(super) is_set_off: bool,
    /// A word such as `token` is right before.
    pub(super) is_called_a_secret: bool,
    /// The keyword is the vendor's own domain: `github.com`, but not `nuget.corp.net`.
    pub(super) is_host: bool,
    /// What is between says that the keyword speaks of the token.
    pub(super) link: Link,
}

/// What connects a keyword that is not a part of a token's name with the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Signs, blanks and digits, or the names of calls: `key 1: …`, `Key(Encoding.GetBytes("…`.
    Direct,
    /// Words, and a verb such as `is` directly before the token.
    Verb,
    /// Words of a sentence or names of a list.
    Words,
    /// The token is the value of a name that says nothing: `"value": …`.
    Neutral,
    /// The token is the value of another name, a name itself, or beyond a sign that ends a text.
    None,
}

const STRONG_WORDS: &[&str] = words![
    "token" "secret" "password" "passwd" "apikey" "api_key" "api-key" "api key" "credential"
    "bearer" "master key" "signing key" "encryption key" "access key" "accesskey" "access_key" "auth_key" "authkey"
    "токен" "Токен" "密钥" "密鑰" "令牌" "トークン" "apiキー" "アクセスキー" "シークレットキー" "토큰" "api 키" "api키"
];

const WEAK_WORDS: &[&str] = words![
    "key" "api" "auth" "access" "client" "login" "pass" "creds"
];

const REFUSAL_WORDS: &[&str] = words![
    "sha" "sha1" "sha224" "sha256" "sha384" "sha512" "md5" "crc32" "commit" "checksum" "digest"
    "hash" "etag" "revision" "rev" "srcrev" "integrity" "version" "uuid" "guid" "trace" "traceid"
    "span" "request" "correlation" "fingerprint" "thumbprint" "image" "layer" "blob" "subproject"
    "checkout" "merged" "merge" "ref" "refs" "tree" "parent" "cherry" "branch" "public" "pubkey"
    "nonce" "filename" "reference" "shasum" "incident" "deployment" "serial" "session_id" "transaction" "tx" "txid" "block" "contract" "wallet"
    "etags" "build" "snapshot" "container" "pod" "_id" "objectid" "boundary" "color" "enc[" "enc(" "{cipher}"
    "playlist" "playlists" "album" "track" "episode" "video" "videos" "watch" "channel" "changeset"
    "customer" "price" "product" "invoice" "order" "guild" "board" "design" "head" "pipeline"
    "folder" "network" "profile" "ulid" "ksuid" "nanoid" "document" "page" "article" "issue" "event" "card" "file" "base" "h1:"
    "encrypted" "ciphertext" "collate" "domain-verification" "site-verification" "domain_verification"
];

/// Names of fields that say nothing about their value.
const NEUTRAL_NAMES: &[&str] = words![
    "value" "val" "v" "body" "data" "content" "text" "string" "raw" "literal" "default" "plain"
];

/// Verbs between the word for a secret and the secret, in the languages of Europe and of some others.
const VERBS: &[&str] = words![
    "is" "was" "ist" "lautet" "est" "es" "è" "é" "e" "je" "to" "jest" "är" "er" "on" "este" "yra" "adalah" "là"
];

struct KeywordMatcher {
    search: AhoCorasick,
    kinds: Vec<Keyword>,
}

static KEYWORDS: LazyLock<Option<KeywordMatcher>> = LazyLock::new(|| {
    let mut list: Vec<(&str, Keyword)> = VENDORS
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| match line.strip_suffix('?') {
            Some(word) => (word, Keyword::CommonWordVendor),
            None => (line, Keyword::Vendor),
        })
        .collect();
    list.extend(STRONG_WORDS.iter().map(|word| (*word, Keyword::Strong)));
    list.extend(WEAK_WORDS.iter().map(|word| (*word, Keyword::Weak)));
    list.extend(REFUSAL_WORDS.iter().map(|word| (*word, Keyword::Refusal)));
    let search = AhoCorasickBuilder::new()
        .match_kind(MatchKind::Standard)
        .ascii_case_insensitive(true)
        .build(list.iter().map(|(word, _)| *word))
        .ok()?;
    Some(KeywordMatcher { search, kinds: list.into_iter().map(|(_, kind)| kind).collect() })
});

/// The strongest keyword before the token at this position.
pub(super) fn keyword_before(bytes: &[u8], token: usize, reach: usize) -> Option<KeywordContext> {
    let words = KEYWORDS.as_ref()?;
    let from = token.saturating_sub(reach);
    let window = slice(bytes, from..token);
    work_meter::add_bytes(window.len());
    let name = name_before(bytes, token);
    let mut best: Option<(Keyword, usize, usize)> = None;
    let (mut is_refused, mut is_called_a_secret) = (false, false);
    for found in words.search.find_overlapping_iter(window) {
        let (start, end) = (from + found.start(), from + found.end());
        let word = words.kinds.get(found.pattern().as_usize()).copied()?;
        let gap = token - end;
        if gap > MAX_GAP || !is_whole_word(bytes, start..end, word) {
            continue;
        }
        if matches!(word, Keyword::Strong | Keyword::Weak) && is_public_name(bytes, start..end) {
            continue;
        }
        is_called_a_secret |= word == Keyword::Strong && gap <= MAX_ADJACENT_GAP;
        if word == Keyword::Refusal {
            is_refused |= gap <= MAX_REFUSAL_GAP || byte_at(bytes, end - 1) == b'[';
        } else if best.is_none_or(|(known, ..)| word >= known) {
            best = Some((word, start, end));
        }
    }
    let (keyword, start, end) = best?;
    let gap = slice(bytes, end..token);
    let has_separator = gap.iter().any(|b| b"=:>".contains(b));
    let link = link(bytes, start..end, token, &name);
    Some(KeywordContext {
        keyword,
        is_refused,
        in_name: name.start <= start && end <= name.end,
        in_other_name: byte_at(bytes, end) == b'_',
        name,
        has_separator,
        gap: token - end,
        is_called_a_secret,
        is_host: ends_with_top_level(slice(bytes, end..token)),
        link,
        is_set_off: has_separator || gap.iter().any(|b| b"\"'`{(".contains(b)),
    })
}

/// What connects a keyword with a token whose name is known.
fn link(bytes: &[u8], keyword: Range<usize>, token: usize, name: &Range<usize>) -> Link {
    let named = slice(bytes, name.clone());
    let has_name = named.iter().any(u8::is_ascii_alphabetic);
    let sign = slice(bytes, name.end..token).iter().any(|b| b"=:>".contains(b));
    if has_name && name.start <= keyword.start {
        // `token_accessor` is no token, `token_value` is one.
        let one = named.strip_suffix(b"s").unwrap_or(named);
        let is_secrets = [named, one].iter().any(|name| secret_name::secret_kind(name).is_some());
        return if is_secrets { Link::Direct } else { Link::None };
    }
    // The name of a tag: `<key>someData</key>`.
    if byte_at(bytes, keyword.start.wrapping_sub(1)) == b'/' && byte_at(bytes, keyword.end) == b'>'
    {
        return Link::None;
    }
    let word = |b: &u8| b.is_ascii_alphanumeric() || !b.is_ascii() || b" \t_-'".contains(b);
    if has_name && sign && secret_name::secret_kind(named).is_none() {
        let bare: &[u8] = named.trim_ascii_start().strip_prefix(b"--").unwrap_or(named);
        if NEUTRAL_NAMES.iter().any(|neutral| neutral.as_bytes().eq_ignore_ascii_case(bare)) {
            return Link::Neutral;
        }
        // `the token for staging: …` is a sentence, `"token": 1, "state": …` are two fields.
        let between = slice(bytes, keyword.end..name.start);
        return if between.iter().all(word) { Link::Words } else { Link::None };
    }
    let gap = slice(bytes, keyword.end..token);
    if let Some(line_end) = memchr::memchr(b'\n', gap)
        && !slice(gap, 0..line_end).iter().any(|b| b"=:>".contains(b))
        && (count_words(slice(gap, 0..line_end)) > 2
            || count_words(line_before(bytes, keyword.start)) > 2)
    {
        return Link::None;
    }
    let signs = |b: &&u8| b.is_ascii() && !b.is_ascii_alphanumeric();
    let words = slice(gap, 0..gap.len() - gap.iter().rev().take_while(signs).count());
    let is_call = |b: &u8| b.is_ascii_alphanumeric() || b"_.:(".contains(b);
    if !words.iter().any(u8::is_ascii_alphabetic) || words.iter().all(is_call) {
        return Link::Direct;
    }
    let last = words.rsplit(|b| b.is_ascii_whitespace()).next().unwrap_or_default();
    let listed = |b: &u8| word(b) || b"(),".contains(b);
    match words.iter().all(listed) {
        true if VERBS.iter().any(|verb| verb.as_bytes().eq_ignore_ascii_case(last)) => Link::Verb,
        true => Link::Words,
        false => Link::None,
    }
}

/// The words of letters in a part of a line. With several of them, as in a row of a table or in a
/// remark, the next line is about something else.
fn count_words(part: &[u8]) -> usize {
    let words = part.split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic)).count()
}

/// At most so much of the line before a position.
fn line_before(bytes: &[u8], at: usize) -> &[u8] {
    const MAX_BYTES: usize = 48;
    let before = slice(bytes, at.saturating_sub(MAX_BYTES)..at);
    before.rsplit(|b| *b == b'\n').next().unwrap_or_default()
}

/// True for a point and one label, which end a domain.
fn ends_with_top_level(rest: &[u8]) -> bool {
    let Some(label) = rest.strip_prefix(b".") else { return false };
    let len = label.iter().take_while(|b| b.is_ascii_lowercase()).count();
    len >= 2 && !matches!(label.get(len), Some(b'.' | b'-' | b'_')) && len < label.len()
}

/// True if the word ends the name of something public: `csrf_token`, `cache key`.
fn is_public_name(bytes: &[u8], word: Range<usize>) -> bool {
    let is_key = slice(bytes, word.clone()).eq_ignore_ascii_case(b"key");
    if is_key && secret_name::is_public_phrase(bytes, word.start) {
        return true;
    }
    let run = slice(bytes, word.start.saturating_sub(32)..word.start);
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    let len = run.iter().rev().take_while(named).count();
    len > 0 && secret_name::is_public(slice(bytes, word.start - len..word.end))
}

/// The name before the sign before a token; empty if there is none.
fn name_before(bytes: &[u8], token: usize) -> Range<usize> {
    let run = slice(bytes, token.saturating_sub(24)..token);
    let between = |b: &&u8| b.is_ascii_whitespace() || b"\"'`=:>,\\(".contains(b);
    let end = token - run.iter().rev().take_while(between).count();
    let run = slice(bytes, end.saturating_sub(48)..end);
    let named = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    end - run.iter().rev().take_while(named).count()..end
}

/// False if the word is part of a longer one: `api` in `rapid`, `box` in `boxes`.
fn is_whole_word(bytes: &[u8], word: Range<usize>, kind: Keyword) -> bool {
    let long = word.len() >= 7 && kind == Keyword::Vendor;
    let (before, first) = (byte_at(bytes, word.start.wrapping_sub(1)), byte_at(bytes, word.start));
    let (last, after) = (byte_at(bytes, word.end.wrapping_sub(1)), byte_at(bytes, word.end));
    let hump = first.is_ascii_uppercase() && before.is_ascii_lowercase();
    let begins = word.start == 0 || !before.is_ascii_alphabetic() || hump || long;
    let plural = kind == Keyword::Strong && after == b's';
    let capital = last.is_ascii_lowercase() && after.is_ascii_uppercase();
    let upper = kind != Keyword::Refusal && last.is_ascii_uppercase() && after.is_ascii_uppercase();
    let ends = matches!(last, b'[' | b'(' | b'}' | b':')
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
        assert!(KEYWORDS.is_some());
    }

    #[test]
    fn a_link_says_that_a_keyword_speaks_of_the_token() {
        for (before, link) in [
            ("token: ", Link::Direct),
            ("Unseal Key 1: ", Link::Direct),
            ("API-TOKEN  ", Link::Direct),
            ("the secret {", Link::Direct),
            ("SymmetricSecurityKey(Encoding.UTF8.GetBytes(\"", Link::Direct),
            ("token_value=", Link::Direct),
            ("token pro API je ", Link::Verb),
            ("the token for staging: ", Link::Words),
            ("secret, revoked) VALUES (4, 'x', '", Link::Words),
            ("\"token\": {\"value\": \"", Link::Neutral),
            ("set API_KEY --body \"", Link::Words),
            ("set API_KEY --body=\"", Link::Neutral),
            ("token_accessor   ", Link::None),
            ("tokenChip:\"", Link::None),
            ("\"token_type\":\"x\",\"session_state\":\"", Link::None),
            ("?token=x&hm=", Link::None),
            ("TokenV6secret\", referenced from:\n  _$", Link::None),
            ("<key>someData</key>\n<data>\n", Link::None),
        ] {
            let text = format!("{before}q8Vn2LmZ7rKd0XbL5v");
            let found = keyword_before(text.as_bytes(), before.len(), 72).map(|near| near.link);
            assert_eq!(found, Some(link), "{before}");
        }
    }

    #[test]
    fn the_domain_of_a_vendor_has_one_label_behind_it() {
        for (rest, is_domain) in [
            (".com/x", true),
            (".io\"", true),
            (".corp.net", false),
            (".c ", false),
            (".com", false),
            (".COM/", false),
            ("-com/", false),
            ("", false),
        ] {
            assert_eq!(ends_with_top_level(rest.as_bytes()), is_domain, "{rest}");
        }
    }
}
