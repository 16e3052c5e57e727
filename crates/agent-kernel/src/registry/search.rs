//! A search by words, for hosts that have no router.
//!
//! BM25 with the weights of agent-kernel (Python): a word in the id counts four times, in the tags
//! three times, in the name twice. It knows no synonyms, no history and no principal; the router
//! that finds tools for a goal is contextweaver's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weaver_text::split::words;
use weaver_text::stop::is_stop_word;
use weaver_types::Capability;

use super::Registered;

/// How many different words of a goal count.
const MAX_WORDS: usize = 64;
const K1: f64 = 1.5;
const B: f64 = 0.75;

/// The words of one capability, weighted, and how many they are.
pub(super) struct BagOfWords {
    weights: BTreeMap<String, f64>,
    length: f64,
}

impl BagOfWords {
    pub(super) fn new(capability: &Capability) -> Self {
        let spec = capability.spec();
        let mut bag = Self { weights: BTreeMap::new(), length: 0.0 };
        bag.add(spec.id.as_str(), 4.0);
        spec.tags.iter().for_each(|tag| bag.add(tag, 3.0));
        bag.add(&spec.name, 2.0);
        bag.add(&spec.description, 1.0);
        bag
    }

    fn add(&mut self, text: &str, weight: f64) {
        for word in meant(text) {
            *self.weights.entry(word).or_default() += weight;
            self.length += 1.0;
        }
    }
}

fn meant(text: &str) -> impl Iterator<Item = String> {
    words(text).into_iter().filter(|word| !is_stop_word(word))
}

/// Those that have a word of the goal, best first, and of equals the one whose id comes first.
pub(super) fn ranked(entries: Vec<Arc<Registered>>, goal: &str) -> Vec<Arc<Registered>> {
    let mut seen = BTreeSet::new();
    let asked: Vec<String> =
        meant(goal).filter(|word| seen.insert(word.clone())).take(MAX_WORDS).collect();
    let count = as_number(entries.len());
    let total: f64 = entries.iter().map(|entry| entry.bag().length).sum();
    let average = (total / count.max(1.0)).max(1.0);
    let rarity: Vec<f64> = asked
        .iter()
        .map(|word| {
            let having = entries.iter().filter(|entry| entry.bag().weights.contains_key(word));
            let having = as_number(having.count());
            (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
        })
        .collect();
    let literal = asked.join(".");
    let score = |entry: &Registered| {
        let bag = entry.bag();
        let norm = K1 * (1.0 - B + B * bag.length / average);
        let mut score: f64 = asked
            .iter()
            .zip(&rarity)
            .filter_map(|(word, rarity)| {
                let weight = bag.weights.get(word)?;
                Some(rarity * weight * (K1 + 1.0) / (weight + norm))
            })
            .sum();
        if !asked.is_empty() && entry.capability.id().as_str().starts_with(&literal) {
            score += 1.0;
        }
        score
    };
    let mut found: Vec<(f64, Arc<Registered>)> = entries
        .into_iter()
        .map(|entry| (score(&entry), entry))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    found.sort_by(|(a, one), (b, other)| {
        b.total_cmp(a).then_with(|| one.capability.id().cmp(other.capability.id()))
    });
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// A count as a number; counts here are far below what a double holds exactly.
fn as_number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}
