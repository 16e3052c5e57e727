//! Words, signs and labels of a sentence.

use std::ops::Range;

use super::lexicon;

/// What begins at a position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word<'t> {
    Blank(usize),
    LineEnd(usize),
    /// `:`, `=`, `→` and the like.
    Sign(usize),
    /// A slash alone.
    Slash(usize),
    /// Letters and signs of a script without cases, in which blanks may be missing.
    Unspaced {
        word: &'t str,
        next: usize,
    },
    /// Other text up to a blank: the part that could be a value, whether a quote is before it, where
    /// the text ends, and where to read on if it is no value.
    Other {
        value: Range<usize>,
        quoted: bool,
        run_end: usize,
        next: usize,
    },
}

/// The longest part of a word before and behind a label, in bytes.
const MAX_COMPOUND_BYTES: usize = 32;
/// The longest remark in brackets that is skipped, in bytes.
const MAX_REMARK_BYTES: usize = 80;
/// The longest ending of a label, in letters.
const MAX_ENDING: usize = 12;

/// True for letters and signs of scripts without cases, such as Hebrew, Thai and Chinese.
fn is_uncased(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{1dff}' | '\u{2e80}'..)
}

/// True for scripts that write no blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{2e80}'..)
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

pub(super) fn is_of_unspaced_language(text: &str, at: usize) -> bool {
    char_at(text, at).is_some_and(is_unspaced)
}

/// True for a Latin letter.
pub(super) fn is_cased_latin(text: &str, at: usize) -> bool {
    char_at(text, at).is_some_and(|c| c < '\u{370}' || matches!(c, '\u{1e00}'..='\u{1eff}'))
}

/// True for `secret`, which everybody has.
pub(super) fn is_secret(text: &str, label: &Range<usize>) -> bool {
    text.get(label.clone()).is_some_and(|label| label.eq_ignore_ascii_case("secret"))
}

/// The label with the ending of its word, unless it is a part of a name of program text.
pub(super) fn whole_label(
    text: &str,
    label: Range<usize>,
    in_compounds: bool,
) -> Option<Range<usize>> {
    let raw = text.get(label.clone())?;
    let start = label.start;
    let stem_end = start + raw.trim_end_matches([' ', ':', '?']).len();
    let before = text.get(..start)?.chars().next_back().unwrap_or(' ');
    let first = raw.chars().next()?;
    if matches!(before, '_' | '$' | '@' | '/' | '\\' | '&' | '?' | '{' | '<')
        || before.is_ascii_digit()
    {
        return None;
    }
    if before.is_alphabetic() && !is_uncased(before) || before == '-' {
        let run =
            text.get(text.floor_char_boundary(start.saturating_sub(MAX_COMPOUND_BYTES))..start)?;
        let word = run.trim_end_matches(|c: char| c.is_alphabetic() || c == '-');
        let is_name = word.ends_with(['_', '.', '$', '@', '/', '-']) || run.ends_with("--");
        if !in_compounds
            || is_name
            || before != '-' && first.is_uppercase()
            || word.is_empty() && start > run.len()
        {
            return None;
        }
    }
    let rest = text.get(stem_end..)?;
    let ending: usize = match is_uncased(first) {
        true => 0,
        false => rest
            .chars()
            .take_while(|c| c.is_alphabetic())
            .take(MAX_ENDING)
            .map(char::len_utf8)
            .sum(),
    };
    let letters = rest.get(..ending)?;
    if ending > 0
        && (!in_compounds || letters.chars().any(char::is_uppercase))
        && !letters.chars().all(is_uncased)
    {
        return None;
    }
    let mut end = stem_end + ending;
    let rest = text.get(end..)?;
    // Other signs go on with a name of program text or an address: `password_old`, `password1@host`.
    let ordinal = rest.chars().take(2).take_while(char::is_ascii_digit).count();
    let next = rest.get(ordinal..)?.chars().next().unwrap_or(' ');
    if next.is_ascii() && !next.is_whitespace() && !":\"'`*),?|-".contains(next) {
        return None;
    }
    if before == '.' && !rest.strip_prefix(' ').unwrap_or(rest).starts_with(['=', ':']) {
        return None;
    }
    if let Some(suffix) = rest.strip_prefix('-')
        && suffix.starts_with(|c: char| c.is_alphanumeric())
    {
        // Loanwords get the endings of their language behind a hyphen: `password-nya`.
        let len = suffix.chars().take(4).take_while(|c| c.is_ascii_alphanumeric()).count();
        if !["nya", "en", "et"].contains(&suffix.get(..len)?) {
            return None;
        }
        end += 1 + len;
    }
    Some(start..end)
}

/// The word or sign at a position; `None` at the end of the text and before a bracket, behind which
/// is a mask, a reference or a tag.
pub(super) fn word_at(text: &str, at: usize) -> Option<Word<'_>> {
    let rest = text.get(at..)?;
    let first = rest.chars().next()?;
    match first {
        '\r' | '\n' => {
            let line = rest.strip_prefix('\r').unwrap_or(rest);
            let behind = line.strip_prefix('\n')?.trim_start_matches([' ', '\t', '>']);
            return Some(Word::LineEnd(text.len() - behind.len()));
        }
        '[' | '{' | '<' => return None,
        blank if blank.is_whitespace() => return Some(Word::Blank(at + blank.len_utf8())),
        _ => {}
    }
    // A remark before a sign: `password (reset with x):`.
    if let Some(remark) = rest.strip_prefix('(')
        && let Some(len) = remark.find([')', '\n'])
        && remark.get(len..).is_some_and(|rest| rest.starts_with("):"))
        && len <= MAX_REMARK_BYTES
    {
        return Some(Word::Blank(at + len + 2));
    }
    if let Some(len) = sign_len(rest) {
        return Some(Word::Sign(at + len));
    }
    let run_len = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let run = rest.get(..run_len)?;
    if run == "/" {
        return Some(Word::Slash(at + 1));
    }
    if is_uncased(first) {
        let len = run.find(|c| !is_uncased(c)).unwrap_or(run.len());
        return Some(Word::Unspaced { word: run.get(..len)?, next: at + len });
    }
    let opening = ['"', '\'', '`', '*', '«', '„', '“', '”', '‘', '’', '(', '|'];
    let bare = run.trim_start_matches(opening);
    let opened = run.get(..run.len() - bare.len())?;
    let start = at + opened.len();
    let closing = |c: char| is_uncased(c) || "\"'`<>()[]{}|,;“”»«".contains(c);
    // An apostrophe within a word is a part of it: `clé d'API`.
    let is_apostrophe = |at: usize| {
        let (before, after) = bare.split_at_checked(at).unwrap_or((bare, ""));
        after.strip_prefix('\'').is_some_and(|after| after.starts_with(char::is_alphabetic))
            && (1..=2).contains(&before.chars().count())
            && before.chars().all(char::is_alphabetic)
    };
    let mut closings = bare.match_indices(closing).map(|(at, _)| at);
    let len = closings
        .find(|at| !is_apostrophe(*at) && !is_comma_of_value(bare, *at))
        .unwrap_or(bare.len());
    let value = bare.get(..len)?;
    let value = if value.ends_with("...") { value } else { value.trim_end_matches('.') };
    let value = value.trim_end_matches(':');
    let value = if opened.contains('*') { value.trim_end_matches(['*', '.']) } else { value };
    let mut next = start + len.max(usize::from(start == at && len == 0));
    let separates = |c: char| !is_uncased(c) && closing(c);
    if let Some(c) = char_at(text, next).filter(|c| next < at + run_len && separates(*c)) {
        next += c.len_utf8();
    }
    let quoted = opened.contains(|c: char| c != '(' && c != '|');
    Some(Word::Other { value: start..start + value.len(), quoted, run_end: at + run_len, next })
}

/// True for the comma of `Vendemmia,2026!`: between a letter and the rest of a word with a digit or a
/// sign. In a list of fields there are other signs.
fn is_comma_of_value(run: &str, at: usize) -> bool {
    let (before, after) = run.split_at_checked(at).unwrap_or((run, ""));
    let Some(rest) = after.strip_prefix(',') else { return false };
    let rest = rest.trim_end_matches([',', '.', ';']);
    let is_sign = |c: char| c.is_ascii_digit() || "!#$%&*+@^~?".contains(c);
    let is_marked = before.contains(is_sign) || rest.contains(is_sign);
    before.ends_with(char::is_alphanumeric)
        && before.contains(char::is_alphabetic)
        && rest.starts_with(|c: char| c.is_alphanumeric() && !is_uncased(c))
        && !rest.contains(',')
        && !run.contains([':', '=', '(', ')', '/', '"', '\'', '`', '<', '[', '{'])
        && is_marked
}

/// Where the text of a turn of a chat begins on this line: `<kim> x`, `[09:42] Kim: x`, `Kim: x`.
pub(super) fn answer_at(text: &str, at: usize) -> Option<usize> {
    const MAX_NAME: usize = 24;
    const MAX_LINE: usize = 160;
    let rest = part_of(text, at, MAX_LINE);
    let timed = match rest.strip_prefix('[') {
        Some(time) => time
            .split_once(']')
            .filter(|(time, _)| time.len() <= MAX_NAME)?
            .1
            .trim_start_matches(' '),
        None => rest,
    };
    let (name, end) = match timed.strip_prefix('<') {
        Some(name) => (name, '>'),
        None => (timed, ':'),
    };
    let (name, answer) = name.split_once(end)?;
    let is_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
    let is_turn = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(is_name)
        && answer.starts_with(' ');
    // A name alone may be that of a field, which no question precedes.
    let before = text.get(text.floor_char_boundary(at.saturating_sub(MAX_LINE))..at)?;
    let before = before.trim_end_matches(['\r', '\n']);
    let question = before.rsplit('\n').next().unwrap_or_default();
    let asks = end == '>' || timed.len() < rest.len() || is_question(question);
    (is_turn && asks).then_some(at + rest.len() - answer.len())
}

/// True for a turn of a chat that asks: `Ana: the password again?`.
fn is_question(line: &str) -> bool {
    line.trim_end().ends_with('?')
        && line.split_once(": ").is_some_and(|(asker, _)| !asker.contains(char::is_whitespace))
}

/// Where the line ends in which a question ended; `None` if it asks for more than a few words.
pub(super) fn line_end_after_question(text: &str, question: usize, end: usize) -> Option<usize> {
    const MAX_REST: usize = 24;
    let before = text.get(..question)?;
    let rest = text.get(question..text.floor_char_boundary(end.min(text.len())))?;
    let len = rest.find(['\r', '\n']).filter(|len| *len <= MAX_REST)?;
    before.ends_with('?').then_some(question + len)
}

/// Where the answer begins to a question on the same line: `the password? – klar: x`.
pub(super) fn answer_behind_dash(text: &str, question: usize) -> Option<usize> {
    let rest = text.get(question..)?;
    let dash = [" – ", " — ", " A: ", " R: ", " -> ", " → "]
        .into_iter()
        .find(|dash| rest.starts_with(dash))?;
    text.get(..question)?.ends_with('?').then_some(question + dash.len())
}

/// True for as many hexadecimal digits as a digest or a key has.
pub(super) fn is_digest(text: &str) -> bool {
    matches!(text.len(), 32 | 40 | 64)
        && text.bytes().all(|b| b.is_ascii_hexdigit())
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// The length of a sign between a label and a value.
fn sign_len(rest: &str) -> Option<usize> {
    for arrow in ["->", "=>", "→", "–", "—", "："] {
        if rest.starts_with(arrow) {
            return Some(arrow.len());
        }
    }
    if rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(' ')) {
        return Some(1);
    }
    let rest_of_sign = rest.strip_prefix([':', '='])?;
    let behind = rest_of_sign.strip_prefix('>').unwrap_or(rest_of_sign);
    // The end of what is emphasised: `**Password:** x`.
    let behind = behind.strip_prefix("**").unwrap_or(behind);
    let ends = behind.chars().next().is_none_or(|c| c.is_whitespace() || !c.is_ascii());
    ends.then_some(rest.len() - behind.len())
}

/// At most so many bytes of the line before a position.
pub(super) fn line_before(text: &str, at: usize, most: usize) -> &str {
    let run = text.get(text.floor_char_boundary(at.saturating_sub(most))..at).unwrap_or_default();
    run.rsplit('\n').next().unwrap_or_default()
}

/// At most so many bytes of the line after a position.
pub(super) fn line_after(text: &str, at: usize, most: usize) -> &str {
    part_of(text, at, most).split('\n').next().unwrap_or_default()
}

/// At most so many bytes after a position.
pub(super) fn part_of(text: &str, at: usize, most: usize) -> &str {
    text.get(at..text.floor_char_boundary(text.len().min(at + most))).unwrap_or_default()
}

/// Three words or more with signs between: `wet-socks-drying`.
pub(super) fn is_of_words(text: &str) -> bool {
    let parts = || text.split(['-', '.', '_']);
    parts().count() >= 3
        && parts().all(|part| !part.is_empty() && part.chars().all(char::is_alphabetic))
}

/// True for the form of a Romance participle, which says what became of a password: `bloqueada`.
pub(super) fn is_participle(text: &str) -> bool {
    const ENDINGS: [&str; 12] =
        ["ada", "ado", "ida", "ido", "ata", "ato", "ita", "ito", "uta", "uto", "ée", "é"];
    ENDINGS.iter().any(|end| text.ends_with(end))
}

/// True for what people write beside a word for a password, and what is none: a user and a machine,
/// classes of characters, a numbered product, a reference.
pub(super) fn is_no_value(text: &str) -> bool {
    let core = text.trim_end_matches(['!', '?', '.', ':']);
    let is_login = core.split_once('@').is_some_and(|(user, host)| {
        !user.contains(char::is_uppercase)
            && host.contains(char::is_alphabetic)
            && host.chars().all(|c| c.is_alphanumeric() || "-._".contains(c))
    });
    let is_class = ["a-z", "A-Z", "0-9"].iter().any(|class| core.contains(class));
    let named = core
        .split_once(':')
        .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphabetic() || c == '_'));
    let lower = core.to_ascii_lowercase();
    let letters = lower.trim_end_matches(|c: char| c.is_ascii_digit() || "-._/".contains(c));
    let is_numbered = lexicon::NUMBERED.contains(&letters);
    // A machine: `build-7`, `db-12`.
    let is_machine = core.split_once('-').is_some_and(|(name, number)| {
        (number.len() == 1 || number.len() == 2 && name.len() <= 4)
            && number.bytes().all(|b| b.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_lowercase())
    });
    let has_slashes = core.contains('\\')
        || core.matches('/').count() > 1
        || core.starts_with(['(', '[', '=', '!', ':']);
    text.chars().count() > 64
        || is_login
        || is_class
        || named
        || is_numbered
        || is_machine
        || has_slashes
        || lower.starts_with("0x")
}
