//! A keyword search for hosts without a router.
//!
//! BM25 with the field weights of agent-kernel (Python): a word in the id counts four times, in the
//! tags three times, in the name twice. It knows no synonyms, no history and no principal;
//! contextweaver's router is the one that finds tools for a goal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weaver_text::split::words;
use weaver_text::stop::is_stop_word;
use weaver_types::Capability;

use super::RegisteredCapability;

/// How many different words of a goal count.
const MAX_GOAL_WORDS: usize = 64;
const K1: f64 = 1.5;
const B: f64 = 0.75;

/// The weighted words of one capability, and their number.
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
        for word in content_words(text) {
            *self.weights.entry(word).or_default() += weight;
            self.length += 1.0;
        }
    }
}

fn content_words(text: &str) -> impl Iterator<Item = String> {
    words(text).into_iter().filter(|word| !is_stop_word(word))
}

/// The capabilities that share a word with the goal, best first; ties are broken by id.
pub(super) fn rank(
    entries: Vec<Arc<RegisteredCapability>>,
    goal: &str,
) -> Vec<Arc<RegisteredCapability>> {
    let mut seen = BTreeSet::new();
    let goal_words: Vec<String> =
        content_words(goal).filter(|word| seen.insert(word.clone())).take(MAX_GOAL_WORDS).collect();
    let count = count_as_f64(entries.len());
    let total: f64 = entries.iter().map(|entry| entry.bag_of_words().length).sum();
    let average = (total / count.max(1.0)).max(1.0);
    let rarity: Vec<f64> = goal_words
        .iter()
        .map(|word| {
            let containing =
                entries.iter().filter(|entry| entry.bag_of_words().weights.contains_key(word));
            let containing = count_as_f64(containing.count());
            (1.0 + (count - containing + 0.5) / (containing + 0.5)).ln()
        })
        .collect();
    let literal = goal_words.join(".");
    let score = |entry: &RegisteredCapability| {
        let bag = entry.bag_of_words();
        let norm = K1 * (1.0 - B + B * bag.length / average);
        let mut score: f64 = goal_words
            .iter()
            .zip(&rarity)
            .filter_map(|(word, rarity)| {
                let weight = bag.weights.get(word)?;
                Some(rarity * weight * (K1 + 1.0) / (weight + norm))
            })
            .sum();
        if !goal_words.is_empty() && entry.capability.id().as_str().starts_with(&literal) {
            score += 1.0;
        }
        score
    };
    let mut scored: Vec<(f64, Arc<RegisteredCapability>)> = entries
        .into_iter()
        .map(|entry| (score(&entry), entry))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scored.sort_by(|(a, one), (b, other)| {
        b.total_cmp(a).then_with(|| one.capability.id().cmp(other.capability.id()))
    });
    scored.into_iter().map(|(_, entry)| entry).collect()
}

/// A count as a float; counts here are far below what a double represents exactly.
fn count_as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests {
    use weaver_types::{AllowedAgents, CapabilityDraft, CapabilityId, Effects, RawResult};

    use super::*;
    use crate::fn_driver::FnDriver;

    fn entry(id: &str, name: &str, description: &str, tags: &[&str]) -> Arc<RegisteredCapability> {
        let draft = CapabilityDraft {
            description: description.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..CapabilityDraft::new(
                CapabilityId::parse(id).unwrap(),
                name,
                Effects::READ_LOCAL,
                AllowedAgents::Any,
            )
        };
        let driver = Arc::new(FnDriver::inline(|_| Ok(RawResult::text(""))));
        Arc::new(RegisteredCapability::new(draft.build().unwrap(), driver).unwrap())
    }

    fn found(entries: &[&Arc<RegisteredCapability>], goal: &str) -> Vec<String> {
        let entries = entries.iter().map(|entry| Arc::clone(entry)).collect();
        rank(entries, goal).iter().map(|entry| entry.capability.id().to_string()).collect()
    }

    #[test]
    fn a_word_counts_by_where_it_stands() {
        let entries = [
            entry("ant.box", "yarn", "alpha beta", &[]),
            entry("bee.box", "alpha", "beta gamma", &[]),
            entry("cow.box", "yarn", "beta gamma", &["alpha"]),
            entry("dog.alpha", "yarn", "beta gamma", &[]),
        ];
        let weights = entries.each_ref().map(|entry| entry.bag_of_words().weights["alpha"]);
        assert_eq!(weights, [1.0, 2.0, 3.0, 4.0]);
        let lengths = entries.each_ref().map(|entry| entry.bag_of_words().length);
        assert_eq!(lengths, [5.0, 5.0, 6.0, 5.0], "every word that is not a stop word, each time");
        let order = ["dog.alpha", "cow.box", "bee.box", "ant.box"];
        assert_eq!(found(&entries.each_ref(), "alpha"), order);
        let often = entry("egg.alpha", "alpha", "alpha alpha the", &["alpha"]);
        assert_eq!(
            (often.bag_of_words().weights["alpha"], often.bag_of_words().length),
            (11.0, 6.0)
        );
    }

    #[test]
    fn a_rare_word_counts_more_than_a_common_one() {
        let common = ["ant", "bee", "cow", "dog"]
            .map(|id| entry(&format!("{id}.box"), "note", "list things", &[]));
        let rare = entry("zoo.box", "note", "invoice things", &[]);
        let all: Vec<&Arc<RegisteredCapability>> = common.iter().chain([&rare]).collect();
        assert_eq!(found(&all, "list invoice")[0], "zoo.box");
    }

    #[test]
    fn a_rare_word_may_count_more_than_a_common_one_that_stands_everywhere() {
        let everywhere = entry("alpha.box", "alpha", "the", &["alpha"]);
        let other = entry("cow.box", "note", "alpha", &[]);
        let goal = "beta alpha";
        let named = entry("bee.box", "beta", "the", &[]);
        assert_eq!(found(&[&everywhere, &named, &other], goal)[0], "bee.box");
        let short = entry("beebox", "note", "beta", &[]);
        assert_eq!(found(&[&everywhere, &short, &other], goal)[0], "beebox");
        let longer = entry("bee.box", "note", "beta filler1", &[]);
        assert_eq!(found(&[&everywhere, &longer, &other], goal)[0], "alpha.box");
    }

    /// A text of the given number of words, none of which is asked for.
    fn filler(words: usize) -> String {
        (0..words).map(|n| format!("filler{n}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_word_in_a_short_text_counts_more_than_one_in_a_long_text() {
        let long = entry("ant.box", "note", &format!("alpha {}", filler(20)), &[]);
        let short = entry("bee.box", "note", "alpha", &[]);
        assert_eq!(found(&[&long, &short], "alpha"), ["bee.box", "ant.box"]);
        // Even where it stands in the name of the long one, which counts twice.
        let named = entry("ant.box", "alpha", &filler(27), &[]);
        let others = ["cow", "dog"].map(|id| entry(&format!("{id}.box"), "note", &filler(13), &[]));
        let all = [&named, &short, &others[0], &others[1]];
        assert_eq!(found(&all, "alpha"), ["bee.box", "ant.box"]);
        // How long is long is told by all the others.
        for (words, others, first) in [(16, 27, "bee.box"), (9, 71, "ant.box")] {
            let named = entry("ant.box", "alpha", &filler(words), &[]);
            let others = ["cow", "dog"]
                .map(|id| entry(&format!("{id}.box"), "note", &filler(others - 1), &[]));
            let short = entry("bee.box", "the", "alpha", &[]);
            let all = [&named, &short, &others[0], &others[1]];
            assert_eq!(found(&all, "alpha")[0], first, "{words}");
        }
    }

    #[test]
    fn two_words_of_a_goal_count_more_than_one_and_a_repeated_one_no_more() {
        let both = entry("zoo.box", "note", "alpha beta", &[]);
        let one = entry("ant.box", "note", "alpha gamma", &[]);
        assert_eq!(found(&[&one, &both], "alpha beta"), ["zoo.box", "ant.box"]);
        let other = entry("bee.box", "note", "beta gamma", &[]);
        assert_eq!(found(&[&one, &other], "beta alpha beta beta"), ["ant.box", "bee.box"], "alike");
        assert_eq!(found(&[&one, &other], "delta the of"), Vec::<String>::new());
    }

    #[test]
    fn an_id_that_begins_with_the_goal_is_worth_a_point_more() {
        let begins = entry("mail.send", "note", &filler(8), &[]);
        let others = ["cow", "dog", "eel", "fox"]
            .map(|id| entry(&format!("{id}.mail.send"), "mail send", "mail send", &[]));
        let all: Vec<&Arc<RegisteredCapability>> = others.iter().chain([&begins]).collect();
        assert_eq!(found(&all, "mail send")[0], "mail.send");
        assert_ne!(found(&all, "send mail")[0], "mail.send");
        // A rare word in a far shorter text is worth still more.
        let begins = entry("alpha.box", "note", &filler(27), &[]);
        let short = entry("bee.alpha", "note", "the", &[]);
        let others: Vec<_> =
            (0..8).map(|n| entry(&format!("cow{n}.box"), "note", "the", &[])).collect();
        let all: Vec<&Arc<RegisteredCapability>> = others.iter().chain([&begins, &short]).collect();
        assert_eq!(found(&all, "alpha"), ["bee.alpha", "alpha.box"]);
    }

    #[test]
    fn of_equals_the_first_id_comes_first() {
        let entries = ["cow.box", "ant.box", "bee.box"].map(|id| entry(id, "note", "alpha", &[]));
        assert_eq!(found(&entries.each_ref(), "alpha"), ["ant.box", "bee.box", "cow.box"]);
    }

    #[test]
    fn the_first_64_different_words_of_a_goal_count() {
        let one = entry("ant.box", "note", "zebra", &[]);
        let goal = |before: usize| format!("{0} {0} zebra", filler(before));
        assert_eq!(found(&[&one], &goal(63)).len(), 1);
        assert_eq!(found(&[&one], &goal(64)).len(), 0);
    }

    #[test]
    fn counts_become_the_same_numbers() {
        let same = |count: usize, number: f64| count_as_f64(count).total_cmp(&number).is_eq();
        assert!(same(0, 0.0) && same(1, 1.0) && same(20_000, 20_000.0));
        assert!(same(usize::MAX, 4_294_967_295.0));
    }
}
