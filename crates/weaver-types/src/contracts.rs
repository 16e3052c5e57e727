//! The nine public weaver contracts.
