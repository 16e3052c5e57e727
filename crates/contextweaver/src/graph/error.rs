//! Errors of choice graphs and of paths in them.

use thiserror::Error;

/// Why no graph was built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// An option is out of bounds.
    #[error("{option} is {value}: choose it within {bounds}")]
    InvalidOption {
        /// The option.
        option: &'static str,
        /// The value of the option.
        value: usize,
        /// The allowed range.
        bounds: &'static str,
    },
    /// There are more items than the bounds hold.
    #[error(
        "`{id}` and what follows it do not fit: {max_depth} choices of {max_children} hold {room} \
         items; allow more choices or more depth"
    )]
    TooMany {
        /// The first item that does not fit, escaped.
        id: String,
        /// Choices on one page.
        max_children: usize,
        /// Choices on the way to an item.
        max_depth: usize,
        /// How many items such a graph can hold.
        room: usize,
    },
    /// Two items have the same id.
    #[error("`{id}` is there twice: give it once")]
    Duplicate {
        /// The id, escaped.
        id: String,
    },
    /// An item is not reachable from the root.
    #[error("`{id}` is not reached from the root: the graph cannot be used")]
    Unreachable {
        /// The id, escaped.
        id: String,
    },
    /// An item is too deep.
    #[error("`{id}` is reached after {depth} choices, at most {max_depth} are allowed")]
    TooDeep {
        /// The id, escaped.
        id: String,
        /// How many choices lead to it.
        depth: usize,
        /// How many are allowed.
        max_depth: usize,
    },
    /// A page has too many choices.
    #[error("`{id}` stands on a page of {choices} choices, at most {max_children} are allowed")]
    TooWide {
        /// The first item below the page, escaped.
        id: String,
        /// How many choices the page has.
        choices: usize,
        /// How many are allowed.
        max_children: usize,
    },
    /// A path would not lead to the page that it was made for.
    #[error("`{id}` stands below a label that another group has, too: `{label}`")]
    AmbiguousLabel {
        /// The first item below the group, escaped.
        id: String,
        /// The label.
        label: String,
    },
}

impl GraphError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidOption { .. } => "graph.option",
            Self::TooMany { .. } => "graph.too_many",
            Self::Duplicate { .. } => "graph.twice",
            Self::Unreachable { .. } => "graph.unreachable",
            Self::TooDeep { .. } => "graph.too_deep",
            Self::TooWide { .. } => "graph.too_wide",
            Self::AmbiguousLabel { .. } => "graph.label",
        }
    }
}

/// Why a path leads to no page. The message may be shown to a model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text is not a valid path.
    #[error("`{path}` is not a path: {problem}")]
    Invalid {
        /// The path, escaped and shortened.
        path: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The page has no group with this label.
    #[error("there is no `{label}` in `{parent}`{}", nearest.as_ref().map_or_else(
        String::new, |near| format!(": did you mean `{near}`?")
    ))]
    NotFound {
        /// The path of the page.
        parent: String,
        /// The label, escaped and shortened.
        label: String,
        /// The nearest label, if one is near.
        nearest: Option<String>,
    },
}

impl PathError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "path.invalid",
            Self::NotFound { .. } => "path.not_found",
        }
    }
}
