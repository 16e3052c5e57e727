//! The meaning of items, by a table of word pieces.

use crate::catalog::SelectableItem;
use crate::route::table::{PieceCache, TokenTable, Vector};

/// Most examples of an item that count.
const MAX_EXAMPLES: usize = 64;

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
    let own = table.vector(&text(item), kept);
    let examples = item.examples.iter().take(MAX_EXAMPLES);
    let examples: Vec<Vector> = examples.map(|example| table.vector(example, kept)).collect();
    if examples.is_empty() {
        return own;
    }
    Vector::middle(&[own, Vector::middle(&examples)])
}

/// What an item says: never the texts of its parameters, which drown the rest.
fn text(item: &SelectableItem) -> String {
    let mut text = format!("{} {} {}", item.namespace, item.display_name(), item.description);
    let parameters = item.parameters.iter().map(|parameter| &parameter.name);
    for word in item.tags.iter().chain(parameters) {
        text.push(' ');
        text.push_str(word);
    }
    text
}
