//! The canonical form of arguments and its digest.

use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::digest::{Digest, DomainTag};

/// The largest arguments, in bytes of canonical JSON.
pub const MAX_ARGUMENTS: usize = 1024 * 1024;

/// Arguments in canonical form: the bytes of the object and their digest.
#[derive(Debug, Clone)]
pub(crate) struct CanonicalArguments {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
}

/// Why a value cannot be the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentsError {
    #[error("the arguments must be a JSON object")]
    NotAnObject,
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    #[error("the arguments have {bytes} bytes; at most {MAX_ARGUMENTS} are taken")]
    TooLarge { bytes: usize },
}

impl CanonicalArguments {
    /// Canonicalises a JSON object with exact integers.
    pub(crate) fn read(value: &Value) -> Result<Self, ArgumentsError> {
        if !value.is_object() {
            return Err(ArgumentsError::NotAnObject);
        }
        let bytes = canonical::to_bytes(value, Profile::Foreign)?;
        if bytes.len() > MAX_ARGUMENTS {
            return Err(ArgumentsError::TooLarge { bytes: bytes.len() });
        }
        let digest = Digest::of(DomainTag::ARGS, &bytes);
        Ok(Self { bytes, digest })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_an_object_of_at_most_one_mebibyte() {
        let sized = |bytes: usize| {
            let around = json!({ "text": "" }).to_string().len();
            CanonicalArguments::read(&json!({ "text": "x".repeat(bytes - around) }))
                .map(|a| a.bytes.len())
        };
        assert_eq!(sized(1_048_576), Ok(1_048_576));
        assert_eq!(sized(1_048_577), Err(ArgumentsError::TooLarge { bytes: 1_048_577 }));
        for other in [json!([]), json!("a"), json!(null), json!(1)] {
            assert_eq!(
                CanonicalArguments::read(&other).err(),
                Some(ArgumentsError::NotAnObject),
                "{other}"
            );
        }
    }
}
