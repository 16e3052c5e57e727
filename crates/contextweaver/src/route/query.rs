//! A request as a query: its terms, what it implies, and its parts.

use super::analyser::{Analyser, Keys, Tokens, WordAt};
use super::clause;
use super::intent::{Expansion, Intents, Token};
use super::key::Key;
use weaver_text::{escape, normalise, split, stem, stop};

/// Most terms of one query that count.
pub(super) const MAX_QUERY_TERMS: usize = 256;
/// Most parts of a query that are scored on their own.
const MAX_PARTS: usize = 8;
/// Most characters of a query that are read.
pub(super) const MAX_QUERY_CHARS: usize = 32 * 1024;
/// Longest literal term, in characters.
const MAX_LITERAL: usize = 128;
/// A part is scored on its own from this many terms on.
const MIN_PART: usize = 3;

/// One word: as written, in lower case, and its stem.
struct Word {
    raw: String,
    stem: String,
}

/// The terms of one text: stems, and the stems of neighbours written as one word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) single: Vec<String>,
    pub(super) pairs: Vec<String>,
}

impl Terms {
    /// The terms of a text, without stop words.
    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self::from_words(content_words(text))
    }

    /// The terms of a name or a query, which must not come to nothing: stop words are kept where
    /// there is nothing else, and where there are no words, the text itself is the term.
    pub(super) fn of_name(text: &str) -> Self {
        let mut found = content_words(text);
        if found.is_empty() {
            found = words(text);
        }
        if found.is_empty() {
            return Self { single: literal(text).into_iter().collect(), pairs: Vec::new() };
        }
        Self::from_words(found)
    }

    fn from_words(words: Vec<Word>) -> Self {
        let pairs = words
            .iter()
            .zip(words.iter().skip(1))
            .map(|(a, b)| stem::stem(&format!("{}{}", a.stem, b.raw)).into_owned())
            .collect();
        Self { single: words.into_iter().map(|word| word.stem).collect(), pairs }
    }

    /// The terms of a query, in their order.
    pub(super) fn of_query(text: &str) -> Self {
        Self::of_name(text).cap()
    }

    fn cap(mut self) -> Self {
        self.single.truncate(MAX_QUERY_TERMS);
        self.pairs.truncate(MAX_QUERY_TERMS);
        self
    }
}

/// The terms of a query: each once, and how often it occurs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct QueryTerms {
    pub(super) single: Vec<(Key, u64)>,
    pub(super) pairs: Vec<(Key, u64)>,
    /// What is meant by it beside its words.
    pub(super) implied: Vec<Expansion<'static>>,
    /// What its words mean in general, whatever they stand beside.
    pub(super) everyday: Vec<Expansion<'static>>,
    /// How many words it has, those without meaning among them.
    pub(super) length: u64,
    /// What is named in it by its form, as terms of tools that take such a value.
    pub(super) types: Vec<Key>,
}

impl QueryTerms {
    fn of(mut keys: Keys, tokens: &[Token]) -> Self {
        keys.single.truncate(MAX_QUERY_TERMS);
        keys.pairs.truncate(MAX_QUERY_TERMS);
        let types = tokens.iter().filter_map(|token| match token {
            Token::Typed(types) => Some(types.keys()),
            Token::Word(_) => None,
        });
        let mut types: Vec<Key> = types.flatten().collect();
        types.sort_unstable();
        types.dedup();
        let implied = Intents::built_in().expansions(tokens);
        let everyday = Intents::everyday().expansions(tokens);
        let (single, pairs) = (counted(keys.single), counted(keys.pairs));
        Self { single, pairs, implied, everyday, length: tokens.len() as u64, types }
    }

    /// Whether the word of this key was asked for as it is.
    pub(super) fn has(&self, key: Key) -> bool {
        self.single.binary_search_by_key(&key, |(key, _)| *key).is_ok()
    }
}

fn counted(mut keys: Vec<Key>) -> Vec<(Key, u64)> {
    keys.sort_unstable();
    let runs = keys.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}

/// A query: its terms, and its parts where it asks for several things.
#[derive(Debug)]
pub(super) struct Query<'q> {
    /// As much of it as is read.
    pub(super) text: &'q str,
    /// Its words, without those of names.
    pub(super) words: Vec<WordAt>,
    /// All words of it in their order.
    pub(super) sequence: Key,
    pub(super) whole: QueryTerms,
    pub(super) parts: Vec<Part<'q>>,
}

/// What is asked for in one sentence, or in one clause of it.
#[derive(Debug)]
pub(super) struct Part<'q> {
    pub(super) text: &'q str,
    pub(super) words: Vec<WordAt>,
    pub(super) terms: QueryTerms,
}

impl<'q> Query<'q> {
    #[cfg(test)]
    pub(super) fn of(text: &'q str, analyser: &mut Analyser) -> Self {
        let tokens = analyser.tokens(escape::truncate(text, MAX_QUERY_CHARS));
        Self::from_tokens(text, tokens, analyser)
    }

    /// The query of a text whose tokens are known.
    pub(super) fn from_tokens(text: &'q str, tokens: Tokens, analyser: &mut Analyser) -> Self {
        let text = escape::truncate(text, MAX_QUERY_CHARS);
        let Tokens { tokens, words, all, .. } = tokens;
        let whole = QueryTerms::of(analyser.keys_of_whole(text, &words), &tokens);
        let sequence = analyser.sequence(&all);
        let clauses = clause::clauses(text).filter(|clause| !clause.trim().is_empty());
        let clauses: Vec<&str> = clauses.collect();
        let several = if clauses.len() < 2 { Vec::new() } else { clauses };
        let mut room = MAX_QUERY_TERMS;
        let mut parts = Vec::new();
        for clause in several {
            let Tokens { tokens, words, .. } = analyser.tokens(clause);
            let keys = analyser.keys_among(&words);
            if keys.single.len() < MIN_PART {
                continue;
            }
            if keys.single.len() > room || parts.len() == MAX_PARTS {
                break;
            }
            room -= keys.single.len();
            parts.push(Part { text: clause, words, terms: QueryTerms::of(keys, &tokens) });
        }
        if parts.len() < 2 {
            parts.clear();
        }
        Self { text, words, sequence, whole, parts }
    }
}

/// The terms in their order, each once, and how often each occurs.
pub(super) fn occurrences(terms: &[String]) -> Vec<(&str, u64)> {
    let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    terms.sort_unstable();
    let runs = terms.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}

/// A text without words as one term: folded, or as it is where that leaves nothing.
pub(super) fn literal(text: &str) -> Option<String> {
    let folded = normalise::fold(text);
    let term = [folded.trim(), text.trim()].into_iter().find(|term| !term.is_empty())?;
    Some(escape::truncate(term, MAX_LITERAL).to_owned())
}

/// Whether there is a word in it, if only a stop word.
pub(super) fn has_words(text: &str) -> bool {
    !split::words(text).is_empty()
}

/// The words of a text that are no stop words.
fn content_words(text: &str) -> Vec<Word> {
    words(text).into_iter().filter(|word| !stop::is_stop_word(&word.raw)).collect()
}

fn words(text: &str) -> Vec<Word> {
    let stemmed = |raw: String| {
        let stem = stem::stem(&raw).into_owned();
        Word { raw, stem }
    };
    split::words(text).into_iter().map(stemmed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_meet_their_compound() {
        assert_eq!(Terms::of("data bases").pairs, Terms::of("databases").single);
        assert_eq!(Terms::of("Git-Hub").pairs, ["github"]);
    }

    #[test]
    fn a_name_never_comes_to_nothing() {
        assert_eq!(Terms::of_name("please help").single, ["pleas", "help"]);
        assert_eq!(Terms::of_name("🚀 ").single, ["🚀"]);
        assert!(Terms::of("please help").single.is_empty());
        assert_eq!(Terms::of_name(" \u{200b}").single, ["\u{200b}"]);
        assert!(Terms::of_name(" \n").single.is_empty());
    }

    #[test]
    fn parts_count_from_two_on() {
        let mut analyser = Analyser::default();
        let text = "Find open billing tickets. Then send weekly report mail! Thanks.";
        assert_eq!(Query::of(text, &mut analyser).parts.len(), 2);
        let one = Query::of("Find the open billing tickets. Thanks.", &mut analyser);
        assert!(one.parts.is_empty());
    }

    #[test]
    fn a_query_is_bounded() {
        let text = "alpha beta gamma delta. ".repeat(100_000);
        let query = Query::of(&text, &mut Analyser::default());
        let total = |asked: &QueryTerms| asked.single.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(total(&query.whole), MAX_QUERY_TERMS as u64);
        assert!(query.parts.len() <= MAX_PARTS);
        let parts: u64 = query.parts.iter().map(|part| total(&part.terms)).sum();
        assert!(parts <= MAX_QUERY_TERMS as u64);
        assert!(query.text.len() <= MAX_QUERY_CHARS);
    }
}
