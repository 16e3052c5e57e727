//! The words that name a subject, found in a text once, however many candidates stand near them.
//!
//! The automaton (Aho–Corasick) goes on where the question before ended, so that a table of numbers
//! is read once and not once for each number.

use std::collections::VecDeque;
use std::sync::LazyLock;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind};

use super::cluster::{before, byte};
use super::context::{WORDS, topic};

/// How far from what was read a question may begin without reading anew.
const NEAR: usize = 64;

/// A word that names a subject.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mention {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) topics: u64,
}

/// The mentions in the stretch of a text that was read last.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    start: usize,
    end: usize,
    state: Option<StateID>,
    /// By their ends.
    found: VecDeque<Mention>,
}

impl Mentions {
    /// Calls with each mention that lies between two places, in the order of their ends.
    pub(super) fn each(
        &mut self,
        bytes: &[u8],
        from: usize,
        to: usize,
        mut found: impl FnMut(Mention),
    ) {
        let Some(matcher) = MATCHER.as_ref() else { return };
        let Some(state) = self.forget_before(from).or_else(|| matcher.start()) else { return };
        if self.state.is_none() {
            (self.start, self.end) = (from, from);
        }
        self.state = Some(matcher.read(bytes, self.end..to, state, &mut self.found));
        self.end = self.end.max(to);
        let inside = self.found.iter().filter(|mention| mention.start >= from && mention.end <= to);
        inside.copied().for_each(&mut found);
    }

    /// Forgets what is far before a place, or all where reading cannot go on from there.
    fn forget_before(&mut self, from: usize) -> Option<StateID> {
        if from < self.start || from > self.end.saturating_add(NEAR) {
            *self = Self { found: std::mem::take(&mut self.found), ..Self::default() };
            self.found.clear();
        }
        self.start = self.start.max(from.saturating_sub(NEAR));
        while self.found.front().is_some_and(|mention| mention.end <= self.start) {
            self.found.pop_front();
        }
        self.state
    }
}

/// The subjects of the words of a short text.
pub(super) fn topics(text: &[u8]) -> u64 {
    let mut topics = 0;
    Mentions::default().each(text, 0, text.len(), |mention| topics |= mention.topics);
    topics
}

struct Matcher {
    words: DFA,
    /// For each word, its subject and whether any ending is taken.
    meaning: Vec<(u64, bool)>,
}

static MATCHER: LazyLock<Option<Matcher>> = LazyLock::new(|| {
    let mut literals = Vec::new();
    let mut meaning = Vec::new();
    for (topic, words) in WORDS {
        for word in words.split('|') {
            // The search folds the case of ASCII alone.
            let written = word.trim_end_matches('*');
            let mut forms = vec![written.to_owned()];
            if !written.is_ascii() {
                let (first, rest) = written.split_at(written.ceil_char_boundary(1));
                forms.extend([first.to_uppercase() + rest, written.to_uppercase()]);
                forms.dedup();
            }
            meaning.extend(forms.iter().map(|_| (*topic, word.ends_with('*'))));
            literals.extend(forms);
        }
    }
    DFA::builder()
        .match_kind(MatchKind::Standard)
        .ascii_case_insensitive(true)
        .build(literals)
        .ok()
        .map(|words| Matcher { words, meaning })
});

impl Matcher {
    fn start(&self) -> Option<StateID> {
        self.words.start_state(Anchored::No).ok()
    }

    /// Goes on over a stretch, all words that end in it to `found`.
    fn read(
        &self,
        bytes: &[u8],
        stretch: std::ops::Range<usize>,
        mut state: StateID,
        found: &mut VecDeque<Mention>,
    ) -> StateID {
        let (from, text) = (stretch.start, bytes.get(stretch).unwrap_or_default());
        for (place, letter) in text.iter().enumerate() {
            state = self.words.next_state(Anchored::No, state, *letter);
            if self.words.is_match(state) {
                let end = from + place + 1;
                let hits = (0..self.words.match_len(state)).map(|hit| {
                    let word = self.words.match_pattern(state, hit);
                    (end.saturating_sub(self.words.pattern_len(word)), word.as_usize())
                });
                found.extend(hits.filter_map(|(start, word)| {
                    let (topics, open) = *self.meaning.get(word)?;
                    is_mention(bytes, start, end, topics, open).then_some(Mention {
                        start,
                        end,
                        topics,
                    })
                }));
            }
        }
        state
    }
}

/// True where the letters of a word are one: not the middle of a longer one.
fn is_mention(bytes: &[u8], start: usize, end: usize, topics: u64, open: bool) -> bool {
    let short = topics & topic::SHORT == 0 && end - start <= 3;
    let part = short && matches!(byte(bytes, end), b'_' | b'0'..=b'9')
        || topics & topic::CALL != 0 && before(bytes, start) == b'_';
    starts_word(bytes, start) && (open || ends_word(bytes, end)) && !part
}

/// True where a word starts, also one inside a name like `homePhone`.
fn starts_word(bytes: &[u8], at: usize) -> bool {
    let (left, right) = (before(bytes, at), byte(bytes, at));
    let foreign = is_letter_of_two(before(bytes, at.saturating_sub(1)))
        && (right.is_ascii_alphabetic() || is_letter_of_two(right));
    !foreign && !left.is_ascii_alphabetic()
        || left.is_ascii_lowercase() && right.is_ascii_uppercase()
}

/// True for the first byte of a letter with an accent, of a Greek or a Cyrillic one: two bytes each,
/// in alphabets that set words apart.
fn is_letter_of_two(byte: u8) -> bool {
    (0xc3..=0xd3).contains(&byte)
}

/// True where a word ends, also before a plural or the next part of a name like `phoneNumber`.
fn ends_word(bytes: &[u8], at: usize) -> bool {
    let (last, next) = (before(bytes, at), byte(bytes, at));
    let plural = next == b's' && !byte(bytes, at + 1).is_ascii_alphabetic();
    let letter = next.is_ascii_alphabetic() || is_letter_of_two(next);
    !letter || plural || last.is_ascii_lowercase() && next.is_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_begins_and_ends_at_no_letter_or_where_small_and_capital_ones_meet() {
        for (text, begins, ends) in [
            ("[phone]", true, true),
            (" [phone]s ", true, true),
            (" [phone]sy", true, false),
            ("x[phone]y", false, false),
            ("home[Phone]Number", true, true),
            ("HOME[PHONE]NUMBER", false, false),
            ("1[phone]2", true, true),
            ("\u{e9}[phone]\u{e9}", false, false),
            ("\u{20ac}[phone]\u{20ac}", true, true),
        ] {
            let start = text.find('[').unwrap();
            let text = text.replace('[', "");
            let end = text.find(']').unwrap();
            let text = text.replace(']', "");
            assert_eq!(starts_word(text.as_bytes(), start), begins, "{text}");
            assert_eq!(ends_word(text.as_bytes(), end), ends, "{text}");
        }
    }
}
