//! The masks of one run, and the values that they stand for.
//!
//! A value gets a numbered mask when it is first masked, and keeps it. The model may use the mask
//! in arguments; the kernel replaces it by the exact bytes of the value. Text in a result that
//! merely looks like a mask is masked itself. So each mask that a model sees was made here and
//! leads back to exactly one text.

mod disclosed_values;
mod entry;
mod escapes;
mod mask_mention;
mod quoted_values;
mod resolve;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weaver_types::Label;

use super::MASK;
use super::mask_collapsed_text::MAX_MASK_DIGITS;
use disclosed_values::DisclosedTotals;
pub(crate) use disclosed_values::DisclosedValues;
use entry::MaskEntry;
pub(crate) use entry::{ValueForm, ValueToMask};
use escapes::EscapedCharacters;
pub(crate) use escapes::escaped_characters;
pub use resolve::{ResolvedArguments, UnknownMask};

/// The most values that get their own mask; later ones get the plain mask.
pub(crate) const MAX_VALUES: usize = 10_000;
/// Where the numbers of provisional masks begin. No other mask has such a number.
const FIRST_PROVISIONAL_NUMBER: u32 = 9 * 10_u32.pow(MAX_MASK_DIGITS as u32 - 1);
/// The most values that get a provisional mask in one query.
const MAX_PROVISIONAL_VALUES: usize = 10_usize.pow(MAX_MASK_DIGITS as u32 - 1);
/// The longest value that is stored, in bytes; the mask of a longer one cannot be resolved.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// How many bytes of values are stored in total.
const MAX_TOTAL_BYTES: usize = 4 * 1024 * 1024;
/// The kind for text in a result that looks like a mask.
pub(crate) const LOOKALIKE_KIND: &str = "lookalike";
/// The kind of a value that is masked only because of its field name.
pub(crate) const FIELD_KIND: &str = "field";

/// The source of the values being masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSource {
    /// The server whose result it is.
    pub origin: Arc<str>,
    /// The label of the unmasked result.
    pub label: Label,
}

/// The masks of one run: equal values get the same mask, such as `[EMAIL_1]`, which leads back to
/// the value. At most 10,000 values with 4 MiB in total.
///
/// ```
/// use std::sync::Arc;
/// use serde_json::json;
/// use weaver_firewall::{Firewall, MaskTable};
///
/// let firewall = Firewall::new().with_masks(Arc::new(MaskTable::new()), None);
/// assert_eq!(firewall.redact_text("mail jane.roe@corp.example.com").text, "mail [EMAIL_1]");
/// let resolved = firewall.resolve_masks(&json!({ "to": "[EMAIL_1]" }));
/// assert_eq!(resolved.arguments, Some(json!({ "to": "jane.roe@corp.example.com" })));
/// ```
#[derive(Debug, Default)]
pub struct MaskTable {
    /// Keys of the hashes by which values are found. Two hashes make 128 bits, so values need not
    /// be compared and a value too long to store still gets one mask; the keys are random, so
    /// nobody can construct values that collide.
    hash_keys: [RandomState; 2],
    /// Numbers up to this one belong to earlier tables of the run.
    number_offset: u32,
    /// The table of the run, for a table of provisional masks.
    run_table: Option<Arc<Self>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<MaskEntry>,
    /// Indices into `entries`, by keyed hashes of kind, form and value.
    by_value: HashMap<[u64; 2], usize>,
    /// Indices into `entries`, by mask.
    by_mask: HashMap<String, usize>,
    last_numbers: HashMap<Arc<str>, u32>,
    escaped: EscapedCharacters,
    value_bytes: usize,
    /// How many values were disclosed, and their total bytes.
    disclosed_totals: DisclosedTotals,
    /// Recognises the values that were disclosed.
    disclosed_values: Option<Arc<DisclosedValues>>,
}

impl MaskTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table for a run that has had this many tables before. Its numbers start after
    /// theirs, so an old mask never resolves here.
    #[must_use]
    pub fn numbered_after(tables: u32) -> Self {
        let each = u32::try_from(MAX_VALUES).unwrap_or(u32::MAX);
        Self { number_offset: tables.saturating_mul(each), ..Self::default() }
    }

    /// A table of provisional masks, for values that a query compares and mostly does not show.
    /// Values that the run has masked keep their masks; others get one from
    /// [`Self::with_lasting_masks`] once they are shown.
    pub(crate) fn provisional(run_table: Arc<Self>) -> Self {
        let number_offset = FIRST_PROVISIONAL_NUMBER - 1;
        Self { number_offset, run_table: Some(run_table), ..Self::default() }
    }

    /// A text with lasting masks of the run in place of provisional ones.
    pub(crate) fn with_lasting_masks<'t>(
        &self,
        text: &'t str,
        source: Option<&ValueSource>,
    ) -> Cow<'t, str> {
        let Some(run_table) = &self.run_table else { return Cow::Borrowed(text) };
        let state = self.state();
        resolve::replace_masks(text, |mask, range, _| {
            let entry = state.entry(mask)?;
            let lasting = entry.to_value().and_then(|value| run_table.mask(&value, source));
            Some((range, lasting.unwrap_or_else(|| MASK.to_owned())))
        })
    }

    /// True if the table cannot take another value.
    pub(crate) fn is_full(&self) -> bool {
        self.state().entries.len() >= self.max_values()
    }

    /// True if any of its masks is provisional.
    pub(crate) fn has_provisional_masks(&self) -> bool {
        self.run_table.is_some() && !self.is_empty()
    }

    fn max_values(&self) -> usize {
        if self.run_table.is_some() { MAX_PROVISIONAL_VALUES } else { MAX_VALUES }
    }

    /// True if the table has no masks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state().entries.is_empty()
    }

    /// The mask of a value; `None` if the table is full.
    pub(crate) fn mask(
        &self,
        value: &ValueToMask<'_>,
        source: Option<&ValueSource>,
    ) -> Option<String> {
        let known = self.run_table.as_ref().and_then(|table| table.known_mask(value, source));
        if let Some(mask) = known.or_else(|| self.known_mask(value, source)) {
            return Some(mask);
        }
        let hash = self.hash(value);
        let mut state = self.state();
        if state.entries.len() >= self.max_values() {
            return None;
        }
        let next = state.last_numbers.entry(Arc::clone(value.kind)).or_default();
        *next = next.saturating_add(1);
        let is_provisional = self.run_table.is_some();
        let number = self.number_offset.checked_add(*next);
        let number =
            number.filter(|number| is_provisional == (*number >= FIRST_PROVISIONAL_NUMBER))?;
        let mask = format!("[{}_{number}]", value.kind.to_ascii_uppercase());
        let mut entry = MaskEntry::new(mask.clone(), value);
        entry.add_source(source);
        let length = value.text.len();
        let has_room = length <= MAX_VALUE_BYTES
            && state.value_bytes.saturating_add(length) <= MAX_TOTAL_BYTES;
        if has_room || is_provisional {
            state.value_bytes = state.value_bytes.saturating_add(length);
            entry.store_value(value.text);
        }
        let place = state.entries.len();
        state.entries.push(entry);
        state.by_value.insert(hash, place);
        state.by_mask.insert(mask.clone(), place);
        Some(mask)
    }

    /// The mask that a value already has.
    fn known_mask(&self, value: &ValueToMask<'_>, source: Option<&ValueSource>) -> Option<String> {
        let mut state = self.state();
        let place = state.by_value.get(&self.hash(value)).copied()?;
        let entry = state.entries.get_mut(place)?;
        entry.add_source(source);
        // If sources disagree, the stricter family applies.
        entry.family = entry.family.min(value.family);
        Some(entry.mask.clone())
    }

    /// True if the value has no mask yet, and can get one.
    pub(crate) fn would_add(&self, value: &ValueToMask<'_>) -> bool {
        let is_known = |table: &Self| table.state().by_value.contains_key(&table.hash(value));
        !self.is_full() && !is_known(self) && !self.run_table.as_deref().is_some_and(is_known)
    }

    /// A value has one mask, whatever it was first taken for.
    fn hash(&self, value: &ValueToMask<'_>) -> [u64; 2] {
        let key = (value.kind.as_ref() == LOOKALIKE_KIND, value.form, value.text);
        self.hash_keys.each_ref().map(|keys| keys.hash_one(key))
    }

    /// The mask of a disclosed value that reappears, perhaps in another case or in part. It keeps
    /// the origins of the original value.
    pub(crate) fn mask_disclosed(&self, text: &str, known: &DisclosedValues) -> Option<String> {
        if let Some(table) = &self.run_table {
            return table.mask_disclosed(text, known);
        }
        let place = known.entry_index(text)?;
        let (kind, family, origins, label) = {
            let state = self.state();
            let first = state.entries.get(place)?;
            if first.text() == Some(text) {
                return Some(first.mask.clone());
            }
            (Arc::clone(&first.kind), first.family, first.origins.clone(), first.label.clone())
        };
        let value = ValueToMask { kind: &kind, family, form: ValueForm::Text, text };
        let mask = self.mask(&value, None)?;
        let mut state = self.state();
        let entry = state.by_mask.get(&mask).copied();
        if let Some(entry) = entry.and_then(|place| state.entries.get_mut(place)) {
            entry.inherit_sources(origins, &label);
        }
        Some(mask)
    }

    /// Records hidden characters that a frame shows as escapes, and those whose escapes its result
    /// has itself.
    pub(crate) fn record_escapes(&self, shown: &BTreeSet<char>, literal: &BTreeSet<char>) {
        self.state().escaped.record(shown, literal);
    }

    /// True if this is a mask of this table.
    pub(crate) fn contains_mask(&self, mask: &str) -> bool {
        self.state().by_mask.contains_key(mask)
            || self.run_table.as_ref().is_some_and(|table| table.contains_mask(mask))
    }

    /// Drops the value of a mask that covered only a part of it: the mask no longer resolves.
    pub(crate) fn forget_value(&self, mask: &str) {
        if let Some(table) = &self.run_table {
            table.forget_value(mask);
        }
        let mut state = self.state();
        let place = state.by_mask.get(mask).copied();
        if let Some(entry) = place.and_then(|place| state.entries.get_mut(place)) {
            entry.forget_value();
        }
    }

    /// Records that calls received the values of these masks. From now on these values are masked
    /// wherever they reappear, even where no rule would recognise them.
    pub fn mark_disclosed<'m>(&self, masks: impl IntoIterator<Item = &'m str>) {
        let mut state = self.state();
        let mut newly_disclosed = Vec::new();
        for mask in masks {
            let place = state.by_mask.get(mask).copied();
            let entry = place.and_then(|place| state.entries.get_mut(place));
            if let Some(entry) = entry.filter(|entry| !entry.is_disclosed) {
                entry.is_disclosed = true;
                let bytes = entry.text().map_or(0, str::len);
                state.disclosed_totals = state.disclosed_totals.with_value(bytes);
                newly_disclosed.extend(place);
            }
        }
        if !newly_disclosed.is_empty() {
            let known = state.disclosed_values.as_deref().cloned().unwrap_or_default();
            state.disclosed_values = Some(Arc::new(known.with(&state.entries, newly_disclosed)));
        }
    }

    /// Recognises the values that were disclosed; `None` if there are none.
    pub(crate) fn disclosed_values(&self) -> Option<Arc<DisclosedValues>> {
        self.state().disclosed_values.clone()
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
        table.mask(&ValueToMask { kind: &kind, family, form: ValueForm::Text, text }, None)
    }

    #[test]
    fn the_same_value_has_the_same_mask() {
        let table = MaskTable::new();
        assert_eq!(mask(&table, "email", "a@b.co").unwrap(), "[EMAIL_1]");
        assert_eq!(mask(&table, "email", "c@d.co").unwrap(), "[EMAIL_2]");
        assert_eq!(mask(&table, "secret", "a@b.co").unwrap(), "[EMAIL_1]", "of another kind");
        assert_eq!(mask(&table, LOOKALIKE_KIND, "a@b.co").unwrap(), "[LOOKALIKE_1]");
        assert_eq!(mask(&table, "email", "a@b.co").unwrap(), "[EMAIL_1]");
    }

    #[test]
    fn a_value_that_was_given_out_keeps_its_mask_and_another_form_of_it_has_its_own() {
        let table = MaskTable::new();
        assert!(table.is_empty() && table.disclosed_values().is_none());
        let value = "jane.roe@corp.net";
        assert_eq!(mask(&table, "email", value).unwrap(), "[EMAIL_1]");
        assert!(
            !table.is_empty()
                && table.contains_mask("[EMAIL_1]")
                && !table.contains_mask("[EMAIL_2]")
        );
        table.mark_disclosed(["[EMAIL_2]"]);
        assert!(table.disclosed_values().is_none());
        table.mark_disclosed(["[EMAIL_1]"]);
        let known = table.disclosed_values().unwrap();
        assert_eq!(table.mask_disclosed(value, &known).as_deref(), Some("[EMAIL_1]"));
        assert_eq!(table.mask_disclosed("JANE.ROE@CORP.NET", &known).as_deref(), Some("[EMAIL_2]"));
        assert_eq!(table.mask_disclosed("nobody@corp.net", &known), None);
    }

    #[test]
    fn a_later_table_of_a_run_has_other_numbers() {
        let table = MaskTable::numbered_after(2);
        assert_eq!(mask(&table, "email", "a@b.co").unwrap(), "[EMAIL_20001]");
        assert_eq!(mask(&MaskTable::numbered_after(u32::MAX), "email", "a@b.co"), None);
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
