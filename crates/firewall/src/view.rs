//! Views: ways to look at a stored result other than its rows.
//!
//! A view takes the stored content and returns something smaller: the value at a path, some lines,
//! the columns of a table. The media type and the first bytes determine which views exist. Built-in
//! views are those of JSON (`get`, `keys`, `paths`, and `lines`, `chars` and `search` of a text in
//! it), CSV (`rows`, `head`, `tail`, `columns`, `summary`), text (`lines`, `chars`, `head`, `tail`,
//! `search`) and other bytes (`type`). Hosts can register their own. The output of every view passes
//! the same redaction and the same budget as a first frame. Built-in views work on content that is
//! already redacted, so that they cannot cut a value before it was recognised.
//!
//! A view reads the bytes of its handle, and a handle belongs to one call: a later call of the same
//! tool has another handle.

mod args;
mod binary;
mod csv;
mod generator;
mod json;
mod json_walker;
pub(crate) mod path;
mod registry;
mod rows;
pub(crate) mod text;
mod value_kinds;
mod view_kind;
mod view_result;

pub use generator::{ViewGenerator, ViewSource};
pub use registry::ViewRegistry;
pub(crate) use view_kind::has_json_views;
pub(crate) use view_result::ViewResult;
