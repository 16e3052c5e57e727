//! The files that people drop into the inbox.

use serde::Deserialize;
use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::Envelope;

use super::{
    APPROVAL_VERSION, Rejection, SignedOperatorWord, SignedResolution, SignedStandingApproval,
};

/// The largest signed file, in bytes.
pub const MAX_SIGNED_FILE: usize = 256 * 1024;
/// The most signatures under one standing approval.
const MAX_ENVELOPES: usize = 16;

/// One signed file, read but not verified: one JSON object with the statement under its name
/// (`resolution`, `standing` or `operator_word`) and its signature under `envelope`, for a standing
/// approval the list `envelopes`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SignedFile {
    /// An answer to one request.
    Resolution(SignedResolution),
    /// An approval given in advance.
    Standing(SignedStandingApproval),
    /// A confirmation or revocation by an operator.
    OperatorWord(SignedOperatorWord),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    resolution: Option<Value>,
    standing: Option<Value>,
    operator_word: Option<Value>,
    envelope: Option<Value>,
    envelopes: Option<Vec<Value>>,
}

impl SignedFile {
    /// Reads a file. It is strict: one JSON object, no duplicate or unknown key, at most
    /// [`MAX_SIGNED_FILE`] bytes, nothing newer than this build knows.
    ///
    /// # Errors
    /// [`Rejection::Malformed`], or [`Rejection::Unsigned`] where the signature is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rejection> {
        if bytes.len() > MAX_SIGNED_FILE {
            return Err(Rejection::malformed("it has more than 256 KiB"));
        }
        let value = canonical::parse(bytes, Profile::Foreign)
            .map_err(|error| Rejection::malformed(error.to_string()))?;
        let wire: Wire = read(value)?;
        let Wire { resolution, standing, operator_word, envelope, envelopes } = wire;
        match (resolution, standing, operator_word) {
            (Some(said), None, None) if envelopes.is_none() => {
                let (resolution, envelope) = (statement(said)?, one(envelope)?);
                Ok(Self::Resolution(SignedResolution { resolution, envelope }))
            }
            (None, Some(said), None) if envelope.is_none() => {
                let (standing, envelopes) = (statement(said)?, several(envelopes)?);
                Ok(Self::Standing(SignedStandingApproval { standing, envelopes }))
            }
            (None, None, Some(said)) if envelopes.is_none() => {
                let (operator_word, envelope) = (statement(said)?, one(envelope)?);
                Ok(Self::OperatorWord(SignedOperatorWord { operator_word, envelope }))
            }
            _ => Err(Rejection::malformed(
                "it must hold one of `resolution`, `standing`, `operator_word` and its signature",
            )),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Rejection> {
    serde_json::from_value(value).map_err(|error| Rejection::malformed(error.to_string()))
}

/// A statement in a version that this build knows.
fn statement<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Rejection> {
    match value.get("v").and_then(Value::as_u64) {
        Some(APPROVAL_VERSION) => read(value),
        Some(newer) if newer > APPROVAL_VERSION => Err(Rejection::malformed(format!(
            "its version {newer} is newer than {APPROVAL_VERSION}: use a release that reads it"
        ))),
        _ => Err(Rejection::malformed(format!("`v` is not {APPROVAL_VERSION}"))),
    }
}

fn one(envelope: Option<Value>) -> Result<Envelope, Rejection> {
    read(envelope.ok_or(Rejection::Unsigned)?)
}

fn several(envelopes: Option<Vec<Value>>) -> Result<Vec<Envelope>, Rejection> {
    let envelopes = envelopes.unwrap_or_default();
    if envelopes.is_empty() {
        return Err(Rejection::Unsigned);
    }
    if envelopes.len() > MAX_ENVELOPES {
        return Err(Rejection::malformed("it has more than 16 signatures"));
    }
    envelopes.into_iter().map(read).collect()
}

macro_rules! to_json {
    ($($name:ident)*) => {$(
        impl $name {
            /// The content of the file: one line of canonical JSON.
            ///
            /// # Errors
            /// [`CanonicalError`], for a number that has no canonical form.
            pub fn to_json(&self) -> Result<Vec<u8>, CanonicalError> {
                canonical::of(self, Profile::Foreign)
            }
        }
    )*};
}

to_json! { SignedResolution SignedStandingApproval SignedOperatorWord }
