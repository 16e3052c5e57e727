//! Splits words into the pieces of a table's vocabulary (WordPiece tokenization).

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::error::TableError;

/// The longest word that is split, in characters.
const MAX_WORD: usize = 100;
/// The default prefix of pieces that continue a word.
const DEFAULT_CONTINUATION_PREFIX: &str = "##";

/// The vocabulary of a table: its pieces by their text.
#[derive(Debug)]
pub(super) struct WordPieceVocabulary {
    rows: HashMap<Box<str>, u32>,
    count: usize,
    /// Whether any piece is a phrase of two words.
    has_phrases: bool,
    /// The prefix of pieces that continue a word.
    continuation_prefix: Box<str>,
}

/// The parts of a `tokenizer.json` that are used.
#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenizerModel,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
}

#[derive(Deserialize)]
struct TokenizerModel {
    #[serde(rename = "type")]
    kind: Option<String>,
    vocab: Value,
    continuing_subword_prefix: Option<String>,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}

impl WordPieceVocabulary {
    /// Reads a `vocab.txt` with one piece per line, in the order of the rows, or a `tokenizer.json`
    /// of type `WordPiece`.
    pub(super) fn read(text: &str) -> Result<Self, TableError> {
        if text.trim_start().starts_with('{') {
            Self::from_tokenizer_json(text)
        } else {
            Ok(Self::from_lines(text))
        }
    }

    fn from_lines(text: &str) -> Self {
        let rows: HashMap<_, _> = text.lines().zip(0..).map(|(p, row)| (p.into(), row)).collect();
        Self {
            has_phrases: has_phrases(&rows),
            rows,
            count: text.lines().count(),
            continuation_prefix: DEFAULT_CONTINUATION_PREFIX.into(),
        }
    }

    fn from_tokenizer_json(text: &str) -> Result<Self, TableError> {
        let refuse = |problem: String| TableError::Vocabulary { problem };
        let read: TokenizerFile =
            serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        let kind = read.model.kind.as_deref().unwrap_or("WordPiece");
        if kind != "WordPiece" {
            return Err(refuse(format!("its type is {kind}; only WordPiece is supported")));
        }
        let vocabulary: BTreeMap<String, u32> =
            serde_json::from_value(read.model.vocab).map_err(|error| refuse(error.to_string()))?;
        let added = read.added_tokens.into_iter().map(|token| (token.content, token.id));
        let rows: HashMap<Box<str>, u32> =
            vocabulary.into_iter().chain(added).map(|(text, id)| (text.into(), id)).collect();
        let count = rows.values().max().map_or(0, |most| *most as usize + 1);
        let continuation_prefix = read
            .model
            .continuing_subword_prefix
            .as_deref()
            .unwrap_or(DEFAULT_CONTINUATION_PREFIX)
            .into();
        Ok(Self { has_phrases: has_phrases(&rows), rows, count, continuation_prefix })
    }

    /// The number of rows that the pieces need: the highest row plus 1.
    pub(super) fn row_count(&self) -> usize {
        self.count
    }

    /// Whether any piece is a phrase of two words.
    pub(super) fn has_phrases(&self) -> bool {
        self.has_phrases
    }

    /// The row of a phrase, two words with a space between them.
    pub(super) fn phrase(&self, phrase: &str) -> Option<u32> {
        self.rows.get(phrase).copied()
    }

    /// Splits a word greedily into the longest matching pieces; empty if the word cannot be split
    /// completely.
    pub(super) fn split(&self, word: &str) -> Vec<u32> {
        let ends: Vec<usize> =
            word.char_indices().map(|(at, c)| at + c.len_utf8()).take(MAX_WORD + 1).collect();
        if ends.len() > MAX_WORD {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut from = 0;
        let mut continuation_prefix = self.continuation_prefix.to_string();
        while from < word.len() {
            let longest = ends.iter().rev().take_while(|end| **end > from).find_map(|end| {
                let part = word.get(from..*end)?;
                let row = match from {
                    0 => self.rows.get(part),
                    _ => {
                        continuation_prefix.truncate(self.continuation_prefix.len());
                        continuation_prefix.push_str(part);
                        self.rows.get(continuation_prefix.as_str())
                    }
                };
                row.map(|row| (*row, *end))
            });
            let Some((row, end)) = longest else { return Vec::new() };
            found.push(row);
            from = end;
        }
        found
    }
}

fn has_phrases(rows: &HashMap<Box<str>, u32>) -> bool {
    rows.keys().any(|piece| piece.contains(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_pieces_come_first() {
        let pieces = WordPieceVocabulary::read("un\nunder\n##stand\n##s\n##st\n日").unwrap();
        assert_eq!(pieces.row_count(), 6);
        assert_eq!(pieces.split("understand"), [1, 2]);
        assert_eq!(pieces.split("understands"), [1, 2, 3]);
        assert_eq!(pieces.split("日"), [5]);
        assert!(pieces.split("undertow").is_empty());
        assert!(pieces.split("").is_empty());
        assert!(pieces.split(&"un".repeat(1_000)).is_empty());
    }

    #[test]
    fn a_piece_with_a_space_is_a_phrase() {
        let pieces = WordPieceVocabulary::read("hold\noff\nhold off").unwrap();
        assert!(pieces.has_phrases());
        assert_eq!((pieces.phrase("hold off"), pieces.phrase("off hold")), (Some(2), None));
        assert!(!WordPieceVocabulary::read("hold\noff").unwrap().has_phrases());
    }

    #[test]
    fn a_tokenizer_file_gives_the_same_pieces() {
        let text = r#"{"added_tokens": [{"id": 3, "content": "[X]", "special": true}], "model":
            {"type": "WordPiece", "continuing_subword_prefix": "@", "vocab":
            {"un": 0, "under": 1, "@stand": 2}}}"#;
        let pieces = WordPieceVocabulary::read(text).unwrap();
        assert_eq!(pieces.row_count(), 4);
        assert_eq!(pieces.split("understand"), [1, 2]);
        let other = text.replace("WordPiece", "Unigram");
        assert_eq!(WordPieceVocabulary::read(&other).unwrap_err().code(), "table.vocabulary");
        assert_eq!(WordPieceVocabulary::read("{}").unwrap_err().code(), "table.vocabulary");
    }
}
