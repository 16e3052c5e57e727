//! `cargo xtask layers [--metadata FILE]`: a dependency goes only to a lower tier.
//!
//! The proof reads `cargo metadata`: the edges that manifests declare, and the edges that cargo
//! resolved with all features on all platforms. It holds for normal, build and dev dependencies
//! alike.

mod graph;
mod rules;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use xshell::Shell;

use crate::workspace;
use graph::Graph;

/// Options of `layers`.
#[derive(clap::Args)]
pub struct Args {
    /// Check a saved `cargo metadata --format-version 1 --all-features` instead of the workspace.
    #[arg(long, value_name = "FILE")]
    pub metadata: Option<PathBuf>,
}

/// Check the tiers and print every edge that breaks them.
pub fn run(_: &Shell, args: &Args) -> Result<()> {
    let metadata = load(args)?;
    let graph = Graph::from_metadata(&metadata)?;
    let findings = rules::check(&graph, &rules::TIERS);
    for finding in &findings {
        eprintln!("error: layers: {finding}");
    }
    if !findings.is_empty() {
        bail!("layers: {} findings", findings.len());
    }
    println!("layers: {} crates and their edges are in order", rules::TIERS.crates.len());
    Ok(())
}

fn load(args: &Args) -> Result<Metadata> {
    let Some(file) = &args.metadata else { return workspace::metadata() };
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    MetadataCommand::parse(text)
        .with_context(|| format!("{} is not the output of cargo metadata", file.display()))
}
