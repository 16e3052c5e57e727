//! Finds the words that name a topic, once per text, however many candidates are near them.
//!
//! The Aho-Corasick automaton continues where the previous query ended, so a table of numbers is
//! read once and not once per number.

use std::collections::VecDeque;
use std::sync::LazyLock;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind};

use super::candidate::{byte_at, byte_before};
use super::context::{TOPIC_WORDS, topic};

/// How far before the text read so far a query may begin without reading it again.
const MAX_REREAD: usize = 64;

/// A word that names a topic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mention {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) topics: u64,
}

/// The mentions in the part of a text that was read last.
#[derive(Debug, Default)]
pub(super) struct MentionReader {
    start: usize,
    end: usize,
    state: Option<StateID>,
    /// Sorted by end.
    found: VecDeque<Mention>,
}

impl MentionReader {
    /// Calls `found` for each mention between two positions, sorted by end.
    pub(super) fn for_each(
        &mut self,
        bytes: &[u8],
        from: usize,
        to: usize,
        mut found: impl FnMut(Mention),
    ) {
        let Some(matcher) = WORD_AUTOMATON.as_ref() else { return };
        let Some(state) = self.forget_before(from).or_else(|| matcher.start()) else { return };
        if self.state.is_none() {
            (self.start, self.end) = (from, from);
        }
        self.state = Some(matcher.read(bytes, self.end..to, state, &mut self.found));
        self.end = self.end.max(to);
        let inside = self.found.iter().filter(|mention| mention.start >= from && mention.end <= to);
        inside.copied().for_each(&mut found);
    }

    /// Forgets mentions far before a position, or everything if reading cannot continue from there.
    fn forget_before(&mut self, from: usize) -> Option<StateID> {
        if from < self.start || from > self.end.saturating_add(MAX_REREAD) {
            *self = Self { found: std::mem::take(&mut self.found), ..Self::default() };
            self.found.clear();
        }
        self.start = self.start.max(from.saturating_sub(MAX_REREAD));
        while self.found.front().is_some_and(|mention| mention.end <= self.start) {
            self.found.pop_front();
        }
        self.state
    }
}

/// The topics of the words of a short text.
pub(super) fn topics_of_text(text: &[u8]) -> u64 {
    let mut topics = 0;
    MentionReader::default().for_each(text, 0, text.len(), |mention| topics |= mention.topics);
    topics
}

struct WordAutomaton {
    words: DFA,
    /// For each word, its topics and whether it accepts any ending.
    meanings: Vec<(u64, bool)>,
}

static WORD_AUTOMATON: LazyLock<Option<WordAutomaton>> = LazyLock::new(|| {
    let mut literals = Vec::new();
    let mut meanings = Vec::new();
    for (topic, words) in TOPIC_WORDS {
        for word in words.split('|') {
            // The automaton ignores case for ASCII only, so other words are added in both cases.
            let written = word.trim_end_matches('*');
            let mut forms = vec![written.to_owned()];
            if !written.is_ascii() {
                let (first, rest) = written.split_at(written.ceil_char_boundary(1));
                forms.extend([first.to_uppercase() + rest, written.to_uppercase()]);
                forms.dedup();
            }
            meanings.extend(forms.iter().map(|_| (*topic, word.ends_with('*'))));
            literals.extend(forms);
        }
    }
    DFA::builder()
        .match_kind(MatchKind::Standard)
        .ascii_case_insensitive(true)
        .build(literals)
        .ok()
        .map(|words| WordAutomaton { words, meanings })
});

impl WordAutomaton {
    fn start(&self) -> Option<StateID> {
        self.words.start_state(Anchored::No).ok()
    }

    /// Reads a range and adds all words that end in it to `found`.
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
                    let (topics, open) = *self.meanings.get(word)?;
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

/// True if the match is a word and not the middle of a longer one.
fn is_mention(
    bytes: &[u8],
    start: usize,
    end: usize,
    topics: u64,
    accepts_any_ending: bool,
) -> bool {
    let short = topics & topic::SHORT_WORD_TOPICS == 0 && end - start <= 3;
    let part = short && matches!(byte_at(bytes, end), b'_' | b'0'..=b'9')
        || topics & topic::CALL != 0 && byte_before(bytes, start) == b'_';
    // The code of a housing, `IP67`, is no word for an address.
    let is_code =
        topics & topic::IP != 0 && end - start == 2 && byte_at(bytes, end).is_ascii_digit();
    starts_word(bytes, start) && !is_code && (accepts_any_ending || ends_word(bytes, end)) && !part
}

/// True where a word begins, including one within a name like `homePhone`.
fn starts_word(bytes: &[u8], at: usize) -> bool {
    let (left, right) = (byte_before(bytes, at), byte_at(bytes, at));
    let foreign = is_letter_of_two(byte_before(bytes, at.saturating_sub(1)))
        && (right.is_ascii_alphabetic() || is_letter_of_two(right));
    !foreign && !left.is_ascii_alphabetic()
        || left.is_ascii_lowercase() && right.is_ascii_uppercase()
}

/// True for the first byte of an accented Latin, Greek or Cyrillic letter: two bytes each, in
/// alphabets that separate words by blanks.
fn is_letter_of_two(byte: u8) -> bool {
    (0xc3..=0xd3).contains(&byte)
}

/// True where a word ends, including before a plural or the next part of a name like `phoneNumber`.
fn ends_word(bytes: &[u8], at: usize) -> bool {
    let (last, next) = (byte_before(bytes, at), byte_at(bytes, at));
    let plural = next == b's' && !byte_at(bytes, at + 1).is_ascii_alphabetic();
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
