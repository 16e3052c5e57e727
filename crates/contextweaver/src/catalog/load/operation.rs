//! One operation of an OpenAPI document as an item.

use serde_json::{Map, Value, json};
use weaver_types::{Effects, Impact, World};

use crate::catalog::SelectableItem;
use crate::catalog::load::reference::Expander;
use crate::error::CatalogError;

/// An operation where it stands.
pub(super) struct Operation<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) value: &'a Value,
    /// The parameters of all operations of its path.
    pub(super) shared: Option<&'a Vec<Value>>,
}

impl Operation<'_> {
    pub(super) fn item(
        &self,
        namespace: &str,
        expander: &mut Expander<'_>,
    ) -> Result<SelectableItem, CatalogError> {
        let text = |key: &str| self.value.get(key).and_then(Value::as_str).map(str::trim);
        let spelled = format!("{} {}", self.method.to_uppercase(), self.path);
        let named = text("operationId").filter(|id| !id.is_empty()).unwrap_or(&spelled);
        let id =
            if namespace.is_empty() { named.to_owned() } else { format!("{namespace}.{named}") };
        let texts = [text("summary"), text("description")].into_iter().flatten();
        let mut texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.dedup();
        let mut item = SelectableItem::named(&id, named, texts.join("\n"))?;
        item.namespace = namespace.to_owned();
        let tags = self.value.get("tags").and_then(Value::as_array).into_iter().flatten();
        item.tags = tags.filter_map(Value::as_str).map(str::to_owned).collect();
        if self.value.get("deprecated") == Some(&Value::Bool(true)) {
            item.tags.push("deprecated".to_owned());
        }
        item.effects = Some(effects(self.method));
        let schema = expander.fitted(|expander| self.arguments(expander));
        if schema.get("properties").is_some() {
            item = item.with_schema(&schema);
        }
        item.output_schema = self
            .answer(expander)
            .map(|schema| expander.fitted(|expander| expander.expanded(schema)).into());
        item.metadata.insert("method".to_owned(), json!(self.method.to_uppercase()));
        item.metadata.insert("path".to_owned(), json!(self.path));
        Ok(item)
    }

    /// The parameters and the body as the properties of one object.
    fn arguments(&self, expander: &mut Expander<'_>) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let own = self.value.get("parameters").and_then(Value::as_array);
        // What the operation says of a parameter counts before what its path says.
        for parameter in own.into_iter().chain(self.shared).flatten() {
            let parameter = expander.resolved(parameter);
            let text = |key: &str| parameter.get(key).and_then(Value::as_str);
            let (Some(name), place) = (text("name"), text("in").unwrap_or("query")) else {
                continue;
            };
            let same = |schema: &Value| schema.get("x-in").and_then(Value::as_str) == Some(place);
            let key = match properties.get(name) {
                None => name.to_owned(),
                Some(other) if same(other) => continue,
                Some(_) => format!("{name}_{place}"),
            };
            let schema = parameter.get("schema").or_else(|| media(parameter.get("content")?));
            let mut schema = schema.map_or_else(|| json!({}), |schema| expander.expanded(schema));
            if let Some(object) = schema.as_object_mut() {
                object.insert("x-in".to_owned(), json!(place));
                if let Some(description) = text("description") {
                    object.insert("description".to_owned(), json!(description));
                }
            }
            if parameter.get("required") == Some(&Value::Bool(true)) {
                required.push(json!(key));
            }
            properties.insert(key, schema);
        }
        self.body(expander, &mut properties, &mut required);
        let mut out = Map::from_iter([("type".to_owned(), json!("object"))]);
        if !properties.is_empty() {
            out.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            out.insert("required".to_owned(), Value::Array(required));
        }
        Value::Object(out)
    }

    fn body(
        &self,
        expander: &mut Expander<'_>,
        properties: &mut Map<String, Value>,
        required: &mut Vec<Value>,
    ) {
        let Some(body) = self.value.get("requestBody") else { return };
        let body = expander.resolved(body);
        let Some(schema) = body.get("content").and_then(media) else { return };
        let key = if properties.contains_key("body") { "request_body" } else { "body" };
        let mut schema = expander.expanded(schema);
        if let (Some(object), Some(description)) = (schema.as_object_mut(), body.get("description"))
            && !object.contains_key("description")
        {
            object.insert("description".to_owned(), description.clone());
        }
        if body.get("required") == Some(&Value::Bool(true)) {
            required.push(json!(key));
        }
        properties.insert(key.to_owned(), schema);
    }

    /// The schema of what comes back when all goes well.
    fn answer<'a>(&'a self, expander: &Expander<'a>) -> Option<&'a Value> {
        let responses = self.value.get("responses")?.as_object()?;
        let good = responses.iter().find(|(status, _)| status.starts_with('2'));
        let (_, response) = good.or_else(|| responses.get_key_value("default"))?;
        let schema = media(expander.resolved(response).get("content")?)?;
        schema.is_object().then_some(schema)
    }
}

/// The schema of a body: JSON where there is any.
fn media(content: &Value) -> Option<&Value> {
    let content = content.as_object()?;
    let json = content.iter().find(|(kind, _)| kind.contains("json"));
    json.or_else(|| content.iter().next())?.1.get("schema")
}

/// What HTTP says of a method. Whoever calls it may know better.
fn effects(method: &str) -> Effects {
    let impact = match method {
        "get" | "head" | "options" | "trace" => Impact::Read,
        "delete" => Impact::Destroy,
        _ => Impact::Write,
    };
    Effects { impact, world: World::Open }
}
