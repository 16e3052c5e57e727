//! A masked value that stands in the arguments of a call.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Label, ValueFamily};

/// A mask in the arguments of a call, and what is known of the value behind it; never the value.
///
/// It decides where the value may go: where it came from, to local writes, and wherever a signed
/// contract accepts its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaskedValue {
    /// The mask as it stands there: `[EMAIL_1]`.
    pub mask: String,
    /// The place where it stands first, as a JSON pointer.
    pub place: String,
    /// The kind of the value: `email`.
    pub kind: String,
    /// Whether it is a secret or personal data.
    pub family: ValueFamily,
    /// The servers in whose results the value was masked.
    pub origins: BTreeSet<String>,
    /// The label that the value had there.
    pub label: Label,
}
