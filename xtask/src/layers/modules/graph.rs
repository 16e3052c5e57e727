//! Dependencies between sibling modules, and their strongly connected components.

use std::collections::{BTreeMap, BTreeSet};

use crate::parsed_crate::ModulePath;

/// The modules that each module uses.
pub type Edges = BTreeMap<String, BTreeSet<String>>;

/// The graph of a parent's children: one uses another if any of its descendants uses any of the
/// other's.
pub fn children_graph(
    modules: &BTreeMap<ModulePath, BTreeSet<ModulePath>>,
    parent: &[String],
) -> Edges {
    let child_of =
        |path: &[String]| -> Option<String> { path.strip_prefix(parent)?.first().cloned() };
    let mut edges = Edges::new();
    for (path, uses) in modules {
        let Some(from) = child_of(path) else { continue };
        let targets = uses.iter().filter_map(|used| child_of(used));
        let targets: Vec<String> = targets.filter(|to| *to != from).collect();
        edges.entry(from).or_default().extend(targets);
    }
    edges
}

/// The strongly connected components with more than one module, each sorted.
///
/// Kosaraju's algorithm: orders the modules by when a depth-first search leaves them, then searches
/// the reversed edges from the last module to the first. Each of these searches reaches exactly one
/// component (Sharir, *A strong-connectivity algorithm and its applications*, 1981).
pub fn components(edges: &Edges) -> Vec<Vec<String>> {
    let mut reversed = Edges::new();
    for (from, targets) in edges {
        for to in targets {
            reversed.entry(to.clone()).or_default().insert(from.clone());
        }
    }
    let mut finish_order = Vec::new();
    let mut seen = BTreeSet::new();
    for module in edges.keys() {
        visit(module, edges, &mut seen, &mut finish_order);
    }
    let mut components = Vec::new();
    let mut assigned = BTreeSet::new();
    for module in finish_order.iter().rev() {
        let mut component = Vec::new();
        visit(module, &reversed, &mut assigned, &mut component);
        component.sort();
        if component.len() > 1 {
            components.push(component);
        }
    }
    components
}

/// Depth-first search; appends each module when the search leaves it.
fn visit(module: &str, edges: &Edges, seen: &mut BTreeSet<String>, finish_order: &mut Vec<String>) {
    if !seen.insert(module.to_owned()) {
        return;
    }
    for to in edges.get(module).into_iter().flatten() {
        visit(to, edges, seen, finish_order);
    }
    finish_order.push(module.to_owned());
}
