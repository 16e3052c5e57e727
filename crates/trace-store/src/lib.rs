//! An append-only ledger with Merkle proofs on memory and SQLite.
