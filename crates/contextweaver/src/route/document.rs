//! Turns an item into a searchable document: weighted terms by field.
//!
//! Weights are those of BM25F (Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to
//! multiple weighted fields"): occurrences are boosted by field, normalised by the length of the
//! field, summed, and only then saturated, so that a word in three fields does not count three times.
//! With b = 0.5, the length normalisation `1 / (1 − b + b·length/pivot)` is `2·pivot / (pivot +
//! length)`. The pivot is a constant instead of the average of the catalog, so that the weight of a
//! term depends on its item alone: the index can be changed item by item, and hidden items have no
//! influence.

use std::collections::BTreeSet;

use crate::catalog::SelectableItem;
use crate::fixed_point;
use crate::route::analyser::{Analyser, TermKeys};
use crate::route::argument_type::ArgumentTypes;
use crate::route::query::has_words;
use crate::route::term_key::{self, TermKey};

/// The most terms of one field that are indexed.
const MAX_FIELD_TERMS: u64 = 4096;

/// The fields of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Name,
    Description,
    Namespace,
    Tags,
    ParameterNames,
    ParameterTexts,
    Examples,
    ArgumentTypes,
}

/// The number of fields. [`Field::ArgumentTypes`] has to stay the last one.
const FIELD_COUNT: usize = Field::ArgumentTypes as usize + 1;

impl Field {
    /// The name of the field in traces.
    fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Namespace => "namespace",
            Self::Tags => "tags",
            Self::ParameterNames => "parameter_names",
            Self::ParameterTexts => "parameter_texts",
            Self::Examples => "examples",
            Self::ArgumentTypes => "argument_types",
        }
    }

    /// The boost of the field in tenths, and the pivot length: the number of terms at which an
    /// occurrence counts exactly the boost.
    fn boost_and_pivot_length(self) -> (u64, u64) {
        match self {
            Self::Name => (20, 3),
            Self::Description => (10, 12),
            Self::Namespace => (10, 2),
            Self::Tags => (10, 3),
            Self::ParameterNames => (3, 6),
            Self::ParameterTexts => (3, 30),
            Self::Examples => (5, 30),
            Self::ArgumentTypes => (10, 3),
        }
    }
}

/// The weight of a term in an item, in units of 1/4,096; at most 2.2.
pub(super) type Weight = u16;
/// The number of fractional bits of a weight.
pub(super) const WEIGHT_FRACTION_BITS: u32 = 12;

/// The occurrences of unigrams or of bigrams: a key and a field for each.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    entries: Vec<(TermKey, Field)>,
    lengths: [u64; FIELD_COUNT],
}

impl Occurrences {
    fn add(&mut self, field: Field, keys: &[TermKey]) {
        let Some(length) = self.lengths.get_mut(field as usize) else { return };
        for key in keys {
            if *length >= MAX_FIELD_TERMS {
                return;
            }
            *length += 1;
            self.entries.push((*key, field));
        }
    }

    /// Calls `each` with every term and its weight in this document: the sum over the fields,
    /// normalised by length, then saturated so that repeating a word soon stops helping.
    pub(super) fn for_each_weight(mut self, mut each: impl FnMut(TermKey, Weight)) {
        self.entries.sort_unstable();
        for terms in self.entries.chunk_by(|a, b| a.0 == b.0) {
            let Some((key, _)) = terms.first() else { continue };
            let sum = terms
                .chunk_by(|a, b| a.1 == b.1)
                .filter_map(|same| {
                    let field = same.first()?.1;
                    let length = self.lengths.get(field as usize).copied().unwrap_or(0);
                    let (weight, pivot_length) = field.boost_and_pivot_length();
                    let count = same.len() as u64;
                    Some(fixed_point::ratio(
                        weight * count * 2 * pivot_length,
                        10 * (pivot_length + length),
                    ))
                })
                .sum();
            each(
                *key,
                Weight::try_from(saturate(sum) >> (16 - WEIGHT_FRACTION_BITS))
                    .unwrap_or(Weight::MAX),
            );
        }
    }
}

/// The BM25 saturation `x·(k+1)/(x+k)` with k = 1.2.
fn saturate(x: u64) -> u64 {
    fixed_point::ratio(22 * x, 10 * x + 12 * fixed_point::ONE)
}

/// The terms of an item.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) unigrams: Occurrences,
    pub(super) bigrams: Occurrences,
    /// The digest of the word sequence of name and description.
    pub(super) word_sequence: TermKey,
    /// The digest of that sequence without numbers and version words, together with the namespace:
    /// equal for near duplicates.
    pub(super) near_duplicate_digest: TermKey,
}

impl Document {
    pub(super) fn from_item(item: &SelectableItem, analyser: &mut Analyser) -> Self {
        analyser.trim();
        let mut this = Self::default();
        let name = analyser.keys_of_name(item.display_name());
        if !has_words(item.display_name()) {
            this.add(Field::Name, &analyser.keys_of_name(item.id.as_str()));
        }
        let description = analyser.keys(&item.description);
        let (word_sequence, without_marks) = word_sequences(item, analyser);
        this.word_sequence = word_sequence;
        this.near_duplicate_digest =
            term_key::of_term(&format!("{without_marks:x} {}", item.namespace));
        this.add(Field::Name, &name);
        this.add(Field::Description, &description);
        this.add(Field::Namespace, &analyser.keys(&item.namespace));
        for tag in &item.tags {
            this.add(Field::Tags, &analyser.keys(tag));
        }
        for parameter in &item.parameters {
            this.add(Field::ParameterNames, &analyser.keys(&parameter.name));
            this.add(Field::ParameterTexts, &analyser.keys(&parameter.description));
            let types: Vec<TermKey> = ArgumentTypes::keys_of_argument(&parameter.name).collect();
            this.unigrams.add(Field::ArgumentTypes, &types);
        }
        for example in &item.examples {
            this.add(Field::Examples, &analyser.keys(example));
        }
        this
    }

    /// The names of the fields that contain this term as a unigram or bigram.
    pub(super) fn fields(&self, key: TermKey) -> Vec<&'static str> {
        let all = self.unigrams.entries.iter().chain(&self.bigrams.entries);
        let fields: BTreeSet<Field> =
            all.filter(|(found, _)| *found == key).map(|(_, field)| *field).collect();
        fields.into_iter().map(Field::as_str).collect()
    }

    fn add(&mut self, field: Field, keys: &TermKeys) {
        self.unigrams.add(field, &keys.unigrams);
        self.bigrams.add(field, &keys.bigrams);
    }
}

/// Two digests of the words of name and description: of all words, and of those that are not numbers
/// or version words. Stop words are included, because "to" and "from", or "in" and "out", distinguish
/// otherwise equal tools.
fn word_sequences(item: &SelectableItem, analyser: &mut Analyser) -> (TermKey, TermKey) {
    let mut words = analyser.words(item.display_name());
    words.extend(analyser.words(&item.description));
    if words.is_empty() {
        let own = term_key::of_term(&format!("{} {}", item.name, item.id));
        return (own, own);
    }
    (analyser.word_sequence(&words), analyser.word_sequence_without_versions(&words))
}
