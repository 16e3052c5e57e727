//! Keys that a vendor begins with its own mark: `ory_pat_…`, `llx-…`. The mark and the length of what
//! follows tell them from other text, even of vendors that no rule knows.

use super::slice;
use super::token_stats::TokenStats;

/// The shortest random part behind a mark.
const MIN_BODY_LEN: usize = 32;
/// The shortest mark with its last sign, in bytes, and its most words.
const MIN_MARK_LEN: usize = 3;
const MAX_MARK_WORDS: usize = 3;
/// Of so many characters, at least one is a digit beside a letter or an odd capital. In names that are
/// joined by signs there are fewer.
const MAX_BYTES_IN_ORDER: usize = 5;

/// First words of marks of what is no secret: digests, nonces, published keys, sessions of a checkout,
/// and parts of pages.
const PUBLIC_MARKS: [&[u8]; 17] = [
    b"sha1", b"sha256", b"sha384", b"sha512", b"nonce", b"pk", b"phc", b"cs", b"chunk", b"main",
    b"index", b"vendor", b"page", b"css", b"js", b"img", b"gid",
];

/// True for a mark of small letters and digits, and thirty-two letters of both cases and digits in no
/// order. Identifiers of objects are shorter, digests have one case.
pub(super) fn is_marked_key(raw: &[u8]) -> bool {
    let is_part = |part: &[u8]| {
        (1..=10).contains(&part.len())
            && part.first().is_some_and(u8::is_ascii_lowercase)
            && part.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let is_sign = |b: &u8| matches!(b, b'_' | b'-');
    let mut mark = 0;
    for part in raw.split(is_sign).take(MAX_MARK_WORDS) {
        if !is_part(part) || mark + part.len() >= raw.len() {
            break;
        }
        mark += part.len() + 1;
    }
    let (body, first) =
        (slice(raw, mark..raw.len()), raw.split(is_sign).next().unwrap_or_default());
    let is_published = raw
        .split(is_sign)
        .take(MAX_MARK_WORDS)
        .any(|part| matches!(part, b"publishable" | b"public" | b"pub"));
    if mark < MIN_MARK_LEN
        || body.len() < MIN_BODY_LEN
        || is_published
        || PUBLIC_MARKS.contains(&first)
    {
        return false;
    }
    let last = body.rsplit(is_sign).next().unwrap_or_default();
    // The name of a file and its digest.
    if last.len() >= MIN_BODY_LEN && last.iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let shape = TokenStats::of(body);
    let disorder = shape.letter_digit_transitions + shape.irregular_capitals;
    body.iter().all(|b| b.is_ascii_alphanumeric() || is_sign(b))
        && body.iter().any(u8::is_ascii_lowercase)
        && body.iter().any(u8::is_ascii_uppercase)
        && shape.looks_random()
        && disorder * (MAX_BYTES_IN_ORDER - usize::from(body.iter().any(is_sign))) >= body.len()
}

/// True for the seed of a key of NATS or Stellar: an `S`, its kind, and base32.
pub(super) fn is_base32_seed(raw: &[u8]) -> bool {
    let is_base32 = |b: &u8| b.is_ascii_uppercase() || matches!(b, b'2'..=b'7');
    let is_nats = raw.len() == 58 && raw.get(1).is_some_and(|b| b"UAONCX".contains(b));
    (is_nats || raw.len() == 56)
        && raw.first() == Some(&b'S')
        && raw.iter().all(is_base32)
        && TokenStats::of(raw).letter_digit_transitions >= 4
}

/// True for a key of Mailgun: three groups of hexadecimal digits of their lengths.
pub(super) fn is_mailgun(raw: &[u8]) -> bool {
    let is_hex = |part: &[u8]| part.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'));
    let mut parts = raw.split(|b| *b == b'-');
    let groups = [32, 8, 8]
        .into_iter()
        .all(|len| parts.next().is_some_and(|part| part.len() == len && is_hex(part)));
    raw.len() == 50 && groups
}

/// True for two parts with a point between, of which one is an identifier in hexadecimal digits and the
/// other a secret: `9f86….q8Vn2LmZ7rKd0XbL`.
pub(super) fn is_id_and_secret(raw: &[u8]) -> bool {
    let mut parts = raw.split(|b| *b == b'.');
    let (id, secret) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    parts.next().is_none()
        && id.len() == 32
        && id.iter().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
        && secret.len() == 16
        && secret.iter().all(u8::is_ascii_alphanumeric)
        && secret.iter().any(u8::is_ascii_uppercase)
        && TokenStats::of(secret).looks_random()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "q8Vn2LmZ7rKd0XbL5vW3zPq9xt7Yq2mN";

    #[track_caller]
    fn check(is: fn(&[u8]) -> bool, holds: &[String], fails: &[String]) {
        let wrong: Vec<&String> = holds.iter().filter(|text| !is(text.as_bytes())).collect();
        assert!(wrong.is_empty(), "not {wrong:?}");
        let wrong: Vec<&String> = fails.iter().filter(|text| is(text.as_bytes())).collect();
        assert!(wrong.is_empty(), "but {wrong:?}");
    }

    #[test]
    fn a_marked_key_is_long_and_of_both_cases() {
        let of = |mark: &str| format!("{mark}{BODY}");
        check(
            is_marked_key,
            &[
                of("ory_pat_"),
                of("llx-"),
                of("n8_"),
                of("depot_user_"),
                of("abcdefghij_k_"),
                "wandb_v1_q8Vn2LmZ-rKd0XbL5v_3zPq9xt7Yq2mN".to_owned(),
            ],
            &[
                of(""),
                of("sb_publishable_"),
                of("_"),
                of("a_"),
                of("9a_"),
                of("Abc_"),
                of("sha512-"),
                of("pk_live_"),
                of("abcdefghijk_"),
                of("cs_test_"),
                of("ab."),
                "ab_".to_owned(),
                "node-modules-Linux-b59cc2ad9004ea5caee65a3b9ff01273122de9a4".to_owned(),
                "web-ComponentV2-ButtonV3-IconV4-LabelV5-TextV6".to_owned(),
                format!("ory_pat_{}", BODY.get(1..).unwrap()),
                format!("ory_pat_{}", BODY.to_lowercase()),
                format!("ory_pat_{}", "Aa1".repeat(11)),
                format!("ory_pat_{}", "a".repeat(32)),
            ],
        );
    }

    #[test]
    fn a_seed_is_base32_of_its_length() {
        let of = |head: &str, length: usize| {
            let body = "JFTIHTRRY3D5UX32EKKXIIGDXFAXIK4AI3AOACPW6TTBTRJFIKOAJE4XY2";
            format!("{head}{}", body.get(..length).unwrap())
        };
        check(
            is_base32_seed,
            &[of("SU", 56), of("SA", 56), of("SC", 54)],
            &[
                of("SB", 56),
                of("TU", 56),
                of("SU", 55),
                of("SU", 56).to_lowercase(),
                "S".repeat(56),
            ],
        );
    }

    #[test]
    fn a_key_of_mailgun_has_three_groups() {
        let id = "9f86d081884c7d659a2feaa0c55ad015";
        check(
            is_mailgun,
            &[format!("{id}-9f86d081-884c7d65")],
            &[
                id.to_owned(),
                format!("{id}-9f86d081"),
                format!("{id}-9f86d081-884c7d6x"),
                "1-2-3".to_owned(),
            ],
        );
    }

    #[test]
    fn an_identifier_and_its_secret_have_their_lengths() {
        let id = "9f86d081884c7d659a2feaa0c55ad015";
        check(
            is_id_and_secret,
            &[format!("{id}.q8Vn2LmZ7rKd0XbL")],
            &[
                format!("{id}.q8Vn2LmZ7rKd0Xb"),
                format!("{id}x.q8Vn2LmZ7rKd0XbL"),
                id.to_owned(),
                format!("{id}.q8Vn2LmZ7rKd0XbL.x"),
                format!("{id}.q8vn2lmz7rkd0xbl"),
            ],
        );
    }
}
