//! The library through its public interface. What a user sees of it is tested with `weaver-cli`.

#![cfg(test)]

mod broken_files;
mod clients;
mod config;
mod config_schema;
mod folder;
mod reference;
