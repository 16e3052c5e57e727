//! Arguments: an object, its canonical bytes, and their digest.

use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::{Digest, Tag};

/// The largest arguments, in bytes of canonical JSON.
pub const MAX_ARGUMENTS: usize = 1024 * 1024;

/// What is known of arguments that passed: the canonical bytes of the object and their digest.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
}

impl Arguments {
    /// Takes a JSON object with exact integers, or says what is wrong.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        if !value.is_object() {
            return Err("the arguments must be a JSON object".to_owned());
        }
        let bytes =
            canonical::to_bytes(value, Profile::Foreign).map_err(|error| error.to_string())?;
        if bytes.len() > MAX_ARGUMENTS {
            return Err(format!(
                "the arguments have {} bytes; at most {MAX_ARGUMENTS} are taken",
                bytes.len()
            ));
        }
        let digest = Digest::of(Tag::ARGS, &bytes);
        Ok(Self { bytes, digest })
    }
}
