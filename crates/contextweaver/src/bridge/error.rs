//! Why a context was not injected.

use thiserror::Error;

/// Why no plan was made. Without one nothing is injected.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BridgeError {
    /// No decision has this key.
    #[error("no decision `{key}` is declared{}", hint(.nearest))]
    UnknownDecision {
        /// The key, made visible and cut.
        key: String,
        /// The declared one that may be meant.
        nearest: Option<String>,
    },
    /// Two decisions have the same key, or two packs the same id.
    #[error("{what} `{id}` is there already: give each its own")]
    Duplicate {
        /// What has the id.
        what: &'static str,
        /// The id, made visible and cut.
        id: String,
    },
    /// A pack that is required is not in the store.
    #[error("{by} requires the pack `{pack}`, which is not in the store: add it")]
    MissingPack {
        /// The pack, made visible and cut.
        pack: String,
        /// Who requires it: `decision …` or `agent …`.
        by: String,
    },
    /// A pack that is required may not be shown.
    #[error(
        "{by} requires the pack `{pack}`, which is more confidential than this context may show: \
         raise its clearance or redact the pack"
    )]
    Withheld {
        /// The pack, made visible and cut.
        pack: String,
        /// Who requires it.
        by: String,
    },
    /// The packs that are required need more tokens than there are.
    #[error(
        "the required packs need {needed} tokens, the budget is {budget}: raise it or shorten them"
    )]
    Budget {
        /// Tokens of the required packs; one more than the budget where they were not counted on.
        needed: usize,
        /// The budget.
        budget: usize,
    },
    /// An id that cannot be one, or too much of something.
    #[error("{what} `{id}`: {rule}")]
    Malformed {
        /// What it is.
        what: &'static str,
        /// Its id, made visible and cut.
        id: String,
        /// The rule in words.
        rule: &'static str,
    },
}

impl BridgeError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownDecision { .. } => "bridge.unknown_decision",
            Self::Duplicate { .. } => "bridge.duplicate",
            Self::MissingPack { .. } => "bridge.missing_pack",
            Self::Withheld { .. } => "bridge.withheld",
            Self::Budget { .. } => "bridge.budget",
            Self::Malformed { .. } => "bridge.malformed",
        }
    }
}

fn hint(nearest: &Option<String>) -> String {
    match nearest {
        Some(nearest) => format!(": did you mean `{nearest}`?"),
        None => ": declare it first".to_owned(),
    }
}
