//! Finds items that say nearly the same.
//!
//! Two items are near duplicates if the Jaccard similarity of their word sets is at least 85 %.
//! Candidates come from prefix filtering, as in set-similarity joins: two sets that similar must
//! share one of the rarest words of each, so an item is compared only with items that do. Of many
//! items that share one word only the nearest few are compared, which bounds the work and may miss
//! a pair.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash as _, Hasher as _};

use super::{Finding, Severity};
use crate::catalog::{SelectableItem, printable};
use crate::stems::stems;

/// The smallest Jaccard similarity of near duplicates, in percent.
const MIN_SHARED_PERCENT: usize = 85;
/// The most words of one item that are compared.
const MAX_WORDS: usize = 512;
/// Items with fewer distinct words are not compared.
const MIN_WORDS: usize = 3;
/// The most earlier items that one shared word proposes for comparison.
const MAX_CANDIDATES_PER_WORD: usize = 32;
/// The most earlier items that an item is compared with.
const MAX_COMPARISONS: usize = 64;

pub(super) fn report_near_duplicates(items: &[&SelectableItem], findings: &mut Vec<Finding>) {
    let words: Vec<Vec<u64>> = items.iter().map(|item| words(item)).collect();
    let mut document_frequencies: HashMap<u64, u32> = HashMap::new();
    for word in words.iter().flatten() {
        *document_frequencies.entry(*word).or_default() += 1;
    }
    let mut first_with_words: HashMap<&[u64], usize> = HashMap::new();
    let mut items_by_word: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, item_words) in words.iter().enumerate().filter(|(_, own)| own.len() >= MIN_WORDS) {
        // Items with equal words are reported against the first of them, without a search.
        let twin = match first_with_words.entry(item_words) {
            Entry::Occupied(first) => Some(*first.get()),
            Entry::Vacant(place) => {
                place.insert(index);
                find_near_duplicate(
                    index,
                    &words,
                    &rarest_words(item_words, &document_frequencies),
                    &mut items_by_word,
                )
            }
        };
        if let (Some(item), Some(twin)) = (items.get(index), twin.and_then(|twin| items.get(twin)))
        {
            findings.push(Finding {
                code: "catalog.near_duplicate",
                severity: Severity::Warning,
                item: printable(item.source_id()),
                message: format!("it says nearly the same as `{}`", printable(twin.source_id())),
                next: "say what sets them apart, or keep one",
            });
        }
    }
}

/// The first earlier item that is a near duplicate. Also registers this item as a candidate for
/// later ones.
fn find_near_duplicate(
    index: usize,
    words: &[Vec<u64>],
    rarest_words: &[u64],
    items_by_word: &mut HashMap<u64, Vec<usize>>,
) -> Option<usize> {
    let mut candidates: Vec<usize> = Vec::new();
    for word in rarest_words {
        let holders = items_by_word.entry(*word).or_default();
        candidates.extend(holders.iter().rev().take(MAX_CANDIDATES_PER_WORD));
        holders.push(index);
    }
    candidates.sort_unstable();
    candidates.dedup();
    let item_words = words.get(index)?;
    let mut others = candidates.into_iter().take(MAX_COMPARISONS);
    others
        .find(|other| words.get(*other).is_some_and(|other| are_near_duplicates(item_words, other)))
}

/// The hashes of an item's words, sorted and distinct.
fn words(item: &SelectableItem) -> Vec<u64> {
    let mut words: Vec<u64> = [item.display_name(), &item.description]
        .into_iter()
        .flat_map(stems)
        .map(|stem| {
            let mut hasher = DefaultHasher::new();
            stem.hash(&mut hasher);
            hasher.finish()
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(MAX_WORDS);
    words
}

/// The filtering prefix: with n words and threshold t, a similar set has at least ⌈t·n⌉ of them, so
/// it must hold one of any n − ⌈t·n⌉ + 1 words. The rarest ones propose the fewest candidates.
fn rarest_words(item_words: &[u64], document_frequencies: &HashMap<u64, u32>) -> Vec<u64> {
    let mut words = item_words.to_vec();
    words
        .sort_unstable_by_key(|word| (document_frequencies.get(word).copied().unwrap_or(0), *word));
    words.truncate(item_words.len() - (item_words.len() * MIN_SHARED_PERCENT).div_ceil(100) + 1);
    words
}

fn are_near_duplicates(a: &[u64], b: &[u64]) -> bool {
    let (mut a, mut b, mut shared, mut counted) = (a, b, 0, 0);
    while let (Some((x, a_rest)), Some((y, b_rest))) = (a.split_first(), b.split_first()) {
        counted += 1;
        shared += usize::from(x == y);
        if x <= y {
            a = a_rest;
        }
        if y <= x {
            b = b_rest;
        }
    }
    shared * 100 >= (counted + a.len() + b.len()) * MIN_SHARED_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_of_both_sets_together() {
        let set = |n: std::ops::Range<u64>| n.collect::<Vec<_>>();
        assert!(are_near_duplicates(&set(0..20), &set(0..20)));
        assert!(are_near_duplicates(&set(0..20), &set(0..17)));
        assert!(!are_near_duplicates(&set(0..20), &set(0..16)));
        assert!(!are_near_duplicates(&set(0..20), &set(3..23)));
        assert!(!are_near_duplicates(&set(0..3), &set(5..9)));
    }
}
