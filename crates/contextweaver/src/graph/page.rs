//! The pages that a model sees when it navigates the graph.

use serde::Serialize;
use weaver_text::{escape, suggest};
use weaver_types::CapabilityId;

use crate::graph::{ChoiceGraph, NodeIndex, PathError, ROOT};

/// The longest path that is accepted, in bytes.
const MAX_PATH: usize = 8 * 1024;
/// The most items on a page whose path ends in `*`.
const MAX_LISTED_ITEMS: usize = 1000;

/// A group on a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The label, unique on this page.
    pub label: String,
    /// The path of the group.
    pub path: String,
    /// How many items are below the group.
    pub items: usize,
    /// The first few of them.
    pub examples: Vec<CapabilityId>,
}

/// The choices at one node: groups or items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChoicePage {
    /// The path of the page.
    pub path: String,
    /// The groups.
    pub groups: Vec<Group>,
    /// The items.
    pub items: Vec<CapabilityId>,
    /// How many items are not listed, on a page whose path ends in `*`.
    pub more: usize,
}

/// The most examples of a group.
const MAX_EXAMPLES: usize = 3;

impl ChoiceGraph {
    /// The page at a path: `/` is the root, `/github/issues` a group within a group; `/github/*`
    /// lists all items below, at most 1,000. The paths of groups on a page can be browsed in turn.
    ///
    /// # Errors
    /// [`PathError`] if the path is malformed, or if no group has one of its labels.
    pub fn browse(&self, path: &str) -> Result<ChoicePage, PathError> {
        let (labels, all) = parse_path(path)?;
        let mut at = ROOT;
        for label in labels {
            at = self.child(at, label)?;
        }
        let own = self.path(at);
        let Some(node) = self.node(at) else { return Err(path_not_found(own, path, None)) };
        let below = self.leaves.get(node.leaves.clone()).unwrap_or_default();
        let listed = if all { MAX_LISTED_ITEMS } else { usize::MAX };
        let items = if all || node.groups.is_empty() { below } else { &[] };
        let items: Vec<CapabilityId> = items.iter().take(listed).cloned().collect();
        let more = if all { below.len() - items.len() } else { 0 };
        let groups = if all { &[][..] } else { &node.groups };
        let groups = groups.iter().filter_map(|group| self.group(*group)).collect();
        Ok(ChoicePage { path: own, groups, items, more })
    }

    /// The path of the page that lists an item.
    #[must_use]
    pub fn path_of(&self, id: &CapabilityId) -> Option<String> {
        let home = self.node_of_leaf.get(self.leaf(id)?)?;
        Some(self.path(*home))
    }

    fn group(&self, at: NodeIndex) -> Option<Group> {
        let node = self.node(at)?;
        let examples = self.leaves.get(node.leaves.clone())?.iter().take(MAX_EXAMPLES);
        Some(Group {
            label: node.label.clone(),
            path: self.path(at),
            items: node.leaves.len(),
            examples: examples.cloned().collect(),
        })
    }

    fn child(&self, at: NodeIndex, label: &str) -> Result<NodeIndex, PathError> {
        let groups = self.node(at).map_or(&[][..], |node| &node.groups);
        let named = |group: &NodeIndex| self.node(*group).map_or("", |node| node.label.as_str());
        let found = groups.iter().find(|group| named(group) == label);
        found.copied().ok_or_else(|| {
            let nearest = suggest::nearest(label, groups.iter().map(named));
            path_not_found(self.path(at), label, nearest.map(str::to_owned))
        })
    }

    fn path(&self, at: NodeIndex) -> String {
        let mut labels = Vec::new();
        let mut at = at;
        while at != ROOT
            && let Some(node) = self.node(at)
        {
            labels.push(node.label.as_str());
            at = node.parent;
        }
        labels.reverse();
        format!("/{}", labels.join("/"))
    }
}

fn path_not_found(parent: String, label: &str, nearest: Option<String>) -> PathError {
    PathError::NotFound { parent, label: crate::catalog::printable(label), nearest }
}

/// The labels of a path, and whether it ends in `*`.
fn parse_path(path: &str) -> Result<(Vec<&str>, bool), PathError> {
    let invalid = |problem| {
        let path = escape::excerpt(path, 80);
        Err(PathError::Invalid { path, problem })
    };
    if path.len() > MAX_PATH {
        return invalid("it is too long");
    }
    let Some(rest) = path.strip_prefix('/') else { return invalid("it does not begin with `/`") };
    if rest.is_empty() {
        return Ok((Vec::new(), false));
    }
    let mut labels: Vec<&str> = rest.split('/').collect();
    if labels.iter().any(|label| label.is_empty()) {
        return invalid("a part of it is empty");
    }
    let all = labels.last() == Some(&"*");
    if all {
        labels.pop();
    }
    if labels.contains(&"*") {
        return invalid("`*` is allowed only as the last part");
    }
    Ok((labels, all))
}
