//! Tiles: how a store keeps the interior hashes of the Merkle tree.
//!
//! A tile of level `t` and index `n` covers the 256^(t + 1) leaves from `n * 256^(t + 1)` on. It
//! holds the 255 interior hashes of the tree over its 256 children, root first, then row by row:
//! 8,160 bytes. The children of a level 0 tile are leaves, those of a higher tile are the roots of
//! the tiles below. A slot whose subtree is incomplete is zero.
//!
//! A level 0 tile is stored once it has 256 leaves. A higher tile is stored whenever one of its
//! hashes is new, which happens at most once per 512 leaves.

#[cfg(any(test, feature = "sqlite"))]
use super::Frontier;
use super::Hash;

/// Levels of the tree that one tile covers.
pub const TILE_HEIGHT: u32 = 8;
/// Leaves below a level 0 tile.
pub const TILE_WIDTH: u64 = 1 << TILE_HEIGHT;
/// Bytes of a tile.
pub const TILE_BYTES: usize = 255 * 32;

/// A stored tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    /// The level, from 0.
    pub level: u32,
    /// The index in its level, from 0.
    pub index: u64,
    /// [`TILE_BYTES`] bytes: the interior hashes, root first.
    pub nodes: Vec<u8>,
}

impl Tile {
    fn empty(level: u32, index: u64) -> Self {
        Self { level, index, nodes: vec![0; TILE_BYTES] }
    }
}

/// Where an interior hash is stored: level and index of its tile, and the slot in it. `level` is
/// that of the subtree, from 1.
pub(crate) fn tile_slot(level: u32, node: u64) -> (u32, u64, usize) {
    let row = level.saturating_sub(1);
    let depth = TILE_HEIGHT - 1 - row % TILE_HEIGHT;
    let first = 1_u64 << depth;
    // Below 255.
    let slot = usize::try_from(first - 1 + (node & (first - 1))).unwrap_or(0);
    (row / TILE_HEIGHT, node >> depth, slot)
}

/// The hash in a slot of a tile.
#[cfg(any(test, feature = "sqlite"))]
pub(crate) fn slot_hash(nodes: &[u8], slot: usize) -> Option<Hash> {
    nodes.as_chunks::<32>().0.get(slot).copied()
}

/// The partial tiles at the growing end of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PartialTiles {
    open: Vec<PartialTile>,
    full: Vec<Tile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PartialTile {
    tile: Tile,
    changed: bool,
}

impl PartialTiles {
    /// The partial tiles of a log of `size` events. `higher` are the stored tiles of the levels
    /// from 1 on, `leaves` the leaf hashes after the last full level 0 tile.
    #[cfg(any(test, feature = "sqlite"))]
    pub(crate) fn resume(size: u64, higher: Vec<Vec<u8>>, leaves: &[Hash]) -> Self {
        let mut growing = Self::default();
        growing.open.push(PartialTile { tile: Tile::empty(0, size / TILE_WIDTH), changed: false });
        for (level, nodes) in (1..).zip(higher) {
            let index = size.checked_shr(TILE_HEIGHT * (level + 1)).unwrap_or(0);
            growing.open.push(PartialTile { tile: Tile { level, index, nodes }, changed: false });
        }
        let base = size - size % TILE_WIDTH;
        let mut frontier = Frontier::default();
        for leaf in leaves {
            frontier.push_with(*leaf, &mut |level, node, hash| {
                growing.put(level, node + (base >> level), hash);
            });
        }
        growing
    }

    /// Adds a complete subtree. Leaf hashes are not stored in tiles.
    pub(crate) fn put(&mut self, level: u32, node: u64, hash: Hash) {
        if level == 0 {
            return;
        }
        let (tile_level, index, slot) = tile_slot(level, node);
        let at = usize::try_from(tile_level).unwrap_or(usize::MAX);
        if self.open.len() == at {
            self.open.push(PartialTile { tile: Tile::empty(tile_level, index), changed: false });
        }
        let Some(open) = self.open.get_mut(at) else { return };
        if let Some(node) = open.tile.nodes.as_chunks_mut::<32>().0.get_mut(slot) {
            *node = hash;
        }
        open.changed = true;
        if slot == 0 {
            let next = PartialTile { tile: Tile::empty(tile_level, index + 1), changed: false };
            self.full.push(std::mem::replace(open, next).tile);
        }
    }

    /// The tiles to write: those that became full, and the higher ones that changed.
    #[cfg(any(test, feature = "sqlite"))]
    pub(crate) fn take_changed(&mut self) -> Vec<Tile> {
        let mut tiles = self.take_full();
        for open in self.open.iter_mut().filter(|open| open.changed && open.tile.level > 0) {
            open.changed = false;
            tiles.push(open.tile.clone());
        }
        tiles
    }

    /// The tiles that became full.
    pub(crate) fn take_full(&mut self) -> Vec<Tile> {
        std::mem::take(&mut self.full)
    }

    /// Partial tiles that must be stored nevertheless.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &Tile> {
        let filled = |tile: &Tile| tile.nodes.iter().any(|byte| *byte != 0);
        self.open.iter().map(|open| &open.tile).filter(move |tile| tile.level > 0 && filled(tile))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MerkleTree, leaf_hash};
    use super::*;

    #[test]
    fn every_slot_of_a_tile_is_used_once() {
        let mut seen = [false; 255];
        for level in 1..=8_u32 {
            for node in 0..(256_u64 >> level) {
                let (tile, index, slot) = tile_slot(level, node);
                assert_eq!((tile, index), (0, 0));
                assert!(!std::mem::replace(&mut seen[slot], true), "{level} {node}");
            }
        }
        assert!(seen.iter().all(|seen| *seen));
        assert_eq!(tile_slot(8, 5), (0, 5, 0));
        assert_eq!(tile_slot(9, 5), (1, 0, 127 + 5));
        assert_eq!(tile_slot(16, 3), (1, 3, 0));
    }

    #[test]
    fn tiles_hold_the_subtrees_and_growing_resumes_anywhere() {
        let leaves: Vec<Hash> = (0..1500_u64).map(|n| leaf_hash(&n.to_be_bytes())).collect();
        let (mut growing, mut frontier, mut tree) =
            (PartialTiles::default(), Frontier::default(), MerkleTree::default());
        let mut stored = std::collections::BTreeMap::new();
        for (size, leaf) in (1_u64..).zip(&leaves) {
            frontier.push_with(*leaf, &mut |level, node, hash| growing.put(level, node, hash));
            tree.push(*leaf);
            for tile in growing.take_changed() {
                stored.insert((tile.level, tile.index), tile.nodes);
            }
            if size % 97 == 0 || size % 256 < 2 {
                let higher = stored.get(&(1, size >> 16)).cloned().into_iter().collect();
                let from = usize::try_from(size - size % 256).unwrap();
                let tail = &leaves[from..usize::try_from(size).unwrap()];
                let mut resumed = PartialTiles::resume(size, higher, tail);
                let (mut one, mut other) = (growing.clone(), frontier.clone());
                for leaf in &leaves[..600] {
                    let mut sinks = Vec::new();
                    other.push_with(*leaf, &mut |l, p, h| sinks.push((l, p, h)));
                    for (level, node, hash) in sinks {
                        one.put(level, node, hash);
                        resumed.put(level, node, hash);
                    }
                }
                assert_eq!(one.take_changed(), resumed.take_changed(), "size {size}");
            }
        }
        assert_eq!(stored.len(), 5 + 1);
        let of = |level: u32, node: u64| {
            let (tile, index, slot) = tile_slot(level, node);
            slot_hash(&stored[&(tile, index)], slot)
        };
        for (size, level) in [(2_u64, 1), (8, 3), (256, 8), (512, 9), (1024, 10)] {
            assert_eq!(of(level, 0), tree.root(size), "size {size}");
        }
    }
}
