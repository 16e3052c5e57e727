//! What the examples share: a host whose output is the same in each run, and ways to print.

mod desk;
mod print;

pub use desk::Desk;
pub use print::{decision, ledger, section, text};

/// The error of an example.
pub type Failure = Box<dyn std::error::Error>;

/// The guide, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/getting-started.md")]
struct Guide;
