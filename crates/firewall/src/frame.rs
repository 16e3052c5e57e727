//! Builds a frame: reads the result, renders what may be shown, and fits it into the budget.

pub(crate) mod auto;
mod build;
pub(crate) mod fit;
mod json_size;

pub(crate) use build::{ResultWindow, build, compose_frame, empty_frame, fill_page};
pub use json_size::json_len_within;
pub(crate) use json_size::{json_bytes, json_chars};
