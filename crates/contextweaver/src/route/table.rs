//! A table of static word-piece vectors, and the vectors of texts made from it.
//!
//! The vector of a text is the sum of the vectors of its pieces; the similarity of two texts is the
//! cosine of their vectors. Everything is computed in integers, so the result is the same on every
//! machine.

mod error;
mod file;
mod pieces;

use std::collections::HashMap;
#[cfg(feature = "token-table")]
use std::sync::{Arc, OnceLock};

pub use error::TableError;

use super::pool::Pool;
use crate::fixed_point::{self, ONE};
use file::TableRows;
use pieces::WordPieceVocabulary;

/// The most dimensions of a vector.
const MAX_DIMENSIONS: usize = 1_024;
/// The most pieces of one text that count.
const MAX_PIECES: usize = 4_096;
/// The weight of a phrase in a request, as in the training of the built-in table
/// (`benches/routing/train.py`). A word weighs how rare it is, up to about 6 among 200 items.
const PHRASE_WEIGHT: i64 = 6 << 16;

#[cfg(feature = "token-table")]
static BUILT_IN: &[u8] = include_bytes!("../../assets/token_table.safetensors");
#[cfg(feature = "token-table")]
static BUILT_IN_WORDS: &str = include_str!("../../assets/token_table.vocab.txt");

/// A static table of word-piece vectors. It knows, without a model, that a message may be a mail.
///
/// With the feature `token-table` one is built in: 29,144 English pieces and some phrases of
/// two words, with 256 dimensions; its origin is in `assets/MODEL_CARD.md`. Others can be read with [`TokenTable::read`].
#[derive(Debug)]
pub struct TokenTable {
    pieces: WordPieceVocabulary,
    rows: TableRows,
    /// Caches that queries reuse.
    piece_caches: Pool<PieceCache>,
}

impl TokenTable {
    /// The built-in table.
    ///
    /// # Errors
    /// [`TableError`], which a test rules out.
    #[cfg(feature = "token-table")]
    pub fn built_in() -> Result<Arc<Self>, TableError> {
        static READ: OnceLock<Result<Arc<TokenTable>, TableError>> = OnceLock::new();
        READ.get_or_init(|| Self::read(BUILT_IN, BUILT_IN_WORDS).map(Arc::new)).clone()
    }

    /// Reads a table in the format of model2vec: a safetensors file with `embeddings` (floats of 16, 32
    /// or 64 bits, or signed bytes), optionally `row_scale` or `weights` with a factor for each row and
    /// `mapping` with the row of each piece; and its vocabulary, as `vocab.txt` (one piece per line) or
    /// as a `tokenizer.json` of type `WordPiece`.
    ///
    /// This crate has three extensions. `query_mapping` is the row of each piece in the text of a
    /// request, so that a word may mean something else where people say it than where a tool is
    /// described. A piece of two words with a space between them is a phrase, whose row is added where a
    /// request has these words side by side (`hold off`). And `embeddings_i4` stands for `embeddings`:
    /// signed numbers of four bits, two in each byte (`U8`), the lower bits first.
    ///
    /// # Errors
    /// [`TableError`] with what is missing or does not fit.
    pub fn read(tensors: &[u8], vocabulary: &str) -> Result<Self, TableError> {
        let rows = file::read(tensors)?;
        let pieces = WordPieceVocabulary::read(vocabulary)?;
        if pieces.row_count() != rows.piece_count() {
            return Err(TableError::Pieces {
                pieces: pieces.row_count(),
                rows: rows.piece_count(),
            });
        }
        Ok(Self { pieces, rows, piece_caches: Pool::default() })
    }

    /// The number of dimensions of a vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.rows.dimensions
    }

    /// The vector of a request; zero if the table knows none of its words.
    pub(super) fn query_vector(&self, text: &str, cache: &mut PieceCache) -> Vector {
        let words = weaver_text::split::words(text);
        self.sum(Side::Query, words.iter().map(|word| (word.as_str(), ONE)), cache)
    }

    /// The vector of the weighted words of a request, of the phrases among its own words, and of the
    /// words that it implies, with a cache of earlier queries.
    pub(super) fn query_sum_cached<'w>(
        &self,
        own: impl Iterator<Item = (&'w str, u64)> + Clone,
        implied: impl Iterator<Item = (&'w str, u64)>,
    ) -> Vector {
        let mut cache = self.piece_caches.acquire();
        let mut sum = WeightedSum::new(self, Side::Query);
        sum.add_phrases(own.clone().map(|(word, _)| word));
        sum.add_words(own.chain(implied), &mut cache);
        cache.trim_for_queries();
        self.piece_caches.release(cache);
        Vector::of(&sum.values)
    }

    /// The vector of weighted words; weights are in units of 1/65,536, up to 64.
    pub(super) fn sum<'w>(
        &self,
        side: Side,
        words: impl Iterator<Item = (&'w str, u64)>,
        cache: &mut PieceCache,
    ) -> Vector {
        let mut sum = WeightedSum::new(self, side);
        sum.add_words(words, cache);
        Vector::of(&sum.values)
    }
}

/// The sum of the weighted rows of a text.
struct WeightedSum<'t> {
    table: &'t TokenTable,
    side: Side,
    values: Vec<i64>,
    /// How many more pieces and phrases count.
    room: usize,
}

impl<'t> WeightedSum<'t> {
    fn new(table: &'t TokenTable, side: Side) -> Self {
        Self { table, side, values: vec![0; table.rows.dimensions], room: MAX_PIECES }
    }

    /// Adds words with their weights in units of 1/65,536, up to 64.
    fn add_words<'w>(
        &mut self,
        words: impl Iterator<Item = (&'w str, u64)>,
        cache: &mut PieceCache,
    ) {
        for (word, weight) in words {
            let weight = i64::try_from(weight.min(64 * ONE)).unwrap_or(0);
            for piece in cache.pieces(&self.table.pieces, word) {
                self.add(*piece, weight);
            }
        }
    }

    /// Adds the phrases of two neighbouring words that the vocabulary has.
    fn add_phrases<'w>(&mut self, words: impl Iterator<Item = &'w str>) {
        let pieces = &self.table.pieces;
        if !pieces.has_phrases() {
            return;
        }
        let mut phrase = String::new();
        for word in words {
            // `phrase` is the word before, if there is one.
            let before = phrase.len();
            if before == 0 {
                phrase.push_str(word);
                continue;
            }
            phrase.push(' ');
            phrase.push_str(word);
            if let Some(piece) = pieces.phrase(&phrase) {
                self.add(piece, PHRASE_WEIGHT);
            }
            phrase.drain(..=before);
        }
    }

    /// Adds the weighted row of a piece. A summand is at most 2²² · 2¹⁶ · 2⁷ and there are at most 2¹²
    /// pieces, so the sum never overflows.
    fn add(&mut self, piece: u32, weight: i64) {
        let Some(room) = self.room.checked_sub(1) else { return };
        self.room = room;
        let TableRows { values, scales, mapping, query_mapping, .. } = &self.table.rows;
        let mapping = match self.side {
            Side::Item => mapping,
            Side::Query if query_mapping.is_some() => query_mapping,
            Side::Query => mapping,
        };
        let row = match mapping {
            Some(mapping) => mapping.get(piece as usize).copied().unwrap_or(u32::MAX),
            None => piece,
        } as usize;
        let scale = weight * scales.get(row).map_or(0, |scale| i64::from(*scale));
        values.add_row(row, &mut self.values, scale);
    }
}

/// Whose text a vector is of. What people say and what tools say of themselves may have rows of their own
/// (two towers; Huang et al. 2013, "Learning deep structured semantic models for web search using
/// clickthrough data").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Item,
    Query,
}

/// A cache of the pieces of words.
#[derive(Debug, Default)]
pub(super) struct PieceCache {
    /// For each word, the range of its pieces.
    words: HashMap<Box<str>, (u32, u32)>,
    pieces: Vec<u32>,
    /// The bytes of all words.
    bytes: usize,
}

impl PieceCache {
    /// The most cached words.
    const MAX_WORDS: usize = 1 << 18;
    /// The most words that are cached between two queries.
    const MAX_WORDS_BETWEEN_QUERIES: usize = 1 << 12;

    fn pieces(&mut self, pieces: &WordPieceVocabulary, word: &str) -> &[u32] {
        let (from, to) = match self.words.get(word) {
            Some(known) => *known,
            None => self.split_word(pieces, word),
        };
        self.pieces.get(from as usize..to as usize).unwrap_or_default()
    }

    fn split_word(&mut self, pieces: &WordPieceVocabulary, word: &str) -> (u32, u32) {
        self.trim_to(Self::MAX_WORDS);
        let at = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let from = at(self.pieces.len());
        self.pieces.extend(pieces.split(word));
        let place = (from, at(self.pieces.len()));
        self.bytes += word.len();
        self.words.insert(word.into(), place);
        place
    }

    fn trim_for_queries(&mut self) {
        self.trim_to(Self::MAX_WORDS_BETWEEN_QUERIES);
    }

    fn trim_to(&mut self, most: usize) {
        if self.words.len() >= most || self.bytes >= 32 * most {
            *self = Self::default();
        }
    }
}

/// A vector of bytes with its norm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vector {
    pub(super) values: Box<[i8]>,
    /// The Euclidean norm, in units of 1/256.
    pub(super) length: u32,
}

impl Vector {
    fn of(sum: &[i64]) -> Self {
        let most = sum.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0);
        // Shift to so few bits that a product with 2 · 127 fits.
        let shift = (64 - most.leading_zeros()).saturating_sub(48);
        let most = i64::try_from(most >> shift).unwrap_or(i64::MAX).max(1);
        let byte = |value: &i64| {
            let doubled = 2 * 127 * (value >> shift);
            let rounded = (doubled + doubled.signum() * most) / (2 * most);
            i8::try_from(rounded).unwrap_or(0)
        };
        let values: Box<[i8]> = sum.iter().map(byte).collect();
        let square: u32 = values.iter().map(|v| u32::from(v.unsigned_abs()).pow(2)).sum();
        Self { values, length: (u64::from(square) << 16).isqrt().try_into().unwrap_or(u32::MAX) }
    }

    /// The mean direction of some vectors.
    pub(super) fn mean_direction(vectors: &[Self]) -> Self {
        let mut sum = vec![0_i64; vectors.first().map_or(0, |first| first.values.len())];
        for vector in vectors {
            for (sum, value) in sum.iter_mut().zip(&vector.values) {
                *sum += (i64::from(*value) << 32) / i64::from(vector.length.max(1));
            }
        }
        Self::of(&sum)
    }

    /// Whether the vector is not zero.
    pub(super) fn has_direction(&self) -> bool {
        self.length > 0
    }

    /// The cosine of two vectors, from -1 to 1, in units of 1/65,536; 0 if one of them is zero.
    pub(super) fn cosine(&self, values: &[i8], length: u32) -> i64 {
        let dot = dot(&self.values, values);
        let lengths = u64::from(self.length) * u64::from(length);
        let size = fixed_point::ratio(u64::from(dot.unsigned_abs()) << 16, lengths);
        let size = i64::try_from(size).unwrap_or(0);
        if dot < 0 { -size } else { size }
    }
}

/// The dot product of two vectors, at most 2²⁴. The sixteen parallel sums let the compiler use vector
/// instructions on any machine.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    let product = |(a, b): (&i8, &i8)| i32::from(*a) * i32::from(*b);
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    let mut sums = [0_i32; 16];
    for both in a.iter().zip(b) {
        let products = both.0.iter().zip(both.1).map(product);
        sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
    }
    let rest = a_rest.iter().zip(b_rest).map(product);
    sums.into_iter().chain(rest).sum()
}

#[cfg(test)]
#[cfg(feature = "token-table")]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> i64 {
        let table = TokenTable::built_in().unwrap();
        let mut cache = PieceCache::default();
        let (a, b) = (table.query_vector(a, &mut cache), table.query_vector(b, &mut cache));
        a.cosine(&b.values, b.length)
    }

    #[test]
    fn what_means_the_same_is_near() {
        assert!((cosine("send a mail", "send a mail") - 65_536).abs() < 8);
        assert!(cosine("send a mail", "deliver a message") > cosine("send a mail", "draw a chart"));
        assert_eq!(cosine("send a mail", ""), 0);
    }

    #[test]
    fn a_cosine_is_the_same_everywhere() {
        assert_eq!(cosine("delete the file", "remove a document"), 37_353);
    }

    #[test]
    fn a_phrase_counts_where_its_words_are_side_by_side() {
        let header = r#"{"embeddings":{"dtype":"I8","shape":[3,2],"data_offsets":[0,6]}}"#;
        let length = (header.len() as u64).to_le_bytes();
        let file = [&length, header.as_bytes(), &[1, 0, 1, 0, 0, 1]].concat();
        let table = TokenTable::read(&file, "hold\noff\nhold off").unwrap();
        let of = |text: &str, implied: &[(&'static str, u64)]| {
            let words = weaver_text::split::words(text);
            let words = words.iter().map(|word| (word.as_str(), ONE));
            table.query_sum_cached(words, implied.iter().copied()).values
        };
        assert_eq!(*of("hold off", &[]), [42, 127]);
        assert_eq!(*of("off hold", &[]), [127, 0]);
        // An implied word is not beside a word of the request.
        assert_eq!(*of("hold", &[("off", ONE)]), [127, 0]);
    }

    #[test]
    fn a_long_text_is_bounded() {
        let table = TokenTable::built_in().unwrap();
        let long = "word ".repeat(200_000);
        let vector = table.query_vector(&long, &mut PieceCache::default());
        assert_eq!(vector.values.len(), 256);
    }
}
