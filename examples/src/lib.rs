//! What the examples share: a host whose output is the same in each run, and functions to print.

mod example_host;
mod print;

pub use example_host::ExampleHost;
pub use print::{print_decision, print_indented, print_ledger, print_section};

/// The error of an example.
pub type Failure = Box<dyn std::error::Error>;

/// The guide, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/getting-started.md")]
struct Guide;
