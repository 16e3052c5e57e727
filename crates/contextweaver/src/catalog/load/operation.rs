//! Turns one operation of an OpenAPI document into an item.

use serde_json::{Map, Value, json};
use weaver_types::{Effects, Impact, World};

use crate::catalog::SelectableItem;
use crate::catalog::load::reference::ReferenceExpander;
use crate::error::CatalogError;

/// An operation with its method and path.
pub(super) struct Operation<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) value: &'a Value,
    /// The parameters that the path declares for all its operations.
    pub(super) path_parameters: Option<&'a Vec<Value>>,
}

impl Operation<'_> {
    pub(super) fn to_item(
        &self,
        namespace: &str,
        expander: &mut ReferenceExpander<'_>,
    ) -> Result<SelectableItem, CatalogError> {
        let text = |key: &str| self.value.get(key).and_then(Value::as_str).map(str::trim);
        let method_and_path = format!("{} {}", self.method.to_uppercase(), self.path);
        let operation_name =
            text("operationId").filter(|id| !id.is_empty()).unwrap_or(&method_and_path);
        let id = if namespace.is_empty() {
            operation_name.to_owned()
        } else {
            format!("{namespace}.{operation_name}")
        };
        let texts = [text("summary"), text("description")].into_iter().flatten();
        let mut texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.dedup();
        let mut item = SelectableItem::from_source_id(&id, operation_name, texts.join("\n"))?;
        item.namespace = namespace.to_owned();
        let tags = self.value.get("tags").and_then(Value::as_array).into_iter().flatten();
        item.tags = tags.filter_map(Value::as_str).map(str::to_owned).collect();
        if self.value.get("deprecated") == Some(&Value::Bool(true)) {
            item.tags.push("deprecated".to_owned());
        }
        item.effects = Some(effects_of_method(self.method));
        let schema = expander.expand_to_fit(|expander| self.arguments_schema(expander));
        if schema.get("properties").is_some() {
            item = item.with_schema(&schema);
        }
        item.output_schema = self
            .response_schema(expander)
            .map(|schema| expander.expand_to_fit(|expander| expander.expand(schema)).into());
        item.metadata.insert("method".to_owned(), json!(self.method.to_uppercase()));
        item.metadata.insert("path".to_owned(), json!(self.path));
        Ok(item)
    }

    /// A schema of one object that has the parameters and the body as its properties.
    fn arguments_schema(&self, expander: &mut ReferenceExpander<'_>) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let own_parameters = self.value.get("parameters").and_then(Value::as_array);
        // A parameter of the operation overrides the same parameter of the path.
        for parameter in own_parameters.into_iter().chain(self.path_parameters).flatten() {
            let parameter = expander.resolve(parameter);
            let text = |key: &str| parameter.get(key).and_then(Value::as_str);
            let (Some(name), location) = (text("name"), text("in").unwrap_or("query")) else {
                continue;
            };
            let has_same_location =
                |schema: &Value| schema.get("x-in").and_then(Value::as_str) == Some(location);
            let key = match properties.get(name) {
                None => name.to_owned(),
                Some(other) if has_same_location(other) => continue,
                Some(_) => format!("{name}_{location}"),
            };
            let schema =
                parameter.get("schema").or_else(|| media_schema(parameter.get("content")?));
            let mut schema = schema.map_or_else(|| json!({}), |schema| expander.expand(schema));
            if let Some(object) = schema.as_object_mut() {
                object.insert("x-in".to_owned(), json!(location));
                if let Some(description) = text("description") {
                    object.insert("description".to_owned(), json!(description));
                }
            }
            if parameter.get("required") == Some(&Value::Bool(true)) {
                required.push(json!(key));
            }
            properties.insert(key, schema);
        }
        self.add_body(expander, &mut properties, &mut required);
        let mut out = Map::from_iter([("type".to_owned(), json!("object"))]);
        if !properties.is_empty() {
            out.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            out.insert("required".to_owned(), Value::Array(required));
        }
        Value::Object(out)
    }

    fn add_body(
        &self,
        expander: &mut ReferenceExpander<'_>,
        properties: &mut Map<String, Value>,
        required: &mut Vec<Value>,
    ) {
        let Some(body) = self.value.get("requestBody") else { return };
        let body = expander.resolve(body);
        let Some(schema) = body.get("content").and_then(media_schema) else { return };
        let key = if properties.contains_key("body") { "request_body" } else { "body" };
        let mut schema = expander.expand(schema);
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

    /// The schema of a successful response: the first 2xx status, else `default`.
    fn response_schema<'a>(&'a self, expander: &ReferenceExpander<'a>) -> Option<&'a Value> {
        let responses = self.value.get("responses")?.as_object()?;
        let success = responses.iter().find(|(status, _)| status.starts_with('2'));
        let (_, response) = success.or_else(|| responses.get_key_value("default"))?;
        let schema = media_schema(expander.resolve(response).get("content")?)?;
        schema.is_object().then_some(schema)
    }
}

/// The schema of a body, that of a JSON media type if there is one.
fn media_schema(content: &Value) -> Option<&Value> {
    let content = content.as_object()?;
    let json = content.iter().find(|(kind, _)| kind.contains("json"));
    json.or_else(|| content.iter().next())?.1.get("schema")
}

/// The effects that HTTP gives to a method. An operator may declare others.
fn effects_of_method(method: &str) -> Effects {
    let impact = match method {
        "get" | "head" | "options" | "trace" => Impact::Read,
        "delete" => Impact::Destroy,
        _ => Impact::Write,
    };
    Effects { impact, world: World::Open }
}
