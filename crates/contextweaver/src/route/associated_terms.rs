//! The words of tools that the words of a request imply, as an addend of scores.

use crate::fixed_point::ONE;
use crate::route::association::{Associations, FULL_STRENGTH};
use crate::route::postings::PostingsList;
use crate::route::query::QueryTerms;
use crate::route::query_scorer::{QueryScorer, expansion_factor};
use crate::route::query_term::{QueryTerm, TermScorer};

/// How many of the items with a word are looked at for one that has all others too.
const MAX_COVERING_ITEMS: usize = 4_096;
/// Factor for the strength of associations where items are compared by meaning too.
const WEIGHT_BESIDE_MEANING: u64 = ONE * 3 / 10;
/// The most postings that are read for the associations of one request.
const MAX_POSTINGS: u64 = 2_048;

impl<'a> QueryScorer<'a> {
    /// The addend for all words that a query implies but does not contain. Of too many postings, the rarest
    /// words are read, which are the most specific.
    pub(super) fn associated_terms(self, asked: &QueryTerms) -> Option<QueryTerm<'a>> {
        let strengths = self.strengths(asked)?;
        let share = if self.compares_meaning { WEIGHT_BESIDE_MEANING } else { ONE };
        let factor = |strength| expansion_factor(asked, share * strength / FULL_STRENGTH);
        let factors: Vec<u64> = (0..=FULL_STRENGTH).map(factor).collect();
        let (mut terms, mut total) = (Vec::new(), 0);
        self.index.each_associated(&strengths, |key, strength, postings| {
            let seen = self.selection.count_visible(postings);
            let factor = factors.get(usize::from(strength)).copied().unwrap_or(0);
            let weight = self.term_weight(seen, 1, factor);
            if weight > 0 && !asked.has(key) {
                total += seen;
                terms.push(TermScorer { postings, weight });
            }
        });
        if total > MAX_POSTINGS {
            let seen = |term: &TermScorer<'_>| self.selection.count_visible(term.postings);
            terms.sort_by_cached_key(seen);
            let mut room = MAX_POSTINGS;
            terms.retain(|term| {
                // Once a list does not fit, later ones do not either, because they are not shorter.
                let left = room.checked_sub(seen(term));
                room = left.unwrap_or(0);
                left.is_some()
            });
        }
        (!terms.is_empty()).then_some(QueryTerm::Sum(terms))
    }

    /// How strongly a query implies each word of tools. Where an item has all words of the query, nothing
    /// needs to be implied, and nothing may take the place of that item. Where meaning is compared too, only
    /// words that no visible item has imply others, and more weakly: of the rest the vectors know more.
    fn strengths(self, asked: &QueryTerms) -> Option<Vec<u8>> {
        let all = Associations::built_in();
        if !self.compares_meaning {
            return match self.is_covered(asked) {
                true => None,
                false => all.implied_by(asked.sources.iter().copied()),
            };
        }
        let words = asked.unigrams.iter().map(|(key, _)| *key);
        all.implied_by(words.filter(|key| !self.has_visible_item(*key)))
    }

    /// Whether a visible item has all words of a query, as far as looking at the items with its rarest word
    /// tells.
    fn is_covered(self, asked: &QueryTerms) -> bool {
        let words = asked.unigrams.iter().map(|(key, _)| self.index.unigrams(*key));
        let mut lists: Vec<PostingsList<'_>> = words.collect();
        lists.sort_by_key(|list| list.posting_count());
        let Some((rarest, others)) = lists.split_first() else { return false };
        rarest.postings().take(MAX_COVERING_ITEMS).any(|posting| {
            let doc = posting.doc();
            self.selection.contains(doc) && others.iter().all(|list| list.weight_in(doc).is_some())
        })
    }
}
