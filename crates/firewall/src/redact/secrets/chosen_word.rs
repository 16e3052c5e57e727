//! Passwords that are words. Where a place leaves no doubt that a password stands there, a word is one, unless
//! it is what people, forms and program text write instead.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::remark_words::is_word_of_remarks;
use super::said_instead::{STEMS, WORDS};
use super::secret_name;
use crate::redact::validators::{not_a_path, not_a_word, not_placeholder_password};

/// The fewest characters of a password that is a word, and of one of its parts.
const MIN_CHARS: usize = 5;
const MIN_PART_CHARS: usize = 4;
/// The most bytes.
const MAX_BYTES: usize = 40;
/// The most words of a phrase.
const MAX_PHRASE_WORDS: usize = 6;
/// Signs between the words of a password.
const JOINTS: [char; 10] = ['.', '-', '_', '/', '&', '+', '\'', '!', '*', ';'];

/// Endings of remarks.
const ENGLISH_ENDINGS: [&str; 7] = ["ed", "able", "ible", "tion", "word", "ment", "pass"];
const GERMAN_ENDINGS: [&str; 7] =
    ["sache", "pflicht", "schutz", "richtlinie", "änderung", "eingabe", "wechsel"];

static SAID_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.iter().copied().collect());

/// True for a word that is written instead of a password: `required`, `geändert`, `see`, `string`.
pub(crate) fn is_said_instead(word: &str) -> bool {
    let lower = word.to_lowercase();
    let lower = lower.as_str();
    // English says what was done to a password, and German what belongs to one, in endings.
    let ends = |list: &[&str]| list.iter().any(|end| lower.ends_with(end));
    let ends_as_remark = lower.len() > 5 && lower.is_ascii() && ends(&ENGLISH_ENDINGS)
        || lower.len() > 7 && ends(&GERMAN_ENDINGS);
    ends_as_remark
        || SAID_WORDS.contains(lower)
        || has_stem(lower)
        || is_word_of_remarks(lower)
        || !not_a_word(lower)
}

/// True for a word that begins with one of the [`STEMS`], which are sorted: of those that do not come
/// behind the word, the last with which it begins is found by going down from the longest beginning.
fn has_stem(word: &str) -> bool {
    let ends = word.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.skip(2).any(|end| word.get(..end).is_some_and(|head| STEMS.binary_search(&head).is_ok()))
}

/// True for a word, or for words that a sign joins, that somebody chose: `nelkenöl`, `Ordner.Leitz`.
pub(crate) fn is_chosen_word(text: &str) -> bool {
    let parts = || text.split(JOINTS).filter(|part| !part.is_empty());
    let is_letters = |part: &str| part.chars().all(char::is_alphabetic);
    let has_small =
        text.chars().any(|c| c.is_lowercase() || !c.is_uppercase() && c.is_alphabetic());
    text.len() <= MAX_BYTES
        && text.chars().count() >= MIN_CHARS
        && text.starts_with(char::is_alphabetic)
        && !text.ends_with(['*', ';'])
        && has_small
        && parts().all(is_letters)
        && parts().any(|part| part.chars().count() >= MIN_PART_CHARS)
        && !parts().any(is_said_instead)
        && secret_name::secret_kind(text.as_bytes()).is_none()
        && not_placeholder_password(text)
        && not_a_path(text)
}

/// True for a word that is no name of program text, which has capitals inside or parts of small
/// letters: `newPass`, `form.field`.
pub(crate) fn is_word_of_nobody_else(text: &str) -> bool {
    let mut before = ' ';
    let has_hump =
        text.chars().any(|c| std::mem::replace(&mut before, c).is_lowercase() && c.is_uppercase());
    let is_plain = text.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'.' | b'_'));
    let is_name = has_hump || is_plain && text.contains(['.', '_']);
    !is_name && is_chosen_word(text)
}

/// True for two to six words that somebody chose, of which none is said instead: `nine purple herons`. The
/// first is no preposition or article, which would begin a remark: `on the fridge`.
pub(crate) fn is_chosen_phrase(text: &str) -> bool {
    let words = || text.split(' ');
    let is_word = |word: &str| {
        let bare = word.trim_matches(['-', '\'']);
        bare.len() == word.len() && !word.is_empty() && word.chars().all(char::is_alphabetic)
    };
    let longest = words().map(|word| word.chars().count()).max().unwrap_or(0);
    (2..=MAX_PHRASE_WORDS).contains(&words().count())
        && text.len() <= 2 * MAX_BYTES
        && longest >= MIN_PART_CHARS
        && words().all(is_word)
        && words().next().is_some_and(|first| first.chars().count() >= 3 && !begins_remark(first))
        && !words().filter(|word| word.chars().count() >= MIN_PART_CHARS).any(is_said_instead)
}

/// True for such words, also with numbers and signs between: `Enzian & Salbei 3`.
pub(crate) fn is_phrase_with_signs(text: &str) -> bool {
    let is_mark = |word: &str| {
        !word.is_empty()
            && word.len() <= 4
            && word.chars().all(|c| c.is_ascii_digit() || "&+-!#*.,".contains(c))
    };
    let words: Vec<&str> = text.split(' ').filter(|word| !is_mark(word)).collect();
    let is_first = text.split(' ').next().is_some_and(|first| !is_mark(first));
    is_first
        && match words.as_slice() {
            [word] => text.contains(' ') && is_chosen_word(word),
            _ => is_chosen_phrase(&words.join(" ")),
        }
}

/// True for prepositions and articles.
fn begins_remark(word: &str) -> bool {
    const LEADS: [&str; 44] = [
        "the", "this", "that", "our", "your", "his", "her", "its", "for", "from", "with", "not",
        "too", "very", "now", "und", "der", "die", "das", "den", "dem", "auf", "bei", "mit", "vom",
        "für", "aus", "sur", "dans", "chez", "les", "des", "une", "par", "para", "por", "con",
        "los", "las", "del", "nella", "het", "een", "voor",
    ];
    let lower = word.to_lowercase();
    LEADS.contains(&lower.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_stems_are_sorted_and_in_small_letters() {
        assert!(STEMS.is_sorted());
        for word in WORDS.iter().chain(STEMS) {
            assert_eq!(*word, word.to_lowercase(), "{word}");
        }
        assert!(STEMS.iter().all(|stem| stem.chars().count() >= 3));
    }

    #[test]
    fn a_word_that_somebody_chose_is_not_said_of_passwords() {
        for word in [
            "nelkenöl", "Ordner.Leitz", "Rhabarberkuchen", "seepferdchen", "Żubrówka",
            "kiluvõileib", "земляника", "Mămăligă.Brânză", "nasi.goreng.pagi", "boule.de.neige",
            "knedlíkyzelí", "redeNaVaranda", "Enzian&Salbei",
        ] {
            assert!(is_chosen_word(word), "{word}");
        }
        for word in [
            "required", "erforderlich", "obligatoire", "obligatoria", "obrigatória", "verplicht",
            "wymagane", "povinné", "kötelező", "påkrævet", "pakollinen", "obligatorie", "zorunlu",
            "обязательно", "wajib", "unchanged", "abgelaufen", "expiré", "caducada", "scaduta",
            "verlopen", "udløbet", "vanhentunut", "string", "varchar", "userPassword", "Passwort",
            "Kennwort", "Wachtwoord", "Contraseña", "lösenord", "hidden", "VALUE", "test", "abcd",
            "bestätigen", "Zurücksetzen", "settings.json", "see-vault",
        ] {
            assert!(!is_chosen_word(word), "{word}");
        }
    }

    #[test]
    fn names_of_program_text_are_no_words() {
        for (word, is) in [
            ("nelkenöl", true),
            ("Ordner.Leitz", true),
            ("ostseewind", true),
            ("newPhrase", false),
            ("form.entry", false),
            ("entry_of_form", false),
        ] {
            assert_eq!(is_word_of_nobody_else(word), is, "{word}");
        }
    }

    #[test]
    fn a_phrase_has_words_that_somebody_chose() {
        for phrase in
            ["nine purple herons", "tarte aux pommes", "brunost på fjellet", "otters by the weir"]
        {
            assert!(is_chosen_phrase(phrase), "{phrase}");
        }
        for phrase in [
            "on the fridge",
            "the same as last year",
            "printed on the router",
            "different in each room",
            "sur la box",
            "auf der Rückseite des Routers",
            "hetzelfde als vorig jaar",
            "herons",
            "nine 2 herons",
        ] {
            assert!(!is_chosen_phrase(phrase), "{phrase}");
        }
    }
}
