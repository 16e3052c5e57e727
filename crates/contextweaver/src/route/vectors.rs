//! The meaning of items, by a table of word pieces.

use crate::catalog::SelectableItem;
use crate::route::table::{Kept, TokenTable, Vector};

/// Most examples of an item whose meaning is kept one by one.
const MAX_EXAMPLES: usize = 32;

/// What items mean, one after the other: each has a vector for what it says, and one for each of
/// its examples.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    values: Vec<i8>,
    lengths: Vec<u32>,
    /// Where the vectors of each item begin; one more than there are items.
    starts: Vec<u32>,
}

impl Vectors {
    pub(super) fn of<'a>(
        table: &TokenTable,
        items: impl IntoIterator<Item = &'a SelectableItem>,
    ) -> Self {
        let mut kept = Kept::default();
        let mut this = Self { starts: vec![0], ..Self::default() };
        for item in items {
            this.push(&table.vector(&text(item), &mut kept));
            for example in item.examples.iter().take(MAX_EXAMPLES) {
                this.push(&table.vector(example, &mut kept));
            }
            this.starts.push(u32::try_from(this.lengths.len()).unwrap_or(u32::MAX));
        }
        this
    }

    fn push(&mut self, vector: &Vector) {
        self.values.extend_from_slice(&vector.values);
        self.lengths.push(vector.length);
    }

    /// How near an item is, in units of 1/65,536: by what it says and by its nearest example.
    pub(super) fn near(&self, asked: &Vector, item: usize) -> Option<i64> {
        let (from, to) = (*self.starts.get(item)? as usize, *self.starts.get(item + 1)? as usize);
        let size = asked.values.len();
        let mut each = self.values.get(from * size..to * size)?.chunks_exact(size);
        let mut lengths = self.lengths.get(from..to)?.iter();
        let own = asked.cosine(each.next()?, *lengths.next()?);
        let examples = each.zip(lengths).map(|(values, length)| asked.cosine(values, *length));
        Some(examples.max().map_or(own, |nearest| own.max(nearest)))
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.len() + 4 * (self.lengths.len() + self.starts.len())
    }
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
