//! A second interpreter, written from `docs/concepts/policy.md` alone, and what it finds.
//!
//! It reads the documents as plain TOML and evaluates them without any index or preparation: slow,
//! plain, and nothing shared with the crate but the names of things. Random documents and requests
//! over small vocabularies are asked of both.

mod capability;
mod case;
mod contract_text;
mod decision;
pub(crate) mod dice;
mod differential;
pub(crate) mod document;
mod flow;
mod history;
mod host;
mod matching;
mod metamorphic;
mod path;
mod predicate;
mod reading;
mod request;
mod rules;
mod shrink;
mod spoilt;
mod value;
mod words;
