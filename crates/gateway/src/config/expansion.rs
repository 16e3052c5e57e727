//! Expands references in the configuration's texts, and resolves program paths.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use weaver_policy::DocumentFinding;

use super::interpolate::{ReferenceLookup, expand};
use super::node::Node;

/// What is needed to read entries.
pub(super) struct ExpansionContext<'a> {
    /// The base of relative paths.
    pub(super) base: &'a Path,
    pub(super) lookup: ReferenceLookup<'a>,
    /// Collects the files that entries were read from.
    pub(super) files: &'a RefCell<BTreeSet<PathBuf>>,
}

impl ExpansionContext<'_> {
    /// Records a file that is part of the configuration.
    pub(super) fn record_source_file(&self, path: &Path) {
        self.files.borrow_mut().insert(path.to_path_buf());
    }
}

/// A text with its references expanded.
pub(super) fn expand_text(
    node: &Node,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Option<String> {
    let text = node.text()?;
    match expand(text, context.lookup) {
        Ok(text) if text.contains('\0') => {
            findings.push(node.finding("config.text", "a NUL character", "remove it"));
            None
        }
        Ok(text) => Some(text),
        Err((message, remedy)) => {
            findings.push(node.finding("config.variable", message, remedy));
            None
        }
    }
}

/// A text with its references expanded; one that is blank or holds a NUL character is `problem`.
pub(super) fn expand_nonempty(
    node: &Node,
    context: &ExpansionContext<'_>,
    (problem, remedy): (&str, &str),
    findings: &mut Vec<DocumentFinding>,
) -> Option<String> {
    match expand(node.text()?, context.lookup) {
        Ok(text) if text.trim().is_empty() || text.contains('\0') => {
            findings.push(node.finding("config.path", problem, remedy));
            None
        }
        Ok(text) => Some(text),
        Err((message, remedy)) => {
            findings.push(node.finding("config.variable", message, remedy));
            None
        }
    }
}

/// The texts of a list with their references expanded.
pub(super) fn expand_list(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> Vec<String> {
    let items = node.map(Node::list).unwrap_or_default();
    items.iter().filter_map(|item| expand_text(item, context, findings)).collect()
}

/// The texts of a table with their references expanded.
pub(super) fn expand_table(
    node: Option<&Node>,
    context: &ExpansionContext<'_>,
    findings: &mut Vec<DocumentFinding>,
) -> BTreeMap<String, String> {
    let entries = node.and_then(Node::table).into_iter().flatten();
    entries
        .filter_map(|(name, node)| Some((name.clone(), expand_text(node, context, findings)?)))
        .collect()
}

/// A bare name is kept for lookup in `PATH`; a relative path is based at the configuration.
pub(super) fn resolve_program(context: &ExpansionContext<'_>, command: &str) -> String {
    let path = PathBuf::from(command);
    if path.is_relative() && path.components().count() > 1 {
        return context.base.join(path).to_string_lossy().into_owned();
    }
    command.to_owned()
}
