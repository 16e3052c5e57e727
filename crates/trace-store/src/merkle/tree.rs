//! A Merkle tree with all of its complete subtrees, which can make proofs.

use super::{Hash, node_hash, path};

/// An in-memory Merkle tree with roots and proofs for every size it ever had. It uses 64 bytes per
/// leaf.
///
/// ```
/// use weaver_trace_store::merkle::{MerkleTree, leaf_hash, verify_inclusion};
///
/// let mut tree = MerkleTree::default();
/// for leaf in [b"a", b"b", b"c"] {
///     tree.push(leaf_hash(leaf));
/// }
/// let (root, path) = (tree.root(3).unwrap(), tree.inclusion(1, 3).unwrap());
/// assert!(verify_inclusion(&leaf_hash(b"b"), 1, 3, &path, &root));
/// ```
#[derive(Debug, Clone, Default)]
pub struct MerkleTree {
    /// `levels[k][i]` is the hash over the leaves from `i * 2^k` to `(i + 1) * 2^k`.
    levels: Vec<Vec<Hash>>,
}

impl MerkleTree {
    /// The number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// Appends a leaf, given by its hash.
    pub fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        for level in 0.. {
            let left = self.levels.get(level).and_then(|nodes: &Vec<Hash>| match nodes.len() % 2 {
                1 => nodes.last().copied(),
                _ => None,
            });
            self.put(level, node);
            match left {
                Some(left) => node = node_hash(&left, &node),
                None => return,
            }
        }
    }

    /// Appends a complete subtree to its level.
    pub(crate) fn put(&mut self, level: usize, node: Hash) {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        if let Some(nodes) = self.levels.get_mut(level) {
            nodes.push(node);
        }
    }

    /// The root over the first `size` leaves; `None` when there are fewer.
    #[must_use]
    pub fn root(&self, size: u64) -> Option<Hash> {
        path::root(size, &mut |level, place| self.node(level, place).ok_or(())).ok()
    }

    /// The proof that the leaf at `index` is in the tree of `size` leaves, from the leaf upwards;
    /// `None` when there is no such leaf or size.
    #[must_use]
    pub fn inclusion(&self, index: u64, size: u64) -> Option<Vec<Hash>> {
        if size > self.size() {
            return None;
        }
        path::inclusion(index, size, &mut |level, place| self.node(level, place).ok_or(()))
            .ok()
            .flatten()
    }

    /// The proof that the tree of `old` leaves is a prefix of the tree of `new` leaves; `None` when
    /// `old` is zero or greater than `new`, or there is no such size.
    #[must_use]
    pub fn consistency(&self, old: u64, new: u64) -> Option<Vec<Hash>> {
        if new > self.size() {
            return None;
        }
        path::consistency(old, new, &mut |level, place| self.node(level, place).ok_or(()))
            .ok()
            .flatten()
    }

    /// The hash of a leaf.
    pub(crate) fn leaf(&self, index: u64) -> Option<Hash> {
        self.node(0, index)
    }

    fn node(&self, level: u32, place: u64) -> Option<Hash> {
        let level = self.levels.get(usize::try_from(level).ok()?)?;
        level.get(usize::try_from(place).ok()?).copied()
    }
}
