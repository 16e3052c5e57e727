//! Explains the score of one document, term by term.
//!
//! This repeats the rules of [`QueryScorer`]'s scoring for a single document and with the terms as text,
//! which the scoring itself does not keep.

use crate::fixed_point::ONE;
use crate::route::common_words;
use crate::route::postings::{DocId, PostingsList};
use crate::route::query::{QueryTerms, Terms, occurrences};
use crate::route::query_scorer::{COMMON_WORD_WEIGHT, QueryScorer, SYNONYM_WEIGHT};
use crate::route::query_term::impact;
use crate::route::term_key;

/// What one term contributes to the score of one item.
#[derive(Debug)]
pub(super) struct ScoreExplanation {
    /// The term of the query.
    pub(super) term: String,
    /// The term of the item that matched.
    pub(super) matched_term: String,
    /// How it matched.
    pub(super) by: &'static str,
    pub(super) score: u64,
}

impl QueryScorer<'_> {
    /// What expansions contribute to the score of one document.
    pub(super) fn explain_expansions(
        self,
        asked: &QueryTerms,
        doc: DocId,
    ) -> Option<ScoreExplanation> {
        let score = self.expansions(asked).map(|source| u64::from(source.score(doc))).sum();
        let none = String::new;
        (score > 0).then(|| ScoreExplanation {
            term: none(),
            matched_term: none(),
            by: "meant",
            score,
        })
    }

    /// What each term contributes to the score of one document, in the order of scoring.
    pub(super) fn explain(self, terms: &Terms, doc: DocId) -> Vec<ScoreExplanation> {
        let mut shares = Vec::new();
        let mut add =
            |term: &str, found: &str, by, postings: PostingsList<'_>, term_weight: u64| {
                let score =
                    postings.weight_in(doc).map_or(0, |weight| impact(term_weight, weight).into());
                if term_weight > 0 && score > 0 {
                    let (term, found) = (term.to_owned(), found.to_owned());
                    shares.push(ScoreExplanation { term, matched_term: found, by, score });
                }
            };
        let weight_of = |list, count, factor| {
            self.term_weight(self.selection.count_visible(list), count, factor)
        };
        for (term, count) in occurrences(&terms.unigrams) {
            let (unigrams, bigrams) = (
                self.index.unigrams(term_key::of_term(term)),
                self.index.bigrams(term_key::of_term(term)),
            );
            let factor = if common_words::contains(term_key::of_term(term)) {
                COMMON_WORD_WEIGHT
            } else {
                ONE
            };
            add(term, term, "word", unigrams, weight_of(unigrams, count, factor));
            add(term, term, "pair", bigrams, weight_of(bigrams, count, factor / 2));
            if unigrams.weight_in(doc).is_none()
                && let Some((other, term_weight)) = self.best_synonym(terms, term, count, doc)
            {
                let known = self.thesaurus.contains(term_key::of_term(term));
                let by = if known { "instead" } else { "spelling" };
                add(term, &other, by, self.index.unigrams(term_key::of_term(&other)), term_weight);
            }
        }
        for (term, count) in occurrences(&terms.bigrams) {
            let (unigrams, bigrams) = (
                self.index.unigrams(term_key::of_term(term)),
                self.index.bigrams(term_key::of_term(term)),
            );
            add(term, term, "pair", bigrams, weight_of(bigrams, count, ONE / 2));
            add(term, term, "word", unigrams, weight_of(unigrams, count, ONE / 2));
        }
        shares
    }

    /// The synonym that contributes most to one document, and its weight in the query.
    fn best_synonym(
        self,
        asked: &Terms,
        term: &str,
        count: u64,
        doc: DocId,
    ) -> Option<(String, u64)> {
        let weight_of =
            |list| self.term_weight(self.selection.count_visible(list), count, SYNONYM_WEIGHT);
        let most = match weight_of(self.index.unigrams(term_key::of_term(term))) {
            0 => u64::MAX,
            term_weight => term_weight,
        };
        let others =
            self.thesaurus.synonyms(term).chain(self.corrections.words(term_key::of_term(term)));
        let others = others.filter(|other| !asked.unigrams.iter().any(|asked| asked == other));
        let worth = others.filter_map(|other| {
            let list = self.index.unigrams(term_key::of_term(other));
            let term_weight = weight_of(list).min(most);
            Some((term_weight * list.weight_in(doc)?, other.to_owned(), term_weight))
        });
        worth.max().map(|(_, other, term_weight)| (other, term_weight))
    }
}
