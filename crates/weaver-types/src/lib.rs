//! The vocabulary of Weaver: identifiers, effects, decisions, frames, the ledger port, canonical bytes and the public contracts.
