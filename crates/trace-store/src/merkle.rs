//! The Merkle tree of RFC 9162, section 2.1, over SHA-256.
//!
//! [`Frontier`] is the minimal state for appending: one hash per complete subtree at the right
//! edge, at most 64. [`MerkleTree`] keeps all complete subtrees and makes proofs;
//! [`verify_inclusion`] and [`verify_consistency`] check them with nothing but the roots.

mod frontier;
pub(crate) mod path;
mod proof;
pub(crate) mod tile;
mod tree;

use sha2::{Digest as _, Sha256};

pub use frontier::{Frontier, FrontierError};
pub use proof::{verify_consistency, verify_inclusion};
pub use tile::{TILE_BYTES, TILE_HEIGHT, TILE_WIDTH, Tile};
pub use tree::MerkleTree;

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// The hash of a leaf: SHA-256 over a zero byte and the leaf's bytes. The prefix separates leaves
/// from inner nodes, so neither passes for the other.
#[must_use]
pub fn leaf_hash(leaf: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update([0]);
    hash.update(leaf);
    hash.finalize().into()
}

/// The hash of an inner node: SHA-256 over a one byte, the left and the right hash.
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut bytes = [1; 65];
    let [_, both @ ..] = &mut bytes;
    let (first, second) = both.split_at_mut(left.len());
    first.copy_from_slice(left);
    second.copy_from_slice(right);
    Sha256::digest(bytes).into()
}

/// The root of the empty tree: SHA-256 of the empty string.
#[must_use]
pub fn empty_root() -> Hash {
    Sha256::digest([]).into()
}

#[cfg(test)]
mod tests;
