//! What is said of a token: its form, and the words and signs about it.

use std::ops::Range;

use super::form::{self, Form};
use super::hash::FeatureHash;
use super::label;
use super::tokens::Token;
use crate::redact::checksum::shannon_entropy;
use crate::redact::evidence::is_unspaced;
use crate::redact::spoken::lexicon;

/// How far before and behind a token its line is read, in bytes.
const BYTES_BEFORE: usize = 120;
const BYTES_AFTER: usize = 60;
/// The most words before a token.
const MAX_WORDS: usize = 12;
/// The groups of labels.
const GROUPS: usize = 9;

/// The features of a token, hashed, each once.
pub(super) fn of(text: &str, token: &Token) -> Vec<u32> {
    let range = &token.range;
    let word = text.get(range.clone()).unwrap_or_default();
    let from = text.floor_char_boundary(range.start.saturating_sub(BYTES_BEFORE));
    let before = text.get(from..range.start).unwrap_or_default();
    let before = before.rsplit('\n').next().unwrap_or_default();
    let end = text.floor_char_boundary((range.end + BYTES_AFTER).min(text.len()));
    let after = text.get(range.end..end).unwrap_or_default().split('\n').next().unwrap_or_default();
    let mut features = Features { form: form::of(word), hashes: Vec::with_capacity(128) };
    features.add(features.of("any"));
    features.add(features.of("place").number(token.place as usize));
    features.add_form(word);
    features.add_signs(before, after);
    features.add_words_before(text, range.start - before.len()..range.start);
    features.add_name(before);
    features.add_words_after(text, range.end..range.end + after.len());
    features.add_line(before, after);
    features.hashes.sort_unstable();
    features.hashes.dedup();
    features.hashes
}

struct Features {
    form: Form,
    hashes: Vec<u32>,
}

/// A step of a scale on which small numbers count each and large ones in ranges.
fn step(number: usize, steps: &[usize]) -> usize {
    steps.iter().position(|step| number <= *step).unwrap_or(steps.len())
}

impl Features {
    fn add(&mut self, feature: FeatureHash) {
        self.hashes.push(feature.finish());
    }

    fn of(&self, kind: &str) -> FeatureHash {
        FeatureHash::new(kind)
    }

    /// A feature of this kind for tokens of this form.
    fn of_form(&self, kind: &str) -> FeatureHash {
        FeatureHash::new(kind).number(self.form.form)
    }

    /// A feature of this kind for tokens of this family of forms.
    fn of_family(&self, kind: &str) -> FeatureHash {
        FeatureHash::new(kind).number(self.form.family)
    }

    fn add_form(&mut self, word: &str) {
        const LENGTHS: &[usize] =
            &[3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 33, 36, 40, 48, 64];
        const MAX_PARTS: usize = 6;
        let length = step(word.chars().count(), LENGTHS);
        self.add(self.of_family("family"));
        self.add(self.of_form("form"));
        self.add(self.of("length").number(length));
        self.add(self.of_form("form-length").number(length));
        self.add(self.of_form("digits").number(self.form.digits.min(9)));
        self.add(self.of_form("capitals").number(self.form.capitals.min(5)));
        self.add(self.of("turns").number(self.form.turns.min(20)));
        let entropy = (2.0 * shannon_entropy(word)).clamp(0.0, 16.0);
        self.add(
            self.of_form("entropy").number((0..16).filter(|n| f64::from(*n) < entropy).count()),
        );
        for sign in word.chars().filter(|c| !c.is_alphanumeric()).take(MAX_WORDS) {
            self.add(self.of("sign").char(sign));
        }
        let first: String = word.chars().take(3).collect();
        let last: String = word.chars().rev().take(3).collect();
        self.add(self.of("begins").lower(&first));
        self.add(self.of("ends").lower(&last));
        let is_part = |part: &&str| part.len() > 2;
        for part in word.split(|c: char| !c.is_alphabetic()).filter(is_part).take(MAX_PARTS) {
            self.add(self.of("part").lower(part));
        }
        for label in label::in_part(word, 0..word.len()) {
            self.add(self.of("own-label").number(label.group));
        }
        let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
        if self.form.digits == word.len() {
            let drawn = (b'0'..=b'9').filter(|digit| word.bytes().any(|b| b == *digit)).count();
            self.add(self.of("is-year").number(usize::from(is_year)));
            self.add(self.of("digits-drawn").number(drawn));
        }
    }

    /// The signs on both sides.
    fn add_signs(&mut self, before: &str, after: &str) {
        const MAX_LINK: usize = 6;
        let mut link: Vec<char> =
            before.chars().rev().take_while(|c| !c.is_alphanumeric()).take(MAX_LINK).collect();
        self.add(link.iter().fold(self.of("link"), |feature, c| feature.char(*c)));
        link.truncate(3);
        self.add(link.iter().fold(self.of_family("link-end"), |feature, c| feature.char(*c)));
        link.truncate(1);
        self.add(link.iter().fold(self.of("link-sign"), |feature, c| feature.char(*c)));
        let sign = |c: char| if c.is_alphanumeric() { 'a' } else { c };
        let next: Vec<char> = after.chars().take(2).map(sign).collect();
        self.add(next.iter().fold(self.of("then"), |feature, c| feature.char(*c)));
        self.add(
            next.iter().take(1).fold(self.of_form("then-sign"), |feature, c| feature.char(*c)),
        );
    }

    /// The words before on the line, with their distance and what labels they are.
    fn add_words_before(&mut self, text: &str, part: Range<usize>) {
        let line = text.get(part.clone()).unwrap_or_default();
        let labels: Vec<(Range<usize>, usize)> =
            label::in_part(text, part.clone()).map(|label| (label.range, label.group)).collect();
        let mut seen = [false; GROUPS];
        let (mut count, mut end, mut signs) = (0, line.len(), 0);
        while count < MAX_WORDS {
            let rest = line.get(..end).unwrap_or_default();
            let bare = rest.trim_end_matches(|c: char| !c.is_alphanumeric());
            if bare.is_empty() {
                break;
            }
            signs = signs.max(sign_between(rest.get(bare.len()..).unwrap_or_default()));
            let start = bare.len()
                - bare
                    .chars()
                    .rev()
                    .take_while(|c| c.is_alphanumeric())
                    .map(char::len_utf8)
                    .sum::<usize>();
            let word = bare.get(start..).unwrap_or_default();
            (count, end) = (count + 1, start);
            let distance = step(count, &[1, 2, 3, 5, 8]);
            self.add(self.of("word").lower(word));
            self.add(self.of("word-at").number(distance).lower(word));
            if count <= 4 {
                self.add(self.of_family("word-family").lower(word));
            }
            if word.contains(is_unspaced) {
                let chars: Vec<char> = word.chars().collect();
                for pair in chars.windows(2) {
                    self.add(pair.iter().fold(self.of("pair"), |feature, c| feature.char(*c)));
                }
            }
            if count <= 3 && lexicon::VERBS.contains(&word.to_lowercase().as_str()) {
                self.add(self.of_family("verb"));
                self.add(self.of("verb-at").number(count));
            }
            let place = part.start + start..part.start + start + word.len();
            let here = labels
                .iter()
                .filter(|(label, _)| label.start < place.end && place.start < label.end);
            for (_, group) in here {
                let is_first = !seen.iter().any(|seen| *seen);
                let Some(known) = seen.get_mut(*group).filter(|known| !**known) else { continue };
                *known = true;
                let reach = step(count, &[3, 6]);
                self.add(self.of("label-at").number(*group).number(distance));
                self.add(self.of_family("label").number(*group).number(reach));
                self.add(self.of_family("label-behind-sign").number(*group).number(signs));
                if is_first {
                    self.add(self.of_family("nearest-label").number(*group));
                }
            }
        }
        self.add(self.of("words-before").number(count.min(8)));
        let other = line.chars().rev().find(|c| c.is_alphabetic() && *c >= '\u{370}');
        self.add(
            self.of("script")
                .number(other.map_or(0, |c| usize::try_from(u32::from(c) >> 8).unwrap_or(0))),
        );
    }

    /// The name directly before: `api_key` in `"api_key": "`.
    fn add_name(&mut self, before: &str) {
        let bare = before.trim_end_matches(['"', '\'', '(', '[']).trim_end_matches(' ');
        let signs = ["=>", ":=", ":", "=", "|"];
        let Some(bare) = signs.iter().find_map(|sign| bare.strip_suffix(sign)) else { return };
        let bare = bare.trim_end_matches([' ', '"', '\'']);
        let is_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
        let name = bare.rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
        let parts = name_parts(name);
        for part in &parts {
            self.add(self.of("name").lower(part));
        }
        if let Some((last, lead)) = parts.split_last() {
            self.add(self.of("name-end").lower(last));
            self.add(self.of_family("name-family").lower(last));
            if let Some(lead) = lead.last() {
                self.add(self.of("name-ends").lower(lead).char('_').lower(last));
            }
        }
    }

    fn add_words_after(&mut self, text: &str, part: Range<usize>) {
        let line = text.get(part.clone()).unwrap_or_default();
        let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        for word in words.take(2) {
            self.add(self.of("next-word").lower(word));
        }
        for label in label::in_part(text, part).take(3) {
            self.add(self.of_family("label-after").number(label.group));
        }
    }

    /// What the line is: JSON, a command, a row of a table, program text, or a sentence.
    fn add_line(&mut self, before: &str, after: &str) {
        let start = before.trim_start();
        let end = after.trim_end();
        let kinds = [
            before.contains("\":") || after.contains("\":"),
            start.starts_with("$ ") || start.starts_with("# "),
            start.starts_with('|'),
            end.ends_with([';', '{', '}']) || before.contains("();") || before.contains(" == "),
            before.contains(" --") || after.contains(" --"),
            before.contains('@') || after.contains('@'),
        ];
        for (kind, _) in kinds.iter().enumerate().filter(|(_, is)| **is) {
            self.add(self.of_family("line").number(kind));
        }
        let is_plain = |word: &&str| {
            let word = word.trim_end_matches(['.', ',']);
            word.len() > 1 && word.chars().all(char::is_alphabetic)
        };
        let plain = before.split(' ').chain(after.split(' ')).filter(is_plain).count();
        self.add(self.of_family("plain-words").number(step(plain, &[0, 2, 5, 9])));
        self.add(self.of("begins-line").number(usize::from(start.is_empty())));
    }
}

/// How much the signs between two words separate them.
fn sign_between(signs: &str) -> usize {
    match () {
        () if signs.contains(['.', ';', '!', '?', '。']) => 4,
        () if signs.contains(',') => 3,
        () if signs.contains([':', '=', '>', '-', '：']) => 2,
        () if signs.contains(|c: char| !c.is_whitespace()) => 1,
        () => 0,
    }
}

/// The words of a name: `api`, `Key`, `2` of `apiKey_2`.
fn name_parts(name: &str) -> Vec<&str> {
    const MAX_PARTS: usize = 8;
    let mut parts = Vec::new();
    for part in name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let (mut start, mut last) = (0, ' ');
        for (at, c) in part.char_indices() {
            if last.is_lowercase() && c.is_uppercase()
                || last.is_numeric() != c.is_numeric() && at > 0
            {
                parts.extend(part.get(start..at));
                start = at;
            }
            last = c;
        }
        parts.extend(part.get(start..));
    }
    parts.truncate(MAX_PARTS);
    parts
}
