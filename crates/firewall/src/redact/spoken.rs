//! Passwords in sentences: a word for a password in any language, perhaps some words, and the value.
//!
//! No list of sentences would be complete, so each word behind the label is graded as a value, what
//! connects it with the label is graded as well, and the sum decides ([`NEEDED`]). A name before a
//! sign, as in program text and configuration, is read elsewhere (`secrets`).

mod access_code;
mod code_things;
mod grammar;
mod label_context;
pub(super) mod lexicon;
mod points;
mod printed_line;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub(super) use access_code::is_other_code;

use super::classifier;
use super::secrets::{
    credential_in_call, is_chosen_word, is_ciphertext, is_random_token, is_said_instead,
};
use super::validators::{
    is_drawn_code, is_joined_words, looks_like_password, made_password, not_an_identifier,
    not_placeholder,
};
use grammar::Word;
use label_context::LabelContext;
use points::{NEEDED, form};

/// Finds the value that the label at a range announces, before an end.
pub(crate) type Grader = fn(&str, Range<usize>, usize) -> Option<Range<usize>>;

/// Every grader, by the name that rules use.
const GRADERS: &[(&str, Grader)] = &[
    ("spoken_password", |text, label, end| decide(text, label, end, LabelKind::Password)),
    ("spoken_short", |text, label, end| decide(text, label, end, LabelKind::Short)),
    ("spoken_pair", |text, label, end| decide(text, label, end, LabelKind::Pair)),
    ("spoken_key", |text, label, end| {
        let lead = text.get(label.clone())?.find(|c: char| !", ;".contains(c))?;
        decide(text, label.start + lead..label.end, end, LabelKind::Key)
    }),
    ("spoken_account", |text, label, end| {
        let name = text.get(label.clone())?.split([' ', '/']).next()?.len();
        decide(text, label.start..label.start + name, end, LabelKind::Account)
    }),
    ("access_code", access_code::find),
    ("opening_digits", access_code::behind_verb),
    ("lock_digits", access_code::behind_lock),
    ("typed_digits", access_code::behind_typing),
    ("credential_call", credential_in_call),
    ("printed_secret", printed_line::of_known_command),
    ("printed_named_secret", printed_line::of_named_secret),
];

/// The grader of this name.
pub(crate) fn by_name(name: &str) -> Option<Grader> {
    GRADERS.iter().find(|(known, _)| *known == name).map(|(_, grader)| *grader)
}

/// What kind of a label announces a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LabelKind {
    /// `password`, also as a part of a compound: `Startkennwort`.
    Password,
    /// `pw`, `pass`, `secret`: only as a whole word.
    Short,
    /// `admin`, `root`: for what stands behind a slash or in the next column, if it is made of letters,
    /// digits and signs.
    Account,
    /// `login`, `wifi`: only for the second of a pair, `maria / q8Vn2Lm`.
    Pair,
    /// `Schlüssel`, `ключ`: only for a random token, or where a wireless network was spoken of.
    Key,
}

/// The most words between a label or sign and its value.
const MAX_WORDS: i32 = 6;
/// How far before a label and behind a value an account is looked for, in bytes.
const ACCOUNT_BEFORE: usize = 80;
const ACCOUNT_BEHIND: usize = 40;

/// How far behind a value its clause is read, in bytes.
const MAX_BEHIND: usize = 64;

/// What was read between a label and the next word.
#[derive(Debug, Default)]
struct LabelLink {
    /// Words since the label or the last sign.
    words: i32,
    /// Whether there was any word.
    has_words: bool,
    /// Whether there was one that is said of passwords.
    has_remark: bool,
    /// How many signs there were.
    signs: u32,
    has_sign: bool,
    /// The next turn of a chat was reached, which may be the answer.
    is_answer: bool,
    /// A slash stood between two words.
    is_pair: bool,
    /// A line was left, which only a sign allows.
    is_below: bool,
    has_verb: bool,
    /// A word such as `changed` was read.
    has_change: bool,
    /// The last word is a verb, perhaps with an adverb behind, or the preposition of a change.
    ends_in_verb: bool,
    /// The last word is a preposition that a change may have.
    ends_in_preposition: bool,
    demands: i32,
    /// The last word has a comma behind it: `is the usual, x`.
    ends_in_comma: bool,
    /// A preposition was read that says what the password belongs to: `for the printer`.
    has_owner: bool,
    names_network: bool,
    /// The key is said to be of an API.
    names_api: bool,
    /// `to` is a verb, as in Polish.
    has_verb_to: bool,
}

impl LabelLink {
    fn read_sign(&mut self) {
        (self.has_sign, self.words, self.ends_in_verb) = (true, 0, false);
        self.signs += 1;
    }

    fn read_word(&mut self, word: &str) {
        let lower = word.to_lowercase();
        self.ends_in_comma = false;
        let lower = lower.trim_matches(['.', ',', ';', '!', '?', ':', '"', '\'']);
        self.has_change |= lexicon::is_change(lower);
        let is_verb = lexicon::VERBS.contains(&lower) && (lower != "to" || self.has_verb_to);
        let is_adverb = self.has_verb && lexicon::ADVERBS.contains(&lower);
        self.has_verb |= is_verb;
        self.ends_in_preposition = lexicon::PREPOSITIONS.contains(&lower);
        self.ends_in_verb = is_verb
            || is_adverb && self.ends_in_verb
            || self.has_change && self.ends_in_preposition;
        self.names_network |= lexicon::names_network(lower);
        self.names_api |= lower == "api";
        self.demands += i32::from(lexicon::DEMANDS.contains(&lower));
        self.has_owner |= lexicon::OWNING.contains(&lower);
        self.has_remark |= lower.chars().count() > 3
            && !(is_verb || self.has_sign || lexicon::names_network(lower))
            && is_said_instead(lower);
        self.words += i32::from(!lexicon::ADVERBS.contains(&lower));
        self.has_words = true;
    }
}

fn decide(text: &str, label: Range<usize>, end: usize, kind: LabelKind) -> Option<Range<usize>> {
    find(text, label, end, kind).filter(|value| !classifier::refutes(text, value))
}

fn find(text: &str, label: Range<usize>, end: usize, kind: LabelKind) -> Option<Range<usize>> {
    // English has many keys.
    let is_english_key = text.get(label.clone())?.to_ascii_lowercase().starts_with("key");
    let is_behind_hyphen =
        kind == LabelKind::Pair && text.get(..label.start).is_some_and(|lead| lead.ends_with('-'));
    let in_compounds = kind == LabelKind::Password
        || kind == LabelKind::Key && !is_english_key
        || is_behind_hyphen;
    let label = grammar::whole_label(text, label, in_compounds)?;
    let line = grammar::line_before(text, label.start, ACCOUNT_BEFORE);
    // The network may have been named in the line above.
    let lead = text
        .get(text.floor_char_boundary(label.start.saturating_sub(ACCOUNT_BEFORE))..label.start)?;
    let is_network = kind == LabelKind::Key && lexicon::names_network(lead);
    // Behind a comma another thing begins, or the value stands by itself.
    if text.get(label.end..)?.starts_with(',') {
        return apposition(text, label.end, end).filter(|_| kind == LabelKind::Password);
    }
    let is_english = text.get(label.clone())?.to_ascii_lowercase().starts_with("pass");
    let mut between = LabelLink { has_verb_to: !is_english, ..LabelLink::default() };
    let mut at = label.end;
    let seen = text.get(..text.floor_char_boundary(end))?;
    while at < end && between.words <= MAX_WORDS {
        match grammar::word_at(seen, at)? {
            Word::Blank(next) => {
                let is_column = kind == LabelKind::Account && at == label.end;
                between.is_pair |= is_column && seen.get(at..).is_some_and(|r| r.starts_with("  "));
                at = next;
            }
            Word::LineEnd(next) => {
                if let Some(answer) = grammar::answer_at(text, next).filter(|_| !between.is_below) {
                    between = LabelLink {
                        is_answer: true,
                        is_below: true,
                        has_verb_to: !is_english,
                        ..LabelLink::default()
                    };
                    between.read_sign();
                    at = answer;
                    continue;
                }
                // A label that fills its line announces the next one, as in a form that was copied.
                if line.is_empty() && at == label.end && !between.is_below {
                    between.read_sign();
                    between.is_answer = true;
                }
                if !between.has_sign || between.is_below || between.words > 0 {
                    return None;
                }
                (between.is_below, at) = (true, next);
            }
            // A list below a label is of something else.
            Word::Sign(_) if between.is_below => return None,
            Word::Sign(next) => {
                between.read_sign();
                at = next;
            }
            Word::Slash(next) => {
                if between.has_words || kind == LabelKind::Account {
                    (between.is_pair, between.words) = (true, 0);
                } else {
                    between.read_word("/");
                }
                at = next;
            }
            Word::Unspaced { word, next } => {
                if word.contains('：') {
                    between.read_sign();
                } else if word.contains(['。', '，', '；', '？']) {
                    return None;
                } else if !grammar::is_of_unspaced_language(text, label.start) {
                    between.read_word(word);
                } else {
                    between.has_words = true;
                }
                at = next;
            }
            // Flags of a command.
            Word::Other { run_end, .. }
                if text.get(at..run_end).is_some_and(|run| run.starts_with("--")) =>
            {
                return None;
            }
            Word::Other { value, quoted, run_end, next } => {
                // The same label once more decides for itself.
                let (word, name) = (text.get(value.clone())?, text.get(label.clone())?);
                if word.eq_ignore_ascii_case(name) {
                    return None;
                }
                let context = LabelContext { text, label: &label, line, kind, is_network };
                if let Some(phrase) = context.phrase_at(&value, &between) {
                    return Some(phrase);
                }
                let grade = grade(text, &value, &between, is_network, kind);
                if grade > 0 && grade + context.points(&value, grade, quoted, &between) >= NEEDED {
                    return Some(value);
                }
                let run = text.get(at..run_end)?;
                between.read_word(text.get(value.clone())?);
                between.ends_in_comma = between.has_verb && run.ends_with(',');
                if run.ends_with(';') || run.contains("\",") || run.contains("',") {
                    return None;
                }
                if run.trim_end_matches(['*', '_', '"', '\'', '`']).ends_with(':') {
                    between.read_sign();
                } else if let Some(answer) = grammar::answer_behind_dash(text, run_end) {
                    between.read_sign();
                    at = answer;
                    continue;
                } else if run.ends_with('?') && answers_at_once(text, run_end) {
                    between.read_sign();
                } else if run.ends_with(['.', '!', '?']) {
                    // After a question only an answer counts.
                    at = grammar::line_end_after_question(text, run_end, end)
                        .filter(|_| !between.is_below)?;
                    continue;
                }
                at = if grade > 0 { run_end } else { next };
            }
        }
    }
    None
}

/// True where a password follows on a question: `La password del gestionale? Pesto_Genovese18.`
fn answers_at_once(text: &str, question: usize) -> bool {
    let value = text.get(question..).and_then(|rest| rest.strip_prefix(' ')).map(|_| question + 1);
    let word = value.and_then(|at| match grammar::word_at(text, at) {
        Some(Word::Other { value, .. }) => text.get(value),
        _ => None,
    });
    word.is_some_and(|word| {
        looks_like_password(word)
            && !grammar::is_no_value(word)
            && (made_password(word)
                || word.contains(char::is_uppercase)
                    && word.contains(['_', '-', '#', '&', '+', '=', '!']))
    })
}

/// The value between two commas or at the end of a sentence: `a temporary password, q8Vn-2Lm, and told her`.
fn apposition(text: &str, comma: usize, end: usize) -> Option<Range<usize>> {
    let Word::Blank(start) = grammar::word_at(text, comma + 1)? else { return None };
    let Word::Other { value, run_end, .. } = grammar::word_at(text, start)? else { return None };
    let word = text.get(value.clone())?;
    let is_between =
        text.get(value.end..run_end).is_some_and(|signs| signs.starts_with([',', '.', ';']));
    let is_marked = word.contains(|c: char| c.is_ascii_digit())
        && word.contains(|c: char| c.is_uppercase() || "-_!#$%&*+@".contains(c));
    let is_value =
        is_between && is_marked && !grammar::is_no_value(word) && looks_like_password(word);
    (is_value && value.end <= end).then_some(value)
}

/// The points of a word's form; 0 if it is no value.
fn grade(
    text: &str,
    value: &Range<usize>,
    between: &LabelLink,
    is_network: bool,
    kind: LabelKind,
) -> i32 {
    let Some(value_text) = text.get(value.clone()) else { return 0 };
    if text.get(value.end..).is_some_and(|rest| rest.starts_with(':')) {
        return 0;
    }
    let is_network = is_network || kind == LabelKind::Key && between.names_network;
    if kind == LabelKind::Key && !is_network {
        let is_of_api = between.names_api && grammar::is_digest(value_text);
        let is_fingerprint = value_text.starts_with("SHA256:") || value_text.starts_with("MD5:");
        let is_token = !is_fingerprint
            && (is_of_api || is_random_token(value_text.as_bytes()))
            && not_an_identifier(value_text)
            && not_placeholder(value_text);
        return if is_token { form::JOINED } else { 0 };
    }
    // A key has slashes as a path has them.
    if !between.is_below && between.words == 0 && is_token_with_slashes(value_text) {
        return form::MADE;
    }
    let is_told = between.has_sign && !between.has_words || between.ends_in_verb;
    if matches!(kind, LabelKind::Password | LabelKind::Short)
        && is_told
        && !(between.has_remark || between.is_below)
        && is_number_of_password(text, value)
    {
        return form::JOINED;
    }
    if grammar::is_no_value(value_text) || !looks_like_password(value_text) {
        let is_spoken = matches!(kind, LabelKind::Password | LabelKind::Short);
        let is_near = (!between.is_below || between.is_answer)
            && (between.words == 0 || between.ends_in_verb);
        if is_spoken && is_near && is_joined_words(value_text) {
            return form::WORDS;
        }
        let is_of_network = is_network || between.names_network;
        let has_joint = value_text.contains(['.', '&', '+', '*', '-', '_'])
            && value_text.chars().any(char::is_uppercase);
        if (is_spoken || kind == LabelKind::Key && is_of_network)
            && is_near
            && (has_joint || !between.is_answer || !between.is_below)
            && is_chosen_word(value_text)
        {
            return if has_joint { form::WORDS } else { form::WORD };
        }
        let may_be_words = between.is_pair || between.is_answer || is_network && between.has_sign;
        return match may_be_words && between.words == 0 && grammar::is_of_words(value_text) {
            true => form::WORDS,
            false => 0,
        };
    }
    let is_joined = value_text.contains(|c: char| c.is_ascii_digit())
        && value_text.contains(|c: char| c.is_lowercase())
        && value_text
            .trim_end_matches(['!', '?'])
            .contains(['-', '_', '.', '#', '@', '&', '+', '~', '!', '*']);
    let may_be_joined = kind != LabelKind::Account || value_text.contains(char::is_uppercase);
    match () {
        () if made_password(value_text) => form::MADE,
        () if is_joined && may_be_joined => form::JOINED,
        () if kind == LabelKind::Account => 0,
        () => form::MIXED,
    }
}

/// True for four to ten digits that were drawn, at the end of a clause.
fn is_number_of_password(text: &str, value: &Range<usize>) -> bool {
    let behind = text.get(value.end..).unwrap_or_default();
    text.get(value.clone()).is_some_and(|digits| {
        (4..=10).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && is_drawn_code(digits)
    }) && (behind.is_empty()
        || behind.starts_with(['\n', '\r', ',', ';', '"'])
        || behind
            .strip_prefix('.')
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())))
}

/// True for a random token with slashes, as the keys of some stores are.
fn is_token_with_slashes(text: &str) -> bool {
    const MIN_LENGTH: usize = 36;
    text.len() >= MIN_LENGTH
        && text.contains('/')
        && !is_ciphertext(text)
        && is_random_token(text.as_bytes())
}
