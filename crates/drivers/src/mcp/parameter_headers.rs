//! Headers that repeat arguments of a tool (2026-07-28 over HTTP). The tool's schema names them with `x-mcp-header`,
//! so that proxies can route by them.

use std::collections::BTreeSet;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::headers;

const HEADER_ANNOTATION: &str = "x-mcp-header";
const HEADER_PREFIX: &str = "mcp-param-";
/// How deeply nested an annotated argument may be.
const MAX_DEPTH: usize = 8;
/// Most headers of one tool.
const MAX_HEADERS: usize = 64;

/// The headers of one tool, from its `inputSchema`. A client sends them; a server compares them with the arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParameterHeaders(Vec<ParameterHeader>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ParameterHeader {
    /// The path of member names to the argument.
    path: Vec<String>,
    header: HeaderName,
}

impl ParameterHeaders {
    /// The headers that a tool's schema declares; `None` if a declaration is invalid, because such a tool must not be
    /// called.
    #[must_use]
    pub fn from_tool(tool: &Value) -> Option<Self> {
        let mut found = Self::default();
        let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
        found.collect(schema, &mut Vec::new())?;
        let names: BTreeSet<&str> = found.0.iter().map(|header| header.header.as_str()).collect();
        (names.len() == found.0.len() && names.len() <= MAX_HEADERS).then_some(found)
    }

    fn collect(&mut self, schema: &Value, path: &mut Vec<String>) -> Option<()> {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, field) in properties.into_iter().flatten() {
            path.push(name.clone());
            if let Some(named) = field.get(HEADER_ANNOTATION) {
                let kind = field.get("type").and_then(Value::as_str)?;
                if !matches!(kind, "string" | "integer" | "boolean") {
                    return None;
                }
                let named = named.as_str().filter(|named| !named.is_empty())?;
                let header =
                    HeaderName::from_bytes(format!("{HEADER_PREFIX}{named}").as_bytes()).ok()?;
                self.0.push(ParameterHeader { path: path.clone(), header });
            }
            if path.len() < MAX_DEPTH {
                self.collect(field, path)?;
            }
            path.pop();
        }
        Some(())
    }

    /// The headers for these arguments. Absent and null arguments have none.
    pub(crate) fn for_arguments(
        &self,
        arguments: &Map<String, Value>,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let value = |one: &ParameterHeader| {
            let text = match one.argument(arguments)? {
                Value::String(text) => text.clone(),
                Value::Bool(yes) => yes.to_string(),
                Value::Number(number) if !number.is_f64() => number.to_string(),
                _ => return None,
            };
            Some((one.header.clone(), headers::encode_header_text(&text)?))
        };
        self.0.iter().filter_map(value).collect()
    }

    /// True if no argument is repeated in a header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first header that differs from the argument it repeats, is missing, or is present without its argument.
    #[must_use]
    pub fn first_mismatch(
        &self,
        received: &HeaderMap,
        arguments: &Map<String, Value>,
    ) -> Option<&str> {
        let differs = |one: &&ParameterHeader| {
            let mut values = received.get_all(&one.header).into_iter();
            match (one.argument(arguments), values.next(), values.next()) {
                (None, None, None) => false,
                (Some(argument), Some(value), None) => !headers::decode_header_text(value)
                    .is_some_and(|text| matches_argument(&text, argument)),
                _ => true,
            }
        };
        self.0.iter().find(differs).map(|one| one.header.as_str())
    }
}

impl ParameterHeader {
    /// The argument, if it is present and not null.
    fn argument<'a>(&self, arguments: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.path.split_first()?;
        let given = rest.iter().try_fold(arguments.get(first)?, |value, name| value.get(name));
        given.filter(|value| !value.is_null())
    }
}

/// True if a header value equals the argument. Numbers are compared as numbers: one client writes `42.0` where another
/// writes `42`.
fn matches_argument(text: &str, argument: &Value) -> bool {
    match argument {
        Value::String(argument) => text == argument,
        Value::Bool(yes) => text == yes.to_string(),
        Value::Number(number) => {
            let exact = number.as_i128().zip(text.parse::<i128>().ok());
            match (exact, number.as_f64(), text.parse::<f64>()) {
                (Some((argument, said)), _, _) => argument == said,
                (None, Some(argument), Ok(said)) => argument.to_bits() == said.to_bits(),
                _ => false,
            }
        }
        // The protocol has no headers for other types.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn from_tool(properties: Value) -> Option<ParameterHeaders> {
        ParameterHeaders::from_tool(
            &json!({"inputSchema": {"type": "object", "properties": properties}}),
        )
    }

    #[test]
    fn annotated_arguments_stand_in_headers_as_they_can_travel() {
        let found = from_tool(json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {
                "count": {"type": "integer", "x-mcp-header": "Count"}}},
            "flag": {"type": "boolean", "x-mcp-header": "Method"},
            "none": {"type": "string", "x-mcp-header": "None"},
            "plain": {"type": "string"},
        }));
        let arguments = json!({"region": " größe", "deep": {"count": 7}, "flag": false,
            "none": null, "plain": "x"});
        let sent = found.unwrap().for_arguments(arguments.as_object().unwrap());
        let mut sent: Vec<(&str, &str)> =
            sent.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        sent.sort_unstable();
        assert_eq!(
            sent,
            [
                ("mcp-param-count", "7"),
                ("mcp-param-method", "false"),
                ("mcp-param-region", "=?base64?IGdyw7bDn2U=?="),
            ]
        );
    }

    #[test]
    fn headers_and_arguments_say_the_same_or_the_header_is_named() {
        let found = from_tool(json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {
                "count": {"type": "integer", "x-mcp-header": "Count"}}},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        }));
        let found = found.unwrap();
        let differs = |given: &[(&'static str, &'static str)], arguments: Value| {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(*name, HeaderValue::from_static(value));
            }
            found.first_mismatch(&headers, arguments.as_object().unwrap()).map(str::to_owned)
        };
        let (region, count, flag) = ("mcp-param-region", "mcp-param-count", "mcp-param-flag");
        let all = json!({"region": "größe", "deep": {"count": 42}, "flag": true});
        let wrapped = "=?base64?Z3LDtsOfZQ==?=";
        assert_eq!(differs(&[(region, wrapped), (count, "42"), (flag, "true")], all.clone()), None);
        assert_eq!(differs(&[(region, wrapped), (count, "42.0"), (flag, "true")], all), None);
        assert_eq!(differs(&[(count, "42")], json!({"deep": {"count": 42.0}})), None);
        assert_eq!(differs(&[], json!({"region": null, "deep": 7, "other": "x"})), None);
        for (given, arguments, named) in [
            (&[(region, "us")][..], json!({"region": "eu"}), region),
            (&[(region, "US")], json!({"region": "us"}), region),
            (&[], json!({"region": "us"}), region),
            (&[(region, "us")], json!({"region": null}), region),
            (&[(region, "us")], json!({}), region),
            (&[(region, "us"), (region, "us")], json!({"region": "us"}), region),
            (&[(region, "=?base64?!?=")], json!({"region": "us"}), region),
            (&[(count, "43")], json!({"deep": {"count": 42}}), count),
            (
                &[(count, "9007199254740993")],
                json!({"deep": {"count": 9_007_199_254_740_992_i64}}),
                count,
            ),
            (&[(count, "many")], json!({"deep": {"count": 42}}), count),
            (&[(flag, "True")], json!({"flag": true}), flag),
            (&[(region, "[]")], json!({"region": []}), region),
        ] {
            assert_eq!(differs(given, arguments.clone()).as_deref(), Some(named), "{arguments}");
        }
    }

    #[test]
    fn a_tool_with_a_header_that_cannot_be_is_none() {
        let one =
            |kind: &str, name: &str| from_tool(json!({"a": {"type": kind, "x-mcp-header": name}}));
        assert!(one("string", "Region").is_some() && from_tool(json!({})).is_some());
        for name in ["", "My Region", "Region:Primary", "Région", "a\tb"] {
            assert!(one("string", name).is_none(), "{name:?}");
        }
        for kind in ["object", "array", "null", "number"] {
            assert!(one(kind, "X").is_none(), "{kind}");
        }
        assert!(from_tool(json!({"a": {"type": "string", "x-mcp-header": 7}})).is_none());
        let twice = json!({"a": {"type": "string", "x-mcp-header": "Field"},
            "b": {"type": "string", "x-mcp-header": "field"}});
        assert!(from_tool(twice).is_none());
    }
}
