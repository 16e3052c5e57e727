//! Verifies that every item is reachable within the bounds.

use std::collections::BTreeSet;

use crate::catalog::{SelectableItem, printable};
use crate::graph::{ChoiceGraph, GraphError, NodeIndex, ROOT};

impl ChoiceGraph {
    /// Walks the complete graph from the root, as a model would, and compares the items that it
    /// reaches with the given items, which are sorted by id.
    pub(super) fn verify(&self, items: &[&SelectableItem]) -> Result<(), GraphError> {
        for pair in items.windows(2) {
            if let [one, other] = pair
                && one.id == other.id
            {
                return Err(GraphError::Duplicate { id: printable(one.id.as_str()) });
            }
        }
        let mut is_reached: Vec<usize> = Vec::with_capacity(items.len());
        let mut pending = vec![(ROOT, 1)];
        let mut visits = 0;
        while let Some((at, depth)) = pending.pop() {
            visits += 1;
            // More visits than nodes: some node has two parents or is its own ancestor.
            if visits > self.nodes.len() {
                return Err(GraphError::Duplicate { id: self.first_below(at) });
            }
            self.verify_page(at, depth, &mut is_reached)?;
            let groups = self.node(at).map_or(&[][..], |node| &node.groups);
            pending.extend(groups.iter().map(|group| (*group, depth + 1)));
        }
        is_reached.sort_unstable();
        for pair in is_reached.windows(2) {
            if let [one, other] = pair
                && one == other
            {
                let id = self.leaves.get(*one).map_or("", |id| id.as_str());
                return Err(GraphError::Duplicate { id: printable(id) });
            }
        }
        for item in items {
            let leaf = self.leaf(&item.id);
            let is_reached = leaf.is_some_and(|leaf| is_reached.binary_search(&leaf).is_ok());
            if !is_reached {
                return Err(GraphError::Unreachable { id: printable(item.id.as_str()) });
            }
        }
        Ok(())
    }

    /// Verifies one page: its bounds, its labels, and that its items refer back to it.
    fn verify_page(
        &self,
        at: NodeIndex,
        depth: usize,
        reached: &mut Vec<usize>,
    ) -> Result<(), GraphError> {
        let Some(node) = self.node(at) else {
            return Err(GraphError::Unreachable { id: self.first_below(at) });
        };
        let item_count = if node.groups.is_empty() { node.leaves.len() } else { 0 };
        let choices = node.groups.len() + item_count;
        let max_children = self.options.max_children;
        if choices > max_children {
            let id = self.first_below(at);
            return Err(GraphError::TooWide { id, choices, max_children });
        }
        let max_depth = self.options.max_depth;
        if depth > max_depth {
            return Err(GraphError::TooDeep { id: self.first_below(at), depth, max_depth });
        }
        let mut labels = BTreeSet::new();
        for group in &node.groups {
            let Some(inner) = self.node(*group) else { continue };
            let is_valid_name =
                !inner.label.is_empty() && !inner.label.contains('/') && inner.label != "*";
            if !is_valid_name || !labels.insert(&inner.label) || inner.parent != at {
                let (id, label) = (self.first_below(*group), inner.label.clone());
                return Err(GraphError::AmbiguousLabel { id, label });
            }
        }
        if node.groups.is_empty() {
            for leaf in node.leaves.clone() {
                if self.node_of_leaf.get(leaf) != Some(&at) {
                    let id = self.leaves.get(leaf).map_or("", |id| id.as_str());
                    return Err(GraphError::Unreachable { id: printable(id) });
                }
                reached.push(leaf);
            }
        }
        Ok(())
    }

    /// The id of the first item below a node, for messages.
    fn first_below(&self, at: NodeIndex) -> String {
        let leaf = self.node(at).and_then(|node| self.leaves.get(node.leaves.start));
        printable(leaf.map_or("?", |id| id.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::CapabilityId;

    use super::*;
    use crate::graph::GraphOptions;

    /// A sound graph of 60 items in two namespaces, and the items.
    fn sound() -> (ChoiceGraph, Vec<SelectableItem>) {
        let item = |n: usize| {
            let id = CapabilityId::parse(format!("t{n:02}")).unwrap();
            let mut item = SelectableItem::new(id, "same", "");
            item.namespace = if n < 30 { "a" } else { "b" }.to_owned();
            item
        };
        let items: Vec<_> = (0..60).map(item).collect();
        let graph = ChoiceGraph::build(&items, GraphOptions::default()).unwrap();
        (graph, items)
    }

    fn flaw(break_it: impl FnOnce(&mut ChoiceGraph)) -> String {
        let (mut graph, items) = sound();
        let items: Vec<&SelectableItem> = items.iter().collect();
        assert_eq!(graph.verify(&items), Ok(()));
        break_it(&mut graph);
        graph.verify(&items).unwrap_err().to_string()
    }

    #[test]
    fn each_way_to_lose_an_item_is_found_and_names_it() {
        let page = |graph: &ChoiceGraph| graph.node_of_leaf[0];
        assert!(flaw(|g| g.nodes[ROOT].groups.truncate(1)).starts_with("`t30` is not reached"));
        let short = flaw(|g| {
            let page = page(g);
            g.nodes[page].leaves.end -= 1;
        });
        assert!(short.contains("is not reached"), "{short}");
        let moved = flaw(|g| g.node_of_leaf[3] = ROOT);
        assert!(moved.starts_with("`t03` is not reached"), "{moved}");
        let deep = flaw(|g| g.options.max_depth = 2);
        assert!(deep.contains("is reached after 3 choices, at most 2"), "{deep}");
        let wide = flaw(|g| g.options.max_children = 10);
        assert!(wide.contains("of 15 choices, at most 10"), "{wide}");
        let label = flaw(|g| {
            let (one, other) = (g.nodes[ROOT].groups[0], g.nodes[ROOT].groups[1]);
            g.nodes[other].label = g.nodes[one].label.clone();
        });
        assert!(label.starts_with("`t30` stands below a label that another group has"), "{label}");
        let circle = flaw(|g| {
            let page = page(g);
            g.nodes[page].groups.push(ROOT);
        });
        assert!(!circle.is_empty());
        let twice = flaw(|g| {
            let group = g.nodes[ROOT].groups[0];
            let page = g.nodes[group].groups[0];
            g.nodes[group].groups.push(page);
        });
        assert!(!twice.is_empty());
    }

    #[test]
    fn items_that_are_there_twice_are_refused() {
        let (_, mut items) = sound();
        items.push(items[7].clone());
        let error = ChoiceGraph::build(&items, GraphOptions::default()).unwrap_err();
        assert_eq!(error, GraphError::Duplicate { id: "t07".to_owned() });
    }
}
