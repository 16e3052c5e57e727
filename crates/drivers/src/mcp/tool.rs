//! Tools as a server lists them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::Reply;
use super::error::Fault;

/// One tool, whole: the bytes as received and their strict reading.
#[derive(Debug, Clone)]
pub struct ListedTool {
    name: String,
    raw: Box<RawValue>,
    value: Value,
}

impl ListedTool {
    /// The name, exactly as sent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the tool object as received.
    #[must_use]
    pub fn raw(&self) -> &str {
        self.raw.get()
    }

    /// The tool object, every field kept.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// One page of `tools/list`.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) tools: Vec<ListedTool>,
    pub(crate) next: Option<String>,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

impl Page {
    /// Reads a result. A tool without a name, or a list that is none, is a fault of the page.
    pub(crate) fn read(reply: Reply) -> Result<Self, Fault> {
        let page: RawPage<'_> =
            serde_json::from_str(reply.raw.get()).map_err(|_| Fault::MissingField)?;
        let Value::Object(mut members) = reply.value else { return Err(Fault::ResultNotObject) };
        let Some(Value::Array(values)) = members.remove("tools") else {
            return Err(Fault::MissingField);
        };
        if values.len() != page.tools.len() {
            return Err(Fault::InvalidValue);
        }
        let next = match members.remove("nextCursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor),
            Some(_) => return Err(Fault::MissingField),
        };
        let tools = values.into_iter().zip(page.tools).map(|(value, raw)| listed(value, raw));
        Ok(Self { tools: tools.collect::<Result<_, _>>()?, next })
    }
}

fn listed(value: Value, raw: &RawValue) -> Result<ListedTool, Fault> {
    let name = value.get("name").and_then(Value::as_str).ok_or(Fault::MissingField)?.to_owned();
    Ok(ListedTool { name, raw: raw.to_owned(), value })
}
