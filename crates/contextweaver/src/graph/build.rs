//! Builds the nodes of a graph from items.

use crate::catalog::{SelectableItem, shown};
use crate::graph::seed::Seeds;
use crate::graph::split::{Part, Splitter};
use crate::graph::{ChoiceGraph, GraphError, GraphOptions, Node, NodeAt, ROOT, Strategy};

/// The graph of items that stand in the order of their ids.
pub(super) fn graph(
    items: &[&SelectableItem],
    options: GraphOptions,
) -> Result<ChoiceGraph, GraphError> {
    let GraphOptions { strategy, max_children, max_depth } = options;
    check(options)?;
    let room = capacity(max_children, max_depth);
    if let Some(first) = items.get(room) {
        let id = shown(first.id.as_str());
        return Err(GraphError::TooMany { id, max_children, max_depth, room });
    }
    let seeds = Seeds::of(items);
    let mut everywhere = vec![0; seeds.words.len()];
    for word in seeds.all.iter().flat_map(|seed| &seed.words) {
        if let Some(count) = everywhere.get_mut(*word as usize) {
            *count += 1;
        }
    }
    let named = seeds.all.iter().filter(|seed| !seed.segments.is_empty()).count();
    let strategy = match strategy {
        Strategy::Auto if named * 2 < items.len() => Strategy::Clustering,
        other => other,
    };
    let splitter = Splitter { seeds: &seeds, everywhere, strategy, page: max_children };
    let (nodes, leaves, homes) = (Vec::new(), Vec::with_capacity(items.len()), Vec::new());
    let graph = ChoiceGraph { nodes, leaves, homes, by_id: Vec::new(), options };
    let mut builder = Builder { graph, splitter };
    let all = (0..items.len()).collect();
    builder.add(Part { label: String::new(), items: all, level: 0 }, ROOT, max_depth);
    let mut graph = builder.graph;
    let mut by_id: Vec<usize> = (0..graph.leaves.len()).collect();
    by_id.sort_by(|a, b| graph.leaves.get(*a).cmp(&graph.leaves.get(*b)));
    graph.by_id = by_id;
    Ok(graph)
}

fn check(options: GraphOptions) -> Result<(), GraphError> {
    let GraphOptions { max_children, max_depth, .. } = options;
    if !(2..=1000).contains(&max_children) {
        let (option, bounds) = ("max_children", "2 and 1000");
        return Err(GraphError::Option { option, value: max_children, bounds });
    }
    if !(1..=64).contains(&max_depth) {
        let (option, bounds) = ("max_depth", "1 and 64");
        return Err(GraphError::Option { option, value: max_depth, bounds });
    }
    Ok(())
}

/// How many items a graph of this width and depth can hold.
fn capacity(page: usize, depth: usize) -> usize {
    page.saturating_pow(u32::try_from(depth).unwrap_or(u32::MAX))
}

struct Builder<'a> {
    graph: ChoiceGraph,
    splitter: Splitter<'a>,
}

impl Builder<'_> {
    /// Adds a group with all that is below it, within `depth` choices: it never holds more items
    /// than these lead to, so the recursion ends there.
    fn add(&mut self, part: Part, parent: NodeAt, depth: usize) -> NodeAt {
        let at = self.graph.nodes.len();
        let from = self.graph.leaves.len();
        let label = part.label.clone();
        self.graph.nodes.push(Node { label, parent, groups: Vec::new(), leaves: from..from });
        let mut groups = Vec::new();
        if part.items.len() <= self.splitter.page || depth <= 1 {
            for place in &part.items {
                let Some(seed) = self.splitter.seeds.get(*place) else { continue };
                self.graph.leaves.push(seed.item.id.clone());
                self.graph.homes.push(at);
            }
        } else {
            let room = capacity(self.splitter.page, depth - 1);
            for inner in self.splitter.split(&part, room) {
                groups.push(self.add(inner, at, depth - 1));
            }
        }
        let to = self.graph.leaves.len();
        if let Some(node) = self.graph.nodes.get_mut(at) {
            node.groups = groups;
            node.leaves = from..to;
        }
        at
    }
}
