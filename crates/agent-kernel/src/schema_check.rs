//! A value against a schema that a tool declares: arguments before a call, results after it.

use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use weaver_types::{Capability, JsonRows};

use crate::error::RegistryError;
use crate::parameter_list;
use crate::row_schema::RowSchemas;
use crate::schema_weight::weigh;

/// The most that the nodes of a value and of its schema may be, multiplied.
const MAX_WORK: u64 = 100_000_000;

/// Checks values against the schema that a capability declares. Schemas never reach out: a remote
/// `$ref` is an error at registration. Patterns run on a linear engine.
///
/// A compiled schema takes several times the memory of its text, and of thousands of tools that are
/// registered few are called: it is compiled at registration, to refuse what does not compile, and
/// kept from its first use on.
pub(crate) struct SchemaCheck {
    capability: Arc<Capability>,
    side: SchemaSide,
    compiled: OnceLock<Result<CompiledSchema, RegistryError>>,
}

/// Which of its two schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaSide {
    Input,
    Output,
}

struct CompiledSchema {
    validator: Validator,
    /// The nodes of the schema with its references written out.
    weight: u64,
    rows: RowSchemas,
    /// The parameters in words, where it is the check of arguments.
    parameters: Option<String>,
}

impl SchemaCheck {
    /// The check of the arguments of a capability.
    pub(crate) fn of_arguments(capability: &Arc<Capability>) -> Result<Self, RegistryError> {
        Self::new(capability, SchemaSide::Input)
    }

    /// The check of its results.
    pub(crate) fn of_results(capability: &Arc<Capability>) -> Result<Self, RegistryError> {
        Self::new(capability, SchemaSide::Output)
    }

    fn new(capability: &Arc<Capability>, side: SchemaSide) -> Result<Self, RegistryError> {
        let compiled = OnceLock::new();
        let check = Self { capability: Arc::clone(capability), side, compiled };
        if let Some(schema) = check.schema() {
            check.compile(schema)?;
        }
        Ok(check)
    }

    fn schema(&self) -> Option<&Value> {
        let spec = self.capability.spec();
        match self.side {
            SchemaSide::Input => spec.input_schema.as_deref(),
            SchemaSide::Output => spec.output_schema.as_deref(),
        }
    }

    fn compile(&self, schema: &Value) -> Result<CompiledSchema, RegistryError> {
        let refused = |problem: &str| RegistryError::Schema {
            id: self.capability.id().clone(),
            which: match self.side {
                SchemaSide::Input => "input",
                SchemaSide::Output => "output",
            },
            problem: problem.chars().take(300).collect(),
        };
        let weight = weigh(schema).map_err(|fault| refused(&fault.to_string()))?;
        let validator = jsonschema::options()
            .with_pattern_options(
                PatternOptions::regex().size_limit(1 << 20).dfa_size_limit(1 << 20),
            )
            .build(schema)
            .map_err(|error| refused(&error.to_string()))?;
        let parameters = (self.side == SchemaSide::Input)
            .then(|| parameter_list(schema, MAX_PARAMETERS))
            .filter(|parameters| !parameters.is_empty());
        Ok(CompiledSchema { validator, weight, rows: RowSchemas::of(schema), parameters })
    }

    /// The compiled schema; `None` where none is declared. It compiled before, so the error is one
    /// that does not happen, and whoever meets it refuses.
    fn compiled(&self) -> Option<Result<&CompiledSchema, &RegistryError>> {
        let schema = self.schema()?;
        let compiled = self.compiled.get_or_init(|| self.compile(schema));
        Some(compiled.as_ref())
    }

    /// True where there is a schema.
    pub(crate) fn is_declared(&self) -> bool {
        self.schema().is_some()
    }

    /// The first thing that does not fit, as JSON pointer and words; names of fields, never their
    /// values. `whole` is what the value itself is called.
    pub(crate) fn violation(&self, value: &Value, whole: &str) -> Option<String> {
        let CompiledSchema { validator, weight, parameters, .. } = match self.compiled()? {
            Ok(compiled) => compiled,
            Err(error) => return Some(error.to_string()),
        };
        if nodes(value).saturating_mul(*weight) > MAX_WORK {
            return Some(format!("{whole}: too many values for so large a schema"));
        }
        let error = validator.validate(value).err()?;
        let path = error.instance_path().to_string();
        let place = if path.is_empty() { whole.to_owned() } else { format!("`{path}`") };
        let masked = error.masked().to_string();
        // A parameter is missing, or one too many is there: all of them say which was meant.
        let known = parameters.as_ref().filter(|_| path.is_empty());
        let known = known.map(|known| format!("; the parameters are {known}")).unwrap_or_default();
        Some(format!("{place}: {}{known}", masked.chars().take(160).collect::<String>()))
    }

    /// The same of many rows. Where the schema says nothing of the list but what its items are, the
    /// rows are checked in parts, so that no tree of all of them is made.
    pub(crate) fn violation_in_rows(&self, rows: &JsonRows, whole: &str) -> Option<String> {
        let CompiledSchema { validator, weight, rows: schemas, .. } = match self.compiled()? {
            Ok(compiled) => compiled,
            Err(error) => return Some(error.to_string()),
        };
        if !schemas.speak_of_items_alone(rows.key()) {
            return self.violation(&rows.to_value(), whole);
        }
        let around = nodes(&rows.with_list(Vec::new()));
        let all = rows.rows().map(|row| nodes(&row)).sum::<u64>().saturating_add(around);
        if all.saturating_mul(*weight) > MAX_WORK {
            return Some(format!("{whole}: too many values for so large a schema"));
        }
        let fits = (0..rows.len()).step_by(PART).all(|from| {
            let to = from.saturating_add(PART).min(rows.len());
            let part = (from..to).filter_map(|number| rows.row(number)).collect();
            validator.is_valid(&rows.with_list(part))
        });
        // The whole value tells the place of what does not fit.
        if fits { None } else { self.violation(&rows.to_value(), whole) }
    }
}

/// The most parameters that a message names.
const MAX_PARAMETERS: usize = 20;

/// Rows that are checked together.
const PART: usize = 1_000;

fn nodes(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(nodes).sum::<u64>().saturating_add(1),
        Value::Object(fields) => fields.values().map(nodes).sum::<u64>().saturating_add(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{Agents, CapabilityDraft, CapabilityId, Effects};

    use super::*;

    #[test]
    fn a_missing_parameter_is_told_beside_those_there_are() {
        let id = CapabilityId::parse("files.read").unwrap();
        let schema = json!({"type": "object", "required": ["path"], "properties": {
            "head": {"type": "integer"}, "path": {"type": "string"}, "a\u{202e}b": {}}});
        let draft = CapabilityDraft {
            description: "Reads a file.".to_owned(),
            timeout_ms: 1_000,
            input_schema: Some(schema.into()),
            ..CapabilityDraft::new(id, "read", Effects::READ_LOCAL, Agents::Any)
        };
        let capability = Arc::new(draft.build().unwrap());
        let check = SchemaCheck::of_arguments(&capability).unwrap();
        let said = |value: Value| check.violation(&value, "the arguments").unwrap();
        assert_eq!(
            said(json!({"file": "a"})),
            "the arguments: \"path\" is a required property; the parameters are path, \
             a\\u{202e}b?, head?"
        );
        assert!(!said(json!({"path": 1})).contains("parameters"));
    }

    #[test]
    fn rows_in_parts_fit_where_the_whole_value_fits() {
        let id = CapabilityId::parse("crm.list").unwrap();
        let item = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
        let around = |list: Value| {
            json!({"type": "object", "required": ["rows"], "properties": {"rows": list},
                "additionalProperties": {"type": "integer"}})
        };
        let schemas = [
            around(json!({"type": "array", "items": item})),
            around(json!({"type": "array", "items": item, "maxItems": 1_500})),
            around(json!({"type": "object"})),
            json!({"type": "array", "items": item}),
            json!({"enum": [1]}),
        ];
        let row = |id: u64| json!({"id": id});
        let rows = |count: u64| -> Vec<Value> { (0..count).map(row).collect() };
        let mut odd = rows(2_100);
        odd[2_050] = json!({"id": "x"});
        let values = [
            json!({"rows": rows(1_200)}),
            json!({"rows": rows(2_100), "total": 2_100}),
            json!({"rows": odd.clone()}),
            json!({"rows": [row(1)], "total": "one"}),
            json!({"others": rows(3)}),
            Value::Array(rows(2_100)),
            Value::Array(odd),
        ];
        let mut fitting = 0;
        for schema in schemas {
            let draft = CapabilityDraft {
                description: "Lists people.".to_owned(),
                output_schema: Some(schema.clone().into()),
                timeout_ms: 1_000,
                ..CapabilityDraft::new(id.clone(), "list", Effects::READ_OPEN, Agents::Any)
            };
            let check = SchemaCheck::of_results(&Arc::new(draft.build().unwrap())).unwrap();
            for value in &values {
                let whole = check.violation(value, "it");
                let parts = JsonRows::parse(value.to_string()).unwrap();
                assert_eq!(check.violation_in_rows(&parts, "it"), whole, "{schema}");
                fitting += usize::from(whole.is_none());
            }
        }
        assert_eq!(fitting, 4);
    }

    #[test]
    fn a_value_and_its_schema_are_checked_up_to_so_much_work() {
        // A schema of 10,000 nodes, and values of so many.
        let schema = json!({
            "type": "array", "items": { "type": "object" }, "examples": vec![json!(0); 9_995],
        });
        assert_eq!(weigh(&schema), Ok(10_000));
        let id = CapabilityId::parse("crm.list").unwrap();
        let draft = CapabilityDraft {
            description: "Lists people.".to_owned(),
            output_schema: Some(schema.into()),
            timeout_ms: 1_000,
            ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, Agents::Any)
        };
        let check = SchemaCheck::of_results(&Arc::new(draft.build().unwrap())).unwrap();
        let outcome = |small: usize, large: usize| {
            let mut rows = vec![json!({ "id": 1 }); small];
            rows.extend(vec![json!({ "id": 1, "n": 2 }); large]);
            let whole = Value::Array(rows);
            let parts = JsonRows::parse(whole.to_string()).unwrap();
            let outcome = check.violation(&whole, "it");
            assert_eq!(check.violation_in_rows(&parts, "it"), outcome);
            (nodes(&whole), outcome)
        };
        assert_eq!(outcome(4_998, 1), (10_000, None));
        let refused = "it: too many values for so large a schema".to_owned();
        assert_eq!(outcome(5_000, 0), (10_001, Some(refused)));
    }

    #[test]
    fn a_schema_is_checked_only_where_there_is_one() {
        let id = CapabilityId::parse("crm.list").unwrap();
        let draft = CapabilityDraft {
            description: "Lists people.".to_owned(),
            output_schema: Some(json!({ "type": "array" }).into()),
            timeout_ms: 1_000,
            ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, Agents::Any)
        };
        let capability = Arc::new(draft.build().unwrap());
        let arguments = SchemaCheck::of_arguments(&capability).unwrap();
        let results = SchemaCheck::of_results(&capability).unwrap();
        assert_eq!((arguments.is_declared(), results.is_declared()), (false, true));
        assert_eq!(arguments.violation(&json!(1), "it"), None);
        let rows = JsonRows::parse("[{\"a\":1}]".to_owned()).unwrap();
        assert_eq!(arguments.violation_in_rows(&rows, "it"), None);
        assert!(results.violation(&json!(1), "it").is_some());
    }

    #[test]
    fn a_pattern_is_compiled_and_asked() {
        let id = CapabilityId::parse("crm.find").unwrap();
        let schema = json!({ "properties": { "code": { "pattern": "^[a-z]{3}-[0-9]{1,5}$" } } });
        let draft = CapabilityDraft {
            description: "Finds somebody.".to_owned(),
            input_schema: Some(schema.into()),
            timeout_ms: 1_000,
            ..CapabilityDraft::new(id, "find", Effects::READ_LOCAL, Agents::Any)
        };
        let check = SchemaCheck::of_arguments(&Arc::new(draft.build().unwrap())).unwrap();
        assert_eq!(check.violation(&json!({ "code": "abc-12" }), "the arguments"), None);
        assert!(check.violation(&json!({ "code": "abc12" }), "the arguments").is_some());
    }
}
