//! Tokenizes a text into words with their quoting and sentence context.

use crate::stop;

/// Punctuation that ends a sentence or a clause.
const SENTENCE_BREAKS: [char; 7] = ['.', ',', ';', ':', '!', '?', '|'];
/// Quotes, brackets and marks around a word that are not part of it.
const AROUND: [char; 12] = ['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', '*'];

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
}

impl Word<'_> {
    /// Whether the word is written like a name: quoted, capitalised, marked, uncased or mixed.
    pub(super) fn is_name_like(&self) -> bool {
        if self.quote.is_some() {
            return true;
        }
        let Some(first) = self.text.chars().next() else { return false };
        if stop::is_stop_word(&self.lower)
            || self.starts_sentence && REQUEST_VERBS.contains(&self.lower.as_str())
        {
            return false;
        }
        let marked = matches!(first, '@' | '#') && self.text.len() > 1;
        let uncased = first.is_alphabetic() && !first.is_lowercase() && !first.is_uppercase();
        marked
            || first.is_uppercase()
            || uncased
            || self.text.chars().any(|c| c.is_ascii_digit())
                && self.text.chars().any(char::is_alphabetic)
    }
}

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
    for line in text.split_inclusive('\n') {
        for raw in line.split(|c: char| c.is_whitespace()).filter(|raw| !raw.is_empty()) {
            let inner =
                raw.trim_start_matches(|c| AROUND.contains(&c) || SENTENCE_BREAKS.contains(&c));
            let lead = raw.get(..raw.len().saturating_sub(inner.len())).unwrap_or_default();
            let word =
                inner.trim_end_matches(|c| AROUND.contains(&c) || SENTENCE_BREAKS.contains(&c));
            let tail = inner.get(word.len()..).unwrap_or_default();
            if let Some(mark) = lead.chars().find(is_quote) {
                quotes = quotes.saturating_add(1);
                open = Some(mark);
            }
            follows_break |= lead.contains(SENTENCE_BREAKS);
            if !word.is_empty() {
                let quote = open.map(|_| quotes);
                let lower = word.trim_start_matches(['@', '#']).to_lowercase();
                out.push(Word { text: word, lower, quote, follows_break, starts_sentence });
                (follows_break, starts_sentence) = (false, false);
            }
            if open.is_some_and(|mark| tail.contains(mark)) {
                open = None;
            }
            follows_break |= tail.contains(SENTENCE_BREAKS);
            starts_sentence |= tail.contains(['.', '!', '?', ':']);
        }
        if line.ends_with('\n') {
            (follows_break, starts_sentence, open) = (true, true, None);
        }
    }
    out
}

fn is_quote(c: &char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“' | '‘')
}
