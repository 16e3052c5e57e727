//! Many rows of JSON as one text.

mod location;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use location::{each, located};

/// The deepest row.
const MAX_LEVELS: usize = 120;

/// A list of objects, alone or as the one list of an object, kept as its JSON text. A row is read
/// when it is looked at.
///
/// A tree of values takes ten times the memory of its text and more, since each object is a tree
/// node with room for eleven members. The text is what [`serde_json::to_string`] writes of the
/// value; beside it stands where each row begins. Copies share both.
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
    parts: Arc<Parts>,
    /// True for the list without the object around it.
    alone: bool,
}

struct Parts {
    text: String,
    /// Where each row begins. A row ends before the comma before the next one.
    starts: Vec<u32>,
    /// The end of the last row.
    end: u32,
    wrapper: Option<Wrapper>,
}

/// The object in which the list stands: the key of the list, and the plain values beside it.
#[derive(PartialEq)]
struct Wrapper {
    key: String,
    around: Map<String, Value>,
}

/// Why a text holds no rows that could be kept as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowsProblem {
    /// It is of another form, or no JSON.
    Form,
    /// A key of the object around the list stands there twice.
    Twice,
}

/// A text that does not hold rows as they are written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the text does not hold rows as they are written")]
pub struct NotRows {
    /// The text, given back.
    pub text: String,
}

impl JsonRows {
    /// The most plain values beside the list.
    pub const MAX_AROUND: usize = 8;
    /// The bytes of JSON from which rows are kept as text.
    pub const LARGE: usize = 4 * 1024 * 1024;

    /// Finds the list in the text of a value that may be rows: the part of the text that is the list
    /// itself, or the one list of an object. Its items are not looked at.
    #[must_use]
    pub fn locate(text: &str) -> Option<&str> {
        located(text).ok().map(|(_, list)| list)
    }

    /// Reads rows. `frame` is the value with no items in its list, and `list` the text of the list;
    /// `read` reads one row. None where the value is not of this form, or a row is refused.
    pub fn read(
        frame: &Value,
        list: &str,
        mut read: impl FnMut(&str) -> Option<Value>,
    ) -> Option<Self> {
        let mut writer = Writer::new(Wrapper::around(frame)?, list.len())?;
        each(list, |row| read(row).is_some_and(|row| writer.push(&row))).then_some(())?;
        writer.finish()
    }

    /// Writes rows as they come, about `room` bytes of them. `frame` is the value with no items in
    /// its list. None where one of them is no object, or there is none.
    pub fn collect(
        frame: &Value,
        rows: impl IntoIterator<Item = Value>,
        room: usize,
    ) -> Option<Self> {
        let mut writer = Writer::new(Wrapper::around(frame)?, room)?;
        rows.into_iter().all(|row| writer.push(&row)).then_some(())?;
        writer.finish()
    }

    /// Reads rows back from the text that [`JsonRows::text`] gave.
    ///
    /// # Errors
    /// [`NotRows`], where the text holds anything else or stands otherwise than it was written.
    pub fn parse(text: String) -> Result<Self, NotRows> {
        match Self::parsed(&text) {
            Some((wrapper, starts, end)) => Ok(Self::of(Parts { text, starts, end, wrapper })),
            None => Err(NotRows { text }),
        }
    }

    fn of(parts: Parts) -> Self {
        Self { parts: Arc::new(parts), alone: false }
    }

    fn parsed(text: &str) -> Option<(Option<Wrapper>, Vec<u32>, u32)> {
        u32::try_from(text.len()).ok()?;
        let (wrapper, list) = located(text).ok()?;
        let mut at = place(text, list)?;
        let mut starts = Vec::new();
        let is_written = each(list, |row| {
            // One comma or bracket stands before each row.
            let start = place(text, row).filter(|start| *start == at.saturating_add(1));
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
        let Parts { text, starts, end, .. } = self.parts.as_ref();
        let start =
            starts.first().filter(|_| self.alone).map_or(0, |start| start.saturating_sub(1));
        let end = if self.alone { (*end as usize).saturating_add(1) } else { text.len() };
        text.get(start as usize..end).unwrap_or_default()
    }

    /// The list without the object around it.
    #[must_use]
    pub fn list(&self) -> Self {
        Self { alone: true, ..self.clone() }
    }

    fn wrapper(&self) -> Option<&Wrapper> {
        self.parts.wrapper.as_ref().filter(|_| !self.alone)
    }

    /// How many rows there are; at least one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.starts.len()
    }

    /// False: rows without a row are not kept as text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.starts.is_empty()
    }

    /// The key of the list, where it stands in an object.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.wrapper().map(|wrapper| wrapper.key.as_str())
    }

    /// The plain values beside the list, where it stands in an object.
    #[must_use]
    pub fn around(&self) -> Option<&Map<String, Value>> {
        self.wrapper().map(|wrapper| &wrapper.around)
    }

    /// The row of this number, counted from 0: an object.
    #[must_use]
    pub fn row(&self, number: usize) -> Option<Value> {
        serde_json::from_str(self.row_text(number)?).ok()
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = Value> {
        (0..self.len()).filter_map(|number| self.row(number))
    }

    fn row_text(&self, number: usize) -> Option<&str> {
        let Parts { text, starts, end, .. } = self.parts.as_ref();
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
            Some(Wrapper { key, around }) => {
                let mut fields = around.clone();
                fields.insert(key.clone(), list);
                Value::Object(fields)
            }
        }
    }

    /// True for the JSON text of an equal value, in whatever form it is written.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let (wrapper, list) = match located(text) {
            Ok(found) => found,
            Err(RowsProblem::Form) => return false,
            // Of equal keys the last counts.
            Err(RowsProblem::Twice) => {
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
        wrapper.as_ref() == self.wrapper() && each(list, is_equal) && number == self.len()
    }
}

impl PartialEq for JsonRows {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.parts, &other.parts) && self.alone == other.alone)
            || self.is_in(other.text())
    }
}

impl fmt::Debug for JsonRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonRows({} rows, {} bytes)", self.len(), self.text().len())
    }
}

impl Wrapper {
    /// What stands around the list of a value; `None` for a value that is no such.
    fn around(frame: &Value) -> Option<Option<Self>> {
        match frame {
            Value::Array(_) => Some(None),
            Value::Object(fields) => Self::of(fields).map(Some),
            _ => None,
        }
    }

    /// An object with one empty list, and few plain values.
    fn of(fields: &Map<String, Value>) -> Option<Self> {
        let mut around = fields.clone();
        let lists = fields.iter().filter(|(_, value)| value.is_array());
        let key = lists.map(|(key, _)| key.clone()).next()?;
        around.remove(&key);
        let is_plain = |value: &Value| !value.is_array() && !value.is_object();
        let fits = around.len() <= JsonRows::MAX_AROUND && around.values().all(is_plain);
        fits.then_some(Self { key, around })
    }
}

/// Writes rows as they come.
struct Writer {
    text: Vec<u8>,
    starts: Vec<u32>,
    wrapper: Option<Wrapper>,
    /// What stands after the list.
    after: String,
}

impl Writer {
    fn new(wrapper: Option<Wrapper>, room: usize) -> Option<Self> {
        let (before, after) = match &wrapper {
            None => ("[".to_owned(), "]".to_owned()),
            Some(Wrapper { key, around }) => around_list(key, around)?,
        };
        let room = room.saturating_add(before.len()).saturating_add(after.len());
        let mut text = Vec::with_capacity(room);
        text.extend_from_slice(before.as_bytes());
        Some(Self { text, starts: Vec::new(), wrapper, after })
    }

    /// Adds a row; false for what is none.
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
        (!starts.is_empty()).then(|| JsonRows::of(Parts { text, starts, end, wrapper }))
    }
}

/// What stands before the rows and after them, where the list stands in an object.
fn around_list(key: &str, around: &Map<String, Value>) -> Option<(String, String)> {
    let mut fields = around.clone();
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

/// An object that does not nest too deep.
fn is_row(row: &Value) -> bool {
    row.is_object() && is_within(row, MAX_LEVELS)
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

/// Where a part of a text begins in it.
fn place(text: &str, part: &str) -> Option<usize> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let found = text.get(start..start.checked_add(part.len())?)?;
    (found.len() == part.len()).then_some(start)
}

#[cfg(test)]
mod tests;
