//! Errors of token tables.

/// Why a file is not a valid token table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file is not in the safetensors format.
    #[error("the table is not a safetensors file: {problem}")]
    Malformed {
        /// What is wrong.
        problem: String,
    },
    /// Something is missing.
    #[error("the table lacks the {what}")]
    Missing {
        /// What is missing.
        what: &'static str,
    },
    /// Something has the wrong shape or type.
    #[error("`{what}` of the table is {found}; it must be {wanted}")]
    Shape {
        /// What has it.
        what: &'static str,
        /// The actual shape or type.
        found: String,
        /// The required shape or type.
        wanted: &'static str,
    },
    /// The vocabulary cannot be read.
    #[error("the vocabulary of the table cannot be read: {problem}")]
    Vocabulary {
        /// What is wrong.
        problem: String,
    },
    /// The numbers of pieces and rows differ.
    #[error("the table has {rows} rows and its vocabulary {pieces} pieces; they must be as many")]
    Pieces {
        /// The number of pieces.
        pieces: usize,
        /// The number of rows.
        rows: usize,
    },
}

impl TableError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "table.malformed",
            Self::Missing { .. } => "table.missing",
            Self::Shape { .. } => "table.shape",
            Self::Vocabulary { .. } => "table.vocabulary",
            Self::Pieces { .. } => "table.pieces",
        }
    }
}
