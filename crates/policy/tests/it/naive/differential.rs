//! The crate and the naive interpreter say the same.

use std::collections::BTreeMap;

use weaver_types::Timestamp;

use super::case::{Case, Difference};
use super::dice::Dice;
use super::document::{Documents, Shape};
use super::request::Asked;
use super::shrink::shrink;

/// How often each verdict and each reason came out.
#[derive(Debug, Default)]
struct Tally {
    pairs: usize,
    not_offered: usize,
    verdicts: BTreeMap<&'static str, usize>,
    reasons: BTreeMap<&'static str, usize>,
}

fn case(seed: u64, requests: usize) -> Case {
    let mut dice = Dice::new(seed);
    let documents = Documents::random(&mut dice, Shape::FULL);
    let mut asked: Vec<Asked> = (0..requests).map(|_| Asked::random(&mut dice)).collect();
    if documents.policy.contains_key("limits") {
        // Closely one after another, so that limits are reached.
        let mut now = asked[0].now.micros();
        for one in &mut asked {
            one.now = Timestamp::from_micros(now);
            now += dice.pick(&[0, 1, 999_999, 1_000_000, 7_000_000]);
        }
    }
    Case { documents, asked }
}

fn compare(seeds: std::ops::Range<u64>, requests: usize, tally: &mut Tally) {
    for seed in seeds {
        let case = case(seed, requests);
        let difference = case.run(|outcome| {
            tally.pairs += 1;
            match &outcome.answer {
                None => tally.not_offered += 1,
                Some(answer) => {
                    *tally.verdicts.entry(answer.verdict.as_str()).or_default() += 1;
                    for (_, _, reason, _) in &answer.said {
                        *tally.reasons.entry(reason.as_str()).or_default() += 1;
                    }
                }
            }
        });
        if let Some(difference) = difference {
            fail(seed, case, &difference);
        }
    }
}

fn fail(seed: u64, case: Case, difference: &Difference) {
    let small = shrink(case, difference);
    let difference = small.run(|_| {});
    let difference = difference.map(|one| one.to_string()).unwrap_or_default();
    panic!("seed {seed}: the page and the crate differ\n{small}--- difference\n{difference}");
}

#[test]
fn the_crate_says_what_the_page_says() {
    let mut tally = Tally::default();
    compare(0..150, 20, &mut tally);
    assert!(tally.pairs > 2_000, "{tally:?}");
    assert_eq!(tally.verdicts.len(), 4, "{tally:?}");
}

#[test]
#[ignore = "long"]
fn the_crate_says_what_the_page_says_a_million_times() {
    let mut tally = Tally::default();
    for first in (1_000_000..1_010_000).step_by(500) {
        compare(first..first + 500, 110, &mut tally);
        println!("seeds from 1000000 to {}: {tally:?}", first + 499);
    }
    assert!(tally.pairs >= 1_000_000);
}
