//! Why a file is no table.

/// Why a file is no table of word vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The rows cannot be read as safetensors.
    #[error("the table is no safetensors file: {problem}")]
    Malformed {
        /// What is wrong.
        problem: String,
    },
    /// Something is not there.
    #[error("the table lacks the {what}")]
    Missing {
        /// What.
        what: &'static str,
    },
    /// Something has another shape or type.
    #[error("`{what}` of the table is {found}; it must be {wanted}")]
    Shape {
        /// What.
        what: &'static str,
        /// How it is.
        found: String,
        /// How it must be.
        wanted: &'static str,
    },
    /// The vocabulary cannot be read.
    #[error("the vocabulary of the table cannot be read: {problem}")]
    Vocabulary {
        /// What is wrong.
        problem: String,
    },
    /// There are not as many pieces as rows.
    #[error("the table has {rows} rows and its vocabulary {pieces} pieces; they must be as many")]
    Pieces {
        /// The pieces.
        pieces: usize,
        /// The rows.
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
