//! A tree with all its complete subtrees, which can prove.

use super::{Hash, empty_root, node_hash};

/// A Merkle tree in memory that gives roots and proofs for every size it ever had. It keeps 64
/// bytes for each leaf.
///
/// ```
/// use weaver_trace_store::merkle::{Tree, leaf_hash, verify_inclusion};
///
/// let mut tree = Tree::default();
/// for leaf in [b"a", b"b", b"c"] {
///     tree.push(leaf_hash(leaf));
/// }
/// let (root, path) = (tree.root(3).unwrap(), tree.inclusion(1, 3).unwrap());
/// assert!(verify_inclusion(&leaf_hash(b"b"), 1, 3, &path, &root));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// `levels[k][i]` is the hash over the leaves from `i * 2^k` to `(i + 1) * 2^k`.
    levels: Vec<Vec<Hash>>,
}

impl Tree {
    /// The number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// Appends a leaf, given by its hash.
    pub fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let Some(nodes) = self.levels.get_mut(level) else { return };
            let left = if nodes.len() % 2 == 1 { nodes.last().copied() } else { None };
            nodes.push(node);
            match left {
                Some(left) => node = node_hash(&left, &node),
                None => return,
            }
        }
    }

    /// The root over the first `size` leaves; `None` when there are not that many.
    #[must_use]
    pub fn root(&self, size: u64) -> Option<Hash> {
        if size == 0 { Some(empty_root()) } else { self.range(0, size) }
    }

    /// The proof that the leaf at `index` is in the tree of `size` leaves, from the leaf upwards;
    /// `None` when there is no such leaf or tree.
    #[must_use]
    pub fn inclusion(&self, index: u64, size: u64) -> Option<Vec<Hash>> {
        if index >= size || size > self.size() {
            return None;
        }
        let (mut start, mut end) = (0, size);
        let mut path = Vec::new();
        while end - start > 1 {
            let middle = start + split(end - start);
            if index < middle {
                path.push(self.range(middle, end)?);
                end = middle;
            } else {
                path.push(self.range(start, middle)?);
                start = middle;
            }
        }
        path.reverse();
        Some(path)
    }

    /// The proof that the tree of `old` leaves is the beginning of the tree of `new` leaves; `None`
    /// when `old` is zero or above `new`, or there is no such tree.
    #[must_use]
    pub fn consistency(&self, old: u64, new: u64) -> Option<Vec<Hash>> {
        if old == 0 || old > new || new > self.size() {
            return None;
        }
        let (mut start, mut end) = (0, new);
        let mut path = Vec::new();
        while old < end {
            let middle = start + split(end - start);
            if old <= middle {
                path.push(self.range(middle, end)?);
                end = middle;
            } else {
                path.push(self.range(start, middle)?);
                start = middle;
            }
        }
        if start > 0 {
            path.push(self.range(start, end)?);
        }
        path.reverse();
        Some(path)
    }

    /// The hash over the leaves from `start` to `end`, as the RFC splits them.
    fn range(&self, start: u64, end: u64) -> Option<Hash> {
        let count = end.checked_sub(start)?;
        if count.is_power_of_two() {
            let level = self.levels.get(usize::try_from(count.trailing_zeros()).ok()?)?;
            return level.get(usize::try_from(start / count).ok()?).copied();
        }
        let middle = start + split(count);
        Some(node_hash(&self.range(start, middle)?, &self.range(middle, end)?))
    }
}

/// The largest power of two below `count`; one for counts that cannot be split.
fn split(count: u64) -> u64 {
    1_u64 << count.saturating_sub(1).checked_ilog2().unwrap_or(0)
}
