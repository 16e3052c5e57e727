//! The arguments of `weaver route`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use contextweaver::catalog::ItemKind;

use super::super::catalog::args::InputArgs;
use crate::shared_args::JsonFlag;

const EXAMPLES: &str = "\
Tools, one a line:    {\"id\", \"name\", \"description\", \"namespace\"?, \"tags\"?, \"schema\"?, \"examples\"?}
                      or any other form that `weaver catalog` reads
Queries, one a line:  {\"id\", \"query\"}
Answer, one a query:  {\"id\", \"ranked\": [ids], \"scores\": […], \"micros\": n}
`-` reads from standard input.

One query, as a table, and why:
  weaver route --tools tools.json --query \"close the oldest ticket\" --explain

By walking a graph of groups instead of an index of words:
  weaver route --tools tools.json --query \"close the oldest ticket\" --strategy beam";

/// How a shortlist is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Strategy {
    /// By an index over all items
    #[default]
    Index,
    /// By a walk over a graph of groups, with the index as its guide
    Beam,
}

/// How many items, and which.
#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// How many tools per query
    #[arg(short = 'k', value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) k: u16,
    /// How tools are ranked
    #[arg(long, value_enum, default_value_t = Strategy::Index)]
    pub(crate) strategy: Strategy,
    /// A table of word vectors that complements the words: `built-in`, or a folder
    #[arg(long, value_name = "NAME")]
    pub(crate) word_table: Option<String>,
    /// How many groups per level a walk explores (the beam width)
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) width: NonZeroUsize,
    /// Only these kinds: tool, agent, skill, internal, flow, resource, prompt
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<ItemKind>,
    /// Only these namespaces, and what is below them
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Vec<String>,
    /// Only items with one of these tags
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Exclude these items
    #[arg(long, value_name = "ID")]
    pub(crate) exclude: Vec<String>,
    /// Exclude items with one of these tags
    #[arg(long, value_name = "TAG")]
    pub(crate) exclude_tag: Vec<String>,
    /// Put these items first
    #[arg(long, value_name = "ID")]
    pub(crate) pin: Vec<String>,
    /// The most items of one namespace
    #[arg(long, value_name = "N")]
    pub(crate) quota: Option<NonZeroUsize>,
    /// Items used earlier, oldest first
    #[arg(long, value_name = "ID")]
    pub(crate) used: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Route {
    /// The tools
    #[arg(long, value_name = "FILE")]
    pub(super) tools: PathBuf,
    /// The queries
    #[arg(long, value_name = "FILE", required_unless_present = "query")]
    pub(super) queries: Option<PathBuf>,
    /// One query; its answer is a table, or JSON with --json
    #[arg(long, value_name = "TEXT", conflicts_with = "queries")]
    pub(super) query: Option<String>,
    /// Explain each ranking
    #[arg(long)]
    pub(super) explain: bool,
    #[command(flatten)]
    pub(super) form: InputArgs,
    #[command(flatten)]
    pub(super) limits: Limits,
    #[command(flatten)]
    pub(crate) output: JsonFlag,
}
