//! Navigation: the items of a catalog as a bounded graph of groups, each with few choices.
//!
//! A model that walks sees a [`ChoicePage`] at a time: a bounded number of groups, or of items.
//! [`ChoiceGraph::build`] proves before it returns that every item is a leaf which is reached from
//! the root within the depth bound, that no node has more choices than the branching bound, and
//! that no two groups of one page have one label. Where that cannot be, it says for which item.
//!
//! A graph is built of the items that it is given: who may see less is given a graph of less, and
//! nothing of the rest is in a label, a number or a page.
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

/// How the items are put into groups. Whatever is chosen, a group that stays too large is split
/// along the alphabet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// By namespace where at least half of the items have one, then by what the items say.
    #[default]
    Auto,
    /// By namespace, segment by segment.
    Namespace,
    /// By what the items say: each goes to the nearest of some that are far apart.
    Clustering,
    /// By name.
    Alphabetical,
}

/// The shape of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphOptions {
    /// How the items are put into groups.
    pub strategy: Strategy,
    /// Most choices on one page, from 2 to 1,000.
    pub max_children: usize,
    /// Most choices until an item is reached, from 1 to 64.
    pub max_depth: usize,
}

/// 20 choices a page, at most 8 pages.
impl Default for GraphOptions {
    fn default() -> Self {
        Self { strategy: Strategy::Auto, max_children: 20, max_depth: 8 }
    }
}

/// A place in the list of nodes.
type NodeAt = usize;

/// A group: its own groups, or its items.
#[derive(Debug, Clone)]
struct Node {
    label: String,
    /// The root is its own parent.
    parent: NodeAt,
    /// The groups in it; empty where it holds the items themselves.
    groups: Vec<NodeAt>,
    /// All items below it: a part of the list of leaves.
    leaves: Range<usize>,
}

/// Items as leaves of a bounded graph.
#[derive(Debug, Clone)]
pub struct ChoiceGraph {
    nodes: Vec<Node>,
    /// Every item, in the order of the walk.
    leaves: Vec<CapabilityId>,
    /// For each leaf the node that holds it.
    homes: Vec<NodeAt>,
    /// The leaves in the order of their ids.
    by_id: Vec<usize>,
    options: GraphOptions,
}

/// The root in the list of nodes.
const ROOT: NodeAt = 0;

impl ChoiceGraph {
    /// Puts items into groups, and proves that each is reached. The order of the items leaves no
    /// trace. It takes about as long as sorting them does.
    ///
    /// # Errors
    /// [`GraphError`]: options out of bounds; more items than the bounds hold, or an item that is
    /// there twice or would not be reached, by its id.
    pub fn build<'a>(
        items: impl IntoIterator<Item = &'a SelectableItem>,
        options: GraphOptions,
    ) -> Result<Self, GraphError> {
        let mut items: Vec<&SelectableItem> = items.into_iter().collect();
        items.sort_by(|a, b| a.id.cmp(&b.id));
        let graph = build::graph(&items, options)?;
        graph.prove(&items)?;
        Ok(graph)
    }

    /// How many items it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// How many groups there are, the root among them.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.nodes.len()
    }

    /// Its shape.
    #[must_use]
    pub fn options(&self) -> GraphOptions {
        self.options
    }

    fn node(&self, at: NodeAt) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// The leaf of an item.
    fn leaf(&self, id: &CapabilityId) -> Option<usize> {
        let id_of = |leaf: &usize| self.leaves.get(*leaf);
        let at = self.by_id.binary_search_by(|leaf| id_of(leaf).cmp(&Some(id))).ok()?;
        self.by_id.get(at).copied()
    }
}
