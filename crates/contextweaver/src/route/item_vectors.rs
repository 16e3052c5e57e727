//! The vectors of items, by a token table.

use weaver_text::split;

use crate::catalog::SelectableItem;
use crate::fixed_point::ONE;
use crate::route::table::{PieceCache, Side, TokenTable, Vector};

/// The most examples of an item that count.
const MAX_EXAMPLES: usize = 64;
/// The weight of a word of the name, relative to one of the summary.
const NAME_WEIGHT: u64 = 2 * ONE;
/// The weight of a word of a tag or of a parameter's name.
const PARAMETER_WEIGHT: u64 = ONE / 2;
/// The weight of a word of the description after its summary: hints on usage, limits and results, which
/// say less about the purpose of the item and would drown the rest.
const DETAIL_WEIGHT: u64 = ONE * 3 / 10;

/// One vector per item: the mean direction of its own words and of its examples, if it has any.
#[derive(Debug, Default)]
pub(super) struct ItemVectors {
    values: Vec<i8>,
    lengths: Vec<u32>,
}

impl ItemVectors {
    pub(super) fn of<'a>(
        table: &TokenTable,
        items: impl IntoIterator<Item = &'a SelectableItem>,
    ) -> Self {
        let mut cache = PieceCache::default();
        let mut this = Self::default();
        for item in items {
            let vector = item_vector(table, item, &mut cache);
            this.values.extend_from_slice(&vector.values);
            this.lengths.push(vector.length);
        }
        this
    }

    /// The cosine similarity with an item, in units of 1/65,536.
    pub(super) fn similarity(&self, asked: &Vector, item: usize) -> Option<i64> {
        let size = asked.values.len();
        let values = self.values.get(item * size..(item + 1) * size)?;
        Some(asked.cosine(values, *self.lengths.get(item)?))
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.len() + 4 * self.lengths.len()
    }
}

fn item_vector(table: &TokenTable, item: &SelectableItem, cache: &mut PieceCache) -> Vector {
    let words = weighted_words(item);
    let words = words.iter().map(|(word, weight)| (word.as_str(), *weight));
    let own = table.sum(Side::Item, words, cache);
    let examples = item.examples.iter().take(MAX_EXAMPLES);
    let examples: Vec<Vector> =
        examples.map(|example| table.query_vector(example, cache)).collect();
    if examples.is_empty() {
        return own;
    }
    Vector::mean_direction(&[own, Vector::mean_direction(&examples)])
}

/// The words of an item with their weights. Parameter descriptions are left out, because they would
/// drown the rest.
fn weighted_words(item: &SelectableItem) -> Vec<(String, u64)> {
    let (summary, details) = summary_and_details(&item.description);
    let parameters = item.parameters.iter().map(|parameter| parameter.name.as_str());
    let parts =
        [(item.namespace.as_str(), ONE), (item.display_name(), NAME_WEIGHT), (summary, ONE)];
    let named = item.tags.iter().map(String::as_str).chain(parameters);
    let parts = parts.into_iter().chain(named.map(|text| (text, PARAMETER_WEIGHT)));
    let parts = parts.chain([(details, DETAIL_WEIGHT)]);
    parts
        .flat_map(|(text, weight)| split::words(text).into_iter().map(move |word| (word, weight)))
        .collect()
}

/// Splits a description into its first sentence or line and the rest.
fn summary_and_details(description: &str) -> (&str, &str) {
    let text = description.trim_start();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let ends = match character {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => characters.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            return text.split_at_checked(at).unwrap_or((text, ""));
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_the_first_sentence_or_line() {
        assert_eq!(
            summary_and_details(" Reads a.txt. Only text."),
            ("Reads a.txt", ". Only text.")
        );
        assert_eq!(summary_and_details("Reads\nArgs: path"), ("Reads", "\nArgs: path"));
        assert_eq!(summary_and_details("ファイルを読む。詳細"), ("ファイルを読む", "。詳細"));
        assert_eq!(summary_and_details("No end"), ("No end", ""));
        assert_eq!(summary_and_details(""), ("", ""));
    }

    #[cfg(feature = "token-table")]
    #[test]
    fn details_do_not_drown_the_summary() {
        let table = TokenTable::built_in().unwrap();
        let mut cache = PieceCache::default();
        let id = weaver_types::CapabilityId::parse("mail.send").unwrap();
        let details = "\n\nReturns rows and columns of a table of limits, errors and codes.\n";
        let item = SelectableItem::new(id, "send", format!("Sends a mail.{}", details.repeat(4)));
        let mut vector = |text: &str| {
            let words = split::words(text);
            table.sum(Side::Item, words.iter().map(|word| (word.as_str(), ONE)), &mut cache)
        };
        let summary = vector("send Sends a mail");
        let flat = vector(&format!("{} {}", item.name, item.description));
        let weighted = item_vector(&table, &item, &mut cache);
        let near = |vector: &Vector| summary.cosine(&vector.values, vector.length);
        assert!(near(&weighted) > near(&flat) + i64::try_from(ONE / 10).unwrap());
    }
}
