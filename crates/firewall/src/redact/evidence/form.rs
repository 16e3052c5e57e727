//! What a word looks like: digits, groups of them, letters with digits or signs.

use super::feature::Feature;

/// The most characters of a short code such as `58K2204`.
const MAX_CODE_LEN: usize = 12;

/// How many characters of each class a word has.
struct Classes {
    all: usize,
    digits: usize,
    letters: usize,
    has_small: bool,
    has_capital: bool,
}

impl Classes {
    fn of(word: &str) -> Self {
        let count = |is: fn(char) -> bool| word.chars().filter(|c| is(*c)).count();
        Self {
            all: word.chars().count(),
            digits: count(|c| c.is_ascii_digit()),
            letters: count(char::is_alphabetic),
            has_small: word.chars().any(char::is_lowercase),
            has_capital: word.chars().any(char::is_uppercase),
        }
    }
}

/// The form of a word that may be a secret; `None` for a plain word, a path, an address, a version, a
/// measurement, and for program text.
pub(super) fn form_of(word: &str) -> Option<Feature> {
    if word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    let classes = Classes::of(word);
    let first = word.chars().next()?;
    let bare = word.trim_matches(['*', '#']);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if is_digits(bare) && word.len() <= bare.len() + 2 {
        return match bare.len() {
            3 => Some(Feature::Digits3),
            4 => Some(Feature::Digits4),
            5 | 6 => Some(Feature::Digits6),
            7 | 8 => Some(Feature::Digits8),
            _ => None,
        };
    }
    if classes.digits + classes.letters == 0 || is_program_text(word, first) {
        return None;
    }
    if let Some(form) = groups_of_digits(word) {
        return form;
    }
    if word.bytes().all(|b| b.is_ascii_digit() || b".,:/-".contains(&b)) || is_version(word) {
        return None;
    }
    if is_hexadecimal(word) {
        let is_uuid = word.len() == 36 && word.matches('-').count() == 4;
        return match word.contains('-') {
            true => is_uuid.then_some(Feature::Uuid),
            false => Some(Feature::Hexadecimal),
        };
    }
    let of_code = |c: char| c.is_ascii_digit() || c.is_uppercase() || c == '-';
    if classes.all <= MAX_CODE_LEN
        && classes.digits > 0
        && classes.has_capital
        && word.chars().all(of_code)
    {
        let number = word.trim_start_matches(|c: char| c.is_uppercase());
        let is_numbered = is_digits(number.strip_prefix('-').unwrap_or(number));
        return Some(match is_numbered && first.is_uppercase() {
            true => Feature::Numbered,
            false => Feature::Code,
        });
    }
    if is_token(word, &classes) {
        return Some(Feature::Token);
    }
    mixed_form(word, &classes)
}

/// The form of letters with digits or signs among them.
fn mixed_form(word: &str, classes: &Classes) -> Option<Feature> {
    let has_digit = classes.digits > 0;
    let inner = inner_of(word);
    if inner.contains('=') {
        return None;
    }
    let is_uneven = classes.has_small && classes.has_capital;
    if inner.contains(['!', '#', '%', '&', '*', '+', '@', '^', '~', '$', '?'])
        && classes.letters > 0
    {
        return Some(match has_digit || is_uneven {
            true => Feature::WithSign,
            false => Feature::WordsWithSign,
        });
    }
    let has_joint = word.contains(['-', '_', '.', ':', ',', ';', '/']);
    if has_digit && classes.letters > 0 {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let unit = word.get(digits..).unwrap_or_default();
        let is_measured = (1..=4).contains(&unit.len()) && digits + unit.len() == word.len();
        let is_unit = is_measured && unit.bytes().all(|b| b.is_ascii_alphabetic());
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_short = letters.len() <= 3 && word.len() <= letters.len() + 3;
        if is_unit || is_short && !has_joint {
            return None;
        }
        return Some(match (has_joint, is_uneven) {
            (true, true) => Feature::Joined,
            (true, false) => Feature::JoinedSmall,
            (false, _) if classes.all >= 6 && classes.has_small => Feature::Mixed,
            (false, _) => Feature::MixedShort,
        });
    }
    if !has_joint {
        return None;
    }
    let is_small = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    if word.split(['-', '.']).all(is_small) {
        return (word.matches('-').count() >= 2).then_some(Feature::SmallWords);
    }
    (is_uneven && !word.contains('/')).then_some(Feature::JoinedWords)
}

/// The word without its first and last character.
fn inner_of(word: &str) -> &str {
    let mut chars = word.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// `0 4 7 7`, `418 820`, `27-63-08`, `5-0-3-8-E`, `41#7718`; the inner `None` for a date and the like.
fn groups_of_digits(word: &str) -> Option<Option<Feature>> {
    let sign = word.chars().find(|c| !c.is_ascii_digit())?;
    if !matches!(sign, ' ' | '-' | '#' | '*') {
        return None;
    }
    let bare = word.trim_matches(['#', '*']);
    let body = match bare.rsplit_once('-') {
        Some((body, suffix))
            if suffix.len() == 1 && suffix.starts_with(|c: char| c.is_ascii_uppercase()) =>
        {
            body
        }
        _ => bare,
    };
    let parts = || body.split(sign);
    let longest = parts().map(str::len).max()?;
    let is_of_digits =
        parts().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if !is_of_digits {
        return None;
    }
    let count = parts().count();
    Some(match sign {
        ' ' if (2..=6).contains(&count) && longest <= 4 => Some(Feature::Groups),
        '-' if (3..=7).contains(&count) && longest <= 2 => Some(Feature::JoinedDigits),
        '#' | '*' if count == 2 && longest <= 6 => Some(Feature::DigitsWithSign),
        _ => None,
    })
}

/// True for paths, addresses, names of headers, variables, masks and parts of program text.
fn is_program_text(word: &str, first: char) -> bool {
    let begins = matches!(first, '/' | '-' | '$' | '@' | '+' | '\\' | '=' | '%')
        || word.starts_with("./")
        || word.starts_with("~/");
    let keys = ["Ctrl", "Alt", "Strg", "SHA", "sha", "0x", "http"];
    let has_version = word.split('/').skip(1).any(|part| {
        let number = part.strip_prefix('v').unwrap_or(part);
        number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.')
    });
    begins
        || keys.iter().any(|key| word.starts_with(key))
        || has_version
        || word.contains("://")
        || word.contains("::")
        || word.contains("->")
        || word.contains("**")
        || word.contains("..")
        || word.contains(['(', ')', '{', '}', '[', ']', '<', '>', '•', '"', '\\', '…'])
        || word.matches('/').count() >= 2
        || has_inner_colon(word)
}

/// True for a colon between letters or digits: `typescript:S2068`.
fn has_inner_colon(word: &str) -> bool {
    word.split_once(':').is_some_and(|(before, behind)| {
        before.ends_with(char::is_alphanumeric) && behind.starts_with(char::is_alphanumeric)
    })
}

fn is_version(word: &str) -> bool {
    let number = word.strip_prefix('v').unwrap_or(word);
    let (first, rest) = number.split_once('.').unwrap_or_default();
    !first.is_empty()
        && first.bytes().all(|b| b.is_ascii_digit())
        && rest.starts_with(|c: char| c.is_ascii_digit())
}

/// Hexadecimal digits as keys and identifiers have them.
fn is_hexadecimal(word: &str) -> bool {
    word.len() >= 16 && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// True for a token that was drawn.
fn is_token(word: &str, classes: &Classes) -> bool {
    const MIN_TURNS: usize = 5;
    let class = |b: u8| match b {
        b'0'..=b'9' => 0_u8,
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        _ => 3,
    };
    let turns = word.as_bytes().windows(2);
    let turns = turns.filter(|pair| matches!(pair, [a, b] if class(*a) != class(*b))).count();
    classes.all >= 16
        && classes.digits > 0
        && turns >= MIN_TURNS
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=_.~-".contains(&b))
}
