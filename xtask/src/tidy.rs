//! `cargo xtask tidy`: the house rules as code. One file per rule under `tidy/`.
//!
//! All findings are printed at once as `file:line: rule: message; remedy`. The lists of the rules,
//! with reasons, are in `xtask/data/tidy.toml`.

mod crate_docs;
mod dependencies;
mod file_names;
mod finding;
mod glossary;
mod licences;
mod links;
mod lists;
mod manifests;
mod named_tests;
mod page_names;
mod refused_names;
pub(crate) mod rust_text;
mod sizes;
mod spdx;
mod stack_features;
pub(crate) mod tree;
mod trusted_base;
mod words;

use anyhow::{Result, bail};
use xshell::Shell;

use crate::workspace;
use finding::{Finding, Severity};
use lists::Lists;
use tree::Tree;

/// Check every rule and print the findings.
///
/// # Errors
/// If a finding is an error and not a warning.
pub fn run(sh: &Shell) -> Result<()> {
    let tree = Tree::load(sh)?;
    let lists = Lists::load(&tree)?;
    let mut findings = check(&tree, &lists);
    findings.extend(licences::check(&workspace::metadata()?, &lists));
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
    if errors > 0 {
        bail!("tidy: {errors} errors");
    }
    println!("tidy: {} files in order, {} warnings", tree.files.len(), findings.len());
    Ok(())
}

/// Applies the rules that need only the files.
fn check(tree: &Tree, lists: &Lists) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(sizes::check(tree));
    findings.extend(file_names::check(tree, lists));
    findings.extend(words::check(tree, lists));
    findings.extend(manifests::check(tree));
    findings.extend(crate_docs::check(tree));
    findings.extend(dependencies::check(tree, lists));
    findings.extend(named_tests::check(tree));
    findings.extend(page_names::check(tree));
    findings.extend(trusted_base::check(tree));
    findings.extend(links::check(tree));
    findings.extend(glossary::check(tree));
    findings.extend(stack_features::check(tree));
    findings.extend(refused_names::check(tree));
    findings
}
