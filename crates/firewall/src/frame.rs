//! Building a frame: read the result, show what may be shown, fit it into the budget.

pub(crate) mod auto;
mod build;
pub(crate) mod finding;
pub(crate) mod fit;
mod rows;
mod shape;
mod size;
mod value_renderer;

pub(crate) use build::{Page, build, compose, empty, fill};
pub(crate) use finding::{Detector, plain};
pub(crate) use fit::json_len;
pub(crate) use rows::{Rows, copied, for_rows};
pub(crate) use shape::{Content, Shape, media_type, rows};
pub use size::estimated_size;
pub(crate) use value_renderer::ValueRenderer;
