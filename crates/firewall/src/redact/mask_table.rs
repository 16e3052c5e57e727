//! The masks of one run, and the values that they stand for.
//!
//! A value gets a mask with a number when it is first masked, and the same mask from then on. The
//! model may use the mask in arguments: the kernel puts the value in its place, byte for byte as it
//! stood. Whatever in a result merely looks like a mask is masked itself, so that each mask in what
//! a model sees was made here and leads back to exactly one text.

mod entry;
mod known_values;
mod mention;
mod quoted_values;
mod resolve;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::Label;

use super::mask_collapsed_text::MAX_DIGITS;
use entry::Entry;
pub(crate) use entry::{Form, MaskedValue};
pub(crate) use known_values::KnownValues;
pub use resolve::{ResolvedArguments, UnknownMask};

/// The most values that are told apart; those that come later get the plain mask.
pub(crate) const MAX_VALUES: usize = 10_000;
/// The highest number of a mask.
const MAX_NUMBER: u32 = 10_u32.pow(MAX_DIGITS as u32) - 1;
/// The longest value that is kept, in bytes; the mask of a longer one cannot be resolved.
const MAX_VALUE: usize = 64 * 1024;
/// How many bytes of values are kept in all.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The kind of text in a result that looks like a mask.
pub(crate) const LOOKALIKE: &str = "lookalike";
/// The kind of a value that nothing but the name of its field hides.
pub(crate) const FIELD: &str = "field";

/// Where the values come from that are masked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSource {
    /// The server whose result it is.
    pub origin: Arc<str>,
    /// The label of the unmasked result.
    pub label: Label,
}

/// The masks of one run: the same value gets the same mask, `[EMAIL_1]`, and the mask leads back to
/// it. At most 10,000 values of 4 MiB together.
///
/// ```
/// use std::sync::Arc;
/// use serde_json::json;
/// use weaver_firewall::{Firewall, MaskTable};
///
/// let firewall = Firewall::new().with_masks(Arc::new(MaskTable::new()), None);
/// assert_eq!(firewall.redact_text("mail jane.roe@corp.example.com").text, "mail [EMAIL_1]");
/// let resolved = firewall.resolve(&json!({ "to": "[EMAIL_1]" }));
/// assert_eq!(resolved.arguments, Some(json!({ "to": "jane.roe@corp.example.com" })));
/// ```
#[derive(Debug, Default)]
pub struct MaskTable {
    keys: [RandomState; 2],
    /// The numbers up to this one are taken by masks that are not known here.
    taken: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Entry>,
    /// Places in `entries`, by keyed hashes of kind, form and value.
    by_value: HashMap<[u64; 2], usize>,
    /// The same by mask.
    by_mask: HashMap<String, usize>,
    next: HashMap<Arc<str>, u32>,
    bytes: usize,
    /// How many values were given out, and their bytes.
    given_out: (usize, usize),
    /// What tells the values that were given out.
    known: Option<Arc<KnownValues>>,
}

impl MaskTable {
    /// No masks yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table for a run that has had this many tables: its numbers start behind theirs, so
    /// that an old mask never resolves here.
    #[must_use]
    pub fn after(tables: u32) -> Self {
        let each = u32::try_from(MAX_VALUES).unwrap_or(u32::MAX);
        Self { taken: tables.saturating_mul(each), ..Self::default() }
    }

    /// Whether there is any mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state().entries.is_empty()
    }

    /// The mask of a value; nothing when there are too many.
    pub(crate) fn mask(
        &self,
        value: &MaskedValue<'_>,
        source: Option<&ValueSource>,
    ) -> Option<String> {
        let [first, second] = &self.keys;
        let key = (value.kind.as_ref(), value.form, value.text);
        let hash = [first.hash_one(key), second.hash_one(key)];
        let mut state = self.state();
        if let Some(entry) = state.by_value.get(&hash).copied()
            && let Some(entry) = state.entries.get_mut(entry)
        {
            entry.seen(source);
            // The stricter family counts.
            entry.family = entry.family.min(value.family);
            return Some(entry.mask.clone());
        }
        if state.entries.len() >= MAX_VALUES {
            return None;
        }
        let next = state.next.entry(Arc::clone(value.kind)).or_default();
        *next = next.saturating_add(1);
        let number = self.taken.checked_add(*next).filter(|number| *number <= MAX_NUMBER)?;
        let mask = format!("[{}_{number}]", value.kind.to_ascii_uppercase());
        let mut entry = Entry::new(mask.clone(), value);
        entry.seen(source);
        let length = value.text.len();
        if length <= MAX_VALUE && state.bytes.saturating_add(length) <= MAX_BYTES {
            state.bytes = state.bytes.saturating_add(length);
            entry.keep(value.text);
        }
        let place = state.entries.len();
        state.entries.push(entry);
        state.by_value.insert(hash, place);
        state.by_mask.insert(mask.clone(), place);
        Some(mask)
    }

    /// The mask of a value that was given out and comes back, perhaps in another case or in part:
    /// it is still the value of where it came from first.
    pub(crate) fn mask_again(&self, text: &str, known: &KnownValues) -> Option<String> {
        let place = known.place(text)?;
        let (kind, family, origins, label) = {
            let state = self.state();
            let first = state.entries.get(place)?;
            if first.text() == Some(text) {
                return Some(first.mask.clone());
            }
            (Arc::clone(&first.kind), first.family, first.origins.clone(), first.label.clone())
        };
        let value = MaskedValue { kind: &kind, family, form: Form::Text, text };
        let mask = self.mask(&value, None)?;
        let mut state = self.state();
        let entry = state.by_mask.get(&mask).copied();
        if let Some(entry) = entry.and_then(|place| state.entries.get_mut(place)) {
            entry.inherit(origins, &label);
        }
        Some(mask)
    }

    /// Whether this is a mask of this table.
    pub(crate) fn holds(&self, mask: &str) -> bool {
        self.state().by_mask.contains_key(mask)
    }

    /// Drops the value of a mask of which only a part was seen: the mask no longer resolves.
    pub(crate) fn forget(&self, mask: &str) {
        let mut state = self.state();
        let place = state.by_mask.get(mask).copied();
        if let Some(entry) = place.and_then(|place| state.entries.get_mut(place)) {
            entry.forget();
        }
    }

    /// Notes that the values of these masks were given out: from now on they are masked wherever
    /// they come back, also where no rule would know them.
    pub fn give_out<'m>(&self, masks: impl IntoIterator<Item = &'m str>) {
        let mut state = self.state();
        let mut fresh = Vec::new();
        for mask in masks {
            let place = state.by_mask.get(mask).copied();
            let entry = place.and_then(|place| state.entries.get_mut(place));
            if let Some(entry) = entry.filter(|entry| !entry.given_out) {
                entry.given_out = true;
                let bytes = entry.text().map_or(0, str::len);
                state.given_out.0 = state.given_out.0.saturating_add(1);
                state.given_out.1 = state.given_out.1.saturating_add(bytes);
                fresh.extend(place);
            }
        }
        if !fresh.is_empty() {
            let known = state.known.as_deref().cloned().unwrap_or_default();
            state.known = Some(Arc::new(known.with(&state.entries, fresh)));
        }
    }

    /// What tells the values that were given out; nothing where there are none.
    pub(crate) fn known(&self) -> Option<Arc<KnownValues>> {
        self.state().known.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::ValueFamily;

    use super::*;

    fn mask(table: &MaskTable, kind: &str, text: &str) -> Option<String> {
        let kind = Arc::from(kind);
        let family = ValueFamily::of(&kind);
        table.mask(&MaskedValue { kind: &kind, family, form: Form::Text, text }, None)
    }

    #[test]
    fn the_same_value_has_the_same_mask() {
        let table = MaskTable::new();
        assert_eq!(mask(&table, "email", "a@b.co").unwrap(), "[EMAIL_1]");
        assert_eq!(mask(&table, "email", "c@d.co").unwrap(), "[EMAIL_2]");
        assert_eq!(mask(&table, "ssn", "a@b.co").unwrap(), "[SSN_1]");
        assert_eq!(mask(&table, "email", "a@b.co").unwrap(), "[EMAIL_1]");
    }

    #[test]
    fn a_value_that_was_given_out_keeps_its_mask_and_another_form_of_it_has_its_own() {
        let table = MaskTable::new();
        assert!(table.is_empty() && table.known().is_none());
        let value = "jane.roe@corp.net";
        assert_eq!(mask(&table, "email", value).unwrap(), "[EMAIL_1]");
        assert!(!table.is_empty() && table.holds("[EMAIL_1]") && !table.holds("[EMAIL_2]"));
        table.give_out(["[EMAIL_2]"]);
        assert!(table.known().is_none());
        table.give_out(["[EMAIL_1]"]);
        let known = table.known().unwrap();
        assert_eq!(table.mask_again(value, &known).as_deref(), Some("[EMAIL_1]"));
        assert_eq!(table.mask_again("JANE.ROE@CORP.NET", &known).as_deref(), Some("[EMAIL_2]"));
        assert_eq!(table.mask_again("nobody@corp.net", &known), None);
    }

    #[test]
    fn a_later_table_of_a_run_has_other_numbers() {
        let table = MaskTable::after(2);
        assert_eq!(mask(&table, "email", "a@b.co").unwrap(), "[EMAIL_20001]");
        assert_eq!(mask(&MaskTable::after(u32::MAX), "email", "a@b.co"), None);
    }

    #[test]
    fn the_table_is_bounded() {
        let table = MaskTable::new();
        for n in 0..MAX_VALUES {
            assert!(mask(&table, "session", &n.to_string()).is_some());
        }
        assert_eq!(mask(&table, "session", "one more"), None);
        assert_eq!(mask(&table, "session", "7").unwrap(), "[SESSION_8]");
    }
}
