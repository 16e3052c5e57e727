//! The words of a text, and how each of them is written.

use crate::stop;

/// What ends a sentence or a part of one.
const BREAKS: [char; 7] = ['.', ',', ';', ':', '!', '?', '|'];
/// What stands around a word and is no part of it.
const AROUND: [char; 12] = ['"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', '*'];
/// A word, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'t> {
    /// Without what stands around it.
    pub(super) text: &'t str,
    /// In lower case.
    pub(super) low: String,
    /// Whether it stands within quotes, from the first of them to the last.
    pub(super) quote: Option<usize>,
    /// Whether a sentence or a part of one ends before it.
    pub(super) breaks: bool,
    /// Whether a sentence begins with it.
    pub(super) first: bool,
}

impl Word<'_> {
    /// Whether it is written as names are.
    pub(super) fn is_strong(&self) -> bool {
        if self.quote.is_some() {
            return true;
        }
        let Some(first) = self.text.chars().next() else { return false };
        if stop::is_stop_word(&self.low) || self.first && STARTERS.contains(&self.low.as_str()) {
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

/// Verbs and such with which people begin a request: no names there.
const STARTERS: [&str; 58] = [
    "add", "also", "answer", "are", "ask", "book", "buy", "call", "can", "cancel", "change",
    "check", "copy", "could", "create", "delete", "do", "download", "email", "find", "first",
    "forward", "get", "give", "go", "hello", "help", "hey", "hi", "invite", "is", "let", "list",
    "look", "make", "move", "open", "order", "pay", "please", "post", "read", "remove", "reply",
    "reschedule", "reserve", "search", "send", "set", "share", "show", "summarize", "take", "tell",
    "then", "transfer", "update", "write",
];

/// The words of a text, in order.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut out: Vec<Word<'_>> = Vec::new();
    let (mut open, mut quotes, mut breaks, mut first) = (None, 0_usize, true, true);
    for line in text.split_inclusive('\n') {
        for raw in line.split(|c: char| c.is_whitespace()).filter(|raw| !raw.is_empty()) {
            let inner = raw.trim_start_matches(|c| AROUND.contains(&c) || BREAKS.contains(&c));
            let lead = raw.get(..raw.len().saturating_sub(inner.len())).unwrap_or_default();
            let word = inner.trim_end_matches(|c| AROUND.contains(&c) || BREAKS.contains(&c));
            let tail = inner.get(word.len()..).unwrap_or_default();
            if let Some(mark) = lead.chars().find(is_quote) {
                quotes = quotes.saturating_add(1);
                open = Some(mark);
            }
            breaks |= lead.contains(BREAKS);
            if !word.is_empty() {
                let quote = open.map(|_| quotes);
                let low = word.trim_start_matches(['@', '#']).to_lowercase();
                out.push(Word { text: word, low, quote, breaks, first });
                (breaks, first) = (false, false);
            }
            if open.is_some_and(|mark| tail.contains(mark)) {
                open = None;
            }
            breaks |= tail.contains(BREAKS);
            first |= tail.contains(['.', '!', '?', ':']);
        }
        if line.ends_with('\n') {
            (breaks, first, open) = (true, true, None);
        }
    }
    out
}

fn is_quote(c: &char) -> bool {
    matches!(c, '"' | '\'' | '`' | '“' | '‘')
}
