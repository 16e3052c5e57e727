//! An item as a searchable document: keys by field.
//!
//! Weights are those of BM25F (Robertson, Zaragoza and Taylor 2004, "Simple BM25 extension to
//! multiple weighted fields"): occurrences are weighted by field, damped by the length of the
//! field, summed, and only then saturated, so that a word in three fields is no threefold
//! evidence. The length is held against a constant instead of the average of the catalog, so that
//! the weight of a word depends on its item alone and an index can be changed item by item.

use std::collections::BTreeSet;

use crate::catalog::SelectableItem;
use crate::fixed_point;
use crate::route::analyser::{Analyser, Keys};
use crate::route::argument_type::ArgumentTypes;
use crate::route::key::{self, Key};
use crate::route::query::has_words;

/// Most terms of one field that are indexed.
const MAX_FIELD_TERMS: u64 = 4096;

/// The fields, as positions in a table.
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

const FIELDS: usize = 8;

impl Field {
    /// Its name for people.
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

    /// How much a term in this field counts, in tenths, and the length in terms at which it counts
    /// exactly so. The length is a constant and not the mean of the catalog: then the weight of a
    /// term depends on its own item alone, and nothing that is hidden can move it.
    fn weight_and_length(self) -> (u64, u64) {
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

/// How much a term weighs in an item, in units of 1/4,096; at most 2.2.
pub(super) type Weight = u16;
/// The binary digits of a weight behind the point.
pub(super) const DIGITS: u32 = 12;

/// Where the terms of one sort stand: a key and its field for each time it occurs.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    found: Vec<(Key, Field)>,
    lengths: [u64; FIELDS],
}

impl Occurrences {
    fn add(&mut self, field: Field, keys: &[Key]) {
        let Some(length) = self.lengths.get_mut(field as usize) else { return };
        for key in keys {
            if *length >= MAX_FIELD_TERMS {
                return;
            }
            *length += 1;
            self.found.push((*key, field));
        }
    }

    /// Every term with its weight in this document: the sum over the fields, damped by length,
    /// then saturated so that repeating a word soon stops to help.
    pub(super) fn weights(mut self, mut each: impl FnMut(Key, Weight)) {
        self.found.sort_unstable();
        for terms in self.found.chunk_by(|a, b| a.0 == b.0) {
            let Some((key, _)) = terms.first() else { continue };
            let sum = terms
                .chunk_by(|a, b| a.1 == b.1)
                .filter_map(|same| {
                    let field = same.first()?.1;
                    let length = self.lengths.get(field as usize).copied().unwrap_or(0);
                    let (weight, usual) = field.weight_and_length();
                    let count = same.len() as u64;
                    Some(fixed_point::ratio(weight * count * 2 * usual, 10 * (usual + length)))
                })
                .sum();
            each(*key, Weight::try_from(saturate(sum) >> (16 - DIGITS)).unwrap_or(Weight::MAX));
        }
    }
}

/// `x·(k+1)/(x+k)` with k = 1.2.
fn saturate(x: u64) -> u64 {
    fixed_point::ratio(22 * x, 10 * x + 12 * fixed_point::ONE)
}

/// The terms of an item.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) single: Occurrences,
    pub(super) pairs: Occurrences,
    /// The words of name and description in their order.
    pub(super) sequence: Key,
    /// The same without numbers and version marks, with the namespace: equal for near copies.
    pub(super) gist: Key,
}

impl Document {
    pub(super) fn of(item: &SelectableItem, analyser: &mut Analyser) -> Self {
        analyser.trim();
        let mut this = Self::default();
        let name = analyser.keys_of_name(item.display_name());
        if !has_words(item.display_name()) {
            this.add(Field::Name, &analyser.keys_of_name(item.id.as_str()));
        }
        let description = analyser.keys(&item.description);
        let (sequence, without_marks) = sequences(item, analyser);
        this.sequence = sequence;
        this.gist = key::of(&format!("{without_marks:x} {}", item.namespace));
        this.add(Field::Name, &name);
        this.add(Field::Description, &description);
        this.add(Field::Namespace, &analyser.keys(&item.namespace));
        for tag in &item.tags {
            this.add(Field::Tags, &analyser.keys(tag));
        }
        for parameter in &item.parameters {
            this.add(Field::ParameterNames, &analyser.keys(&parameter.name));
            this.add(Field::ParameterTexts, &analyser.keys(&parameter.description));
            let types: Vec<Key> = ArgumentTypes::keys_of_argument(&parameter.name).collect();
            this.single.add(Field::ArgumentTypes, &types);
        }
        for example in &item.examples {
            this.add(Field::Examples, &analyser.keys(example));
        }
        this
    }

    /// The fields that have this term, as a word or as two neighbours.
    pub(super) fn fields(&self, key: Key) -> Vec<&'static str> {
        let all = self.single.found.iter().chain(&self.pairs.found);
        let fields: BTreeSet<Field> =
            all.filter(|(found, _)| *found == key).map(|(_, field)| *field).collect();
        fields.into_iter().map(Field::as_str).collect()
    }

    fn add(&mut self, field: Field, keys: &Keys) {
        self.single.add(field, &keys.single);
        self.pairs.add(field, &keys.pairs);
    }
}

/// The words of name and description in their order, those without meaning among them: "to" and
/// "from", "in" and "out" tell twins apart. First all of them, then without numbers and versions.
fn sequences(item: &SelectableItem, analyser: &mut Analyser) -> (Key, Key) {
    let mut words = analyser.words(item.display_name());
    words.extend(analyser.words(&item.description));
    if words.is_empty() {
        let own = key::of(&format!("{} {}", item.name, item.id));
        return (own, own);
    }
    (analyser.sequence(&words), analyser.sequence_without_marks(&words))
}
