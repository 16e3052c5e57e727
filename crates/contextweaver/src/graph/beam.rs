//! Beam search: walks the graph guided by a ranking.
//!
//! At each level the best `width` nodes are expanded, as in HARPY (Lowerre, *The Harpy Speech
//! Recognition System*, 1976). The value of a node is that of the best leaf below it, which is known
//! before the walk. So unlike beam search in general, this one never loses the best item; its width
//! only limits how many groups are expanded at once. Nodes that fall out of the beam are set aside and
//! expanded later if too few items were found.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::{ChoiceGraph, NodeIndex, ROOT};
use crate::route::Hit;

/// The default number of groups that are expanded per level.
pub const BEAM_WIDTH: usize = 4;

impl ChoiceGraph {
    /// The `k` items found by expanding, level by level, the `width` groups whose best item is ranked
    /// highest. If that yields fewer than `k`, the search continues with the best group that was set
    /// aside. The result is in the order of the ranking and contains only ranked items.
    ///
    /// The first hit of the ranking is always the first here; further down, a narrow beam may miss
    /// items of other groups.
    #[must_use]
    pub fn beam(&self, ranked: &[Hit], width: usize, k: usize) -> Vec<Hit> {
        let guide = BestRanks::from_ranking(self, ranked);
        let width = width.max(1);
        let mut found_ranks: Vec<usize> = Vec::new();
        let mut set_aside = BinaryHeap::new();
        let mut level = vec![ROOT];
        loop {
            // Always finish a walk before checking the count: the best item may be the deepest.
            if level.is_empty() {
                let more = if found_ranks.len() < k { set_aside.pop() } else { None };
                let Some(Reverse((_, next))) = more else { break };
                level.push(next);
            }
            let mut next: Vec<(usize, NodeIndex)> = Vec::new();
            for at in level.drain(..) {
                let Some(node) = self.node(at) else { continue };
                if node.groups.is_empty() {
                    found_ranks.extend(node.leaves.clone().filter_map(|leaf| guide.leaf(leaf)));
                }
                let ranked = node.groups.iter().filter_map(|at| Some((guide.node(*at)?, *at)));
                next.extend(ranked);
            }
            next.sort_unstable();
            set_aside.extend(next.split_off(width.min(next.len())).into_iter().map(Reverse));
            level.extend(next.into_iter().map(|(_, at)| at));
        }
        // The last level may have yielded more than `k` items.
        found_ranks.sort_unstable();
        found_ranks.truncate(k);
        found_ranks.into_iter().filter_map(|rank| ranked.get(rank).cloned()).collect()
    }
}

/// The best rank of each leaf, and of any leaf below each node.
struct BestRanks {
    leaves: Vec<Option<usize>>,
    nodes: Vec<Option<usize>>,
}

impl BestRanks {
    fn from_ranking(graph: &ChoiceGraph, ranked: &[Hit]) -> Self {
        let mut this =
            Self { leaves: vec![None; graph.leaves.len()], nodes: vec![None; graph.nodes.len()] };
        for (rank, hit) in ranked.iter().enumerate() {
            let Some(leaf) = graph.leaf(&hit.id) else { continue };
            if let Some(slot) = this.leaves.get_mut(leaf) {
                slot.get_or_insert(rank);
            }
            let mut at = graph.node_of_leaf.get(leaf).copied().unwrap_or(ROOT);
            // Ranks come in ascending order, so ancestors of a node with a rank have one too.
            while let Some(slot @ None) = this.nodes.get_mut(at) {
                *slot = Some(rank);
                at = graph.node(at).map_or(ROOT, |node| node.parent);
            }
        }
        this
    }

    fn leaf(&self, leaf: usize) -> Option<usize> {
        self.leaves.get(leaf).copied().flatten()
    }

    fn node(&self, at: NodeIndex) -> Option<usize> {
        self.nodes.get(at).copied().flatten()
    }
}
