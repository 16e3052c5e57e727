//! The public behaviour of `weaver-text`, as properties over arbitrary text.

#![cfg(test)]

mod estimate;
mod properties;
mod reveal;
