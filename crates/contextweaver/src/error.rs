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
    /// The item it hangs on is not in the log, or is no call where the item is a result.
    #[error("`{id}` hangs on `{parent}`, which is not in the log before it: add that first")]
    UnknownParent {
        /// The id of the item, made visible.
        id: String,
        /// The id it names, made visible.
        parent: String,
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
            Self::UnknownParent { .. } => "context.unknown_parent",
        }
    }
}
