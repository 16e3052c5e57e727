//! Analyses a request into a query: its terms, its expansions, and its parts.

use super::analyser::{AnalysedText, Analyser, TermKeys, WordId};
use super::association;
use super::clause;
use super::intent::{Expansion, Intents, Token};
use super::term_key::TermKey;
use weaver_text::{escape, normalise, split, stem, stop};

/// The most terms of one query that count.
pub(super) const MAX_QUERY_TERMS: usize = 256;
/// The most parts of a query that are scored separately.
const MAX_PARTS: usize = 8;
/// The most characters of a query that are read.
pub(super) const MAX_QUERY_CHARS: usize = 32 * 1024;
/// The longest literal term, in characters.
const MAX_LITERAL: usize = 128;
/// The fewest terms of a part that is scored separately.
const MIN_PART_TERMS: usize = 3;

/// One word in lower case, with its stem.
struct Word {
    raw: String,
    stem: String,
}

/// The terms of one text: stems, and bigrams as the stems of two neighbouring words written as one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) unigrams: Vec<String>,
    pub(super) bigrams: Vec<String>,
}

impl Terms {
    /// The terms of a text, without stop words.
    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self::from_words(content_words(text))
    }

    /// The terms of a name or a query, which must not be empty: if there are only stop words, they are
    /// kept; if there are no words, the text itself is the term.
    pub(super) fn of_name(text: &str) -> Self {
        let mut found = content_words(text);
        if found.is_empty() {
            found = words(text);
        }
        if found.is_empty() {
            return Self {
                unigrams: literal_term(text).into_iter().collect(),
                bigrams: Vec::new(),
            };
        }
        Self::from_words(found)
    }

    fn from_words(words: Vec<Word>) -> Self {
        let bigrams = words
            .iter()
            .zip(words.iter().skip(1))
            .map(|(a, b)| stem::stem(&format!("{}{}", a.stem, b.raw)).into_owned())
            .collect();
        Self { unigrams: words.into_iter().map(|word| word.stem).collect(), bigrams }
    }

    /// The terms of a query, in order.
    pub(super) fn of_query(text: &str) -> Self {
        Self::of_name(text).truncated()
    }

    fn truncated(mut self) -> Self {
        self.unigrams.truncate(MAX_QUERY_TERMS);
        self.bigrams.truncate(MAX_QUERY_TERMS);
        self
    }
}

/// The distinct terms of a query with their frequencies, and its expansions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct QueryTerms {
    pub(super) unigrams: Vec<(TermKey, u64)>,
    pub(super) bigrams: Vec<(TermKey, u64)>,
    /// The words that intent rules imply.
    pub(super) intent_expansions: Vec<Expansion<'static>>,
    /// The words that everyday words of the request stand for in general.
    pub(super) everyday_expansions: Vec<Expansion<'static>>,
    /// All words and pairs of neighbouring words, stop words included, as keys of associations.
    pub(super) sources: Vec<TermKey>,
    /// The number of tokens, stop words included.
    pub(super) word_count: u64,
    /// The terms of tools that accept the typed values in the request.
    pub(super) types: Vec<TermKey>,
}

impl QueryTerms {
    fn of(mut keys: TermKeys, tokens: &[Token]) -> Self {
        keys.unigrams.truncate(MAX_QUERY_TERMS);
        keys.bigrams.truncate(MAX_QUERY_TERMS);
        let types = tokens.iter().filter_map(|token| match token {
            Token::Typed(types) => Some(types.keys()),
            Token::Word(_) => None,
        });
        let mut types: Vec<TermKey> = types.flatten().collect();
        types.sort_unstable();
        types.dedup();
        let intent_expansions = Intents::built_in().expansions(tokens);
        let everyday_expansions = Intents::everyday().expansions(tokens);
        let (unigrams, bigrams) = (count_each(keys.unigrams), count_each(keys.bigrams));
        Self {
            unigrams,
            bigrams,
            intent_expansions,
            everyday_expansions,
            sources: association::sources(tokens),
            word_count: tokens.len() as u64,
            types,
        }
    }

    /// Whether the query itself contains the word with this key.
    pub(super) fn has(&self, key: TermKey) -> bool {
        self.unigrams.binary_search_by_key(&key, |(key, _)| *key).is_ok()
    }
}

fn count_each(mut keys: Vec<TermKey>) -> Vec<(TermKey, u64)> {
    keys.sort_unstable();
    let runs = keys.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}

/// A query: its terms, and its parts if it asks for several things.
#[derive(Debug)]
pub(super) struct Query<'q> {
    /// The text, truncated to what is read.
    pub(super) text: &'q str,
    /// The words, without those of opaque names.
    pub(super) words: Vec<WordId>,
    /// The digest of the sequence of all words.
    pub(super) word_sequence: TermKey,
    pub(super) whole: QueryTerms,
    pub(super) parts: Vec<QueryPart<'q>>,
}

/// One sentence or clause of a query, which asks for one thing.
#[derive(Debug)]
pub(super) struct QueryPart<'q> {
    pub(super) text: &'q str,
    pub(super) words: Vec<WordId>,
    pub(super) terms: QueryTerms,
}

impl<'q> Query<'q> {
    #[cfg(test)]
    pub(super) fn of(text: &'q str, analyser: &mut Analyser) -> Self {
        let tokens = analyser.analyse(escape::truncate(text, MAX_QUERY_CHARS));
        Self::from_tokens(text, tokens, analyser)
    }

    /// The query of a text that has been analysed.
    pub(super) fn from_tokens(
        text: &'q str,
        tokens: AnalysedText,
        analyser: &mut Analyser,
    ) -> Self {
        let text = escape::truncate(text, MAX_QUERY_CHARS);
        let AnalysedText { tokens, words, all_words, .. } = tokens;
        let whole = QueryTerms::of(analyser.keys_or_literal(text, &words), &tokens);
        let word_sequence = analyser.word_sequence(&all_words);
        let clauses = clause::clauses(text).filter(|clause| !clause.trim().is_empty());
        let clauses: Vec<&str> = clauses.collect();
        let several = if clauses.len() < 2 { Vec::new() } else { clauses };
        let mut room = MAX_QUERY_TERMS;
        let mut parts = Vec::new();
        for clause in several {
            let AnalysedText { tokens, words, .. } = analyser.analyse(clause);
            let keys = analyser.content_keys(&words);
            if keys.unigrams.len() < MIN_PART_TERMS {
                continue;
            }
            if keys.unigrams.len() > room || parts.len() == MAX_PARTS {
                break;
            }
            room -= keys.unigrams.len();
            parts.push(QueryPart { text: clause, words, terms: QueryTerms::of(keys, &tokens) });
        }
        if parts.len() < 2 {
            parts.clear();
        }
        Self { text, words, word_sequence, whole, parts }
    }
}

/// The distinct terms, sorted, with their frequencies.
pub(super) fn occurrences(terms: &[String]) -> Vec<(&str, u64)> {
    let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    terms.sort_unstable();
    let runs = terms.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, run.len() as u64))).collect()
}

/// A text without words as a single term: folded, or unchanged if folding leaves nothing.
pub(super) fn literal_term(text: &str) -> Option<String> {
    let folded = normalise::fold(text);
    let term = [folded.trim(), text.trim()].into_iter().find(|term| !term.is_empty())?;
    Some(escape::truncate(term, MAX_LITERAL).to_owned())
}

/// Whether the text has any word, including stop words.
pub(super) fn has_words(text: &str) -> bool {
    !split::words(text).is_empty()
}

/// The words of a text that are not stop words.
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
        assert_eq!(Terms::of("data bases").bigrams, Terms::of("databases").unigrams);
        assert_eq!(Terms::of("Git-Hub").bigrams, ["github"]);
    }

    #[test]
    fn a_name_never_comes_to_nothing() {
        assert_eq!(Terms::of_name("please help").unigrams, ["pleas", "help"]);
        assert_eq!(Terms::of_name("🚀 ").unigrams, ["🚀"]);
        assert!(Terms::of("please help").unigrams.is_empty());
        assert_eq!(Terms::of_name(" \u{200b}").unigrams, ["\u{200b}"]);
        assert!(Terms::of_name(" \n").unigrams.is_empty());
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
        let total = |asked: &QueryTerms| asked.unigrams.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(total(&query.whole), MAX_QUERY_TERMS as u64);
        assert!(query.parts.len() <= MAX_PARTS);
        let parts: u64 = query.parts.iter().map(|part| total(&part.terms)).sum();
        assert!(parts <= MAX_QUERY_TERMS as u64);
        assert!(query.text.len() <= MAX_QUERY_CHARS);
    }
}
