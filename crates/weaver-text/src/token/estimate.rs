//! Estimates token counts by script.

use super::{Count, TokenCounter};

/// Estimates the number of tokens from the characters of a text, without vocabulary tables. Fast
/// enough for every frame, and more accurate than [`super::CharsPerFour`] for any text that is not
/// English prose.
///
/// It models how modern vocabularies split text: a common word with the blank before it is one
/// token, a long or accented word more; digits are grouped by three; a run of punctuation is one
/// token or a few; ideographs and syllables are fractions of a token each.
///
/// On each of the 71 test samples of this crate (44 languages of 22 scripts, code, data,
/// identifiers, emoji) it is between 0.8 and 1.8 times the exact count of `o200k_base`, and 1.1
/// times on average. Older vocabularies such as `cl100k_base` need two to six times as many tokens
/// for scripts other than Latin: use an exact counter for those.
///
/// ```
/// use weaver_text::token::{Estimate, TokenCounter};
///
/// assert_eq!(Estimate.count("the cat sat on the mat").tokens(), Some(6));
/// assert!(Estimate.count("昨天晚上政府公布").tokens() > Some(4));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate;

impl TokenCounter for Estimate {
    fn name(&self) -> &str {
        "estimate"
    }

    fn count(&self, text: &str) -> Count {
        self.count_up_to(text, usize::MAX)
    }

    fn count_up_to(&self, text: &str, limit: usize) -> Count {
        // The discount for the last character may still be due.
        let most = limit.saturating_mul(PARTS_PER_TOKEN).saturating_add(JOINER_DISCOUNT);
        let mut counter = PartCounter::default();
        for c in text.chars() {
            counter.add(c);
            if counter.parts > most {
                break;
            }
        }
        Count::Tokens(counter.parts.div_ceil(PARTS_PER_TOKEN))
    }
}

/// Estimates are computed in hundredths of a token.
const PARTS_PER_TOKEN: usize = 100;

/// The discount for a single joining sign (`_`, `/`, `.`) that a word follows.
const JOINER_DISCOUNT: usize = 50;

/// The kind of a character. Consecutive characters of one kind form a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CharKind {
    #[default]
    Start,
    Latin,
    Digit,
    Blank,
    Break,
    Sign,
    /// Letters of another script, with the cost of each word and of each letter.
    Script(usize, usize),
}

#[derive(Debug, Default)]
struct PartCounter {
    parts: usize,
    kind: CharKind,
    /// Characters in the run so far.
    len: usize,
    /// Whether the word directly follows letters or digits.
    glued: bool,
    /// Whether the last character was a lower-case letter.
    lower: bool,
    /// Whether the last character was a joining sign.
    joins: bool,
}

impl PartCounter {
    fn add(&mut self, c: char) {
        let kind = kind(c);
        let before = self.kind;
        let hump = kind == CharKind::Latin && self.lower && c.is_uppercase();
        self.lower = c.is_lowercase();
        if before != kind || hump {
            if kind == CharKind::Latin && before == CharKind::Sign && self.len == 1 && self.joins {
                // A single joining sign and the word after it are often one token.
                self.parts = self.parts.saturating_sub(JOINER_DISCOUNT);
            }
            self.len = 0;
            self.glued = matches!(before, CharKind::Latin | CharKind::Digit);
        }
        self.joins = matches!(c, '_' | '/' | '.');
        self.kind = kind;
        self.len = self.len.saturating_add(1);
        self.parts = self.parts.saturating_add(self.price(c, before));
    }

    fn price(&self, c: char, before: CharKind) -> usize {
        let first = self.len == 1;
        match self.kind {
            CharKind::Start => 0,
            CharKind::Latin if first && before == CharKind::Digit => self.letter(c) + 20,
            CharKind::Latin => self.letter(c),
            CharKind::Digit if first && before == CharKind::Latin => PARTS_PER_TOKEN + 20,
            // A blank before a number is a separate token.
            CharKind::Digit if first && before == CharKind::Blank => 2 * PARTS_PER_TOKEN,
            CharKind::Digit => {
                if self.len % 3 == 1 {
                    PARTS_PER_TOKEN
                } else {
                    0
                }
            }
            // A single blank belongs to the next word.
            CharKind::Blank => {
                if self.len == 2 || self.len.is_multiple_of(64) {
                    PARTS_PER_TOKEN
                } else {
                    0
                }
            }
            CharKind::Break if first && before == CharKind::Sign => 20,
            CharKind::Break => {
                if self.len % 8 == 1 {
                    PARTS_PER_TOKEN
                } else {
                    0
                }
            }
            CharKind::Sign => {
                if first {
                    PARTS_PER_TOKEN
                } else {
                    45
                }
            }
            CharKind::Script(word, letter) => {
                if first {
                    word + letter
                } else {
                    letter
                }
            }
        }
    }

    fn letter(&self, c: char) -> usize {
        let foreign = match c {
            '\0'..='\u{7f}' => 0,
            'ì' | 'ò' | '\u{100}'..='\u{24f}' => 100,
            'à' | '\u{1e00}'..='\u{1e9f}' | 'ẹ' | 'ọ' => 60,
            _ => 45,
        };
        let place = match self.len {
            1 => PARTS_PER_TOKEN,
            _ if c.is_uppercase() => 12,
            _ if self.glued => 5,
            ..=4 => 0,
            5 | 6 => 10,
            7..=10 => 25,
            _ => 40,
        };
        place + foreign
    }
}

fn kind(c: char) -> CharKind {
    match c {
        ' ' => CharKind::Blank,
        '\n' | '\r' | '\t' => CharKind::Break,
        '0'..='9' => CharKind::Digit,
        'a'..='z' | 'A'..='Z' => CharKind::Latin,
        '\0'..='\u{7f}' => CharKind::Sign,
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => CharKind::Latin,
        _ => script(c),
    }
}

/// The costs of other scripts, for each word and each letter.
fn script(c: char) -> CharKind {
    let (word, letter) = match c {
        '\u{300}'..='\u{36f}' => (0, 120),
        // Greek, Cyrillic, Armenian and Georgian, Hebrew, Arabic.
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => (40, 35),
        '\u{400}'..='\u{52f}' => (40, 25),
        '\u{530}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' => (40, 28),
        '\u{590}'..='\u{5ff}' => (40, 32),
        '\u{600}'..='\u{77f}' => (40, 25),
        // North and South Indian scripts, Sinhala, Thai, Lao, Burmese, Khmer.
        '\u{900}'..='\u{b7f}' => (40, 22),
        '\u{b80}'..='\u{d7f}' => (40, 30),
        '\u{d80}'..='\u{dff}' => (40, 60),
        '\u{e00}'..='\u{e7f}' => (0, 34),
        '\u{e80}'..='\u{eff}' => (0, 170),
        '\u{1000}'..='\u{109f}' => (0, 55),
        '\u{1780}'..='\u{17ff}' => (0, 70),
        // Kana, Hangul, ideographs and their punctuation.
        '\u{3040}'..='\u{309f}' => (0, 72),
        '\u{30a0}'..='\u{30ff}' => (0, 62),
        '\u{ac00}'..='\u{d7a3}' => (0, 68),
        '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}' => (0, 80),
        '\u{2000}'..='\u{206f}' | '\u{a0}'..='\u{bf}' => (20, 70),
        '\u{fe00}'..='\u{fe0f}' => (0, 50),
        '\u{1f000}'..='\u{1faff}' => (0, 150),
        // Vocabularies have no words of the remaining scripts and encode them by bytes.
        _ => (0, 65 * c.len_utf8()),
    };
    CharKind::Script(word, letter)
}
