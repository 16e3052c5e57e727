//! What stands behind the name of a secret and is none: paths, entries of accounts, versions, types, checks,
//! measures and messages.

use super::secret_name::{self, SecretKind};
use crate::redact::validators::has_scrambled_word;

/// True for a number of a version, `^1.7.1`, or a URL, which hides its own password.
pub(super) fn is_version_or_url(text: &str) -> bool {
    let number = text.trim_start_matches(['^', '~', 'v']);
    let is_version =
        number.matches('.').count() >= 2 && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    is_version || scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphabetic())
}

/// True for a path of two or more names: `NOPASSWD: /usr/bin/systemctl`, `password: /run/secrets/db`.
pub(super) fn is_rooted_path(text: &str) -> bool {
    let is_name = |part: &str| {
        part.len() > 1 && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    text.strip_prefix('/').is_some_and(|path| {
        path.contains('/') && path.split('/').all(is_name) && !has_scrambled_word(path)
    })
}

/// True for the rest of a line of `/etc/passwd` for a user `passwd`: `x:44:17::/home/x:/bin/sh`. The
/// numbers may be masked, since `44:17::` is an address too.
pub(super) fn is_account_entry(text: &str) -> bool {
    text.starts_with("x:")
        && text.matches(':').count() >= 2
        && text.rsplit_once(':').is_some_and(|(_, shell)| shell.starts_with('/'))
}

/// True for what a form demands of a field: `required|string|min:8`.
pub(super) fn is_list_of_checks(text: &str) -> bool {
    const CHECKS: [&str; 6] = ["required", "nullable", "sometimes", "bail", "string", "confirmed"];
    let is_check = |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase());
    text.contains('|')
        && text.split('|').all(is_check)
        && text.split('|').any(|part| CHECKS.contains(&part))
}

/// True for a pointer, an integer type, a path of program text, or words between stars: `*mut`, `__u32`, `*all*tokens*`.
pub(super) fn is_type_or_pattern(text: &str) -> bool {
    // One star between two words is one of a password: `Amboss*Kranz`.
    let is_starred = text.contains('*')
        && text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'*')
        && (text.starts_with('*') || text.ends_with('*') || text.matches('*').count() > 1);
    // `Uint8Array`.
    let array = text.strip_suffix("Array").unwrap_or(text).to_ascii_lowercase();
    let bare = array.trim_start_matches('_').trim_end_matches("_t");
    let size =
        ["uint", "int", "float", "u", "i", "s"].iter().find_map(|kind| bare.strip_prefix(kind));
    let size = size.unwrap_or_default();
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b':';
    let is_path = text.contains("::") && text.bytes().all(is_name);
    is_starred || is_path || matches!(size, "8" | "16" | "32" | "64" | "128" | "size")
}

/// True for numbers among characters of a script that writes words without blanks: `至少12位`,
/// `8～20文字`.
pub(super) fn is_measure_without_blanks(text: &str) -> bool {
    let is_of_script = |c: char| matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3001}'..='\u{d7ff}');
    let is_of_number = |c: char| c.is_ascii_digit() || "-–~～〜・.,".contains(c);
    text.chars().any(is_of_script) && text.chars().all(|c| is_of_script(c) || is_of_number(c))
}

/// True for a message about a password.
pub(super) fn is_sentence(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_format = ["%d", "%s", "%@", "{0}"].iter().any(|part| text.contains(part));
    let says_password =
        |word: &str| secret_name::secret_kind(word.as_bytes()) == Some(SecretKind::Password);
    text.contains(' ') && is_format
        || text.contains(' ')
            && text.split(' ').any(says_password)
            && !text.bytes().any(|b| b.is_ascii_digit())
        || text.contains(' ')
            && lower.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
                [
                    "password", "passwords", "enter", "your", "must", "please", "required",
                    "invalid", "incorrect", "forgot", "least", "confirm", "the", "characters",
                    "new", "reset",
                ]
                .contains(&word)
            })
}
