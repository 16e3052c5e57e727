//! The stored form of a key ring.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::KeyId;
use weaver_types::canonical::{self, Profile};
use zeroize::Zeroizing;

use super::key_ring::{MAX_KEYS, MAX_SECRET_BYTES};
use crate::error::KeyRingError;

/// The newest version of this form, and the one that is written.
const VERSION: u64 = 1;
const FILE_KIND: &str = "weaver-token-keys";
/// The most bytes that are read.
const MAX_FILE_BYTES: usize = MAX_KEYS * (MAX_SECRET_BYTES * 2 + 256) + 256;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyRingFile {
    v: u64,
    kind: String,
    current: KeyId,
    keys: Vec<KeyRingFileKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyRingFileKey {
    id: KeyId,
    secret: String,
}

/// Secrets by key id.
type NamedSecrets = Vec<(KeyId, Zeroizing<Vec<u8>>)>;

pub(super) fn write<'a>(
    current: &KeyId,
    keys: impl Iterator<Item = (&'a KeyId, &'a [u8])>,
) -> Result<Zeroizing<Vec<u8>>, KeyRingError> {
    let keys = keys
        .map(|(id, secret)| KeyRingFileKey { id: id.clone(), secret: STANDARD.encode(secret) })
        .collect();
    let wire =
        KeyRingFile { v: VERSION, kind: FILE_KIND.to_owned(), current: current.clone(), keys };
    let bytes = serde_json::to_vec(&wire).map_err(|error| malformed(&error.to_string()))?;
    Ok(Zeroizing::new(bytes))
}

pub(super) fn read(bytes: &[u8]) -> Result<(KeyId, NamedSecrets), KeyRingError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(malformed("it is too long"));
    }
    let value =
        canonical::parse(bytes, Profile::Record).map_err(|error| malformed(error.code()))?;
    if value.get("kind").and_then(Value::as_str) != Some(FILE_KIND) {
        return Err(malformed("`kind` is not `weaver-token-keys`"));
    }
    match value.get("v").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(found) if found > VERSION => {
            return Err(KeyRingError::Newer { found, known: VERSION });
        }
        _ => return Err(malformed("`v` is not a version")),
    }
    // A parser's own message could quote a secret.
    let wire: KeyRingFile =
        serde_json::from_value(value).map_err(|_| malformed("a field is missing or unknown"))?;
    let secrets = wire.keys.into_iter().map(|key| {
        let secret = STANDARD.decode(Zeroizing::new(key.secret).as_bytes());
        Ok((key.id, Zeroizing::new(secret.map_err(|_| malformed("a secret is not base64"))?)))
    });
    Ok((wire.current, secrets.collect::<Result<_, _>>()?))
}

fn malformed(problem: &str) -> KeyRingError {
    KeyRingError::Malformed { problem: problem.to_owned() }
}
