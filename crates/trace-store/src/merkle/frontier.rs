//! The frontier (right edge) of a growing Merkle tree.

use super::{Hash, empty_root, node_hash};

/// The complete subtrees at the right edge of a tree, largest first: enough to append leaves and to
/// compute the root. It holds one hash for each bit set in the size.
///
/// ```
/// use weaver_trace_store::merkle::{Frontier, leaf_hash, node_hash};
///
/// let (a, b) = (leaf_hash(b"a"), leaf_hash(b"b"));
/// let mut frontier = Frontier::default();
/// frontier.push(a);
/// frontier.push(b);
/// assert_eq!(frontier.root(), node_hash(&a, &b));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    nodes: Vec<Hash>,
}

/// Bytes that are not a frontier of the given size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tree of {size} leaves has a frontier of {want} bytes, not {found}")]
pub struct FrontierError {
    /// The number of leaves.
    pub size: u64,
    /// The length of its frontier in bytes.
    pub want: usize,
    /// The actual length.
    pub found: usize,
}

impl FrontierError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "merkle.frontier"
    }
}

impl Frontier {
    /// The number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf, given by its hash.
    pub fn push(&mut self, leaf: Hash) {
        self.push_with(leaf, &mut |_, _, _| {});
    }

    /// As [`Frontier::push`]; `complete` receives the leaf and each subtree that it completes: the
    /// level (0 for the leaf), the index in that level, the hash.
    pub fn push_with(&mut self, leaf: Hash, complete: &mut dyn FnMut(u32, u64, Hash)) {
        let (mut node, mut level, mut place) = (leaf, 0, self.size);
        complete(level, place, node);
        while place & 1 == 1 {
            if let Some(left) = self.nodes.pop() {
                node = node_hash(&left, &node);
            }
            (level, place) = (level + 1, place >> 1);
            complete(level, place, node);
        }
        self.nodes.push(node);
        self.size += 1;
    }

    /// The root over all leaves.
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut nodes = self.nodes.iter().rev();
        let Some(last) = nodes.next() else { return empty_root() };
        nodes.fold(*last, |right, left| node_hash(left, &right))
    }

    /// The smallest complete subtree, which contains the last leaf, and its number of leaves.
    #[must_use]
    pub fn last(&self) -> Option<(Hash, u64)> {
        let node = self.nodes.last()?;
        Some((*node, 1_u64 << self.size.trailing_zeros()))
    }

    /// The subtree at this level and index, if it is part of the frontier.
    #[cfg(feature = "sqlite")]
    pub(crate) fn subtree(&self, level: u32, place: u64) -> Option<Hash> {
        let there = self.size.checked_shr(level)?;
        if there & 1 == 0 || there - 1 != place {
            return None;
        }
        self.nodes.get(usize::try_from((there >> 1).count_ones()).ok()?).copied()
    }

    /// The hashes concatenated, largest subtree first.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.nodes.concat()
    }

    /// Parses the output of [`Frontier::to_bytes`].
    ///
    /// # Errors
    /// [`FrontierError`], when the number of bytes does not match the size.
    pub fn from_bytes(size: u64, bytes: &[u8]) -> Result<Self, FrontierError> {
        let want = usize::try_from(size.count_ones()).unwrap_or(usize::MAX).saturating_mul(32);
        let (nodes, rest) = bytes.as_chunks::<32>();
        if bytes.len() != want || !rest.is_empty() {
            return Err(FrontierError { size, want, found: bytes.len() });
        }
        Ok(Self { size, nodes: nodes.to_vec() })
    }
}
