//! What a result is made of, and how its values are shown: the ground of frames, summaries, views
//! and queries.

pub(crate) mod finding;
mod rows;
mod shape;
mod value_renderer;

pub(crate) use finding::{DETECTOR, Detector, visible_text};
pub(crate) use rows::{Rows, copied, for_rows};
pub(crate) use shape::{Content, Shape, media_type, rows};
pub(crate) use value_renderer::ValueRenderer;
