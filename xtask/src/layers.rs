//! `cargo xtask layers [--metadata FILE]`: checks that a crate depends only on lower tiers, and
//! that the modules of a crate form no large cycle.
//!
//! Crates are checked with `cargo metadata`: both the edges that manifests declare and those that
//! cargo resolves with all features on all platforms. The rule holds for normal, build and dev
//! dependencies. Modules are read from the sources ([`modules`]).

mod graph;
mod modules;
mod rules;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use xshell::Shell;

use crate::parsed_crate::Crate;
use crate::workspace;
use graph::Graph;

/// Options of `layers`.
#[derive(clap::Args)]
pub struct Args {
    /// Check a saved `cargo metadata --format-version 1 --all-features` instead of the workspace;
    /// its modules are not checked.
    #[arg(long, value_name = "FILE")]
    pub metadata: Option<PathBuf>,
}

/// Check tiers and modules, and print every violation.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let metadata = load(args)?;
    let graph = Graph::from_metadata(&metadata)?;
    let mut findings = rules::check(&graph, &rules::TIERS);
    if args.metadata.is_none() {
        findings.extend(check_modules(sh)?);
    }
    for finding in &findings {
        eprintln!("error: layers: {finding}");
    }
    if !findings.is_empty() {
        bail!("layers: {} findings", findings.len());
    }
    println!("layers: {} crates and their edges are in order", rules::TIERS.crates.len());
    Ok(())
}

/// The module cycles in the crates that have a tier.
fn check_modules(sh: &Shell) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for (name, folder, _) in rules::TIERS.crates {
        let sources = sh.current_dir().join("crates").join(folder).join("src");
        let roots = ["lib.rs", "main.rs"].map(|root| sources.join(root));
        for root in roots.iter().filter(|root| root.is_file()) {
            findings.extend(modules::check(folder, &Crate::read(name, root)?));
        }
    }
    Ok(findings)
}

fn load(args: &Args) -> Result<Metadata> {
    let Some(file) = &args.metadata else { return workspace::metadata() };
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    MetadataCommand::parse(text)
        .with_context(|| format!("{} is not the output of cargo metadata", file.display()))
}
