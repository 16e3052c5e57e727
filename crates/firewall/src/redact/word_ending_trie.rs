//! Looks up a word and all its known endings in one walk from its last letter.
//!
//! A trie of the reversed words (Fredkin, 1960): a suffix of a word is a prefix of its reverse, so
//! one walk meets every known ending. The time is proportional to the longest one, however many
//! there are.

/// Letters of the alphabet.
const LETTERS: usize = 26;

/// Flags of a word, which the caller defines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WordFlags {
    /// Flags of all entries that the word ends with, including itself.
    pub(super) of_endings: u8,
    /// Flags of the word itself.
    pub(super) of_word: u8,
}

/// A trie of reversed words. ASCII letters only; case is ignored.
#[derive(Debug)]
pub(super) struct WordEndingTrie {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// The node of the previous letter, by letter; 0 for none, since no edge leads to the root.
    previous: [u16; LETTERS],
    flags: u8,
}

impl Default for WordEndingTrie {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

fn letter(byte: u8) -> Option<usize> {
    let letter = usize::from((byte | 0x20).wrapping_sub(b'a'));
    (letter < LETTERS).then_some(letter)
}

impl WordEndingTrie {
    /// Adds a word. A word with anything but letters is ignored.
    pub(super) fn add(&mut self, word: &str, meaning: u8) {
        let mut node = 0;
        for byte in word.bytes().rev() {
            let Some(letter) = letter(byte) else { return };
            let known = self.previous_node(node, letter);
            node = if known == 0 { self.add_node(node, letter) } else { known };
        }
        if let Some(node) = self.nodes.get_mut(node) {
            node.flags |= meaning;
        }
    }

    fn previous_node(&self, node: usize, letter: usize) -> usize {
        let next = self.nodes.get(node).and_then(|node| node.previous.get(letter));
        next.copied().unwrap_or(0).into()
    }

    fn add_node(&mut self, node: usize, letter: usize) -> usize {
        let new_index = self.nodes.len();
        let Ok(number) = u16::try_from(new_index) else { return 0 };
        self.nodes.push(Node::default());
        if let Some(slot) = self.nodes.get_mut(node).and_then(|n| n.previous.get_mut(letter)) {
            *slot = number;
        }
        new_index
    }

    /// The flags of a word and of its endings.
    pub(super) fn lookup(&self, word: &[u8]) -> WordFlags {
        let mut found = WordFlags::default();
        let mut node = 0;
        for byte in word.iter().rev() {
            node = letter(*byte).map_or(0, |letter| self.previous_node(node, letter));
            if node == 0 {
                return WordFlags { of_word: 0, ..found };
            }
            found.of_word = self.nodes.get(node).map_or(0, |node| node.flags);
            found.of_endings |= found.of_word;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_whole_and_by_its_end() {
        let mut lexicon = WordEndingTrie::default();
        lexicon.add("key", 1);
        lexicon.add("apikey", 2);
        lexicon.add("i18n", 4);
        let look = |word: &str| {
            let WordFlags { of_endings: ends, of_word: whole } = lexicon.lookup(word.as_bytes());
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
