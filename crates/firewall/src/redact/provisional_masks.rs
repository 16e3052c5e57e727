//! Masks for values that a query compares: the run has masks only for what is shown.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use weaver_types::Frame;

use super::{MaskTable, Redactor, RunMasks};

impl Redactor {
    /// This redactor with provisional masks, for values that a query compares. Those that it shows
    /// get masks of the run from [`Self::give_lasting_masks`].
    pub(crate) fn with_provisional_masks(&self) -> Self {
        let masks = self.masks.clone().map(|masks| RunMasks {
            table: Arc::new(MaskTable::provisional(masks.table)),
            ..masks
        });
        Self { masks, ..self.clone() }
    }

    /// A text that is shown, with masks of the run in place of provisional ones.
    fn with_lasting_masks<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.numbered_masks() {
            Some(RunMasks { table, source, .. }) => {
                table.with_lasting_masks(text, source.as_deref())
            }
            None => Cow::Borrowed(text),
        }
    }

    /// True if it has masked values that may not be shown, so that what it masked must not be kept.
    pub(crate) fn has_provisional_masks(&self) -> bool {
        self.numbered_masks().is_some_and(|masks| masks.table.has_provisional_masks())
    }

    /// Records hidden characters that are shown as escapes, and those whose escapes the result has
    /// itself. True if the former are put back in arguments.
    pub(crate) fn record_escapes(&self, shown: &BTreeSet<char>, literal: &BTreeSet<char>) -> bool {
        let masks = self.numbered_masks();
        masks.inspect(|masks| masks.table.record_escapes(shown, literal)).is_some()
    }

    /// True if the run has no mask left for another value.
    pub(crate) fn is_out_of_masks(&self) -> bool {
        self.numbered_masks().is_some_and(|masks| masks.table.is_full())
    }

    /// Gives the values in a frame lasting masks.
    pub(crate) fn give_lasting_masks(&self, frame: &mut Frame) {
        let blocks = frame.content.iter_mut();
        let rows = frame.table.iter_mut().flat_map(|row| row.values_mut());
        for value in blocks.chain(rows) {
            self.give_lasting_masks_to(value);
        }
        for fact in &mut frame.facts {
            self.give_lasting_masks_in(fact);
        }
    }

    fn give_lasting_masks_to(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.give_lasting_masks_in(text),
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.give_lasting_masks_to(item));
            }
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.give_lasting_masks_to(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Gives the values in a text that is shown lasting masks.
    pub(crate) fn give_lasting_masks_in(&self, text: &mut String) {
        if let Cow::Owned(lasting) = self.with_lasting_masks(text) {
            *text = lasting;
        }
    }
}
