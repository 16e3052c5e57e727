//! Words by their ends: what a word is, and what it ends with, in one walk from its last letter.
//!
//! A trie of the reversed words (Fredkin, 1960): a suffix of a word is a prefix of its reverse, so
//! one walk meets every known ending, in time proportional to the longest, however many there are.

/// Letters of the alphabet.
const LETTERS: usize = 26;

/// What was found of a word, as bits that the caller chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WordMeaning {
    /// Of the words that it ends with, itself among them.
    pub(super) ends: u8,
    /// Of the word that it is.
    pub(super) whole: u8,
}

/// A tree of words, read from their ends. Only ASCII letters, in any case.
#[derive(Debug)]
pub(super) struct Lexicon {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// The node before, by letter; 0 for none, since no node leads back to the first.
    before: [u16; LETTERS],
    meaning: u8,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

fn letter(byte: u8) -> Option<usize> {
    let letter = usize::from((byte | 0x20).wrapping_sub(b'a'));
    (letter < LETTERS).then_some(letter)
}

impl Lexicon {
    /// Adds a word. A word containing anything but letters is never found.
    pub(super) fn add(&mut self, word: &str, meaning: u8) {
        let mut node = 0;
        for byte in word.bytes().rev() {
            let Some(letter) = letter(byte) else { return };
            let known = self.step(node, letter);
            node = if known == 0 { self.grow(node, letter) } else { known };
        }
        if let Some(node) = self.nodes.get_mut(node) {
            node.meaning |= meaning;
        }
    }

    fn step(&self, node: usize, letter: usize) -> usize {
        let next = self.nodes.get(node).and_then(|node| node.before.get(letter));
        next.copied().unwrap_or(0).into()
    }

    fn grow(&mut self, node: usize, letter: usize) -> usize {
        let fresh = self.nodes.len();
        let Ok(number) = u16::try_from(fresh) else { return 0 };
        self.nodes.push(Node::default());
        if let Some(slot) = self.nodes.get_mut(node).and_then(|n| n.before.get_mut(letter)) {
            *slot = number;
        }
        fresh
    }

    /// What a word means.
    pub(super) fn look(&self, word: &[u8]) -> WordMeaning {
        let mut found = WordMeaning::default();
        let mut node = 0;
        for byte in word.iter().rev() {
            node = letter(*byte).map_or(0, |letter| self.step(node, letter));
            if node == 0 {
                return WordMeaning { whole: 0, ..found };
            }
            found.whole = self.nodes.get(node).map_or(0, |node| node.meaning);
            found.ends |= found.whole;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_whole_and_by_its_end() {
        let mut lexicon = Lexicon::default();
        lexicon.add("key", 1);
        lexicon.add("apikey", 2);
        lexicon.add("i18n", 4);
        let look = |word: &str| {
            let WordMeaning { ends, whole } = lexicon.look(word.as_bytes());
            (ends, whole)
        };
        assert_eq!(look("key"), (1, 1));
        assert_eq!(look("ApiKey"), (3, 2));
        assert_eq!(look("monkey"), (1, 0));
        assert_eq!(look("myapikey"), (3, 0));
        for none in ["", "keys", "ey", "key1", "i18n", "ke\u{df}y"] {
            assert_eq!(look(none), (0, 0), "{none}");
        }
    }
}
