//! An item as a searchable document: terms by field.

use std::collections::BTreeMap;

use crate::catalog::SelectableItem;
use crate::fixed;
use crate::route::analyse::{Terms, has_words};

/// Most terms of one field that are indexed.
const MAX_FIELD_TERMS: usize = 4096;

/// The fields, as positions in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Description,
    Namespace,
    Tags,
    ParameterNames,
    ParameterTexts,
    Examples,
}

const FIELDS: usize = 7;

impl Field {
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
        }
    }
}

const ALL: [Field; FIELDS] = [
    Field::Name,
    Field::Description,
    Field::Namespace,
    Field::Tags,
    Field::ParameterNames,
    Field::ParameterTexts,
    Field::Examples,
];

/// How often each term stands in each field, and how many terms each field has.
#[derive(Debug, Default)]
pub(super) struct Counts {
    terms: BTreeMap<String, [u64; FIELDS]>,
    lengths: [u64; FIELDS],
}

impl Counts {
    fn add(&mut self, field: Field, terms: Vec<String>) {
        let Some(length) = self.lengths.get_mut(field as usize) else { return };
        for term in terms {
            if *length >= MAX_FIELD_TERMS as u64 {
                return;
            }
            *length += 1;
            let counts = self.terms.entry(term).or_default();
            if let Some(count) = counts.get_mut(field as usize) {
                *count += 1;
            }
        }
    }

    /// Every term with its weight in this document: the sum over the fields, damped by length,
    /// then saturated so that repeating a word soon stops to help.
    pub(super) fn weights(self) -> impl Iterator<Item = (String, u64)> {
        let lengths = self.lengths;
        self.terms.into_iter().map(move |(term, counts)| {
            let mut sum = 0;
            for ((field, count), length) in ALL.iter().zip(counts).zip(lengths) {
                let (weight, usual) = field.weight_and_length();
                sum += fixed::ratio(weight * count * 2 * usual, 10 * (usual + length));
            }
            (term, saturate(sum))
        })
    }
}

/// `x·(k+1)/(x+k)` with k = 1.2.
fn saturate(x: u64) -> u64 {
    fixed::ratio(22 * x, 10 * x + 12 * fixed::ONE)
}

/// The terms of an item.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) single: Counts,
    pub(super) pairs: Counts,
    /// What the item says, without numbers and version marks: equal for near copies.
    pub(super) gist: Vec<String>,
}

impl Document {
    pub(super) fn of(item: &SelectableItem) -> Self {
        let mut this = Self::default();
        let name = Terms::of_name(item.display_name());
        if !has_words(item.display_name()) {
            this.add(Field::Name, Terms::of_name(item.id.as_str()));
        }
        let description = Terms::of(&item.description);
        this.gist = gist(item, &name, &description);
        this.add(Field::Name, name);
        this.add(Field::Description, description);
        this.add(Field::Namespace, Terms::of(&item.namespace));
        for tag in &item.tags {
            this.add(Field::Tags, Terms::of(tag));
        }
        for parameter in &item.parameters {
            this.add(Field::ParameterNames, Terms::of(&parameter.name));
            this.add(Field::ParameterTexts, Terms::of(&parameter.description));
        }
        for example in &item.examples {
            this.add(Field::Examples, Terms::of(example));
        }
        this
    }

    fn add(&mut self, field: Field, terms: Terms) {
        self.single.add(field, terms.single);
        self.pairs.add(field, terms.pairs);
    }
}

fn gist(item: &SelectableItem, name: &Terms, description: &Terms) -> Vec<String> {
    let mut words: Vec<String> = name
        .single
        .iter()
        .chain(&description.single)
        .filter(|word| !is_version_mark(word))
        .cloned()
        .collect();
    words.sort_unstable();
    words.dedup();
    words.push(format!("namespace {}", item.namespace));
    words
}

fn is_version_mark(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    matches!(word, "variant" | "version") || digits.bytes().all(|b| b.is_ascii_digit())
}
