//! Checks values against the schemas that a tool declares: arguments before a call, results after
//! it.

mod schema_repair;

use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use weaver_types::{Capability, JsonRows};

use crate::error::RegistryError;
use crate::parameter_list;
use crate::row_schema::RowSchemas;
use crate::schema_cost::{SchemaFault, expanded_nodes};
use schema_repair::compile_usable_part;

/// The largest product of the nodes of a value and of its schema that is validated.
const MAX_VALIDATION_COST: u64 = 100_000_000;

/// Checks values against the schema that a capability declares. Schemas are never fetched: a remote
/// `$ref` is an error at registration, or left out of a server's schema with all that is at fault in
/// it ([`compile_usable_part`]). Patterns run on a linear-time regex engine.
///
/// A compiled schema takes several times the memory of its text, and of thousands of registered
/// tools few are called. A schema is therefore compiled at registration only to reject invalid
/// ones, and compiled again and kept at its first use.
pub(crate) struct SchemaCheck {
    capability: Arc<Capability>,
    side: SchemaSide,
    compiled: OnceLock<Result<CompiledSchema, RegistryError>>,
}

/// Which of the two schemas of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaSide {
    Input,
    Output,
}

struct CompiledSchema {
    validator: Validator,
    /// The nodes of the schema with its references expanded.
    expanded_nodes: u64,
    rows: RowSchemas,
    /// The list of parameters, for the check of arguments.
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
        let build = |schema: &Value| {
            let patterns = PatternOptions::regex().size_limit(1 << 20).dfa_size_limit(1 << 20);
            jsonschema::options().with_pattern_options(patterns).build(schema)
        };
        let cost = |schema: &Value| match expanded_nodes(schema) {
            // The compiler refuses it.
            Err(SchemaFault::DanglingReference) => Ok(0),
            cost => cost.map_err(|fault| refused(&fault.to_string())),
        };
        let mut weight = cost(schema)?;
        let mut repaired = None;
        let validator = match build(schema) {
            Ok(validator) => validator,
            Err(error) => {
                let is_of_server = self.capability.spec().upstream_digest.is_some();
                let usable = is_of_server.then(|| compile_usable_part(schema, build)).flatten();
                let (part, validator) = usable.ok_or_else(|| refused(&error.to_string()))?;
                weight = cost(&part)?;
                repaired = Some(part);
                validator
            }
        };
        let schema = repaired.as_ref().unwrap_or(schema);
        let parameters = (self.side == SchemaSide::Input)
            .then(|| parameter_list(schema, MAX_PARAMETERS))
            .filter(|parameters| !parameters.is_empty());
        Ok(CompiledSchema {
            validator,
            expanded_nodes: weight,
            rows: RowSchemas::of(schema),
            parameters,
        })
    }

    /// The compiled schema; `None` if none is declared. It compiled at registration, so an error is
    /// not expected; the caller refuses the value then.
    fn compiled(&self) -> Option<Result<&CompiledSchema, &RegistryError>> {
        let schema = self.schema()?;
        let compiled = self.compiled.get_or_init(|| self.compile(schema));
        Some(compiled.as_ref())
    }

    /// True where there is a schema.
    pub(crate) fn is_declared(&self) -> bool {
        self.schema().is_some()
    }

    /// The first violation, as JSON pointer and message; it contains field names, but never values.
    /// `subject` is the name of the value itself.
    pub(crate) fn violation(&self, value: &Value, subject: &str) -> Option<String> {
        let CompiledSchema { validator, expanded_nodes: weight, parameters, .. } =
            match self.compiled()? {
                Ok(compiled) => compiled,
                Err(error) => return Some(error.to_string()),
            };
        if count_nodes(value).saturating_mul(*weight) > MAX_VALIDATION_COST {
            return Some(format!("{subject}: too many values for so large a schema"));
        }
        let error = validator.validate(value).err()?;
        let path = error.instance_path().to_string();
        let subject_or_path =
            if path.is_empty() { subject.to_owned() } else { format!("`{path}`") };
        let masked = error.masked().to_string();
        // A parameter is missing or unknown: the list of all parameters helps the model to correct
        // it.
        let parameters_text = parameters.as_ref().filter(|_| path.is_empty());
        let parameters_text = parameters_text
            .map(|parameters_text| format!("; the parameters are {parameters_text}"))
            .unwrap_or_default();
        Some(format!(
            "{subject_or_path}: {}{parameters_text}",
            masked.chars().take(160).collect::<String>()
        ))
    }

    /// The first violation in rows. If the schema constrains the list only item by item, the rows
    /// are checked in parts, so that no tree of all of them is built.
    pub(crate) fn violation_in_rows(&self, rows: &JsonRows, subject: &str) -> Option<String> {
        let CompiledSchema { validator, expanded_nodes: weight, rows: schemas, .. } =
            match self.compiled()? {
                Ok(compiled) => compiled,
                Err(error) => return Some(error.to_string()),
            };
        if !schemas.is_checkable_by_item(rows.key()) {
            return self.violation(&rows.to_value(), subject);
        }
        let outer_nodes = count_nodes(&rows.with_list(Vec::new()));
        let all = rows.rows().map(|row| count_nodes(&row)).sum::<u64>().saturating_add(outer_nodes);
        if all.saturating_mul(*weight) > MAX_VALIDATION_COST {
            return Some(format!("{subject}: too many values for so large a schema"));
        }
        let fits = (0..rows.len()).step_by(ROWS_PER_PART).all(|from| {
            let to = from.saturating_add(ROWS_PER_PART).min(rows.len());
            let part = (from..to).filter_map(|number| rows.row(number)).collect();
            validator.is_valid(&rows.with_list(part))
        });
        // The check of the whole value finds the place of the violation.
        if fits { None } else { self.violation(&rows.to_value(), subject) }
    }
}

/// The most parameters that a message names.
const MAX_PARAMETERS: usize = 20;

/// Rows that are checked together.
const ROWS_PER_PART: usize = 1_000;

fn count_nodes(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(count_nodes).sum::<u64>().saturating_add(1),
        Value::Object(fields) => fields.values().map(count_nodes).sum::<u64>().saturating_add(1),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weaver_types::{AllowedAgents, CapabilityDraft, CapabilityId, Effects};

    use super::*;

    #[test]
    fn a_pattern_of_a_server_that_cannot_run_costs_no_tool() {
        let id = CapabilityId::parse("mail.send").unwrap();
        let schema = json!({"type": "object", "properties": {
            "to": {"type": "string", "pattern": "^(?!\\.)[^@]+@[^@]+$"}, "copies": {"type": "integer"}}});
        let draft = |upstream_digest| CapabilityDraft {
            description: "Sends a mail.".to_owned(),
            timeout_ms: 1_000,
            input_schema: Some(schema.clone().into()),
            upstream_digest,
            ..CapabilityDraft::new(id.clone(), "send", Effects::WRITE_OPEN, AllowedAgents::Any)
        };
        let own = Arc::new(draft(None).build().unwrap());
        assert!(SchemaCheck::of_arguments(&own).is_err(), "its author can correct it");
        let digest = weaver_types::Digest::from_bytes([1; 32]);
        let theirs = Arc::new(draft(Some(digest)).build().unwrap());
        let check = SchemaCheck::of_arguments(&theirs).unwrap();
        assert_eq!(check.violation(&json!({"to": "a@b.org", "copies": 1}), "arguments"), None);
        assert!(check.violation(&json!({"to": "a@b.org", "copies": "x"}), "arguments").is_some());
    }

    #[test]
    fn a_missing_parameter_is_told_beside_those_there_are() {
        let id = CapabilityId::parse("files.read").unwrap();
        let schema = json!({"type": "object", "required": ["path"], "properties": {
            "head": {"type": "integer"}, "path": {"type": "string"}, "a\u{202e}b": {}}});
        let draft = CapabilityDraft {
            description: "Reads a file.".to_owned(),
            timeout_ms: 1_000,
            input_schema: Some(schema.into()),
            ..CapabilityDraft::new(id, "read", Effects::READ_LOCAL, AllowedAgents::Any)
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
                ..CapabilityDraft::new(id.clone(), "list", Effects::READ_OPEN, AllowedAgents::Any)
            };
            let check = SchemaCheck::of_results(&Arc::new(draft.build().unwrap())).unwrap();
            for value in &values {
                let subject = check.violation(value, "it");
                let parts = JsonRows::parse(value.to_string()).unwrap();
                assert_eq!(check.violation_in_rows(&parts, "it"), subject, "{schema}");
                fitting += usize::from(subject.is_none());
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
        assert_eq!(expanded_nodes(&schema), Ok(10_000));
        let id = CapabilityId::parse("crm.list").unwrap();
        let draft = CapabilityDraft {
            description: "Lists people.".to_owned(),
            output_schema: Some(schema.into()),
            timeout_ms: 1_000,
            ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
        };
        let check = SchemaCheck::of_results(&Arc::new(draft.build().unwrap())).unwrap();
        let outcome = |small: usize, large: usize| {
            let mut rows = vec![json!({ "id": 1 }); small];
            rows.extend(vec![json!({ "id": 1, "n": 2 }); large]);
            let subject = Value::Array(rows);
            let parts = JsonRows::parse(subject.to_string()).unwrap();
            let outcome = check.violation(&subject, "it");
            assert_eq!(check.violation_in_rows(&parts, "it"), outcome);
            (count_nodes(&subject), outcome)
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
            ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
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
            ..CapabilityDraft::new(id, "find", Effects::READ_LOCAL, AllowedAgents::Any)
        };
        let check = SchemaCheck::of_arguments(&Arc::new(draft.build().unwrap())).unwrap();
        assert_eq!(check.violation(&json!({ "code": "abc-12" }), "the arguments"), None);
        assert!(check.violation(&json!({ "code": "abc12" }), "the arguments").is_some());
    }
}
