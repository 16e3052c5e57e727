//! Verification of proofs, by RFC 9162 sections 2.1.3.2 and 2.1.4.2.

use super::{Hash, empty_root, node_hash};

/// True when `path` proves that `leaf` is at `index` in the tree of `size` leaves with `root`.
#[must_use]
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last, mut hash) = (index, size - 1, *leaf);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            (node, last) = skip_to_right_child(node, last);
        } else {
            hash = node_hash(&hash, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && hash == *root
}

/// True when `path` proves that the tree of `old` leaves with `old_root` is a prefix of the tree of
/// `new` leaves with `new_root`. The empty tree is a prefix of every tree.
#[must_use]
pub fn verify_consistency(
    old: u64,
    new: u64,
    path: &[Hash],
    old_root: &Hash,
    new_root: &Hash,
) -> bool {
    if old == 0 {
        return path.is_empty() && *old_root == empty_root() && (new > 0 || old_root == new_root);
    }
    if old >= new {
        return old == new && path.is_empty() && old_root == new_root;
    }
    let (first, rest) = match path.split_first() {
        _ if old.is_power_of_two() => (old_root, path),
        Some((first, rest)) => (first, rest),
        None => return false,
    };
    let ones = (old - 1).trailing_ones();
    let (mut node, mut last) = ((old - 1) >> ones, (new - 1) >> ones);
    let (mut from_old, mut from_new) = (*first, *first);
    for sibling in rest {
        if last == 0 {
            return false;
        }
        if node & 1 == 1 || node == last {
            from_old = node_hash(sibling, &from_old);
            from_new = node_hash(sibling, &from_new);
            (node, last) = skip_to_right_child(node, last);
        } else {
            from_new = node_hash(&from_new, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    last == 0 && from_old == *old_root && from_new == *new_root
}

/// Ascends while the node is the last of its level and has no sibling there.
fn skip_to_right_child(mut node: u64, mut last: u64) -> (u64, u64) {
    while node & 1 == 0 && node != 0 {
        node >>= 1;
        last >>= 1;
    }
    (node, last)
}
