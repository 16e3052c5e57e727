//! Texts of the configuration in which variables stand, and programs that are named in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use weaver_policy::Finding;

use super::interpolate::{Lookup, expand};
use super::node::Node;

/// What entries are read with.
pub(super) struct ExpansionContext<'a> {
    /// Relative paths start here.
    pub(super) base: &'a Path,
    pub(super) lookup: Lookup<'a>,
    /// The files that entries were read from.
    pub(super) files: &'a RefCell<BTreeSet<PathBuf>>,
}

impl ExpansionContext<'_> {
    /// Part of the configuration comes from this file.
    pub(super) fn note_file(&self, path: &Path) {
        self.files.borrow_mut().insert(path.to_path_buf());
    }
}

/// A text in which variables are replaced.
pub(super) fn expanded(
    node: &Node,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Option<String> {
    let text = node.text()?;
    match expand(text, context.lookup) {
        Ok(text) if text.contains('\0') => {
            out.push(node.finding("config.text", "a NUL character", "remove it"));
            None
        }
        Ok(text) => Some(text),
        Err((message, remedy)) => {
            out.push(node.finding("config.variable", message, remedy));
            None
        }
    }
}

/// The texts of a list in which variables are replaced.
pub(super) fn expanded_list(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> Vec<String> {
    let items = node.map(Node::list).unwrap_or_default();
    items.iter().filter_map(|item| expanded(item, context, out)).collect()
}

/// The texts of a table in which variables are replaced.
pub(super) fn expanded_table(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    out: &mut Vec<Finding>,
) -> BTreeMap<String, String> {
    let entries = node.and_then(Node::table).into_iter().flatten();
    entries.filter_map(|(name, node)| Some((name.clone(), expanded(node, context, out)?))).collect()
}

/// A bare name is looked up in `PATH`; a relative path starts at the configuration.
pub(super) fn program(context: &ExpansionContext<'_>, command: &str) -> String {
    let path = PathBuf::from(command);
    if path.is_relative() && path.components().count() > 1 {
        return context.base.join(path).to_string_lossy().into_owned();
    }
    command.to_owned()
}
