//! The built harness, run as a command.

#![cfg(test)]

mod eval;
