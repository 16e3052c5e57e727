//! The arguments of `weaver inspect`.

use std::path::PathBuf;

use clap::Args;
use weaver_types::ResponseMode;

use super::super::redact::args::RuleFile;
use crate::shared_args::{JsonFlag, parse_keyword};

/// The token counter if none is named: the one of the gateway, if this build has it.
const DEFAULT_COUNTER: &str = if cfg!(feature = "tiktoken") { "o200k_base" } else { "chars4" };

const HELP: &str = "\
Examples:
  weaver inspect answer.json
  weaver inspect answer.json --mode table --budget 2000 --goal 'unpaid invoices'
  curl -s https://api.example.com/items | weaver inspect - --json

A frame is what a model gets of a tool's result. This command makes the frame and calls nothing.
Lines that begin with `!` are its warnings, counted by kind. What is JSON is read as JSON,
everything else as text.

The modes: auto (the result as it is, masked, or the most useful part of one that is too large),
summary (facts), table (rows), handle_only (a reference), raw (all of it, unredacted, for tokens
that allow it). Sizes of auto are those of what the model reads, of the others those of the
frame's JSON with its ids, its label and a handle.

Exit codes: 0 done, 2 a wrong command line, 3 a file that cannot be read.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Inspect {
    /// The result; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// This mode instead of auto: summary, table, handle_only, raw
    #[arg(long, value_parser = parse_keyword::<ResponseMode>)]
    pub(super) mode: Vec<ResponseMode>,
    /// The token budget in mode auto [default: 8,000]
    #[arg(long, value_name = "TOKENS")]
    pub(super) max_tokens: Option<u32>,
    /// The character budget of a frame's JSON in the other modes; 4,000 by default
    #[arg(long, value_name = "CHARS")]
    pub(super) budget: Option<u32>,
    /// The most rows [default: 50]
    #[arg(long, value_name = "N")]
    pub(super) rows: Option<u32>,
    /// The most fields per row [default: 20]
    #[arg(long, value_name = "N")]
    pub(super) fields: Option<u32>,
    /// The deepest nesting [default: 3]
    #[arg(long, value_name = "N")]
    pub(super) depth: Option<u32>,
    /// The caller's goal, in words; relevant parts come first
    #[arg(long, value_name = "WORDS")]
    pub(super) goal: Option<String>,
    /// How tokens are counted: an encoding, or an estimate by name
    #[arg(long, value_name = "NAME", default_value = DEFAULT_COUNTER)]
    pub(super) tokens: String,
    /// Read the file as text, even if it is JSON
    #[arg(long)]
    pub(super) text: bool,
    #[command(flatten)]
    pub(super) rules: RuleFile,
    #[command(flatten)]
    pub(crate) output: JsonFlag,
}
