//! Named validators that rules apply to what they are about to mask.
//!
//! A validator sees the masked text only and takes time linear in it.

mod password;
#[cfg(test)]
mod tests;
mod word_lists;

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::redact::checksum;
use crate::redact::secrets::{
    is_chosen_word, is_dated, is_random_token, name_words::PASSWORD_ENDINGS,
};

/// A word list that keeps its line breaks.
macro_rules! words {
    ($($word:literal)*) => {
        &[$($word),*]
    };
}
pub(crate) use words;

use password::{
    chosen_password, made_or_joined, password_or_phrase, password_or_word, password_or_words,
    placed_password,
};
pub(crate) use password::{
    is_joined_words, is_of_two_names, is_span_or_method, looks_like_password, made_password,
};

use word_lists::{
    CREDENTIAL_NAME_ENDINGS, FILE_EXTENSIONS, PLACEHOLDER_PHRASES, PLACEHOLDER_WORDS, SYSTEM_GROUPS,
};

/// A validator: true if the text may be such a value.
pub(crate) type Validator = fn(&str) -> bool;

/// Every validator, by the name that rules use.
const VALIDATORS: &[(&str, Validator)] = &[
    ("base64_json", base64_json),
    ("basic_pair", basic_pair),
    ("chosen_password", chosen_password),
    ("chosen_word", is_chosen_word),
    ("has_digit", has_digit),
    ("login_pair", login_pair),
    ("luhn", luhn),
    ("made_or_joined", made_or_joined),
    ("made_password", made_password),
    ("mixed", has_letters_and_digits),
    ("no_double_slash", no_double_slash),
    ("not_a_name", not_a_name),
    ("not_a_path", not_a_path),
    ("not_a_plain_word", not_a_plain_word),
    ("not_a_scheme", not_a_scheme),
    ("not_a_word", not_a_word),
    ("not_alphabetic", not_alphabetic),
    ("not_an_identifier", not_an_identifier),
    ("not_its_name", not_its_name),
    ("not_placeholder", not_placeholder),
    ("not_short_hexadecimal", not_short_hexadecimal),
    ("not_template", not_template),
    ("one_time_code", is_drawn_code),
    ("password_like", looks_like_password),
    ("password_or_phrase", password_or_phrase),
    ("password_or_word", password_or_word),
    ("password_or_words", password_or_words),
    ("placed_password", placed_password),
    ("random_token", random_token),
    ("token_like", token_like),
];

/// The validator of this name.
pub(crate) fn by_name(name: &str) -> Option<Validator> {
    VALIDATORS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// The names of all validators.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    VALIDATORS.iter().map(|(name, _)| *name)
}

/// The digits pass the Luhn sum.
fn luhn(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    !digits.is_empty() && checksum::is_luhn_valid(&digits)
}

/// The first dotted part is the base64 of a JSON object, as in the header of a JWT.
fn base64_json(text: &str) -> bool {
    let head = text.split('.').next().unwrap_or_default();
    let standard: String = head
        .chars()
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    checksum::decode_base64(&standard)
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .is_some_and(|json| json.starts_with('{') && json.ends_with('}'))
}

/// Base64 of `user:password` in printable characters, which is no placeholder such as `foo:bar`.
fn basic_pair(text: &str) -> bool {
    let is_real = |bytes: Vec<u8>| {
        let pair = String::from_utf8_lossy(&bytes).into_owned();
        let password = pair.split_once(':').map(|(_, password)| password);
        !pair.contains(|c: char| c.is_ascii_control()) && password.is_some_and(not_a_word)
    };
    checksum::decode_base64(text).is_some_and(is_real)
}

/// A user and a password, but not the user and group of a machine: `nginx:nginx`, `1000:1000`, nor
/// `user:password`.
fn login_pair(text: &str) -> bool {
    let Some((user, password)) = text.split_once(':') else { return false };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let of_machine =
        user == password || digits(user) && digits(password) || SYSTEM_GROUPS.contains(&password);
    !(of_machine || user.contains('=')) && not_its_name(password)
}

/// Not a name or call from program text where a header's value would be: `token)`, `+cfg.Token2)`,
/// `authHeader`.
fn not_a_name(text: &str) -> bool {
    let bare = text.trim_start_matches(['+', '.', '&', '*']).trim_end_matches([')', ']', '+']);
    let name = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        !letters.is_empty()
            && part.len() - letters.len() <= 2
            && letters.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
    };
    let lower = bare.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
    // `AUTH_TOKEN_V2`, `tokenV2`.
    let lower = lower.strip_suffix('v').filter(|_| lower.len() < bare.len()).unwrap_or(&lower);
    let lower = lower.trim_end_matches('_');
    let named = CREDENTIAL_NAME_ENDINGS.iter().any(|end| lower.ends_with(end));
    let code = bare.len() < text.len() || named;
    let is_name = code && bare.split(['.', ':']).all(name);
    !(is_name || text.contains('('))
}

/// Not the name of a parameter or a scheme of an `Authorization` header, whose other parts are the
/// secret: `username=`, `action:`, `AWS4-HMAC-SHA256`.
fn not_a_scheme(text: &str) -> bool {
    let is_parameter = text
        .strip_suffix(['=', ':'])
        .is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphabetic() || b"_-".contains(&b)));
    let is_signature =
        ["AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256", "GOOG4-RSA-SHA256"].contains(&text);
    !is_parameter && !is_signature
}

/// Digits that were drawn: not a year, not one digit throughout, and not in the order of counting.
pub(crate) fn is_drawn_code(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let is_year = digits.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    let steps =
        |by: u8| digits.windows(2).all(|pair| matches!(pair, [a, b] if *b == a.wrapping_add(by)));
    !is_year && !steps(0) && !steps(1) && !steps(u8::MAX)
}

/// At least sixteen characters in no order, which are no hash and no identifier.
fn random_token(text: &str) -> bool {
    is_random_token(text.as_bytes())
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
}

/// Words that are not in the order of the alphabet, as those of a word list are.
fn not_alphabetic(text: &str) -> bool {
    !text.split_whitespace().is_sorted()
}

/// Contains both letters and digits.
fn has_letters_and_digits(text: &str) -> bool {
    has_digit(text) && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Not a number of an account in hexadecimal digits, of 32 bits: `6c09efea`.
fn not_short_hexadecimal(text: &str) -> bool {
    text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

fn no_double_slash(text: &str) -> bool {
    !text.contains("//")
}

/// Contains a digit, or both cases after the first letter.
pub(crate) fn token_like(text: &str) -> bool {
    let inner = || text.bytes().skip(1);
    has_digit(text)
        || inner().any(|b| b.is_ascii_uppercase()) && inner().any(|b| b.is_ascii_lowercase())
}

/// More than one plain word: something besides letters, or both cases inside.
fn not_a_plain_word(text: &str) -> bool {
    token_like(text) || text.bytes().any(|b| !b.is_ascii_alphabetic() && b != b' ')
}

/// Not a word for a password in place of one, `postgres://user:password@localhost/db`, and not what a
/// server is delivered with: `amqp://guest:guest@localhost`.
pub(crate) fn not_its_name(text: &str) -> bool {
    const DELIVERED: [&str; 5] = ["pass", "secret", "guest", "postgres", "test"];
    let is_word = |word: &&str| word.len() > 3 && word.eq_ignore_ascii_case(text);
    !PASSWORD_ENDINGS.iter().chain(&DELIVERED).any(is_word) && !is_capital_stand_in(text)
}

/// None of the words that stand in for a credential.
pub(crate) fn not_a_word(text: &str) -> bool {
    let text = text.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    text.len() > 24 || !PLACEHOLDER_WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Not a reference to a value kept elsewhere: `${X}`, `<x>`, `{{ x }}`, `%s`, `$X`, `%X%`, `@X@`.
pub(crate) fn not_template(text: &str) -> bool {
    let start = text.trim_start_matches(['"', '\'', ':', ' ']);
    let opened = start.starts_with("${")
        || start.starts_with("$(")
        || start.starts_with("{{")
        || start.starts_with('<') && text.contains('>')
        || start.starts_with("%(")
        || start.starts_with("#{")
        || ["%s", "%v", "%d", "{}", "?"].contains(&start)
        // The name of a package.
        || start.strip_prefix('@').is_some_and(|name| {
            name.contains('/') && name.bytes().all(|b| b.is_ascii_lowercase() || b"/-".contains(&b))
        });
    let inside = text.contains("${") || text.contains("{{") || text.contains(":<");
    let named = start.strip_prefix(['$', '@']).is_some_and(|name| {
        let name = name.trim_end_matches('@');
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_' || b.is_ascii_digit())
    });
    let whole = start.starts_with('{')
        && start.ends_with('}')
        && start.bytes().all(|b| b.is_ascii_alphanumeric() || b"{}_.-".contains(&b));
    let percent = start.strip_prefix('%').and_then(|rest| rest.strip_suffix('%'));
    let percent =
        percent.is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
    !opened && !inside && !named && !whole && !percent && !is_filler(text)
}

/// Already masked, or nothing but filler characters.
fn is_filler(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b"*.xX-_#:".contains(&b))
}

/// Not a placeholder: a template, a word, one character repeated, the alphabet, `your-key-here`.
pub(crate) fn not_placeholder(text: &str) -> bool {
    not_template(text)
        && not_a_word(text)
        && !is_repetitive(text)
        && !has_placeholder_phrase(text)
        && !is_capital_stand_in(text)
        && !is_of_reader(text)
}

/// `YourBase64EncodedCredentials`: words for what the reader must write there.
fn is_of_reader(text: &str) -> bool {
    matches!(text.as_bytes(), [b'Y' | b'y', b'o', b'u', b'r', b'A'..=b'Z', b'a'..=b'z', ..])
}

/// Capitals that end in a word for a secret: `BASE32SECRET`, `MY_API_TOKEN`.
fn is_capital_stand_in(text: &str) -> bool {
    let capitals = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    text.bytes().all(capitals)
        && ["SECRET", "TOKEN", "PASSWORD", "KEY"].iter().any(|end| text.ends_with(end))
}

/// Like [`not_placeholder`], for passwords, which people make of words: a phrase counts only where
/// words begin and end, and only if the rest is not a password by itself.
pub(crate) fn not_placeholder_password(text: &str) -> bool {
    not_template(text)
        && not_a_word(text)
        && !is_repetitive(text)
        && text != "1234567890"
        && !is_made_of_its_name(text)
        && !is_placeholder_password(text)
}

/// The word for a password with a number or other small words: `password123`, `password-for-2`,
/// `authpassword`. Another sign or capital makes it a password: `Password2026!`.
fn is_made_of_its_name(text: &str) -> bool {
    const NAMES: [&str; 3] = ["password", "passwort", "passwd"];
    let mut inner = text.bytes().skip(1);
    !inner.any(|b| !(b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_*".contains(&b)))
        && !has_scrambled_word(text)
        && NAMES.iter().any(|name| text.to_ascii_lowercase().contains(name))
}

/// True for `your-password-1`, `example123` and `changeme!`, false for `Mastodon#4471x` and
/// `dummyKd83jQ2`.
fn is_placeholder_password(text: &str) -> bool {
    let Some(phrases) = PHRASE_MATCHER.as_ref() else { return true };
    let bytes = text.as_bytes();
    phrases.find_iter(text).any(|phrase| {
        let rest = [text.get(..phrase.start()), text.get(phrase.end()..)];
        is_word_break(bytes, phrase.start())
            && is_word_break(bytes, phrase.end())
            && !rest.into_iter().flatten().any(has_scrambled_word)
    })
}

/// True where no word continues: at a change between letters and something else, and before a
/// capital after a small letter.
fn is_word_break(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    let after = bytes.get(at).copied().unwrap_or(b' ');
    !before.is_ascii_alphabetic()
        || !after.is_ascii_alphabetic()
        || before.is_ascii_lowercase() && after.is_ascii_uppercase()
}

/// A word in which a letter follows a digit that follows a letter.
pub(crate) fn has_scrambled_word(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        rest.bytes().any(|b| b.is_ascii_alphabetic())
    })
}

/// One character makes up most of the text, or occurs eight times in a row.
fn is_repetitive(text: &str) -> bool {
    let mut row = 0_usize;
    let mut last = 0_u8;
    let mut same = 0_usize;
    let mut longest = 0_usize;
    for byte in text.bytes() {
        row = if byte == last { row + 1 } else { 1 };
        last = byte;
        longest = longest.max(row);
        same += usize::from(row > 1);
    }
    (longest >= 8 && text.len() < 80 || longest >= 30)
        || text.len() >= 6 && same * 3 >= text.len() * 2
}

static PHRASE_MATCHER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().ascii_case_insensitive(true).build(PLACEHOLDER_PHRASES).ok()
});

/// Contains a phrase that no key contains by chance.
fn has_placeholder_phrase(text: &str) -> bool {
    text.len() < 20 && text.contains("1234567890")
        || PHRASE_MATCHER.as_ref().is_none_or(|phrases| phrases.is_match(text))
}

/// Not a file path or URL path.
pub(crate) fn not_a_path(text: &str) -> bool {
    let parts = text.split(['/', '\\']).count();
    let rooted = ["/", "./", "../", "~/", "file:", "http:", "https:", "C:\\"];
    let file = text.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && FILE_EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(end))
    });
    !rooted.iter().any(|start| text.starts_with(start)) && parts < 5 && !file
}

/// Not an identifier from program text: `camelCase`, `a.b.c`, `SCREAMING_NAME`, `snake_name`; nor a date.
pub(crate) fn not_an_identifier(text: &str) -> bool {
    let named = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.$-:".contains(&b));
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let parts = || text.split(['.', '_', '-', ':', '$']);
    let wordy = parts().all(|part| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        letters.bytes().all(|b| b.is_ascii_alphabetic())
            && part.len() - letters.len() <= if letters.is_empty() { 10 } else { 5 }
    });
    !(named && wordy && (digits == 0 || parts().count() > 1)) && !is_dated(text.as_bytes())
}
