//! Checks the order inside a crate: sibling modules must not form large cycles.
//!
//! A cycle of modules cannot be understood bottom up, because each file needs all the others. Two
//! or three modules that use each other can be read together; a larger cycle cannot. The rule holds
//! at every level of the module tree. A parent and its children may use each other, because they
//! are read together.

mod graph;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use graph::{children_graph, components};

use crate::parsed_crate::{Crate, ModulePath};

/// The largest cycle that is allowed.
const MAX_CYCLE: usize = 3;

/// A cycle of modules with the same parent.
struct Cycle {
    parent: String,
    modules: Vec<String>,
}

/// Every cycle of more than [`MAX_CYCLE`] modules, as a sentence.
pub fn check(folder: &str, krate: &Crate) -> Vec<String> {
    let found = large_cycles(&uses::module_uses(krate));
    found.iter().map(|cycle| cycle_message(folder, cycle)).collect()
}

fn cycle_message(folder: &str, cycle: &Cycle) -> String {
    let place = location(folder, &cycle.parent);
    let (size, names) = (cycle.modules.len(), cycle.modules.join(", "));
    format!(
        "{place}: {size} modules form a cycle ({names}); let what they share be a module below them"
    )
}

fn location(folder: &str, parent: &str) -> String {
    if parent.is_empty() { folder.to_owned() } else { format!("{folder}, {parent}") }
}

/// The cycles that are too large, below every parent.
fn large_cycles(modules: &BTreeMap<ModulePath, BTreeSet<ModulePath>>) -> Vec<Cycle> {
    let parents: BTreeSet<&[String]> =
        modules.keys().filter_map(|path| path.split_last().map(|(_, parent)| parent)).collect();
    let mut out = Vec::new();
    for parent in parents {
        let graph = children_graph(modules, parent);
        for component in components(&graph).into_iter().filter(|one| one.len() > MAX_CYCLE) {
            out.push(Cycle { parent: parent.join("::"), modules: component });
        }
    }
    out
}

#[cfg(test)]
mod tests;
