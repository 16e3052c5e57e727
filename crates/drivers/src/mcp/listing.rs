//! The items of a server's lists: tools, resources, resource templates and prompts.

use serde_json::Value;
use serde_json::value::RawValue;

use super::call::Reply;
use super::fault::MessageFault;
use super::server_list::ServerList;

/// One item of a list: its bytes as received, and the value read strictly.
#[derive(Debug, Clone)]
pub struct ListedItem {
    identifier: String,
    raw: Box<RawValue>,
    value: Value,
}

impl ListedItem {
    /// Makes an item from a value of the given list; `None` if its identifier is missing.
    #[must_use]
    pub fn from_value(list: ServerList, value: Value) -> Option<Self> {
        let raw = serde_json::value::to_raw_value(&value).ok()?;
        parse_item(list, value, &raw).ok()
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

/// One tool: its bytes as received, and the value read strictly.
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
    /// Parses a result. An item without an identifier, or a list that is not an array, makes the page malformed.
    pub(crate) fn parse(list: ServerList, reply: Reply) -> Result<Self, MessageFault> {
        let raw = raw_items(list, reply.raw.get())?;
        let Value::Object(mut members) = reply.value else {
            return Err(MessageFault::ResultNotObject);
        };
        let Some(Value::Array(values)) = members.remove(list.field()) else {
            return Err(MessageFault::MissingField);
        };
        if values.len() != raw.len() {
            return Err(MessageFault::InvalidValue);
        }
        let next = match members.remove("nextCursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor),
            Some(_) => return Err(MessageFault::MissingField),
        };
        let items = values.into_iter().zip(raw).map(|(value, raw)| parse_item(list, value, raw));
        Ok(Self { items: items.collect::<Result<_, _>>()?, next })
    }
}

/// The raw items of a page. The other members of the result stay unparsed.
fn raw_items(list: ServerList, result: &str) -> Result<Vec<&RawValue>, MessageFault> {
    let members: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(result).map_err(|_| MessageFault::MissingField)?;
    let items = members.get(list.field()).ok_or(MessageFault::MissingField)?;
    serde_json::from_str(items.get()).map_err(|_| MessageFault::MissingField)
}

fn parse_item(list: ServerList, value: Value, raw: &RawValue) -> Result<ListedItem, MessageFault> {
    let identifier = value.get(list.identifier()).and_then(Value::as_str);
    let identifier = identifier.ok_or(MessageFault::MissingField)?.to_owned();
    Ok(ListedItem { identifier, raw: raw.to_owned(), value })
}
