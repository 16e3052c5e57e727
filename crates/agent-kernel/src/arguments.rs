//! Arguments against their schema.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};
use weaver_types::Capability;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, Tag};

use crate::error::RegistryError;

/// The largest arguments, in bytes of canonical JSON.
pub const MAX_ARGUMENTS: usize = 1024 * 1024;
/// How many schema violations are reported.
const MAX_VIOLATIONS: usize = 5;

/// Checks arguments against one compiled schema. Schemas never reach out: a remote `$ref` is an
/// error at registration. Patterns run on a linear engine.
pub(crate) struct ArgumentCheck(Option<Validator>);

/// Arguments that passed: an object, its canonical bytes and their digest.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    pub(crate) object: Map<String, Value>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
}

impl ArgumentCheck {
    pub(crate) fn new(capability: &Capability) -> Result<Self, RegistryError> {
        let Some(schema) = &capability.spec().input_schema else { return Ok(Self(None)) };
        jsonschema::options()
            .with_pattern_options(
                PatternOptions::regex().size_limit(1 << 20).dfa_size_limit(1 << 20),
            )
            .build(schema)
            .map(|validator| Self(Some(validator)))
            .map_err(|error| RegistryError::Schema {
                id: capability.id().clone(),
                problem: error.to_string().chars().take(300).collect(),
            })
    }

    /// What does not fit, as JSON pointers and words; names of fields, never their values.
    pub(crate) fn violations(&self, arguments: &Value) -> Vec<String> {
        let Some(validator) = &self.0 else { return Vec::new() };
        validator
            .iter_errors(arguments)
            .take(MAX_VIOLATIONS)
            .map(|error| {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() {
                    "the arguments".to_owned()
                } else {
                    format!("`{place}`")
                };
                let masked = error.masked().to_string();
                format!("{place}: {}", masked.chars().take(160).collect::<String>())
            })
            .collect()
    }
}

impl Arguments {
    /// Takes a JSON object with exact integers, or says what is wrong.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(object) = value else {
            return Err("the arguments must be a JSON object".to_owned());
        };
        let bytes =
            canonical::to_bytes(value, Profile::Foreign).map_err(|error| error.to_string())?;
        if bytes.len() > MAX_ARGUMENTS {
            return Err(format!(
                "the arguments have {} bytes; at most {MAX_ARGUMENTS} are taken",
                bytes.len()
            ));
        }
        let digest = Digest::of(Tag::ARGS, &bytes);
        Ok(Self { object: object.clone(), bytes, digest })
    }
}
