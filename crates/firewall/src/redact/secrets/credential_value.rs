//! Whether a value behind the name of a secret is one: what it is made of, what it stands for, and what
//! is around it.

use super::assigned_value::AssignedValue;
use super::refused_forms::{
    is_account_entry, is_list_of_checks, is_measure_without_blanks, is_rooted_path, is_sentence,
    is_type_or_pattern, is_version_or_url,
};
use super::secret_name::{self, SecretKind};
use super::token_stats::{self, TokenStats, is_uuid};
use super::{byte_at, chosen_secret, line_value, slice, vendor_id, word_in_settings};
use crate::redact::checksum;
use crate::redact::validators::{
    has_scrambled_word, is_joined_words, is_of_two_names, is_span_or_method, looks_like_password,
    not_a_path, not_an_identifier, not_its_name, not_placeholder, not_placeholder_password,
};

/// Prefixes of values that say where a secret is kept.
const REFERENCE_PREFIXES: [&str; 20] = [
    "urn:", "dword:", "./", "../", "~/", "env:", "file:", "fd:", "vault:", "op://", "arn:aws:",
    "ssm:", "keyring:", "keychain:", "secretref:", "sm://", "projects/", "@string/",
    "@Microsoft.KeyVault", "id_ed25519",
];

/// True for a value that is encrypted where it stands: by SOPS or eyaml, Jasypt, Spring Cloud Config,
/// or for a sealed secret of Kubernetes, which begins with the size of its key, 512 bytes.
pub(crate) fn is_ciphertext(text: &str) -> bool {
    const MIN_CIPHERTEXT_BYTES: usize = 20;
    const MIN_SEALED_BYTES: usize = 64;
    let is_sealed = matches!(text.as_bytes(), [b'A', b'g', b'A'..=b'D', rest @ ..]
        if rest.len() >= MIN_SEALED_BYTES && rest.iter().all(is_base64));
    let body = text.strip_prefix("ENC(").or_else(|| text.strip_prefix("{cipher}"));
    let body = body.unwrap_or_default().trim_end_matches(')').as_bytes();
    is_sealed
        || text.starts_with("ENC[")
        || body.len() >= MIN_CIPHERTEXT_BYTES && body.iter().all(is_base64)
}

/// True below a heading such as `SPEC CHECKSUMS:`, whose list has names of any kind.
pub(super) fn is_in_list_of_checksums(bytes: &[u8], start: usize) -> bool {
    const MAX_DISTANCE: usize = 400;
    let before = slice(bytes, start.saturating_sub(MAX_DISTANCE)..start);
    memchr::memmem::find(before, b"CHECKSUMS").is_some()
}

/// True for a token in the address of an image, which is on a public page: `badge.svg?token=x`.
pub(super) fn is_of_badge(bytes: &[u8], value: usize) -> bool {
    const MAX_DISTANCE: usize = 96;
    let before = slice(bytes, value.saturating_sub(MAX_DISTANCE)..value);
    let url = before.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    let names_image = |name: &&[u8]| memchr::memmem::find(url, name).is_some();
    [&b".svg?"[..], b"shields.io/"].iter().any(names_image)
}

/// True for what software names by a digest: the fingerprint of a key of OpenPGP, and words with a digest
/// behind, `build-Linux-8a3cc29d…`.
pub(super) fn is_digest_name(raw: &[u8]) -> bool {
    const MIN_DIGEST_LEN: usize = 32;
    let is_fingerprint =
        matches!(raw.len(), 16 | 40) && raw.iter().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F'));
    let mut parts = raw.rsplit(|b| *b == b'-');
    let digest = parts.next().unwrap_or_default();
    let is_word = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_alphabetic);
    is_fingerprint
        || digest.len() >= MIN_DIGEST_LEN
            && digest.iter().all(u8::is_ascii_hexdigit)
            && parts.next().is_some_and(is_word)
            && parts.all(is_word)
}

/// True for a number of at most 64 bits, `0x00007ff8a44172b0`, also one with a fraction: `0x1.8p3`.
pub(super) fn is_memory_address(raw: &[u8]) -> bool {
    const MAX_FLOAT_BYTES: usize = 24;
    let is_float = |digits: &[u8]| {
        let exponent = digits.iter().position(|b| matches!(b, b'p' | b'P'));
        digits.len() <= MAX_FLOAT_BYTES
            && exponent.is_some_and(|at| {
                let (number, power) = digits.split_at_checked(at).unwrap_or_default();
                number.iter().all(|b| b.is_ascii_hexdigit() || *b == b'.')
                    && power.iter().skip(1).all(|b| b.is_ascii_digit() || b"+-".contains(b))
            })
    };
    raw.strip_prefix(b"0x").is_some_and(|digits| {
        digits.len() <= 16 && digits.iter().all(u8::is_ascii_hexdigit) || is_float(digits)
    })
}

/// True for what stands for another value: `:name` of a statement, `data?.token`, a command between
/// backticks, and for a regular expression.
fn is_expression(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let before = slice(bytes, value.range.start.saturating_sub(2)..value.range.start);
    let is_behind_colon =
        before.first().is_some_and(u8::is_ascii_whitespace) && before.ends_with(b":");
    let bound = if is_behind_colon { Some(text) } else { text.strip_prefix(':') };
    let is_bound = !value.quoted && bound.is_some_and(is_name);
    let is_command =
        byte_at(bytes, value.range.start.wrapping_sub(1)) == b'`' && text.contains(' ');
    let is_pattern = text.starts_with('^') && text.contains('[') || is_list_of_checks(text);
    // Another name with its value: `rule "Lint/Password": severity=warning`.
    let is_letters = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphabetic());
    let is_assigned = !value.quoted
        && text.split_once('=').is_some_and(|(name, rest)| is_letters(name) && is_letters(rest));
    is_assigned || is_bound || is_command || is_pattern || !value.quoted && text.contains("?.")
}

/// True for `password123` where it fills a line of settings: there it is a password, however weak. In
/// quotes it is most often one of a test or of an example.
fn is_weak_password(text: &str, value: &AssignedValue) -> bool {
    const MAX_DIGITS: usize = 4;
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    value.fills_line && (1..=MAX_DIGITS).contains(&(text.len() - name.len())) && !not_its_name(name)
}

/// True if the value is a secret of the kind that its name announces.
pub(super) fn is_secret(bytes: &[u8], value: &AssignedValue, kind: SecretKind) -> bool {
    let raw = slice(bytes, value.range.clone());
    let Ok(text) = std::str::from_utf8(raw) else { return false };
    if text.is_empty()
        || text.starts_with(['[', '(']) && !is_password_in_brackets(text, value)
        || is_ciphertext(text)
        || is_memory_address(raw)
        || is_rooted_path(text)
        || is_account_entry(text)
        || is_expression(bytes, value, text)
        || is_placeholder(text, kind) && !is_weak_password(text, value)
    {
        return false;
    }
    let shape = TokenStats::of(raw);
    if (shape.digits == 0 || text.contains('_') && !not_an_identifier(text))
        && secret_name::secret_kind(raw).is_some()
    {
        return false;
    }
    if REFERENCE_PREFIXES.iter().any(|start| text.starts_with(start)) {
        return false;
    }
    // Another name or a call is assigned: `password=password1)` refers to a variable.
    let next = byte_at(bytes, value.range.end);
    if !value.quoted && matches!(next, b')' | b',') && secret_name::secret_kind(raw).is_some() {
        return false;
    }
    let open = text.ends_with(':')
        || text.ends_with('=') && !is_padded(raw) && !ends_its_line(bytes, value, &shape);
    let has_bracket = text.contains(['(', '[', '{']);
    let is_program_text = has_bracket && (!value.fills_line || line_value::is_program_text(text));
    let code = !value.quoted && (is_program_text || open);
    if code || !value.quoted && b"([".contains(&next) {
        return false;
    }
    if matches!(kind, SecretKind::Secret | SecretKind::Chosen | SecretKind::Weak)
        && (is_digest_name(raw) || vendor_id::is_published(raw))
    {
        return false;
    }
    match kind {
        SecretKind::Password | SecretKind::Pass
            if is_version_or_url(text) || is_in_prose(bytes, value, text) =>
        {
            false
        }
        SecretKind::Password => {
            (is_password(text, &shape, value)
                || word_in_settings::is_word_in_settings(bytes, value, text)
                || chosen_secret::is_password_of_words(bytes, value, text))
                && !token_stats::is_dated(raw)
        }
        SecretKind::Pass => {
            (shape.len >= 6 && shape.letters > 0 && is_password(text, &shape, value)
                || word_in_settings::is_word_in_settings(bytes, value, text))
                && !token_stats::is_dated(raw)
        }
        SecretKind::Secret | SecretKind::Chosen => {
            (is_token(text, &shape, value)
                || is_scrambled_letters(text, value)
                || is_chosen_secret(text, value, next)
                || word_in_settings::is_word_of_secret(bytes, value, text)
                || kind == SecretKind::Chosen
                    && (chosen_secret::is_made_up(text, value, next)
                        || word_in_settings::is_password_of_variable(bytes, value, text)
                        || word_in_settings::is_word_of_variable(bytes, value, text)))
                && !is_of_badge(bytes, value.range.start)
                && !(shape.is_hex && is_in_list_of_checksums(bytes, value.range.start))
        }
        SecretKind::Weak => {
            shape.len >= 16
                && shape.looks_random()
                && !is_uuid(raw)
                && !vendor_id::is_object_of_twilio(raw)
                && is_token(text, &shape, value)
                && !(shape.is_hex && is_in_list_of_checksums(bytes, value.range.start))
        }
    }
}

/// True for `vWdsFceeujBkpCzM`: letters of both cases with few vowels among them, as no words have.
fn is_scrambled_letters(text: &str, value: &AssignedValue) -> bool {
    const LENGTHS: std::ops::RangeInclusive<usize> = 12..=64;
    let count = |is: fn(&u8) -> bool| text.bytes().filter(&is).count();
    let vowels = count(|b| b"aeiouyAEIOUY".contains(b));
    LENGTHS.contains(&text.len())
        && !value.requires_token
        && text.bytes().all(|b| b.is_ascii_alphabetic())
        && count(u8::is_ascii_uppercase) >= 3
        && count(u8::is_ascii_lowercase) >= 3
        && vowels * 4 <= text.len()
}

/// True for `Kuckuck.uhr9` or `Zwie-back88` in quotes or at the end of a line: a secret that a person
/// chose, with small letters, capitals, digits and a sign.
fn is_chosen_secret(text: &str, value: &AssignedValue, next: u8) -> bool {
    let has = |is: fn(&u8) -> bool| text.bytes().any(|b| is(&b));
    let ends = value.quoted || value.separator == b'=' && matches!(next, 0 | b'\r' | b'\n');
    ends && !value.requires_token
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && text.contains(['-', '.', '!', '#', '$', '%', '&', '*', '+', '@', '^', '~'])
        && !text.contains(['/', ':', '=', ',', ' '])
        && (!text.contains('.') || is_of_two_names(text))
        && looks_like_password(text)
}

/// True for words in quotation marks after which a sentence goes on: `Password: "remember me" was removed`.
fn is_in_prose(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let after = slice(bytes, value.range.end + 1..value.range.end + 3);
    value.separator == b':'
        && value.quoted
        && text.contains(' ')
        && matches!(after, [b' ', b'a'..=b'z'])
}

fn is_placeholder(text: &str, kind: SecretKind) -> bool {
    match kind {
        SecretKind::Password | SecretKind::Pass => !not_placeholder_password(text),
        SecretKind::Secret | SecretKind::Chosen | SecretKind::Weak => !not_placeholder(text),
    }
}

/// True for a password that begins with a bracket: in quotes, or where its name begins the line.
fn is_password_in_brackets(text: &str, value: &AssignedValue) -> bool {
    let is_pattern = text.contains(['\\', '^', '|', '?', ' ', ','])
        || ["a-z", "A-Z", "0-9", "]{", "]+", "]*"].iter().any(|part| text.contains(part));
    // After a colon it is a list of YAML.
    let is_text = value.quoted || value.fills_line && value.separator == b'=';
    is_text && has_scrambled_word(text) && !is_pattern
}

/// True for base64 with padding, possibly after its name.
fn is_padded(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"base64:").unwrap_or(text);
    text.len() >= 24 && text.len().is_multiple_of(4) && text.iter().all(is_base64)
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte)
}

/// True for a value with a final `=` that is a part of it, because the line ends there and either
/// begins with the name or the value is short base64.
fn ends_its_line(bytes: &[u8], value: &AssignedValue, shape: &TokenStats) -> bool {
    let raw = slice(bytes, value.range.clone());
    let has_both_cases =
        raw.iter().any(u8::is_ascii_uppercase) && raw.iter().any(u8::is_ascii_lowercase);
    let is_mixed = shape.letters > 0 && shape.digits > 0;
    let is_short_base64 = raw.ends_with(b"==")
        && raw.len().is_multiple_of(4)
        && raw.iter().all(is_base64)
        && (is_mixed || has_both_cases);
    matches!(byte_at(bytes, value.range.end), 0 | b'\r' | b'\n')
        && (value.fills_line && is_mixed || is_short_base64)
}

/// True if a field with a name of this kind hides this text, as it would in the text of the field.
pub(crate) fn is_secret_text(text: &str, kind: SecretKind) -> bool {
    let value = AssignedValue {
        range: 0..text.len(),
        quoted: true,
        separator: b':',
        is_adjacent: true,
        requires_token: false,
        fills_line: false,
    };
    is_secret(text.as_bytes(), &value, kind)
}

fn is_password(text: &str, shape: &TokenStats, value: &AssignedValue) -> bool {
    let word = |c: char| c.is_ascii_alphabetic() || !c.is_ascii();
    let plain = text.chars().all(|c| word(c) || "_.-".contains(c));
    let digits = shape.digits == shape.len;
    let in_cell = matches!(value.separator, b',' | b';' | b'|' | b'\t');
    let is_place = in_cell || value.separator == b' ' && !value.requires_token;
    if is_place && !value.quoted && is_joined_words(text) {
        return true;
    }
    if value.requires_token && (plain || digits) || !text.contains(char::is_alphanumeric) {
        return false;
    }
    // Words of another language, and YAML tags such as `!vault`.
    let words = || text.chars().all(|c| word(c) || " .?'".contains(c));
    if !text.is_ascii() && words() || is_measure_without_blanks(text) || is_type_or_pattern(text) {
        return false;
    }
    if value.quoted {
        return shape.len >= 2 && !is_sentence(text);
    }
    if text.strip_prefix('!').is_some_and(|tag| tag.bytes().all(|b| b.is_ascii_alphabetic()))
        || is_span_or_method(text)
    {
        return false;
    }
    let word = plain
        && !is_capital_pair(text)
        && (!value.is_adjacent || value.separator != b'=' || text.contains(['_', '.']));
    let odd_word = plain && shape.irregular_capitals >= 2 && !text.contains('.');
    // A cell of a column of passwords is no member of an object.
    let is_dotted = text.contains('.') && !not_an_identifier(text) && !is_of_two_names(text);
    let member = !plain && is_dotted && !in_cell;
    let short = if digits { 4 } else { 3 };
    shape.len >= short && (!word || odd_word) && !member && !text.starts_with(['$', '%', '|'])
        || shape.len >= 6 && text.starts_with(['$', '%']) && shape.digits > 0
}

/// True for `Brach_vogel`: neither a name of program text nor a word.
fn is_capital_pair(text: &str) -> bool {
    let is_small = |part: &str| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_lowercase());
    text.split_once('_').is_some_and(|(first, last)| {
        first.starts_with(|c: char| c.is_ascii_uppercase())
            && first.get(1..).is_some_and(is_small)
            && is_small(last)
    })
}

fn is_token(text: &str, shape: &TokenStats, value: &AssignedValue) -> bool {
    let long_number = shape.digits == shape.len && shape.len >= 20;
    let mixed = shape.digits > 0 && shape.letters > 0;
    let letters = shape.digits == 0 && shape.looks_random();
    let spaced = text.contains(' ');
    let enough = if shape.len < 20 { 2.7 } else { 3.0 };
    shape.len >= 10
        && !spaced
        && !is_type_or_pattern(text)
        && !token_stats::is_dated(text.as_bytes())
        && (mixed || long_number || letters)
        && (!value.requires_token || shape.looks_random() || shape.letter_digit_transitions >= 3)
        && (not_a_path(text) || text.ends_with('=') && is_padded(text.as_bytes()))
        && (letters || not_an_identifier(text))
        && !text.contains("::")
        && !text.contains("//")
        && !token_stats::ends_in_words(text.as_bytes())
        && checksum::shannon_entropy(text) >= enough
}

#[cfg(test)]
mod tests;
