//! Whether a word of a sentence is a password: it has digits or signs, and is none of the other
//! things that have them.

use super::{
    CREDENTIAL_NAME_ENDINGS, not_a_path, not_a_plain_word, not_its_name, not_placeholder_password,
};
use crate::redact::secrets::{is_chosen_word, is_dated, is_phrase_with_signs, is_word_of_remarks};

/// The fewest characters.
const MIN_LENGTH: usize = 6;
/// The most digits at the start of a measurement, as in `12-character`.
const MAX_MEASURE_DIGITS: usize = 4;

/// Letters with a digit or a sign, and not a measurement, date, time, version, method, address,
/// path or identifier.
pub(crate) fn looks_like_password(text: &str) -> bool {
    let core = text.trim_end_matches(['!', '?', '.', ':']);
    let letters = core.contains(char::is_alphabetic);
    // Stars alone are those of bold text or of a pattern.
    let strong = core.bytes().any(|b| b.is_ascii_digit() || b"!#$%&+@^~?".contains(&b));
    text.len() >= MIN_LENGTH
        && letters
        && strong
        && !text.ends_with(':')
        && !core.ends_with("Array")
        && !text.starts_with(['-', '/', '\\', '@', '%', '#', '+', '&', '*', '?'])
        && !text.contains("://")
        && !is_measure(core)
        && !is_version(core)
        && !is_method(core)
        && !is_code(core)
        && !is_reference(text)
        && !is_dated(core.as_bytes())
        && not_a_path(core)
        && not_placeholder_password(text)
}

/// A password that no word, name or version is like: letters, digits and a sign, or small letters,
/// capitals and digits in turn.
pub(crate) fn made_password(text: &str) -> bool {
    const MIN_MADE_LENGTH: usize = 8;
    const MIN_TURNS: usize = 5;
    let class = |b: u8| match b {
        b'0'..=b'9' => 1_u8,
        b'A'..=b'Z' => 2,
        b'a'..=b'z' => 4,
        _ => 8,
    };
    let classes: Vec<u8> = text.bytes().map(class).collect();
    let all = classes.iter().fold(0, |all, class| all | class);
    let turns = classes.windows(2).filter(|pair| matches!(pair, [a, b] if a != b)).count();
    let numbers = classes.chunk_by(|a, b| a == b).filter(|run| run.first() == Some(&1)).count();
    let has_sign = text.bytes().any(|b| b"!$%^*".contains(&b)) && all & 1 != 0 && all & 6 != 0;
    let in_turn = all == 7 && turns >= MIN_TURNS && numbers >= 2;
    text.len() >= MIN_MADE_LENGTH && (has_sign || in_turn) && looks_like_password(text)
}

/// Two to six words with signs between that nobody writes of a password: `Walfisch_kurbel`, `apfel-kern-haus`,
/// `Nordlicht-auf-See`. Two words need a capital in one place and none in another; names of headers and of
/// program text have neither.
pub(crate) fn is_joined_words(text: &str) -> bool {
    const MIN_JOINED_LENGTH: usize = 9;
    const MAX_WORDS: usize = 6;
    let parts = || text.split(['-', '_', '/', '+', '&']);
    let is_word = |part: &str| {
        let rest = part.strip_prefix(char::is_alphabetic).unwrap_or_default();
        !rest.is_empty() && rest.chars().all(|c| c.is_alphabetic() && !c.is_uppercase())
    };
    let is_capital = |part: &str| part.starts_with(char::is_uppercase);
    let count = parts().count();
    let capitals = parts().filter(|part| is_capital(part)).count();
    let is_uneven = capitals > 0 && (capitals < count || text.contains('_'));
    text.len() >= MIN_JOINED_LENGTH
        && (2..=MAX_WORDS).contains(&count)
        && parts().all(is_word)
        && (is_uneven || count >= 3 && capitals == 0 && !text.contains('/'))
        && !parts().any(is_word_of_remarks)
}

/// A password that was made, or words that are joined by a sign, with a digit, a capital or a sign of
/// passwords among them. Keys of tickets have capitals and a number alone.
pub(super) fn made_or_joined(text: &str) -> bool {
    let is_joined = text.contains(['-', '_', '.', '!', '#', '&', '+'])
        && text.bytes().any(|b| b.is_ascii_lowercase())
        && text.bytes().any(|b| b.is_ascii_digit() || b"!#$%&*+@".contains(&b));
    made_password(text) || is_joined && !is_method(text)
}

/// True for a password or for joined words.
pub(super) fn password_or_words(text: &str) -> bool {
    looks_like_password(text) || is_joined_words(text)
}

/// True for a password, for joined words, and for a word that nobody says of passwords.
pub(super) fn password_or_word(text: &str) -> bool {
    password_or_words(text) || is_chosen_word(text)
}

/// True for such a value, and for words with blanks between, perhaps with a number.
pub(super) fn password_or_phrase(text: &str) -> bool {
    password_or_word(text) || is_phrase_with_signs(text)
}

/// What stands in the place of a password: one, a word, or a token with slashes in it.
pub(super) fn placed_password(text: &str) -> bool {
    const MIN_KEY_BYTES: usize = 24;
    let is_key = text.len() >= MIN_KEY_BYTES
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=_-".contains(&b))
        && text.bytes().any(|b| b.is_ascii_digit());
    is_key && not_placeholder_password(text) || password_or_word(text)
}

/// What a command takes as a password, and not a plain word, which may stand in for one.
pub(super) fn chosen_password(text: &str) -> bool {
    not_placeholder_password(text)
        && not_its_name(text)
        && not_a_plain_word(text)
        && not_an_identifier_of_capitals(text)
}

/// Not `PASSWORD_OF_USER`, `--flag`, or small words with underscores, as a manual names what to write.
fn not_an_identifier_of_capitals(text: &str) -> bool {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let has_case = |is: fn(&u8) -> bool| text.bytes().any(|b| is(&b));
    let is_one_case = !(has_case(u8::is_ascii_lowercase) && has_case(u8::is_ascii_uppercase));
    let is_of_names = text.bytes().all(is_name) && text.contains('_') && !super::has_digit(text);
    !(is_of_names && is_one_case || text.starts_with('-'))
}

/// Digits, possibly two numbers with a hyphen, and a unit: `90days`, `8-12`, `12-character`. A
/// capitalised name after them, as in `884-Kestrel`, is not a unit.
fn is_measure(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || "-.,:/x%+".contains(c));
    let has_capital = rest.bytes().any(|b| b.is_ascii_uppercase());
    let is_name = rest.len() > 4 && has_capital && rest.bytes().any(|b| b.is_ascii_lowercase());
    (1..=MAX_MEASURE_DIGITS).contains(&digits)
        && rest.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-' || !b.is_ascii())
        && !is_name
}

/// A span, a date, a duration or the name of a method where a password would be: `8-64`, `27/11/2026`,
/// `15m`, `SHA-256`. A number alone may be one.
pub(crate) fn is_span_or_method(text: &str) -> bool {
    let is_number = text.bytes().all(|b| b.is_ascii_digit());
    let is_span = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "-–/.,:".contains(c));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text.get(digits..).unwrap_or_default();
    let unit = unit.trim_start_matches('-').trim_end_matches('s');
    let is_measured = digits > 0 && !is_number && UNITS.contains(&unit);
    !is_number && is_span && text.len() <= 10 || is_measured || is_method(text)
}

/// Units of time and of lengths, without the ending of many.
const UNITS: [&str; 13] =
    ["", "m", "min", "h", "d", "w", "day", "hour", "bit", "byte", "char", "character", "digit"];

/// `v2.1`, `1.2.3-beta`.
fn is_version(text: &str) -> bool {
    let text = text.trim_start_matches(['v', 'V']);
    let (first, rest) = text.split_once('.').unwrap_or_default();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(first) && rest.starts_with(|c: char| c.is_ascii_digit())
}

/// The name of a hash, a cipher, an encoding or a protocol.
fn is_method(text: &str) -> bool {
    const METHODS: [&str; 33] = [
        "sha1", "sha2", "sha3", "sha5", "md4", "md5", "base64", "base32", "utf8", "utf16", "oauth",
        "pbkdf2", "argon2", "x509", "wpa2", "wpa3", "aes128", "aes192", "aes256", "ntlmv2",
        "kerberos5", "pkcs", "ed25519", "rsa", "socks", "socksv", "argon2id", "hs256", "hs384",
        "hs512", "rs256", "es256", "ps256",
    ];
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    let plain = plain.to_ascii_lowercase();
    METHODS.iter().any(|method| {
        plain.strip_prefix(method).is_some_and(|rest| {
            rest.bytes().all(|b| b.is_ascii_digit())
                || rest.starts_with("hash")
                || rest.starts_with("enc")
        })
    })
}

/// `cfg.token2`, `a=b1`, `x::y2`, `user->pw1`.
fn is_code(text: &str) -> bool {
    let word = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
    };
    let assigned = text.split_once('=').is_some_and(|(name, rest)| word(name) && !rest.is_empty());
    assigned
        || text.contains("::")
        || text.contains("->")
        || text.contains('.') && text.split('.').all(word) && !is_of_two_names(text)
}

/// A variable, possibly with a path behind it, or a tag of YAML: `$password`, `$BASE/login`, `!vault`.
fn is_reference(text: &str) -> bool {
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    let path = text.strip_prefix('$').and_then(|text| text.split_once('/'));
    text.strip_prefix(['$', '!']).is_some_and(is_name)
        || path.is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}

/// `heather.Moor7`, `Kuckuck.uhr9`, `Kuckuck.44` and `Kuckuck.4471`, but not `cfg.Token2`.
pub(crate) fn is_of_two_names(text: &str) -> bool {
    let Some((first, last)) = text.split_once('.') else { return false };
    let letters = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = letters.trim_end_matches('_').to_ascii_lowercase();
    let named = CREDENTIAL_NAME_ENDINGS.iter().chain(&["pass", "passwd", "password", "pwd"]);
    let is_capital = |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase());
    // A shorter one of them is a name only if the first is capitalised: `Mar.alto_19`, `Kiebitz.ei4`.
    let are_long = first.len() >= 4 - usize::from(is_capital(first)) && letters.len() >= 3
        || is_capital(first) && first.len() >= 5 && letters.len() == 2;
    let is_number = letters.is_empty() && matches!(last.len(), 1..=4);
    (are_long || is_number && is_capital(first) && first.len() >= 5)
        && letters.len() < last.len()
        && !name.contains('_')
        && is_capital(if is_capital(first) { first } else { last })
        && !named.into_iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is: fn(&str) -> bool, holds: &[&str], fails: &[&str]) {
        let wrong: Vec<&&str> = holds.iter().filter(|text| !is(text)).collect();
        assert!(wrong.is_empty(), "not {wrong:?}");
        let wrong: Vec<&&str> = fails.iter().filter(|text| is(text)).collect();
        assert!(wrong.is_empty(), "but {wrong:?}");
    }

    #[test]
    fn a_password_has_a_letter_and_more_and_looks_like_nothing_else() {
        check(
            looks_like_password,
            &["Tr4ctor", "ab#def", "plover9!", "heather.Moor7", "884-Kestrel", "a1b2c3"],
            &[
                "plover", "ab#de", "1234567", "#######", "word1:", "-word12", "/word12",
                "\\word12", "@word12", "%word12", "#word12", "+word12", "&word12", "*word12",
                "?word12", "http://a1", "90days", "v2.1.0b", "sha256", "cfg.token2", "a=b123",
                "ab/cd/e1.txt", "your-key1", "plover!", "plover??", "all*tokens*", "change*",
                "$password", "$BASE/login2", "!vault", "90päivää",
            ],
        );
    }

    #[test]
    fn a_password_that_was_made_has_a_sign_or_turns() {
        check(
            made_password,
            &["Gereja992!", "Vencejo-386*", "6SFlbRi3Lrm", "a1$bcdef"],
            &[
                "Gerej9!", "Gereja992", "Vencejo!", "12345678!", "user12@host", "Ticket#4417",
                "userLoginV2", "Server2022", "8-12chars!",
            ],
        );
    }

    #[test]
    fn joined_words_are_no_names_and_no_remarks() {
        check(
            is_joined_words,
            &[
                "Walfisch_kurbel", "apfel-kern-haus", "Nordlicht-auf-Meer", "Kelter/heft",
                "kuckuck_im_apfelbaum", "Brach_Vogel", "Möwen-nest",
            ],
            &[
                "apfel-kern", "Content-Type", "user/group", "read-from-vault", "User_name",
                "Set-in-vault", "kelter/heft/most", "walfisch", "Ab_c", "db_password_field",
                "A-B-C-D-E-F-G", "Walfisch_7", "WALFISCH_KURBEL", "one-time-password",
            ],
        );
    }

    #[test]
    fn a_password_that_somebody_chose_is_more_than_a_word() {
        check(
            chosen_password,
            &["Kelter/heft", "Kelter-heft", "kelterHeft", "kelter7"],
            &[
                "kelter", "Kelter", "password", "PASSWORD_OF_USER", "db_password", "old_value",
                "--flag",
            ],
        );
    }

    #[test]
    fn a_measure_is_a_number_and_a_unit() {
        check(
            is_measure,
            &["90days", "8-12", "12-character", "1000x", "7", "8:30pm", "12.5GB", "99Days"],
            &["12345days", "days", "884-Kestrel", "90days!", "12-Chars1"],
        );
    }

    #[test]
    fn a_span_has_numbers_and_signs() {
        check(
            is_span_or_method,
            &[
                "8-64", "8–64", "27/11/2026", "27.11.2026", "15m", "300ms", "2-byte",
                "12-characters", "SHA-256", "md5", "argon2id", "HS256",
            ],
            &["4471", "8-64x", "a8-64", "-8", "27/11/2026-4471", "plover9"],
        );
    }

    #[test]
    fn a_version_begins_with_two_numbers() {
        check(
            is_version,
            &["v2.1", "1.2.3-beta", "V10.0", "vv1.2"],
            &["v2", "2.x", ".1", "a1.2", "1a.2", ""],
        );
    }

    #[test]
    fn a_method_is_told_by_its_name() {
        check(
            is_method,
            &[
                "SHA-256", "sha1", "md5", "AES128", "base64enc", "md5hash", "rsa2048", "utf8",
                "SOCKSv5",
            ],
            &["sha1nes", "mymd5", "plover1", "sha"],
        );
    }

    #[test]
    fn code_has_members_assignments_and_arrows() {
        check(
            is_code,
            &["cfg.token2", "a=b1", "x::y2", "user->pw1", "a.b.c", "cfg.Token2"],
            &["a=", "1a=b", "heather.Moor7", "plover9", "a.1b", "a..b"],
        );
        check(
            is_of_two_names,
            &[
                "heather.Moor7", "anna.Kim12", "Kuckuck.uhr9", "Mar.alto_19", "Hrad.ba_15",
                "Kiebitz.ei4", "Kiebitz.4471", "Kiebitz.44", "Kiebitz.4",
            ],
            &[
                "kiebitz.4471", "Ab.4471", "Kiebitz.44718", "hea.Moor7", "Hea.mo7", "heather.Mo7",
                "heather.Moor", "heather.moor7", "heather.Token2", "heather.Pwd1", "heather",
                "Heather.a_moor7",
            ],
        );
    }
}
