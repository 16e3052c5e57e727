//! The meaning of items, by a table of word pieces.

use weaver_text::split;

use crate::catalog::SelectableItem;
use crate::fixed_point::ONE;
use crate::route::table::{PieceCache, TokenTable, Vector};

/// Most examples of an item that count.
const MAX_EXAMPLES: usize = 64;
/// What a word of the name counts beside one of the summary.
const NAME_WEIGHT: u64 = 2 * ONE;
/// What a word of a tag or of the name of a parameter counts.
const PARAMETER_WEIGHT: u64 = ONE / 2;
/// What a word counts of the description behind its summary: hints on usage, limits and results,
/// which say less of what the item is for and would drown the rest.
const DETAIL_WEIGHT: u64 = ONE * 3 / 10;

/// What items mean, one after the other: each has one vector, half of what it says and half of its
/// examples, where it has any.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    values: Vec<i8>,
    lengths: Vec<u32>,
}

impl Vectors {
    pub(super) fn of<'a>(
        table: &TokenTable,
        items: impl IntoIterator<Item = &'a SelectableItem>,
    ) -> Self {
        let mut kept = PieceCache::default();
        let mut this = Self::default();
        for item in items {
            let vector = vector(table, item, &mut kept);
            this.values.extend_from_slice(&vector.values);
            this.lengths.push(vector.length);
        }
        this
    }

    /// How near an item is, in units of 1/65,536.
    pub(super) fn near(&self, asked: &Vector, item: usize) -> Option<i64> {
        let size = asked.values.len();
        let values = self.values.get(item * size..(item + 1) * size)?;
        Some(asked.cosine(values, *self.lengths.get(item)?))
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.len() + 4 * self.lengths.len()
    }
}

fn vector(table: &TokenTable, item: &SelectableItem, kept: &mut PieceCache) -> Vector {
    let words = weighted_words(item);
    let own = table.sum(words.iter().map(|(word, weight)| (word.as_str(), *weight)), kept);
    let examples = item.examples.iter().take(MAX_EXAMPLES);
    let examples: Vec<Vector> = examples.map(|example| table.vector(example, kept)).collect();
    if examples.is_empty() {
        return own;
    }
    Vector::middle(&[own, Vector::middle(&examples)])
}

/// The words of an item, and what each counts: never those of the texts of its parameters, which
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

/// The first sentence or line of a description, and what follows it.
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
        let mut kept = PieceCache::default();
        let id = weaver_types::CapabilityId::parse("mail.send").unwrap();
        let details = "\n\nReturns rows and columns of a table of limits, errors and codes.\n";
        let item = SelectableItem::new(id, "send", format!("Sends a mail.{}", details.repeat(4)));
        let summary = table.vector("send Sends a mail", &mut kept);
        let flat = format!("{} {}", item.name, item.description);
        let flat = table.vector(&flat, &mut kept);
        let weighted = vector(&table, &item, &mut kept);
        let near = |vector: &Vector| summary.cosine(&vector.values, vector.length);
        assert!(near(&weighted) > near(&flat) + i64::try_from(ONE / 10).unwrap());
    }
}
