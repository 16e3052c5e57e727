//! Beam search: walking the graph with a ranking as the guide.
//!
//! From each level the best `width` nodes are opened, as in HARPY (Lowerre, *The Harpy Speech
//! Recognition System*, 1976). A node is as good as the best leaf below it, which is known before the
//! walk: so unlike a beam in general, this one never loses the best item, and its width only says how
//! many groups are looked into at once. What falls out of the beam is set aside and comes back where
//! too little was found.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::{ChoiceGraph, NodeAt, ROOT};
use crate::route::Hit;

/// How many groups of one level are looked into.
pub const BEAM_WIDTH: usize = 4;

impl ChoiceGraph {
    /// The `k` items that a walk finds which looks, level by level, into the `width` groups whose
    /// best item is ranked highest. Where that gives fewer than `k`, it goes on with the best group
    /// that was left aside. The items stand in the order of the ranking; those that are not in it
    /// are not found.
    ///
    /// Each group is as good as its best item, so the first of the ranking is always the first
    /// here; further down a narrow walk may miss what stands in other groups.
    #[must_use]
    pub fn beam(&self, ranked: &[Hit], width: usize, k: usize) -> Vec<Hit> {
        let guide = Guide::of(self, ranked);
        let width = width.max(1);
        let mut found: Vec<usize> = Vec::new();
        let mut aside = BinaryHeap::new();
        let mut level = vec![ROOT];
        loop {
            // A walk that has begun goes to its end: the best item may be the deepest.
            if level.is_empty() {
                let more = if found.len() < k { aside.pop() } else { None };
                let Some(Reverse((_, next))) = more else { break };
                level.push(next);
            }
            let mut next: Vec<(usize, NodeAt)> = Vec::new();
            for at in level.drain(..) {
                let Some(node) = self.node(at) else { continue };
                if node.groups.is_empty() {
                    found.extend(node.leaves.clone().filter_map(|leaf| guide.leaf(leaf)));
                }
                let ranked = node.groups.iter().filter_map(|at| Some((guide.node(*at)?, *at)));
                next.extend(ranked);
            }
            next.sort_unstable();
            aside.extend(next.split_off(width.min(next.len())).into_iter().map(Reverse));
            level.extend(next.into_iter().map(|(_, at)| at));
        }
        // The last level may have brought more than were wanted.
        found.sort_unstable();
        found.truncate(k);
        found.into_iter().filter_map(|place| ranked.get(place).cloned()).collect()
    }
}

/// For each leaf and each node the best place in a ranking.
struct Guide {
    leaves: Vec<Option<usize>>,
    nodes: Vec<Option<usize>>,
}

impl Guide {
    fn of(graph: &ChoiceGraph, ranked: &[Hit]) -> Self {
        let mut this =
            Self { leaves: vec![None; graph.leaves.len()], nodes: vec![None; graph.nodes.len()] };
        for (place, hit) in ranked.iter().enumerate() {
            let Some(leaf) = graph.leaf(&hit.id) else { continue };
            if let Some(slot) = this.leaves.get_mut(leaf) {
                slot.get_or_insert(place);
            }
            let mut at = graph.homes.get(leaf).copied().unwrap_or(ROOT);
            // What is above a node that has its best already has it, too.
            while let Some(slot @ None) = this.nodes.get_mut(at) {
                *slot = Some(place);
                at = graph.node(at).map_or(ROOT, |node| node.parent);
            }
        }
        this
    }

    fn leaf(&self, leaf: usize) -> Option<usize> {
        self.leaves.get(leaf).copied().flatten()
    }

    fn node(&self, at: NodeAt) -> Option<usize> {
        self.nodes.get(at).copied().flatten()
    }
}
