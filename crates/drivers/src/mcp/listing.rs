//! What a server lists: tools, resources, templates of resources, and prompts.

use serde_json::Value;
use serde_json::value::RawValue;

use super::call::Reply;
use super::fault::Fault;
use super::server_list::ServerList;

/// One item of a list, whole: the bytes as received and their strict reading.
#[derive(Debug, Clone)]
pub struct ListedItem {
    identifier: String,
    raw: Box<RawValue>,
    value: Value,
}

impl ListedItem {
    /// An item as a host has it at hand, identified by this list's field; `None` where the field is
    /// missing.
    #[must_use]
    pub fn of(list: ServerList, value: Value) -> Option<Self> {
        let raw = serde_json::value::to_raw_value(&value).ok()?;
        listed(list, value, &raw).ok()
    }

    /// The name, URI or template of the item, exactly as sent.
    #[must_use]
    pub fn identifier(&self) -> &str {
        &self.identifier
    }

    /// The bytes of the object as received.
    #[must_use]
    pub fn raw(&self) -> &str {
        self.raw.get()
    }

    /// The object, every field kept.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// One tool, whole: the bytes as received and their strict reading.
#[derive(Debug, Clone)]
pub struct ListedTool(ListedItem);

impl ListedTool {
    /// The name, exactly as sent.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.identifier()
    }

    /// The bytes of the tool object as received.
    #[must_use]
    pub fn raw(&self) -> &str {
        self.0.raw()
    }

    /// The tool object, every field kept.
    #[must_use]
    pub fn value(&self) -> &Value {
        self.0.value()
    }
}

impl From<ListedItem> for ListedTool {
    fn from(item: ListedItem) -> Self {
        Self(item)
    }
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct ListPage {
    pub(crate) items: Vec<ListedItem>,
    pub(crate) next: Option<String>,
}

impl ListPage {
    /// Reads a result. An item without its identifier, or a list that is none, is a fault of the
    /// page.
    pub(crate) fn read(list: ServerList, reply: Reply) -> Result<Self, Fault> {
        let raw = raw_items(list, reply.raw.get())?;
        let Value::Object(mut members) = reply.value else { return Err(Fault::ResultNotObject) };
        let Some(Value::Array(values)) = members.remove(list.field()) else {
            return Err(Fault::MissingField);
        };
        if values.len() != raw.len() {
            return Err(Fault::InvalidValue);
        }
        let next = match members.remove("nextCursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor),
            Some(_) => return Err(Fault::MissingField),
        };
        let items = values.into_iter().zip(raw).map(|(value, raw)| listed(list, value, raw));
        Ok(Self { items: items.collect::<Result<_, _>>()?, next })
    }
}

/// The raw items of a page: the members of the result stay text until the list is found.
fn raw_items(list: ServerList, result: &str) -> Result<Vec<&RawValue>, Fault> {
    let members: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(result).map_err(|_| Fault::MissingField)?;
    let items = members.get(list.field()).ok_or(Fault::MissingField)?;
    serde_json::from_str(items.get()).map_err(|_| Fault::MissingField)
}

fn listed(list: ServerList, value: Value, raw: &RawValue) -> Result<ListedItem, Fault> {
    let identifier = value.get(list.identifier()).and_then(Value::as_str);
    let identifier = identifier.ok_or(Fault::MissingField)?.to_owned();
    Ok(ListedItem { identifier, raw: raw.to_owned(), value })
}
