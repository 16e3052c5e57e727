//! Navigation: the items of a catalog as a bounded tree of groups with few choices each.
//!
//! A model that navigates sees one [`ChoicePage`] at a time: a bounded number of groups or items.
//! Before it returns, [`ChoiceGraph::build`] verifies that every item is a leaf that is reachable from
//! the root within the depth bound, that no node has more choices than the branching bound, and that
//! no two groups of a page have the same label. If that is impossible, the error names an item.
//!
//! A graph contains only the items that it is built from. For a caller with restricted visibility a
//! separate graph is built, so that hidden items influence no label, number or page.
//!
//! ```
//! use contextweaver::catalog::Catalog;
//! use contextweaver::graph::{ChoiceGraph, GraphOptions};
//!
//! let lines: String = ["mail", "files"]
//!     .iter()
//!     .flat_map(|ns| (0..30).map(move |n| format!("{{\"id\":\"{ns}.t{n}\",\"namespace\":\"{ns}\"}}\n")))
//!     .collect();
//! let catalog = Catalog::from_jsonl(&lines)?;
//! let graph = ChoiceGraph::build(catalog.iter(), GraphOptions::default())?;
//! let root = graph.browse("/")?;
//! assert_eq!(root.groups.iter().map(|g| g.path.as_str()).collect::<Vec<_>>(), ["/files", "/mail"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod beam;
mod build;
mod cluster;
mod error;
mod label;
mod page;
mod proof;
mod seed;
mod split;

use std::ops::Range;

use weaver_types::CapabilityId;

use crate::catalog::SelectableItem;

pub use beam::BEAM_WIDTH;
pub use error::{GraphError, PathError};
pub use page::{ChoicePage, Group};

/// How items are grouped. With every strategy, a group that is still too large is split
/// alphabetically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// By namespace if at least half of the items have one, then by words.
    #[default]
    Auto,
    /// By namespace, one segment per level.
    Namespace,
    /// By words: each item joins the most similar of a few centres that are far apart.
    Clustering,
    /// Alphabetically by name.
    Alphabetical,
}

/// The shape of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphOptions {
    /// How the items are grouped.
    pub strategy: Strategy,
    /// The most choices on one page, from 2 to 1,000.
    pub max_children: usize,
    /// The most choices on the way to an item, from 1 to 64.
    pub max_depth: usize,
}

/// At most 20 choices per page and 8 levels.
impl Default for GraphOptions {
    fn default() -> Self {
        Self { strategy: Strategy::Auto, max_children: 20, max_depth: 8 }
    }
}

/// An index into the list of nodes.
type NodeIndex = usize;

/// A group of groups, or a group of items.
#[derive(Debug, Clone)]
struct Node {
    label: String,
    /// The root is its own parent.
    parent: NodeIndex,
    /// The child groups; empty if the node holds items directly.
    groups: Vec<NodeIndex>,
    /// All items below the node, as a range of the list of leaves.
    leaves: Range<usize>,
}

/// Items as leaves of a bounded graph.
#[derive(Debug, Clone)]
pub struct ChoiceGraph {
    nodes: Vec<Node>,
    /// Every item, in depth-first order.
    leaves: Vec<CapabilityId>,
    /// For each leaf, the node that holds it.
    node_of_leaf: Vec<NodeIndex>,
    /// The indices of the leaves in order of item id.
    leaves_by_id: Vec<usize>,
    options: GraphOptions,
}

/// The index of the root.
const ROOT: NodeIndex = 0;

impl ChoiceGraph {
    /// Groups the items and verifies that each is reachable. The order of the items makes no
    /// difference. Takes about as long as sorting them.
    ///
    /// # Errors
    /// [`GraphError`] if options are out of bounds, there are more items than the bounds allow, an id
    /// occurs twice, or an item would not be reachable.
    pub fn build<'a>(
        items: impl IntoIterator<Item = &'a SelectableItem>,
        options: GraphOptions,
    ) -> Result<Self, GraphError> {
        let mut items: Vec<&SelectableItem> = items.into_iter().collect();
        items.sort_by(|a, b| a.id.cmp(&b.id));
        let graph = build::build_graph(&items, options)?;
        graph.verify(&items)?;
        Ok(graph)
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The number of groups, including the root.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.nodes.len()
    }

    /// The options that the graph was built with.
    #[must_use]
    pub fn options(&self) -> GraphOptions {
        self.options
    }

    fn node(&self, at: NodeIndex) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// The index of the leaf of an item.
    fn leaf(&self, id: &CapabilityId) -> Option<usize> {
        let id_of = |leaf: &usize| self.leaves.get(*leaf);
        let at = self.leaves_by_id.binary_search_by(|leaf| id_of(leaf).cmp(&Some(id))).ok()?;
        self.leaves_by_id.get(at).copied()
    }
}
