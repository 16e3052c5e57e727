//! Checks values against the schemas that a tool declares: arguments before a call, results after
//! it.

mod pattern_cost;
mod schema_cost;
mod schema_reference;
mod schema_repair;
mod violation_text;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use weaver_types::{Capability, JsonRows};

use crate::error::RegistryError;
use crate::parameter_list;
use crate::row_schema::RowSchemas;
use pattern_cost::{pattern_states, text_bytes, without_patterns};
use schema_cost::expanded_nodes;
use schema_reference::without_names;
use schema_repair::{compile_usable_part, without_unusable_references};

/// The largest product of the nodes of a value and of its schema that is validated.
const MAX_VALIDATION_COST: u64 = 100_000_000;

/// Checks values against the schema that a capability declares. Schemas are never fetched: a
/// reference that is no JSON pointer into its schema is an error at registration, or left out of a
/// server's schema with all that is at fault in it ([`compile_usable_part`]). Patterns run on a
/// linear-time regex engine.
///
/// A compiled schema takes several times the memory of its text, and of thousands of registered
/// tools few are called. A schema is therefore compiled at registration only to reject invalid
/// ones, and compiled again and kept at its first use.
pub(crate) struct SchemaCheck {
    capability: Arc<Capability>,
    side: SchemaSide,
    compiled: OnceLock<Result<CompiledSchema, RegistryError>>,
    /// The states of all patterns, counted for the first text that is long enough to matter.
    pattern_states: OnceLock<u64>,
    /// A server's schema without its patterns, for texts on which they would take too long.
    patternless: OnceLock<Result<CompiledSchema, RegistryError>>,
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
        let check = Self {
            capability: Arc::clone(capability),
            side,
            compiled: OnceLock::new(),
            pattern_states: OnceLock::new(),
            patternless: OnceLock::new(),
        };
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
        let cost =
            |schema: &Value| expanded_nodes(schema).map_err(|fault| refused(&fault.to_string()));
        let mut schema = without_names(schema);
        let is_of_server = self.capability.spec().upstream_digest.is_some();
        if is_of_server {
            schema = without_unusable_references(schema);
        }
        // What is compiled was counted: a hostile schema could keep the compiler busy, too.
        let mut weight = cost(&schema)?;
        let validator = match build(&schema) {
            Ok(validator) => validator,
            Err(error) => {
                let usable = is_of_server.then(|| compile_usable_part(&schema, build)).flatten();
                let (part, validator) = usable.ok_or_else(|| refused(&error.to_string()))?;
                weight = cost(&part)?;
                schema = Cow::Owned(part);
                validator
            }
        };
        let parameters = (self.side == SchemaSide::Input)
            .then(|| parameter_list(&schema, MAX_PARAMETERS))
            .filter(|parameters| !parameters.is_empty());
        Ok(CompiledSchema {
            validator,
            expanded_nodes: weight,
            rows: RowSchemas::of(&schema),
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

    /// The compiled schema for texts of so many bytes. Patterns that would take too long on them are
    /// left to the server that wrote them; those of an operator hold, and such texts are refused.
    fn compiled_for(&self, text_bytes: u64) -> Option<Result<&CompiledSchema, String>> {
        let schema = self.schema()?;
        let cost = |states: u64| text_bytes.saturating_mul(states);
        let states = || *self.pattern_states.get_or_init(|| pattern_states(schema));
        let as_text = |error: &RegistryError| error.to_string();
        if text_bytes <= FREE_TEXT_BYTES || cost(states()) <= MAX_PATTERN_COST {
            return self.compiled().map(|compiled| compiled.map_err(as_text));
        }
        if self.capability.spec().upstream_digest.is_none() {
            return Some(Err("the texts are too long for the patterns of the schema".to_owned()));
        }
        let compiled = self.patternless.get_or_init(|| self.compile(&without_patterns(schema)));
        Some(compiled.as_ref().map_err(as_text))
    }

    /// True where there is a schema.
    pub(crate) fn is_declared(&self) -> bool {
        self.schema().is_some()
    }

    /// The violations, each as JSON pointer and message, which contains field names, but never values.
    /// Of a large value, those at its beginning.
    /// `subject` is the name of the value itself.
    pub(crate) fn violation(&self, value: &Value, subject: &str) -> Option<String> {
        let CompiledSchema { validator, expanded_nodes: weight, parameters, .. } =
            match self.compiled_for(text_bytes(value))? {
                Ok(compiled) => compiled,
                Err(problem) => return Some(format!("{subject}: {problem}")),
            };
        if count_nodes(value).saturating_mul(*weight) > MAX_VALIDATION_COST {
            return Some(format!("{subject}: too many values for so large a schema"));
        }
        let max_nodes = (MAX_SEARCH_COST / (*weight).max(1)).max(1);
        let (problems, is_whole) =
            violation_text::violations_text(validator, value, subject, max_nodes)?;
        // A parameter is missing or unknown: the list of all parameters helps the model to correct
        // it.
        let parameters_text = parameters.as_ref().filter(|_| is_whole);
        let parameters_text = parameters_text
            .map(|parameters_text| format!("; the parameters are {parameters_text}"))
            .unwrap_or_default();
        Some(format!("{problems}{parameters_text}"))
    }

    /// The first violation in rows. If the schema constrains the list only item by item, the rows
    /// are checked in parts, so that no tree of all of them is built.
    pub(crate) fn violation_in_rows(&self, rows: &JsonRows, subject: &str) -> Option<String> {
        let bytes = u64::try_from(rows.text().len()).unwrap_or(u64::MAX);
        let CompiledSchema { validator, expanded_nodes: weight, rows: schemas, .. } =
            match self.compiled_for(bytes)? {
                Ok(compiled) => compiled,
                Err(problem) => return Some(format!("{subject}: {problem}")),
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

/// Texts of so many bytes together are cheap for any patterns that may be in a schema.
const FREE_TEXT_BYTES: u64 = 64;
/// The largest product of the bytes of a value's texts and the states of its schema's patterns at which
/// they are run: some tenths of a second at worst.
const MAX_PATTERN_COST: u64 = 100_000_000;
/// The most parameters that a message names.
const MAX_PARAMETERS: usize = 20;
/// The largest product of the nodes of a value and of its schema in which violations are looked for:
/// each takes memory, and alternatives have as many as there are of them.
const MAX_SEARCH_COST: u64 = 100_000;

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
mod tests;
