//! Whether a text gives the same in pieces as in one, however it is cut.

use anyhow::Result;

use super::corpus::Case;
use super::weaver::{Answer, Weaver};

/// Sizes of pieces, in characters, that are all tried.
const SIZES: usize = 256;
/// How many lists of random sizes are tried.
const RANDOM: u64 = 32;
/// How many sizes such a list has.
const LENGTH: u64 = 64;

/// What came of all the ways to cut.
#[derive(Debug, Default)]
pub struct Streams {
    /// Ways to cut.
    pub cuts: usize,
    /// Texts, over all ways.
    pub texts: usize,
    /// Texts whose answer is not that of the whole text.
    pub differ: usize,
    /// Values masked in the whole text that stand in the stream's answer.
    pub released: usize,
    /// The first way to cut at which something differed.
    pub first: Option<String>,
}

/// Tries every way to cut.
pub fn agree(weaver: &Weaver, cases: &[Case], whole: &[Answer]) -> Result<Streams> {
    let mut streams = Streams::default();
    let fixed = (1..=SIZES).map(|size| size.to_string());
    for cut in fixed.chain((0..RANDOM).map(sizes)) {
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

/// Labelled values that are masked whole in one answer and stand in the text of the other.
fn released(case: &Case, whole: &Answer, stream: &Answer) -> usize {
    let caught = case.spans.iter().filter(|gold| {
        let value: String =
            case.text.chars().skip(gold.start).take(gold.end - gold.start).collect();
        let masked = whole.spans.iter().any(|s| s.start <= gold.start && gold.end <= s.end);
        masked && !whole.text.contains(&value) && stream.text.contains(&value)
    });
    caught.count()
}

/// A list of sizes from 1 to 300, the same for the same number.
fn sizes(number: u64) -> String {
    let sizes = (0..LENGTH).map(|at| {
        let mut z = (number * LENGTH + at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (1 + (z ^ (z >> 31)) % 300).to_string()
    });
    sizes.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::super::corpus::Gold;
    use super::super::weaver::MaskedSpan;
    use super::*;

    #[test]
    fn a_value_that_only_the_stream_shows_is_released() {
        let span = Gold { start: 2, end: 5, kind: "X".to_owned() };
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
        assert_eq!(sizes(3), sizes(3));
        assert_ne!(sizes(3), sizes(4));
        let list = sizes(0);
        assert!(list.split(',').all(|size| (1..=300).contains(&size.parse().unwrap())), "{list}");
    }
}
