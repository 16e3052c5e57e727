//! Errors of public contracts.

use std::fmt;

use crate::canonical::CanonicalError;

/// How much of foreign text an error quotes, in characters.
const MAX_REPEATED: usize = 160;

/// Why a contract was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The text is not strict JSON, or a value has no canonical bytes.
    #[error("{contract} is not strict JSON: {source}")]
    Json {
        /// The contract's title.
        contract: &'static str,
        /// What is wrong with the JSON.
        source: CanonicalError,
    },
    /// A field is missing, has another type, or is `null` where it must be left out.
    #[error("{contract} has another shape: {problem}")]
    Shape {
        /// The contract's title.
        contract: &'static str,
        /// The problem, escaped and cut.
        problem: String,
    },
    /// A field has the right type but violates a rule of the schema.
    #[error("{contract} breaks its schema at `{place}`: {rule}")]
    Broken {
        /// The contract's title.
        contract: &'static str,
        /// The field, as a JSON pointer.
        place: String,
        /// The rule.
        rule: Rule,
    },
}

/// A rule of the schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A text must not be empty.
    NonEmpty,
    /// A list must have an item.
    AtLeastOne,
    /// A list has at most 20 items.
    AtMostTwenty,
    /// A text must be an RFC 3339 date and time.
    DateTime,
    /// A token must be for single use or expire.
    SingleUseOrExpiring,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NonEmpty => "must not be empty",
            Self::AtLeastOne => "must have at least one item",
            Self::AtMostTwenty => "must have at most 20 items",
            Self::DateTime => "must be an RFC 3339 date and time",
            Rule::SingleUseOrExpiring => "must be set unless `single_use` is true",
        })
    }
}

impl ContractError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json { .. } => "contract.json",
            Self::Shape { .. } => "contract.shape",
            Self::Broken { rule: Rule::NonEmpty, .. } => "contract.empty",
            Self::Broken { rule: Rule::AtLeastOne | Rule::AtMostTwenty, .. } => "contract.count",
            Self::Broken { rule: Rule::DateTime, .. } => "contract.date_time",
            Self::Broken { rule: Rule::SingleUseOrExpiring, .. } => "contract.unbounded",
        }
    }

    pub(super) fn shape(contract: &'static str, problem: &str) -> Self {
        Self::Shape { contract, problem: problem.escape_debug().take(MAX_REPEATED).collect() }
    }

    /// The same error, as found in an item of a list of `contract`.
    pub(super) fn within(self, contract: &'static str, field: &str, index: usize) -> Self {
        match self {
            Self::Broken { place, rule, .. } => {
                Self::Broken { contract, place: format!("/{field}/{index}{place}"), rule }
            }
            other => other,
        }
    }
}
