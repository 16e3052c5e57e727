//! What a token looks like.

/// The form of a token, coarser and finer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// Digits, a token, a code, or letters with or without digits and signs.
    pub(super) family: usize,
    pub(super) form: usize,
    pub(super) digits: usize,
    pub(super) capitals: usize,
    /// How often the class of the characters changes.
    pub(super) turns: usize,
}

const DIGITS: usize = 0;
const UUID: usize = 1;
const HEXADECIMAL: usize = 2;
const TOKEN: usize = 3;
const CODE: usize = 4;
const NUMBERED: usize = 5;
const WITH_SIGN: usize = 6;
const WITH_DIGIT: usize = 7;
const WORDS: usize = 8;
/// Digits alone are a form for each length.
const FIRST_LENGTH: usize = 16;
/// What is left is a form for each set of classes.
const FIRST_MIXED: usize = 32;

/// The class of a character: a digit, a capital, a small letter, another letter, or a sign.
fn class(c: char) -> usize {
    match c {
        _ if c.is_numeric() => 0,
        _ if c.is_uppercase() => 1,
        _ if c.is_lowercase() => 2,
        _ if c.is_alphabetic() => 3,
        _ => 4,
    }
}

/// True for signs that passwords have and names have not.
fn is_password_sign(c: char) -> bool {
    "!#$%&*+@^~?=".contains(c)
}

pub(super) fn of(word: &str) -> Form {
    const MIN_TOKEN: usize = 14;
    const MIN_TURNS: usize = 5;
    const MIN_HEXADECIMAL: usize = 12;
    let mut counts = [0_usize; 5];
    let (mut turns, mut last, mut all) = (0, None, 0);
    for c in word.chars() {
        let class = class(c);
        counts.iter_mut().skip(class).take(1).for_each(|count| *count += 1);
        turns += usize::from(last.is_some_and(|last| last != class));
        (last, all) = (Some(class), all + 1);
    }
    let [digits, capitals, small, other, signs] = counts;
    let bare = word.trim_matches(['#', '*']);
    let is_hexadecimal =
        || word.bytes().all(|b| b.is_ascii_hexdigit()) && (capitals == 0 || small == 0);
    let is_token = || {
        all >= MIN_TOKEN
            && turns >= MIN_TURNS
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+/=.~-".contains(&b))
    };
    let is_code =
        || word.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase() || b == b'-');
    let (family, form) = match () {
        () if digits > 0 && bare.bytes().all(|b| b.is_ascii_digit()) => {
            (DIGITS, FIRST_LENGTH + digits.min(12))
        }
        () if digits > 0 && word.bytes().all(|b| b.is_ascii_digit() || b == b' ') => (DIGITS, 0),
        () if digits > 0 && word.bytes().all(|b| b.is_ascii_digit() || b"-.:/,".contains(&b)) => {
            let sign = word.bytes().find(|b| !b.is_ascii_digit());
            (DIGITS, 9 + sign.map_or(0, |sign| usize::from(sign % 5)))
        }
        () if is_uuid(word) => (UUID, UUID),
        () if digits > 0 && all >= MIN_HEXADECIMAL && is_hexadecimal() => {
            (HEXADECIMAL, HEXADECIMAL)
        }
        () if digits > 0 && is_token() => (TOKEN, TOKEN),
        () if digits > 0 && capitals > 0 && is_code() => {
            let number = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
            let number = number.strip_prefix('-').unwrap_or(number);
            match number.len() < word.len() && number.bytes().all(|b| b.is_ascii_digit()) {
                true => (NUMBERED, NUMBERED),
                false => (CODE, CODE),
            }
        }
        () => {
            let has_sign = word.contains(is_password_sign);
            let classes = [digits > 0, capitals > 0, small > 0, other > 0, signs > 0, has_sign];
            let set = classes.iter().fold(0, |set, is| set * 2 + usize::from(*is));
            let family = match () {
                () if has_sign => WITH_SIGN,
                () if digits > 0 => WITH_DIGIT,
                () => WORDS,
            };
            (family, FIRST_MIXED + set)
        }
    };
    Form { family, form, digits, capitals, turns }
}

fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
