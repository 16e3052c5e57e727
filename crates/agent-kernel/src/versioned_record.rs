//! Reads the stored records that name their version under `v`.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use weaver_types::canonical::{self, Profile};

/// Parses a record of one of these versions.
///
/// # Errors
/// What is wrong with the record, for [`KernelError::StoredRecord`](crate::KernelError::StoredRecord).
pub(crate) fn parse_versioned<T: DeserializeOwned>(
    bytes: &[u8],
    profile: Profile,
    versions: RangeInclusive<u64>,
) -> Result<T, String> {
    let value = canonical::parse(bytes, profile).map_err(|error| error.to_string())?;
    let version = value.get("v").and_then(serde_json::Value::as_u64);
    if !version.is_some_and(|version| versions.contains(&version)) {
        let known = versions.end();
        return Err(format!(
            "its version is {version:?}, this build knows {known}; use a newer build"
        ));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}
