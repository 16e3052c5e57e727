//! The built `xtask`, run as a command.

#![cfg(test)]

mod ci_script;
mod layers;
mod tidy;
