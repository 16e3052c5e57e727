//! Items that say nearly the same.
//!
//! Two items are near copies when at least 85 of 100 words of both together are in both. Two such
//! items share a word among the rarest of each, so only those are compared, and of many that share
//! one word only the nearest few.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash as _, Hasher as _};

use super::{Finding, Severity};
use crate::catalog::{SelectableItem, shown};
use crate::stems::stems;

/// Of 100 words.
const ALIKE: usize = 85;
/// The most words of one item that count.
const MAX_WORDS: usize = 512;
/// The fewest words that two items need in common to be compared.
const MIN_WORDS: usize = 3;
/// With how many others that share a word an item is compared.
const MAX_BEFORE: usize = 32;
/// With how many others an item is compared.
const MAX_COMPARED: usize = 64;

pub(super) fn check(items: &[&SelectableItem], found: &mut Vec<Finding>) {
    let words: Vec<Vec<u64>> = items.iter().map(|item| words(item)).collect();
    let mut often: HashMap<u64, u32> = HashMap::new();
    for word in words.iter().flatten() {
        *often.entry(*word).or_default() += 1;
    }
    let mut equal: HashMap<&[u64], usize> = HashMap::new();
    let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, own) in words.iter().enumerate().filter(|(_, own)| own.len() >= MIN_WORDS) {
        // Of many equal ones the first stands for all: they need no comparing.
        let twin = match equal.entry(own) {
            Entry::Occupied(first) => Some(*first.get()),
            Entry::Vacant(place) => {
                place.insert(at);
                near(at, &words, &rare(own, &often), &mut holders)
            }
        };
        if let (Some(item), Some(twin)) = (items.get(at), twin.and_then(|twin| items.get(twin))) {
            found.push(Finding {
                code: "catalog.near_duplicate",
                severity: Severity::Warning,
                item: shown(item.source_id()),
                message: format!("it says nearly the same as `{}`", shown(twin.source_id())),
                next: "say what sets them apart, or keep one",
            });
        }
    }
}

/// The first item that is alike; notes the item for those that follow.
fn near(
    at: usize,
    words: &[Vec<u64>],
    rare: &[u64],
    holders: &mut HashMap<u64, Vec<usize>>,
) -> Option<usize> {
    let mut others: Vec<usize> = Vec::new();
    for word in rare {
        let holders = holders.entry(*word).or_default();
        others.extend(holders.iter().rev().take(MAX_BEFORE));
        holders.push(at);
    }
    others.sort_unstable();
    others.dedup();
    let own = words.get(at)?;
    let mut others = others.into_iter().take(MAX_COMPARED);
    others.find(|other| words.get(*other).is_some_and(|other| alike(own, other)))
}

/// The words of an item as numbers, sorted.
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

/// As many of the rarest words that a set which is alike must hold one of them.
fn rare(own: &[u64], often: &HashMap<u64, u32>) -> Vec<u64> {
    let mut words = own.to_vec();
    words.sort_unstable_by_key(|word| (often.get(word).copied().unwrap_or(0), *word));
    words.truncate(own.len() - (own.len() * ALIKE).div_ceil(100) + 1);
    words
}

fn alike(a: &[u64], b: &[u64]) -> bool {
    let (mut a, mut b, mut both, mut all) = (a, b, 0, 0);
    while let (Some((x, a_rest)), Some((y, b_rest))) = (a.split_first(), b.split_first()) {
        all += 1;
        both += usize::from(x == y);
        if x <= y {
            a = a_rest;
        }
        if y <= x {
            b = b_rest;
        }
    }
    both * 100 >= (all + a.len() + b.len()) * ALIKE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_of_both_sets_together() {
        let set = |n: std::ops::Range<u64>| n.collect::<Vec<_>>();
        assert!(alike(&set(0..20), &set(0..20)));
        assert!(alike(&set(0..20), &set(0..17)));
        assert!(!alike(&set(0..20), &set(0..16)));
        assert!(!alike(&set(0..20), &set(3..23)));
        assert!(!alike(&set(0..3), &set(5..9)));
    }
}
