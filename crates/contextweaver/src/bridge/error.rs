//! Why no context was injected.

use thiserror::Error;

/// Why no plan was made. Without a plan, nothing is injected.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BridgeError {
    /// No decision has this key.
    #[error("no decision `{key}` is declared{}", suggestion(.nearest))]
    UnknownDecision {
        /// The key, escaped and shortened.
        key: String,
        /// The declared key that was probably meant.
        nearest: Option<String>,
    },
    /// Two decisions have the same key, or two packs the same id.
    #[error("{what} `{id}` is there already: give each its own")]
    Duplicate {
        /// What kind of thing has the id.
        what: &'static str,
        /// The id, escaped and shortened.
        id: String,
    },
    /// A required pack is not in the store.
    #[error("{by} requires the pack `{pack}`, which is not in the store: add it")]
    MissingPack {
        /// The pack, escaped and shortened.
        pack: String,
        /// Who requires it: `decision …` or `agent …`.
        by: String,
    },
    /// A required pack is more confidential than the context may show.
    #[error(
        "{by} requires the pack `{pack}`, which is more confidential than this context may show: \
         raise its clearance or redact the pack"
    )]
    Withheld {
        /// The pack, escaped and shortened.
        pack: String,
        /// Who requires it.
        by: String,
    },
    /// The required packs need more tokens than the budget has.
    #[error(
        "the required packs need {needed} tokens, the budget is {budget}: raise it or shorten them"
    )]
    Budget {
        /// Tokens of the required packs; the budget plus one if an entry could not be counted.
        needed: usize,
        /// The budget.
        budget: usize,
    },
    /// An invalid id, or a bound that is exceeded.
    #[error("{what} `{id}`: {rule}")]
    Malformed {
        /// What kind of thing is malformed.
        what: &'static str,
        /// Its id, escaped and shortened.
        id: String,
        /// The broken rule, in words.
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

fn suggestion(nearest: &Option<String>) -> String {
    match nearest {
        Some(nearest) => format!(": did you mean `{nearest}`?"),
        None => ": declare it first".to_owned(),
    }
}
