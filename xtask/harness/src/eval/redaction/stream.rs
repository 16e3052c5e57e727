//! Checks that a text gives the same result in pieces as in one, however it is cut.

use anyhow::Result;

use super::corpus::Case;
use super::weaver::{Answer, Weaver};

/// The largest fixed size of pieces, in characters; all sizes up to it are tried.
const MAX_FIXED_SIZE: usize = 256;
/// How many lists of random sizes are tried.
const RANDOM_LISTS: u64 = 32;
/// The length of such a list.
const LIST_LENGTH: u64 = 64;

/// The results of all ways to cut.
#[derive(Debug, Default)]
pub struct Streams {
    /// The number of ways to cut.
    pub cuts: usize,
    /// The number of texts, over all ways.
    pub texts: usize,
    /// Texts whose answer differs from that for the whole text.
    pub differ: usize,
    /// Values that are masked in the whole text and visible in the stream's answer.
    pub released: usize,
    /// The first way to cut with a difference.
    pub first: Option<String>,
}

/// Tries every way to cut.
pub fn compare_streams(weaver: &Weaver, cases: &[Case], whole: &[Answer]) -> Result<Streams> {
    let mut streams = Streams::default();
    let fixed = (1..=MAX_FIXED_SIZE).map(|size| size.to_string());
    for cut in fixed.chain((0..RANDOM_LISTS).map(random_sizes)) {
        let texts = cases.iter().map(|case| case.text.as_str());
        let answers = weaver.redact(texts, &["--stream", &cut])?;
        streams.cuts += 1;
        for ((case, whole), answer) in cases.iter().zip(whole).zip(&answers) {
            streams.texts += 1;
            if whole != answer {
                streams.differ += 1;
                streams.released += released(case, whole, answer);
                streams.first.get_or_insert_with(|| cut.clone());
            }
        }
    }
    Ok(streams)
}

/// Labelled values that are masked in one answer and visible in the other.
fn released(case: &Case, whole: &Answer, stream: &Answer) -> usize {
    let caught = case.spans.iter().filter(|gold| {
        let value: String =
            case.text.chars().skip(gold.start).take(gold.end - gold.start).collect();
        let masked = whole.spans.iter().any(|s| s.start <= gold.start && gold.end <= s.end);
        masked && !whole.text.contains(&value) && stream.text.contains(&value)
    });
    caught.count()
}

/// A list of sizes from 1 to 300, deterministic for a number.
fn random_sizes(number: u64) -> String {
    let sizes = (0..LIST_LENGTH).map(|at| {
        let mut z = (number * LIST_LENGTH + at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (1 + (z ^ (z >> 31)) % 300).to_string()
    });
    sizes.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::super::corpus::LabelledSpan;
    use super::super::weaver::MaskedSpan;
    use super::*;

    #[test]
    fn a_value_that_only_the_stream_shows_is_released() {
        let span = LabelledSpan { start: 2, end: 5, kind: "X".to_owned() };
        let case = Case { text: "a bcd e".to_owned(), spans: vec![span], ..Case::default() };
        let answer = |text: &str, places: &[(usize, usize)]| Answer {
            text: text.to_owned(),
            spans: places
                .iter()
                .map(|(start, end)| MaskedSpan {
                    start: *start,
                    end: *end,
                    kind: String::new(),
                    rule: String::new(),
                })
                .collect(),
        };
        let whole = answer("a * e", &[(2, 5)]);
        assert_eq!(released(&case, &whole, &answer("a bcd e", &[])), 1);
        assert_eq!(released(&case, &whole, &answer("a b* e", &[(3, 5)])), 0);
        assert_eq!(released(&case, &answer("a bcd e", &[]), &answer("a bcd e", &[])), 0);
    }

    #[test]
    fn random_sizes_are_the_same_in_every_run() {
        assert_eq!(random_sizes(3), random_sizes(3));
        assert_ne!(random_sizes(3), random_sizes(4));
        let list = random_sizes(0);
        assert!(list.split(',').all(|size| (1..=300).contains(&size.parse().unwrap())), "{list}");
    }
}
