//! Large row sets kept as JSON text instead of a value tree.

mod location;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use location::{for_each_item, locate_list};

/// The deepest nesting of a row.
const MAX_ROW_DEPTH: usize = 120;

/// A list of objects, either alone or as the one list of an object, kept as its JSON text. A row is
/// parsed when it is accessed.
///
/// A tree of values takes over ten times the memory of its text, since each object is a tree node
/// with room for eleven members. The text is the output of [`serde_json::to_string`]; next to it
/// stands the start offset of each row. Clones share both.
///
/// ```
/// use serde_json::json;
/// use weaver_types::JsonRows;
///
/// let text = r#"{"rows":[{"id":1},{"id":2}],"total":2}"#;
/// let rows = JsonRows::parse(text.to_owned()).expect("rows with a plain value beside them");
/// assert_eq!((rows.len(), rows.key(), rows.row(1)), (2, Some("rows"), Some(json!({"id": 2}))));
/// assert_eq!(rows.to_value().to_string(), text);
/// assert!(JsonRows::parse("[1]".to_owned()).is_err(), "a row is an object");
/// ```
#[derive(Clone)]
pub struct JsonRows {
    shared: Arc<SharedText>,
    /// True for the list without its wrapper object.
    list_only: bool,
}

struct SharedText {
    text: String,
    /// Where each row begins. A row ends before the comma in front of the next one.
    starts: Vec<u32>,
    /// The end of the last row.
    end: u32,
    wrapper: Option<Wrapper>,
}

/// The object around the list: the key of the list, and its plain sibling values.
#[derive(PartialEq)]
struct Wrapper {
    key: String,
    siblings: Map<String, Value>,
}

/// Why a text contains no rows that can be kept as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LocateFault {
    /// It has another form, or is not JSON.
    Form,
    /// The wrapper object has a duplicate key.
    DuplicateKey,
}

/// A text that is not in the form that [`JsonRows::text`] writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the text does not hold rows as they are written")]
pub struct NotRowsError {
    /// The text, returned to the caller.
    pub text: String,
}

impl JsonRows {
    /// The most plain values that may accompany the list.
    pub const MAX_SIBLINGS: usize = 8;
    /// Size of a JSON text, in bytes, from which its rows are kept as text.
    pub const LARGE_BYTES: usize = 4 * 1024 * 1024;

    /// Finds the list in the text of a value that may be rows: the text itself, or the one list of
    /// an object. The items are not examined.
    #[must_use]
    pub fn find_list(text: &str) -> Option<&str> {
        locate_list(text).ok().map(|(_, list)| list)
    }

    /// Builds rows from the text of a list. `wrapper` is the value with an empty list, `list` the
    /// text of the list, and `read` parses one row. `None` when the value has another form or a row
    /// is refused.
    pub fn from_list_text(
        wrapper: &Value,
        list: &str,
        mut read: impl FnMut(&str) -> Option<Value>,
    ) -> Option<Self> {
        let mut writer = RowsWriter::new(Wrapper::of_value(wrapper)?, list.len())?;
        for_each_item(list, |row| read(row).is_some_and(|row| writer.push(&row))).then_some(())?;
        writer.finish()
    }

    /// Builds rows from values, about `capacity` bytes of text. `wrapper` is the value with an
    /// empty list. `None` when an item is not an object, or there is none.
    pub fn from_rows(
        wrapper: &Value,
        rows: impl IntoIterator<Item = Value>,
        capacity: usize,
    ) -> Option<Self> {
        let mut writer = RowsWriter::new(Wrapper::of_value(wrapper)?, capacity)?;
        rows.into_iter().all(|row| writer.push(&row)).then_some(())?;
        writer.finish()
    }

    /// Parses the text that [`JsonRows::text`] returned.
    ///
    /// # Errors
    /// [`NotRowsError`] when the text holds anything else or has another layout.
    pub fn parse(text: String) -> Result<Self, NotRowsError> {
        match Self::parse_rows(&text) {
            Some((wrapper, starts, end)) => Ok(Self::of(SharedText { text, starts, end, wrapper })),
            None => Err(NotRowsError { text }),
        }
    }

    fn of(shared: SharedText) -> Self {
        Self { shared: Arc::new(shared), list_only: false }
    }

    fn parse_rows(text: &str) -> Option<(Option<Wrapper>, Vec<u32>, u32)> {
        u32::try_from(text.len()).ok()?;
        let (wrapper, list) = locate_list(text).ok()?;
        let mut at = offset_in(text, list)?;
        let mut starts = Vec::new();
        let is_written = for_each_item(list, |row| {
            // Exactly one comma or bracket precedes each row.
            let start = offset_in(text, row).filter(|start| *start == at.saturating_add(1));
            let Some(start) = start.and_then(|start| u32::try_from(start).ok()) else {
                return false;
            };
            starts.push(start);
            at = (start as usize).saturating_add(row.len());
            serde_json::from_str::<Value>(row).is_ok_and(|row| is_row(&row))
        });
        let end = u32::try_from(at).ok()?;
        (is_written && !starts.is_empty()).then_some((wrapper, starts, end))
    }

    /// The JSON text of the whole value.
    #[must_use]
    pub fn text(&self) -> &str {
        let SharedText { text, starts, end, .. } = self.shared.as_ref();
        let start =
            starts.first().filter(|_| self.list_only).map_or(0, |start| start.saturating_sub(1));
        let end = if self.list_only { (*end as usize).saturating_add(1) } else { text.len() };
        text.get(start as usize..end).unwrap_or_default()
    }

    /// The list without its wrapper object.
    #[must_use]
    pub fn list(&self) -> Self {
        Self { list_only: true, ..self.clone() }
    }

    fn wrapper(&self) -> Option<&Wrapper> {
        self.shared.wrapper.as_ref().filter(|_| !self.list_only)
    }

    /// The number of rows; at least one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.starts.len()
    }

    /// Always false: empty lists are not kept as rows. Exists because Clippy expects it next to
    /// `len`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.starts.is_empty()
    }

    /// The key of the list in its wrapper object.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.wrapper().map(|wrapper| wrapper.key.as_str())
    }

    /// The plain sibling values of the list in its wrapper object.
    #[must_use]
    pub fn siblings(&self) -> Option<&Map<String, Value>> {
        self.wrapper().map(|wrapper| &wrapper.siblings)
    }

    /// The row at this index, an object.
    #[must_use]
    pub fn row(&self, number: usize) -> Option<Value> {
        serde_json::from_str(self.row_text(number)?).ok()
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = Value> {
        (0..self.len()).filter_map(|number| self.row(number))
    }

    fn row_text(&self, number: usize) -> Option<&str> {
        let SharedText { text, starts, end, .. } = self.shared.as_ref();
        let start = *starts.get(number)? as usize;
        let after = number.checked_add(1).and_then(|next| starts.get(next));
        let end = after.map_or(*end, |next| next.saturating_sub(1)) as usize;
        text.get(start..end)
    }

    /// The whole value as a tree.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.with_list(self.rows().collect())
    }

    /// The value with another list in place of the rows.
    #[must_use]
    pub fn with_list(&self, list: Vec<Value>) -> Value {
        let list = Value::Array(list);
        match self.wrapper() {
            None => list,
            Some(Wrapper { key, siblings }) => {
                let mut fields = siblings.clone();
                fields.insert(key.clone(), list);
                Value::Object(fields)
            }
        }
    }

    /// True for the JSON text of an equal value, however it is formatted.
    #[must_use]
    pub fn equals_json(&self, text: &str) -> bool {
        let (wrapper, list) = match locate_list(text) {
            Ok(found) => found,
            Err(LocateFault::Form) => return false,
            // Of duplicate keys, the last one counts, as in `serde_json`.
            Err(LocateFault::DuplicateKey) => {
                return serde_json::from_str::<Value>(text)
                    .is_ok_and(|value| value == self.to_value());
            }
        };
        let mut number = 0;
        let is_equal = |row: &str| {
            let own = self.row_text(number);
            number += 1;
            own.is_some_and(|own| {
                let read = |text: &str| serde_json::from_str::<Value>(text).ok();
                own == row || read(row).is_some_and(|row| Some(row) == read(own))
            })
        };
        wrapper.as_ref() == self.wrapper() && for_each_item(list, is_equal) && number == self.len()
    }
}

impl PartialEq for JsonRows {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.shared, &other.shared) && self.list_only == other.list_only)
            || self.equals_json(other.text())
    }
}

impl fmt::Debug for JsonRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonRows({} rows, {} bytes)", self.len(), self.text().len())
    }
}

impl Wrapper {
    /// The wrapper of a value: `Some(None)` for a bare list, `None` for any other form.
    fn of_value(wrapper: &Value) -> Option<Option<Self>> {
        match wrapper {
            Value::Array(_) => Some(None),
            Value::Object(fields) => Self::of(fields).map(Some),
            _ => None,
        }
    }

    /// An object with one empty list and few plain values.
    fn of(fields: &Map<String, Value>) -> Option<Self> {
        let mut siblings = fields.clone();
        let lists = fields.iter().filter(|(_, value)| value.is_array());
        let key = lists.map(|(key, _)| key.clone()).next()?;
        siblings.remove(&key);
        let is_plain = |value: &Value| !value.is_array() && !value.is_object();
        let fits = siblings.len() <= JsonRows::MAX_SIBLINGS && siblings.values().all(is_plain);
        fits.then_some(Self { key, siblings })
    }
}

/// Writes rows one after the other.
struct RowsWriter {
    text: Vec<u8>,
    starts: Vec<u32>,
    wrapper: Option<Wrapper>,
    /// The text after the list.
    after: String,
}

impl RowsWriter {
    fn new(wrapper: Option<Wrapper>, capacity: usize) -> Option<Self> {
        let (before, after) = match &wrapper {
            None => ("[".to_owned(), "]".to_owned()),
            Some(Wrapper { key, siblings }) => wrapper_text(key, siblings)?,
        };
        let capacity = capacity.saturating_add(before.len()).saturating_add(after.len());
        let mut text = Vec::with_capacity(capacity);
        text.extend_from_slice(before.as_bytes());
        Some(Self { text, starts: Vec::new(), wrapper, after })
    }

    /// Appends a row; false when it is not one.
    fn push(&mut self, row: &Value) -> bool {
        if !is_row(row) {
            return false;
        }
        if !self.starts.is_empty() {
            self.text.push(b',');
        }
        let Ok(start) = u32::try_from(self.text.len()) else { return false };
        self.starts.push(start);
        serde_json::to_writer(&mut self.text, row).is_ok()
    }

    fn finish(mut self) -> Option<JsonRows> {
        let end = u32::try_from(self.text.len()).ok()?;
        self.text.extend_from_slice(self.after.as_bytes());
        self.starts.shrink_to_fit();
        let Self { text, starts, wrapper, .. } = self;
        let text = String::from_utf8(text).ok()?;
        (!starts.is_empty()).then(|| JsonRows::of(SharedText { text, starts, end, wrapper }))
    }
}

/// The text before and after the rows, for a list inside an object.
fn wrapper_text(key: &str, siblings: &Map<String, Value>) -> Option<(String, String)> {
    let mut fields = siblings.clone();
    fields.insert(key.to_owned(), Value::Array(Vec::new()));
    let (mut before, mut after) = ("{".to_owned(), "]".to_owned());
    let mut part = &mut before;
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            part.push(',');
        }
        part.push_str(&serde_json::to_string(name).ok()?);
        part.push(':');
        if name == key {
            part.push('[');
            part = &mut after;
        } else {
            part.push_str(&serde_json::to_string(value).ok()?);
        }
    }
    after.push('}');
    Some((before, after))
}

/// A row is an object that does not nest too deeply.
fn is_row(row: &Value) -> bool {
    row.is_object() && is_within(row, MAX_ROW_DEPTH)
}

fn is_within(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return !value.is_array() && !value.is_object();
    };
    match value {
        Value::Array(items) => items.iter().all(|item| is_within(item, below)),
        Value::Object(fields) => fields.values().all(|field| is_within(field, below)),
        _ => true,
    }
}

/// The offset of a part in the text it was sliced from.
fn offset_in(text: &str, part: &str) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    text.get(start..start.checked_add(part.len())?).map(|_| start)
}

#[cfg(test)]
mod tests;
