//! Roots and proofs from complete subtrees, by RFC 9162 sections 2.1.3.1 and 2.1.4.1.
//!
//! The store provides complete subtrees through a function of level and index: the subtree over the
//! leaves from `place * 2^level` to `(place + 1) * 2^level`. Only subtrees that lie entirely within
//! the size are requested, and their number is logarithmic in the size.

use super::{Hash, empty_root, node_hash};

/// The root over the first `size` leaves.
pub(crate) fn root<E>(
    size: u64,
    node: &mut impl FnMut(u32, u64) -> Result<Hash, E>,
) -> Result<Hash, E> {
    if size == 0 { Ok(empty_root()) } else { range(0, size, node) }
}

/// The proof that the leaf at `index` is in the tree of `size` leaves, from the leaf upwards;
/// `None` when there is no such leaf.
pub(crate) fn inclusion<E>(
    index: u64,
    size: u64,
    node: &mut impl FnMut(u32, u64) -> Result<Hash, E>,
) -> Result<Option<Vec<Hash>>, E> {
    if index >= size {
        return Ok(None);
    }
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            path.push(range(middle, end, node)?);
            end = middle;
        } else {
            path.push(range(start, middle, node)?);
            start = middle;
        }
    }
    path.reverse();
    Ok(Some(path))
}

/// The proof that the tree of `old` leaves is a prefix of the tree of `new` leaves; `None` when
/// `old` is zero or greater than `new`.
pub(crate) fn consistency<E>(
    old: u64,
    new: u64,
    node: &mut impl FnMut(u32, u64) -> Result<Hash, E>,
) -> Result<Option<Vec<Hash>>, E> {
    if old == 0 || old > new {
        return Ok(None);
    }
    let (mut start, mut end) = (0, new);
    let mut path = Vec::new();
    while old < end {
        let middle = start + split(end - start);
        if old <= middle {
            path.push(range(middle, end, node)?);
            end = middle;
        } else {
            path.push(range(start, middle, node)?);
            start = middle;
        }
    }
    if start > 0 {
        path.push(range(start, end, node)?);
    }
    path.reverse();
    Ok(Some(path))
}

/// The hash over the leaves from `start` to `end`, split as the RFC does. `end` is greater than
/// `start`.
fn range<E>(
    start: u64,
    end: u64,
    node: &mut impl FnMut(u32, u64) -> Result<Hash, E>,
) -> Result<Hash, E> {
    let count = end.saturating_sub(start).max(1);
    if count.is_power_of_two() {
        return node(count.trailing_zeros(), start / count);
    }
    let middle = start + split(count);
    Ok(node_hash(&range(start, middle, node)?, &range(middle, end, node)?))
}

/// The largest power of two below `count`; one for counts that cannot be split.
fn split(count: u64) -> u64 {
    1_u64 << count.saturating_sub(1).checked_ilog2().unwrap_or(0)
}
