//! Tokenizes a text into words with their quoting and sentence context.

use crate::stop;

/// Punctuation that ends a sentence or a clause.
const SENTENCE_BREAKS: [char; 7] = ['.', ',', ';', ':', '!', '?', '|'];
/// Quotes, brackets and marks around a word that are not part of it.
const AROUND: [char; 12] = ['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', '*'];

/// Signs that are a part of a name if they are at its ends: a pattern, a reference with a prefix.
const SIGNS: [char; 17] =
    ['*', '?', '[', ']', '{', '}', '<', '>', '|', ':', '+', '~', '^', '%', '\\', '&', '='];
/// Mentions that reach everybody.
const BROADCASTS: [&str; 5] = ["everyone", "everybody", "here", "channel", "all"];

/// Whether a value has such a sign, a quote or a control character at one of its ends. It is then
/// another value than the name without it.
pub(crate) fn has_signs(value: &str) -> bool {
    let edge =
        |c: char| SIGNS.contains(&c) || matches!(c, ';' | ',' | '"' | '\'' | '`') || c.is_control();
    let mention = value.strip_prefix(['@', '!']).map(str::to_lowercase);
    value.starts_with(|c: char| edge(c) || c == '.')
        || value.ends_with(edge)
        || mention.is_some_and(|name| BROADCASTS.contains(&name.as_str()))
}

/// A word with its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'t> {
    /// The word without surrounding punctuation.
    pub(super) text: &'t str,
    /// The word in lower case, without a leading `@` or `#`.
    pub(super) lower: String,
    /// The number of the quotation that the word is in.
    pub(super) quote: Option<usize>,
    /// Whether a sentence or a clause ends before the word.
    pub(super) follows_break: bool,
    /// Whether the word starts a sentence.
    pub(super) starts_sentence: bool,
    /// Whether a colon is between the word and the one before.
    pub(super) follows_colon: bool,
    /// The word with the signs at its ends, if it has any.
    pub(super) signed: Option<&'t str>,
}

impl Word<'_> {
    /// Whether it is of parts that `-`, `_`, `/` or `.` joins: `db-main`, `feature/login`.
    fn is_joined(&self) -> bool {
        let parts: Vec<&str> = self.text.split(['-', '_', '/', '.']).collect();
        let plain = |part: &&str| part.chars().all(char::is_alphanumeric) && !part.is_empty();
        parts.len() > 1
            && parts.iter().all(plain)
            && parts.iter().any(|part| part.chars().count() > 1)
            && parts.iter().any(|part| part.chars().any(char::is_alphabetic))
    }

    /// Whether it has a digit.
    pub(super) fn has_digit(&self) -> bool {
        self.text.bytes().any(|b| b.is_ascii_digit())
    }

    /// Whether the word is written like a name: quoted, capitalised, marked, uncased or mixed.
    pub(super) fn is_name_like(&self) -> bool {
        if self.quote.is_some() {
            return true;
        }
        let Some(first) = self.text.chars().next() else { return false };
        if stop::is_stop_word(&self.lower)
            || self.starts_sentence
                && (REQUEST_VERBS.contains(&self.lower.as_str())
                    || COMMON_WORDS.contains(&self.lower.as_str()))
        {
            return false;
        }
        let marked = matches!(first, '@' | '#') && self.text.len() > 1;
        let uncased = first.is_alphabetic() && !first.is_lowercase() && !first.is_uppercase();
        marked
            || first.is_uppercase()
            || self.is_joined()
            || uncased
            || self.text.chars().any(|c| c.is_ascii_digit())
                && self.text.chars().any(char::is_alphabetic)
    }
}

/// Words that name something in many systems and that also start sentences.
const COMMON_WORDS: [&str; 26] = [
    "everyone", "everybody", "everything", "all", "anyone", "nobody", "someone", "somebody",
    "admin", "admins", "main", "master", "web", "production", "prod", "staging", "test", "dev",
    "team", "general", "support", "sales", "marketing", "office", "users", "customers",
];

/// Words that often start a request and are then not names.
const REQUEST_VERBS: [&str; 58] = [
    "add", "also", "answer", "are", "ask", "book", "buy", "call", "can", "cancel", "change",
    "check", "copy", "could", "create", "delete", "do", "download", "email", "find", "first",
    "forward", "get", "give", "go", "hello", "help", "hey", "hi", "invite", "is", "let", "list",
    "look", "make", "move", "open", "order", "pay", "please", "post", "read", "remove", "reply",
    "reschedule", "reserve", "search", "send", "set", "share", "show", "summarize", "take", "tell",
    "then", "transfer", "update", "write",
];

/// The words of a text in order.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut out: Vec<Word<'_>> = Vec::new();
    let (mut open, mut quotes, mut follows_break, mut starts_sentence) =
        (None, 0_usize, true, true);
    let mut follows_colon = false;
    for line in text.split_inclusive('\n') {
        for raw in line.split(|c: char| c.is_whitespace()).filter(|raw| !raw.is_empty()) {
            let inner =
                raw.trim_start_matches(|c| AROUND.contains(&c) || SENTENCE_BREAKS.contains(&c));
            let lead = raw.get(..raw.len().saturating_sub(inner.len())).unwrap_or_default();
            let word =
                inner.trim_end_matches(|c| AROUND.contains(&c) || SENTENCE_BREAKS.contains(&c));
            let tail = inner.get(word.len()..).unwrap_or_default();
            // A bullet or a dash is no word.
            if matches!(word, "-" | "–" | "—" | "•" | "·") {
                follows_break = true;
                continue;
            }
            if let Some(mark) = lead.chars().find(is_quote) {
                quotes = quotes.saturating_add(1);
                open = Some(mark);
            }
            follows_break |= lead.contains(SENTENCE_BREAKS);
            if !word.is_empty() {
                let quote = open.map(|_| quotes);
                out.push(Word {
                    text: word,
                    lower: lower(word),
                    quote,
                    follows_break,
                    starts_sentence,
                    follows_colon,
                    signed: signed(raw),
                });
                (follows_break, starts_sentence, follows_colon) = (false, false, false);
            }
            if open.is_some_and(|mark| tail.contains(mark)) {
                open = None;
            }
            follows_break |= tail.contains(SENTENCE_BREAKS);
            starts_sentence |= tail.contains(['.', '!', '?', ':']);
            follows_colon |= tail.ends_with(':');
        }
        if line.ends_with('\n') {
            (follows_break, starts_sentence, open) = (true, true, None);
        }
    }
    out
}

/// The word in lower case, without a mark before it and without a possessive ending.
fn lower(word: &str) -> String {
    let word = word.trim_start_matches(['@', '#']);
    let owned = ["'s", "’s"].iter().find_map(|end| word.strip_suffix(end));
    owned.filter(|owned| !owned.is_empty()).unwrap_or(word).to_lowercase()
}

/// A piece of text without quotes and the punctuation of its sentence, if signs are left at its
/// ends.
fn signed(raw: &str) -> Option<&str> {
    let quotes = ['"', '\'', '`', '“', '”', '‘', '’', '(', ')'];
    let text = raw.trim_start_matches(quotes);
    let text = text.trim_end_matches(|c| quotes.contains(&c) || SENTENCE_BREAKS.contains(&c));
    (text.chars().any(char::is_alphanumeric) && has_signs(text)).then_some(text)
}

fn is_quote(c: &char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“' | '‘')
}
