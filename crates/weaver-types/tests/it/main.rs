//! The public interface of the crate, one module a theme.

#![cfg(test)]

mod canonical;
mod capability;
mod contracts;
mod digest;
mod format_calls;
mod format_names;
mod format_schemas;
mod formats;
mod interleavings;
mod results;
mod signature;
mod ticket;
mod tool_spec;
