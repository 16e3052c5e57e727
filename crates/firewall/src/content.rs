//! What a result consists of and how its values are rendered; frames, summaries, views and queries
//! build on this.

pub(crate) mod findings;
mod rows;
mod shape;
mod value_renderer;

pub(crate) use findings::{INJECTION_DETECTOR, InjectionDetector, text_as_read};
pub(crate) use rows::{Rows, copied_text, for_rows};
pub(crate) use shape::{Content, Shape, media_type, row_count};
pub(crate) use value_renderer::ValueRenderer;
