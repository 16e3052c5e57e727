//! What can be wrong with a catalog or with the items of a context.

use thiserror::Error;
use weaver_types::IdError;

/// Why an item or a catalog was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// Two items have the same id.
    #[error("two items have the id `{id}`: give each item its own")]
    Duplicate {
        /// The id, made visible.
        id: String,
    },
    /// The catalog is full.
    #[error("the catalog holds {max} items already: split it")]
    Full {
        /// Items allowed.
        max: usize,
    },
    /// A field is larger than its bound.
    #[error("{field} of `{id}` has {size} {unit}, at most {max} are allowed: shorten it")]
    TooLarge {
        /// The id of the item, made visible.
        id: String,
        /// Which field.
        field: &'static str,
        /// Its size.
        size: usize,
        /// What the size counts.
        unit: &'static str,
        /// The bound.
        max: usize,
    },
    /// The id breaks the rule for capability ids.
    #[error("the id cannot be used: {0}")]
    Id(#[from] IdError),
    /// A line is not the JSON object of an item.
    #[error("not an item: {0}; write {{\"id\", \"name\", \"description\"}} in one object")]
    Json(#[source] serde_json::Error),
    /// Something is wrong with one line of a file.
    #[error("line {line}: {source}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong there.
        #[source]
        source: Box<CatalogError>,
    },
    /// A name gives no term that a search could find; the index was not built.
    #[error("no search can find `{id}`: give it a name or a description")]
    Unreachable {
        /// The id of the item, made visible.
        id: String,
    },
}

impl CatalogError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "catalog.duplicate",
            Self::Full { .. } => "catalog.full",
            Self::TooLarge { .. } => "catalog.too_large",
            Self::Id(_) => "catalog.id",
            Self::Json(_) => "catalog.json",
            Self::Line { source, .. } => source.code(),
            Self::Unreachable { .. } => "catalog.unreachable",
        }
    }
}

/// Why an item was not taken into a context log.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogError {
    /// Two items have the same id.
    #[error("two context items have the id `{id}`: give each item its own")]
    Duplicate {
        /// The id, made visible.
        id: String,
    },
    /// The log is full.
    #[error("the context log holds {max} {unit} already: start a new one")]
    Full {
        /// The bound.
        max: usize,
        /// What is bounded.
        unit: &'static str,
    },
    /// One item is larger than its bound.
    #[error("the context item `{id}` has {size} bytes, at most {max} are allowed: shorten it")]
    TooLarge {
        /// The id, made visible.
        id: String,
        /// Its bytes.
        size: usize,
        /// Bytes allowed.
        max: usize,
    },
    /// The item would hang on itself.
    #[error("`{id}` would hang on itself: name another parent")]
    Cycle {
        /// The id of the item, made visible.
        id: String,
    },
}

impl LogError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "context.duplicate",
            Self::Full { .. } => "context.full",
            Self::TooLarge { .. } => "context.too_large",
            Self::Cycle { .. } => "context.cycle",
        }
    }
}

/// Why a context was not compiled.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Something that must not be left out does not fit.
    #[error(
        "{count} of kind `{kind}` do not fit into {budget} tokens: allow more tokens, or let them \
         be dropped"
    )]
    Overflow {
        /// The kind.
        kind: &'static str,
        /// How many items of it.
        count: usize,
        /// The budget, in tokens.
        budget: usize,
    },
}

impl BuildError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "context.overflow",
        }
    }
}

/// Why a look at a stored result was refused.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewError {
    /// There is nothing behind the item.
    #[error("nothing lies behind `{id}`: ask for a result that has a handle")]
    Nothing {
        /// The id of the item, made visible.
        id: String,
    },
    /// The firewall, or the policy before it, says no.
    #[error("the view was refused ({code}): {message}")]
    Refused {
        /// The stable code of what refused it.
        code: String,
        /// What is wrong, without any of the result.
        message: String,
    },
}

impl ViewError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "context.no_handle",
            Self::Refused { .. } => "context.view_refused",
        }
    }
}
