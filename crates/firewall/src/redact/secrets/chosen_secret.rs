//! Secrets that somebody made of several words.

use super::assigned_value::AssignedValue;
use super::remark_words::{STAND_INS, is_word_of_remarks};
use super::secret_name;
use super::slice;
use crate::redact::validators::{is_joined_words, looks_like_password, words};

/// The shortest phrase, in bytes, and the fewest words of one.
const MIN_PHRASE_LEN: usize = 12;
const MIN_WORDS: usize = 3;
/// The longest line that names the account, in bytes.
const MAX_LINE_BYTES: usize = 96;

/// Names of accounts.
const ACCOUNTS: &[&str] = words![
    "user" "username" "user_name" "login" "account" "benutzer" "benutzername" "utilisateur" "identifiant" "usuario"
    "utente" "gebruiker" "konto"
];

/// True for a phrase, and for `Rowan_Berth9`, which ends its line or is in quotes.
pub(super) fn is_made_up(text: &str, value: &AssignedValue, next: u8) -> bool {
    let has = |is: fn(&u8) -> bool| text.bytes().any(|b| is(&b));
    let ends = value.quoted || matches!(next, 0 | b'\r' | b'\n');
    let is_joined = text.split_once('_').is_some_and(|(first, last)| {
        [first, last].iter().all(|part| part.starts_with(|c: char| c.is_ascii_uppercase()))
            && has(u8::is_ascii_lowercase)
            && last.ends_with(|c: char| c.is_ascii_digit())
    });
    is_phrase(text, value, next) || ends && is_joined && looks_like_password(text)
}

/// True for `lighthouse-keeper-sings-at-dawn-91`, which ends its line or is in quotes: small words with
/// a number among them, or four words, and none that stands in for a secret.
fn is_phrase(text: &str, value: &AssignedValue, next: u8) -> bool {
    let ends = value.quoted || matches!(next, 0 | b'\r' | b'\n');
    let parts = || text.split(['-', '_', '.']);
    let is_word = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let count = parts().filter(is_word).count();
    let numbers = parts().filter(|part| is_number(part)).count();
    ends && !value.requires_token
        && text.len() >= MIN_PHRASE_LEN
        && count >= if numbers > 0 { MIN_WORDS } else { MIN_WORDS + 1 }
        && count + numbers == parts().count()
        && !parts().any(|part| STAND_INS.contains(&part))
}

/// True for joined words that fill a line of settings, `COUCHDB_PASSWORD: apfel-kern-haus`, or are in
/// a mapping of YAML beside their account, and for a sentence of any language in quotation marks behind
/// a variable of a shell.
pub(super) fn is_password_of_words(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let is_joined = value.fills_line && !value.quoted && is_joined_words(text);
    is_joined
        || is_in_flow_mapping(bytes, value, text)
        || is_sentence_of_variable(bytes, value, text)
}

/// True for two small words or more with hyphens in `{user: ann, password: apfel-kern}`. In program text
/// the hyphen would be a sign between two names, with blanks around it.
fn is_in_flow_mapping(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let before = slice(bytes, value.range.start.saturating_sub(MAX_LINE_BYTES)..value.range.start);
    let Some(open) = before.iter().rposition(|b| matches!(b, b'{' | b'}' | b'\n')) else {
        return false;
    };
    let fields = slice(before, open + 1..before.len()).split(|b| *b == b',');
    let is_account = |field: &[u8]| {
        let name = field.split(|b| *b == b':').next().unwrap_or_default().trim_ascii();
        ACCOUNTS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
    };
    let is_word = |part: &str| part.len() >= 3 && part.chars().all(char::is_lowercase);
    !value.quoted
        && value.separator == b':'
        && before.get(open) == Some(&b'{')
        && fields.into_iter().any(is_account)
        && text.contains('-')
        && text
            .split('-')
            .all(|part| is_word(part) && (part.len() < 4 || !is_word_of_remarks(part)))
}

/// True for `export BORG_PASSPHRASE='drei Möwen auf einem Poller'`.
fn is_sentence_of_variable(bytes: &[u8], value: &AssignedValue, text: &str) -> bool {
    let before = slice(bytes, value.range.start.saturating_sub(3)..value.range.start);
    let is_variable = matches!(before, [last, b'=', b'"' | b'\''] if last.is_ascii_uppercase());
    is_variable
        && value.quoted
        && text.chars().all(|c| c.is_alphanumeric() || " .,'-".contains(c))
        && text.split(' ').filter(|word| !word.is_empty()).count() >= MIN_WORDS
        && !text.split(' ').any(|word| secret_name::secret_kind(word.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(range: std::ops::Range<usize>, fills_line: bool) -> AssignedValue {
        AssignedValue {
            range,
            quoted: false,
            separator: b':',
            is_adjacent: false,
            requires_token: false,
            fills_line,
        }
    }

    #[test]
    fn a_phrase_has_words_of_nobody_else() {
        for (text, is) in [
            ("lighthouse-keeper-sings-at-dawn-91", true),
            ("keyboard-otter-4417-plum", true),
            ("correct.horse.battery.staple", true),
            ("keyboard-otter-plum", false),
            ("change-this-before-release-1", false),
            ("shop-backend-jwt-2", false),
            ("otter-4417", false),
            ("Otter-Plum-Horse-4417", false),
        ] {
            assert_eq!(is_phrase(text, &value(0..text.len(), true), 0), is, "{text}");
            assert!(!is_phrase(text, &value(0..text.len(), true), b' '), "{text}");
        }
        assert!(is_made_up("Rowan_Berth9", &value(0..12, true), 0));
        assert!(!is_made_up("Rowan_berth9", &value(0..12, true), 0));
        assert!(!is_made_up("Rowan_Berth9", &value(0..12, true), b' '));
    }

    #[test]
    fn words_are_a_password_in_settings_and_in_variables() {
        for (text, quoted, is) in [
            ("DB_PASSWORD: apfel-kern-haus", false, true),
            ("DB_PASSWORD: apfel-kern", false, false),
            ("DB_PASSWORD: apfel-Kern-haus", false, true),
            ("DB_PASSWORD: read-from-vault", false, false),
            ("DB_PASSWORD: toggle-field-icon", false, false),
            ("X_PASSPHRASE='drei Möwen am Poller'", true, true),
            ("X_PASSPHRASE='drei Möwen'", true, false),
            ("X_PASSPHRASE='Bitte das Passwort eingeben'", true, false),
            ("passphrase='drei Möwen am Poller'", true, false),
        ] {
            let from = text.find(['\'', ' ']).unwrap() + 1;
            let word = text.get(from..).unwrap().trim_end_matches('\'');
            let value = AssignedValue { quoted, ..value(from..from + word.len(), !quoted) };
            assert_eq!(is_password_of_words(text.as_bytes(), &value, word), is, "{text}");
        }
    }
}
