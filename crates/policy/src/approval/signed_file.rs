//! Parses the signed files that people put into the inbox.

use serde::Deserialize;
use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::signature::Envelope;

use super::{
    APPROVAL_VERSION, Rejection, SignedOperatorStatement, SignedResolution, SignedStandingApproval,
};

/// The largest signed file, in bytes.
pub const MAX_SIGNED_FILE_BYTES: usize = 256 * 1024;
/// The maximum number of signatures on one standing approval.
const MAX_ENVELOPES: usize = 16;

/// One signed file, parsed but not verified: a JSON object with the statement under its name
/// (`resolution`, `standing` or `operator_statement`) and the signature under `envelope`. A standing
/// approval has a list of signatures under `envelopes`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SignedFile {
    /// An answer to one request.
    Resolution(SignedResolution),
    /// An approval given in advance.
    Standing(SignedStandingApproval),
    /// A confirmation or revocation by an operator.
    OperatorStatement(SignedOperatorStatement),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignedFileJson {
    resolution: Option<Value>,
    standing: Option<Value>,
    operator_statement: Option<Value>,
    envelope: Option<Value>,
    envelopes: Option<Vec<Value>>,
}

impl SignedFile {
    /// Parses a file strictly: one JSON object, no duplicate or unknown keys, at most
    /// [`MAX_SIGNED_FILE_BYTES`] bytes, and no version newer than this build supports.
    ///
    /// # Errors
    /// [`Rejection::Malformed`], or [`Rejection::Unsigned`] where the signature is missing.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rejection> {
        if bytes.len() > MAX_SIGNED_FILE_BYTES {
            return Err(Rejection::malformed("it has more than 256 KiB"));
        }
        let value = canonical::parse(bytes, Profile::Foreign)
            .map_err(|error| Rejection::malformed(error.to_string()))?;
        let fields: SignedFileJson = from_json(value)?;
        let SignedFileJson { resolution, standing, operator_statement, envelope, envelopes } =
            fields;
        match (resolution, standing, operator_statement) {
            (Some(json), None, None) if envelopes.is_none() => {
                let (resolution, envelope) = (parse_statement(json)?, parse_envelope(envelope)?);
                Ok(Self::Resolution(SignedResolution { resolution, envelope }))
            }
            (None, Some(json), None) if envelope.is_none() => {
                let (standing, envelopes) = (parse_statement(json)?, parse_envelopes(envelopes)?);
                Ok(Self::Standing(SignedStandingApproval { standing, envelopes }))
            }
            (None, None, Some(json)) if envelopes.is_none() => {
                let (operator_statement, envelope) =
                    (parse_statement(json)?, parse_envelope(envelope)?);
                Ok(Self::OperatorStatement(SignedOperatorStatement {
                    operator_statement,
                    envelope,
                }))
            }
            _ => Err(Rejection::malformed(
                "it must hold one of `resolution`, `standing`, `operator_statement` and its signature",
            )),
        }
    }
}

fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Rejection> {
    serde_json::from_value(value).map_err(|error| Rejection::malformed(error.to_string()))
}

/// Parses a statement whose version this build supports.
fn parse_statement<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Rejection> {
    match value.get("v").and_then(Value::as_u64) {
        Some(APPROVAL_VERSION) => from_json(value),
        Some(newer) if newer > APPROVAL_VERSION => Err(Rejection::malformed(format!(
            "its version {newer} is newer than {APPROVAL_VERSION}: use a release that reads it"
        ))),
        _ => Err(Rejection::malformed(format!("`v` is not {APPROVAL_VERSION}"))),
    }
}

fn parse_envelope(envelope: Option<Value>) -> Result<Envelope, Rejection> {
    from_json(envelope.ok_or(Rejection::Unsigned)?)
}

fn parse_envelopes(envelopes: Option<Vec<Value>>) -> Result<Vec<Envelope>, Rejection> {
    let envelopes = envelopes.unwrap_or_default();
    if envelopes.is_empty() {
        return Err(Rejection::Unsigned);
    }
    if envelopes.len() > MAX_ENVELOPES {
        return Err(Rejection::malformed("it has more than 16 signatures"));
    }
    envelopes.into_iter().map(from_json).collect()
}

macro_rules! to_json {
    ($($name:ident)*) => {$(
        impl $name {
            /// The content of the file: one line of canonical JSON.
            ///
            /// # Errors
            /// [`CanonicalError`], for a number that has no canonical form.
            pub fn to_json(&self) -> Result<Vec<u8>, CanonicalError> {
                canonical::serialize(self, Profile::Foreign)
            }
        }
    )*};
}

to_json! { SignedResolution SignedStandingApproval SignedOperatorStatement }
