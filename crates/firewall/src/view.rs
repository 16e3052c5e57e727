//! Views: other ways to look at a stored result than its rows.
//!
//! A view takes what is stored and gives something smaller: the value at a path, some lines, the
//! columns of a table. Which views there are follows from the media type and from the first bytes.
//! Built in are those of JSON (`get`, `keys`, `paths`), of CSV (`rows`, `head`, `tail`, `columns`,
//! `summary`), of text (`lines`, `head`, `tail`, `search`) and of other bytes (`type`). Hosts
//! register their own. Whatever a view gives passes the same redaction and the same budget as a
//! first frame; the built-in ones work on what is redacted already, so that no cut of theirs takes
//! a value apart before it was recognised.
//!
//! A view reads the bytes that its handle names, and a handle names the bytes of one call: a later
//! call of the same tool has another handle.

mod args;
mod binary;
mod csv;
mod generator;
mod json;
mod kind;
mod path;
mod registry;
mod rows;
mod text;
mod view_result;

pub use generator::{ViewGenerator, ViewSource};
pub use registry::ViewRegistry;
