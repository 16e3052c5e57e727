#[cfg(feature = "tiktoken")]
use weaver_text::token::Tiktoken;
use weaver_text::token::{Estimate, TokenCounter};

/// Name and text of each sample; `\\n` and `\\t` in it stand for themselves.
fn samples() -> Vec<(&'static str, String)> {
    let lines = include_str!("../data/sentences.tsv").lines();
    let pairs = lines.map(|line| line.split_once('\t').unwrap());
    pairs.map(|(name, text)| (name, text.replace("\\n", "\n").replace("\\t", "\t"))).collect()
}

#[cfg(feature = "tiktoken")]
#[test]
fn the_estimate_is_near_the_exact_count_for_every_kind_of_text() {
    let mut sum = 0.0;
    for (name, text) in samples() {
        let exact = Tiktoken::O200K.count(&text).tokens().unwrap();
        let estimate = Estimate.count(&text).tokens().unwrap();
        let ratio = estimate as f64 / exact as f64;
        assert!((0.8..=1.8).contains(&ratio), "{name}: {estimate} for {exact}, {ratio:.2}");
        sum += ratio;
    }
    assert_eq!(samples().len(), 71);
    let mean = sum / 71.0;
    assert!((1.05..1.15).contains(&mean), "{mean:.3}");
}

#[test]
fn the_estimate_grows_with_the_text() {
    for (name, text) in samples() {
        let mut last = 0;
        for (at, _) in text.char_indices() {
            let now = Estimate.count(text.get(..at).unwrap()).tokens().unwrap();
            // A sign may turn out to belong to the word behind it.
            assert!(now + 1 >= last, "{name} at {at}");
            last = now;
        }
    }
}
