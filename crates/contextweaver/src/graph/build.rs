//! Builds the nodes of a graph from items.

use crate::catalog::{SelectableItem, printable};
use crate::graph::seed::FeatureTable;
use crate::graph::split::{PendingGroup, Splitter};
use crate::graph::{ChoiceGraph, GraphError, GraphOptions, Node, NodeIndex, ROOT, Strategy};

/// Builds the graph of items that are sorted by id.
pub(super) fn build_graph(
    items: &[&SelectableItem],
    options: GraphOptions,
) -> Result<ChoiceGraph, GraphError> {
    let GraphOptions { strategy, max_children, max_depth } = options;
    check_options(options)?;
    let capacity_bound = capacity(max_children, max_depth);
    if let Some(first) = items.get(capacity_bound) {
        let id = printable(first.id.as_str());
        return Err(GraphError::TooMany { id, max_children, max_depth, room: capacity_bound });
    }
    let seeds = FeatureTable::of(items);
    let mut document_frequencies = vec![0; seeds.words.len()];
    for word in seeds.all.iter().flat_map(|seed| &seed.words) {
        if let Some(count) = document_frequencies.get_mut(*word as usize) {
            *count += 1;
        }
    }
    let with_namespace = seeds.all.iter().filter(|seed| !seed.segments.is_empty()).count();
    let strategy = match strategy {
        Strategy::Auto if with_namespace * 2 < items.len() => Strategy::Clustering,
        other => other,
    };
    let splitter = Splitter { seeds: &seeds, document_frequencies, strategy, page: max_children };
    let (nodes, leaves, node_of_leaf) = (Vec::new(), Vec::with_capacity(items.len()), Vec::new());
    let graph = ChoiceGraph { nodes, leaves, node_of_leaf, leaves_by_id: Vec::new(), options };
    let mut builder = GraphBuilder { graph, splitter };
    let all = (0..items.len()).collect();
    builder.add_group(PendingGroup { label: String::new(), items: all, level: 0 }, ROOT, max_depth);
    let mut graph = builder.graph;
    let mut leaves_by_id: Vec<usize> = (0..graph.leaves.len()).collect();
    leaves_by_id.sort_by(|a, b| graph.leaves.get(*a).cmp(&graph.leaves.get(*b)));
    graph.leaves_by_id = leaves_by_id;
    Ok(graph)
}

fn check_options(options: GraphOptions) -> Result<(), GraphError> {
    let GraphOptions { max_children, max_depth, .. } = options;
    if !(2..=1000).contains(&max_children) {
        let (option, bounds) = ("max_children", "2 and 1000");
        return Err(GraphError::InvalidOption { option, value: max_children, bounds });
    }
    if !(1..=64).contains(&max_depth) {
        let (option, bounds) = ("max_depth", "1 and 64");
        return Err(GraphError::InvalidOption { option, value: max_depth, bounds });
    }
    Ok(())
}

/// How many items a graph with this page size and depth can hold.
fn capacity(page_size: usize, depth: usize) -> usize {
    page_size.saturating_pow(u32::try_from(depth).unwrap_or(u32::MAX))
}

struct GraphBuilder<'a> {
    graph: ChoiceGraph,
    splitter: Splitter<'a>,
}

impl GraphBuilder<'_> {
    /// Adds a group and everything below it within `depth` levels. The splitter never makes a group
    /// with more items than its remaining levels can hold, so the recursion ends within the bound.
    fn add_group(&mut self, part: PendingGroup, parent: NodeIndex, depth: usize) -> NodeIndex {
        let at = self.graph.nodes.len();
        let from = self.graph.leaves.len();
        let label = part.label.clone();
        self.graph.nodes.push(Node { label, parent, groups: Vec::new(), leaves: from..from });
        let mut groups = Vec::new();
        if part.items.len() <= self.splitter.page || depth <= 1 {
            for index in &part.items {
                let Some(seed) = self.splitter.seeds.get(*index) else { continue };
                self.graph.leaves.push(seed.item.id.clone());
                self.graph.node_of_leaf.push(at);
            }
        } else {
            let max_items = capacity(self.splitter.page, depth - 1);
            for inner in self.splitter.split(&part, max_items) {
                groups.push(self.add_group(inner, at, depth - 1));
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
