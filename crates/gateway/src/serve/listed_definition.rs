//! The definition of a tool as its server lists it, kept as text.
//!
//! A parsed definition takes several times the memory of its text: each of its many small objects
//! is a tree node with room for eleven members. A gateway keeps thousands of definitions and reads
//! one only when a client lists the tools, so it keeps the text, and the few facts that every call
//! needs.

use std::sync::Arc;

use serde_json::Value;
use weaver_drivers::mcp::ParameterHeaders;

use super::{justification, listed_schema, output_schema};

/// A definition, and the facts about it that every call needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListedDefinition {
    text: Box<str>,
    /// Whether it has an output schema.
    pub(crate) has_output_schema: bool,
    /// Whether its structured content may have our line about what was masked or cut.
    pub(crate) admits_note: bool,
    /// Whether the proxy may add the justification argument.
    pub(crate) takes_justification: bool,
    /// Whether it can be called as a task.
    pub(crate) task_support: TaskSupport,
    /// The headers that repeat arguments, if there are any.
    pub(crate) parameter_headers: Option<Arc<ParameterHeaders>>,
}

/// Whether a tool can be called as a task, as its server says in `execution.taskSupport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    /// No. Also where the server says nothing, or something else.
    Forbidden,
    /// Yes, but a plain call works as well.
    Optional,
    /// Only as a task.
    Required,
}

impl ListedDefinition {
    pub(crate) fn new(definition: &Value) -> Self {
        let input = listed_schema::as_object(definition.get("inputSchema"));
        let support = definition.pointer("/execution/taskSupport").and_then(Value::as_str);
        Self {
            text: definition.to_string().into(),
            has_output_schema: definition.get("outputSchema").is_some(),
            admits_note: definition.get("outputSchema").is_none_or(output_schema::admits_note),
            takes_justification: justification::can_be_added(&input),
            task_support: match support {
                Some("optional") => TaskSupport::Optional,
                Some("required") => TaskSupport::Required,
                _ => TaskSupport::Forbidden,
            },
            // A definition with invalid headers has none: clients ignore such a tool.
            parameter_headers: ParameterHeaders::from_tool(definition)
                .filter(|headers| !headers.is_empty())
                .map(Arc::new),
        }
    }

    /// The JSON of the definition with all its fields.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The definition with all its fields.
    pub(crate) fn to_value(&self) -> Value {
        // Written by `new`, so it can be read.
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_given_back_as_it_was() {
        let definition = json!({
            "name": "x",
            "inputSchema": { "type": "object", "properties": { "n": { "minimum": 0.1, "maximum": 1e300 } } },
            "outputSchema": { "type": "object" },
            "execution": { "taskSupport": "required" },
            "other": [null, -0.0, u64::MAX, "\u{1f980}\u{2028}"],
        });
        let listed = ListedDefinition::new(&definition);
        assert_eq!(listed.to_value(), definition);
        assert!(listed.has_output_schema && listed.takes_justification);
        assert_eq!(listed.task_support, TaskSupport::Required);
    }

    #[test]
    fn a_definition_knows_which_headers_repeat_its_arguments() {
        let named = |name: &str| {
            let properties = json!({ "a": { "type": "string", "x-mcp-header": name } });
            ListedDefinition::new(&json!({ "inputSchema": { "properties": properties } }))
        };
        assert!(named("Region").parameter_headers.is_some());
        assert_eq!(named("not a name").parameter_headers, None);
        assert_eq!(ListedDefinition::new(&json!({})).parameter_headers, None);
    }

    #[test]
    fn a_definition_that_differs_in_one_number_is_another() {
        let bounded = |max| ListedDefinition::new(&json!({ "inputSchema": { "maxLength": max } }));
        assert_eq!(bounded(json!(1)), bounded(json!(1)));
        assert_ne!(bounded(json!(1)), bounded(json!(2)));
        assert_ne!(bounded(json!(1)), bounded(json!(1.0)));
    }

    #[test]
    fn what_says_nothing_has_no_schema_and_no_tasks_and_takes_a_justification() {
        let listed = ListedDefinition::new(&json!({ "inputSchema": true, "execution": 1 }));
        assert!(!listed.has_output_schema && listed.takes_justification);
        assert_eq!(listed.task_support, TaskSupport::Forbidden);
        let own = json!({ "inputSchema": { "properties": { justification::KEY: {} } } });
        assert!(!ListedDefinition::new(&own).takes_justification);
    }
}
