//! What can be typed after `weaver contracts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::super::args::Json;

const EXAMPLES: &str = "\
See what every server offers, and how it stands against what was approved:
  weaver contracts list
  weaver contracts list --surface files

A surface is one server by its name, or `kernel`: everything that the gateway's kernel holds.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Contracts {
    /// List the tools of the servers, and how each stands against what was approved
    List(List),
}

impl Contracts {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::List(args) => args.output.json,
        }
    }
}

/// Which tools are looked at.
#[derive(Debug, Args)]
pub(super) struct From {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "weaver.toml")]
    pub(super) config: PathBuf,
    /// Do not look at signatures of the documents
    #[arg(long)]
    pub(super) unsigned_development: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(super) from: From,
    /// One server, or `kernel` for all of them
    #[arg(long, value_name = "SURFACE", default_value = "kernel")]
    pub(super) surface: String,
    #[command(flatten)]
    pub(super) output: Json,
}
