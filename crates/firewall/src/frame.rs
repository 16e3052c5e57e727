//! Building a frame: read the result, show what may be shown, fit it into the budget.

pub(crate) mod auto;
mod build;
pub(crate) mod fit;
mod size;

pub(crate) use build::{ResultWindow, build, compose, empty, fill};
pub(crate) use fit::json_len;
pub use size::estimated_size;
