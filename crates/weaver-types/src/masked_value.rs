//! A masked value in the arguments of a call.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Label, ValueFamily};

/// A mask in the arguments of a call, and what is known about the value behind it; never the value
/// itself.
///
/// These facts decide where the value may go: back to its origin, to local writes, and to any tool
/// whose signed contract accepts its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaskedValue {
    /// The mask as written: `[EMAIL_1]`.
    pub mask: String,
    /// Its first position, as a JSON pointer.
    pub place: String,
    /// The kind of the value: `email`.
    pub kind: String,
    /// Whether it is a secret or personal data.
    pub family: ValueFamily,
    /// The servers in whose results the value was masked.
    pub origins: BTreeSet<String>,
    /// The label that the value had there.
    pub label: Label,
    /// Whether redaction would not find the value where the call puts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stays_readable: bool,
}
