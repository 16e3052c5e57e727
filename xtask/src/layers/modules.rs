//! The order inside a crate: modules below one parent do not form large cycles.
//!
//! A cycle of modules cannot be read from the ground up: whoever opens one file of it needs all the
//! others. Two or three modules that know each other are a pair or a family and can be taken in at
//! once; more are a knot. The rule holds at every level of the module tree. A parent and its children
//! may know each other, since they are read together.

mod graph;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use graph::{children_graph, components};
use source::{Module, ModulePath};

/// The largest cycle that is no knot.
const MAX_CYCLE: usize = 3;

/// A knot that stands for now. Its size may only shrink, and the entry goes when it is untied.
pub struct Knot {
    /// The folder of the crate.
    pub folder: &'static str,
    /// The parent of the modules in the cycle; empty for the crate itself.
    pub parent: &'static str,
    /// How many modules form the largest cycle.
    pub modules: usize,
}

/// The knots of this workspace.
///
/// Each may only shrink: a module that joins one fails at once, and so does a number that is too high.
pub const KNOTS: &[Knot] = &[Knot { folder: "gateway", parent: "serve", modules: 8 }];

/// A file of a crate: its path below `src`, and its text.
pub struct SourceFile<'t> {
    pub path: &'t str,
    pub text: &'t str,
}

/// A cycle of modules below one parent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cycle {
    parent: String,
    modules: Vec<String>,
}

/// Every cycle of more than [`MAX_CYCLE`] modules that no knot explains, and every knot that is
/// larger than the cycle that it stands for, as sentences.
pub fn check(folder: &str, files: &[SourceFile<'_>], knots: &[Knot]) -> Vec<String> {
    let modules = source::modules(files);
    let mut largest: BTreeMap<String, Cycle> = BTreeMap::new();
    for cycle in cycles(&modules) {
        let known = largest.entry(cycle.parent.clone()).or_insert_with(|| cycle.clone());
        if cycle.modules.len() > known.modules.len() {
            *known = cycle;
        }
    }
    let mut findings = Vec::new();
    for (parent, cycle) in &largest {
        let knot = knots.iter().find(|knot| knot.folder == folder && knot.parent == parent);
        findings.extend(compare(folder, cycle, knot));
    }
    let gone = knots.iter().filter(|knot| knot.folder == folder);
    for knot in gone.filter(|knot| !largest.contains_key(knot.parent)) {
        findings.push(format!(
            "{} has no knot any more; remove it from KNOTS in xtask/src/layers/modules.rs",
            place(folder, knot.parent)
        ));
    }
    findings
}

fn compare(folder: &str, cycle: &Cycle, knot: Option<&Knot>) -> Option<String> {
    let place = place(folder, &cycle.parent);
    let (size, names) = (cycle.modules.len(), cycle.modules.join(", "));
    match knot {
        None => Some(format!(
            "{place}: {size} modules form a cycle ({names}); let what they share be a module below them"
        )),
        Some(knot) if size > knot.modules => Some(format!(
            "{place}: the knot has grown from {} modules to {size} ({names}); untie what was added",
            knot.modules
        )),
        Some(knot) if size < knot.modules => Some(format!(
            "{place}: the knot has shrunk from {} modules to {size}; lower the ratchet in \
             xtask/src/layers/modules.rs",
            knot.modules
        )),
        Some(_) => None,
    }
}

fn place(folder: &str, parent: &str) -> String {
    if parent.is_empty() { folder.to_owned() } else { format!("{folder}, {parent}") }
}

/// The cycles that are too large, below every parent.
fn cycles(modules: &BTreeMap<ModulePath, Module>) -> Vec<Cycle> {
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
