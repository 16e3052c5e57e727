//! Errors of graphs and of paths in them.

use thiserror::Error;

/// Why no graph was built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A bound makes no sense.
    #[error("{option} is {value}: choose it within {bounds}")]
    Option {
        /// Which option.
        option: &'static str,
        /// Its value.
        value: usize,
        /// What is allowed.
        bounds: &'static str,
    },
    /// There are more items than the bounds hold.
    #[error(
        "`{id}` and what follows it do not fit: {max_depth} choices of {max_children} hold {room} \
         items; allow more choices or more depth"
    )]
    TooMany {
        /// The first item without a place, made visible.
        id: String,
        /// Choices on one page.
        max_children: usize,
        /// Choices until an item.
        max_depth: usize,
        /// How many items these hold.
        room: usize,
    },
    /// An item is there twice.
    #[error("`{id}` is there twice: give it once")]
    Twice {
        /// The id, made visible.
        id: String,
    },
    /// An item is not reached from the root.
    #[error("`{id}` is not reached from the root: the graph cannot be used")]
    Unreachable {
        /// The id, made visible.
        id: String,
    },
    /// An item is reached too late.
    #[error("`{id}` is reached after {depth} choices, at most {max_depth} are allowed")]
    TooDeep {
        /// The id, made visible.
        id: String,
        /// How many choices it takes.
        depth: usize,
        /// How many it may take.
        max_depth: usize,
    },
    /// A page has too many choices.
    #[error("`{id}` stands on a page of {choices} choices, at most {max_children} are allowed")]
    TooWide {
        /// The first item below the page, made visible.
        id: String,
        /// How many there are.
        choices: usize,
        /// How many there may be.
        max_children: usize,
    },
    /// A path leads elsewhere than to the page it was made for.
    #[error("`{id}` stands below a label that another group has, too: `{label}`")]
    Label {
        /// The first item below the group, made visible.
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
            Self::Option { .. } => "graph.option",
            Self::TooMany { .. } => "graph.too_many",
            Self::Twice { .. } => "graph.twice",
            Self::Unreachable { .. } => "graph.unreachable",
            Self::TooDeep { .. } => "graph.too_deep",
            Self::TooWide { .. } => "graph.too_wide",
            Self::Label { .. } => "graph.label",
        }
    }
}

/// Why a path leads nowhere. The message may be shown to a model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// It is not written as a path.
    #[error("`{path}` is no path: {problem}")]
    Invalid {
        /// The path, made visible and cut.
        path: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// No group has this label there.
    #[error("there is no `{label}` in `{parent}`{}", nearest.as_ref().map_or_else(
        String::new, |near| format!(": did you mean `{near}`?")
    ))]
    NotFound {
        /// The path of the page.
        parent: String,
        /// The label, made visible and cut.
        label: String,
        /// The label that is nearest, if one is near.
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
