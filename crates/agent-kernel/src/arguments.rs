//! Arguments against their schema.

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};
use weaver_types::Capability;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, Tag};

use crate::error::RegistryError;
use crate::schema_weight::weigh;

/// The largest arguments, in bytes of canonical JSON.
pub const MAX_ARGUMENTS: usize = 1024 * 1024;
/// The most that the nodes of arguments and of their schema may be, multiplied.
const MAX_WORK: u64 = 100_000_000;

/// Checks arguments against one compiled schema. Schemas never reach out: a remote `$ref` is an
/// error at registration. Patterns run on a linear engine.
pub(crate) struct ArgumentCheck(Option<Compiled>);

struct Compiled {
    validator: Validator,
    /// The nodes of the schema with its references written out.
    weight: u64,
}

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
        let refused = |problem: &str| RegistryError::Schema {
            id: capability.id().clone(),
            problem: problem.chars().take(300).collect(),
        };
        let weight = weigh(schema).map_err(refused)?;
        jsonschema::options()
            .with_pattern_options(
                PatternOptions::regex().size_limit(1 << 20).dfa_size_limit(1 << 20),
            )
            .build(schema)
            .map(|validator| Self(Some(Compiled { validator, weight })))
            .map_err(|error| refused(&error.to_string()))
    }

    /// The first thing that does not fit, as JSON pointer and words; names of fields, never their
    /// values.
    pub(crate) fn violation(&self, arguments: &Value) -> Option<String> {
        let Compiled { validator, weight } = self.0.as_ref()?;
        if nodes(arguments).saturating_mul(*weight) > MAX_WORK {
            return Some("the arguments are too many values for so large a schema".to_owned());
        }
        let error = validator.validate(arguments).err()?;
        let place = error.instance_path().to_string();
        let place =
            if place.is_empty() { "the arguments".to_owned() } else { format!("`{place}`") };
        let masked = error.masked().to_string();
        Some(format!("{place}: {}", masked.chars().take(160).collect::<String>()))
    }
}

fn nodes(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(nodes).sum::<u64>().saturating_add(1),
        Value::Object(fields) => fields.values().map(nodes).sum::<u64>().saturating_add(1),
        _ => 1,
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
