//! `cargo xtask eval`: evaluates the quality of a part, mostly on a corpus outside of the
//! repository.

mod agentdojo;
mod context;
mod contracts;
mod redaction;
pub mod routing;
mod suggest;
mod work;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Subcommand;
use xshell::Shell;

/// The folder of a corpus.
#[derive(clap::Args)]
struct CorpusArg {
    /// The folder of the corpus.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl CorpusArg {
    /// The folder; `help` says where the corpus comes from.
    fn folder(&self, help: &str) -> Result<&Path> {
        let Some(data) = &self.data else { bail!("{help}") };
        if !data.is_dir() {
            bail!("{} is not a folder: {help}", data.display());
        }
        Ok(data)
    }
}

/// The part to evaluate.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: EvalVerb,
}

#[derive(Subcommand)]
enum EvalVerb {
    /// Security and autonomy of hijacked agents: AgentDojo's calls through `weaver replay`.
    Agentdojo(agentdojo::Args),
    /// Whether `weaver compile` keeps its promises on long logs, compared with its peer.
    Context(context::Args),
    /// How accurate `weaver contracts propose` is on tools with labels or hints.
    Contracts(contracts::Args),
    /// Precision and recall of `weaver redact`, hard negatives, evasions, agreement of streams.
    Redaction(redaction::Args),
    /// Recall, order and time of routing on sets of tools and queries.
    Routing(routing::Args),
    /// Whether rules suggested from one half of the tasks allow the other half, and no attack.
    Suggest(suggest::Args),
    /// Whether an agent completes through `weaver serve` what it completes without, and at what cost.
    Work(work::Args),
}

/// Evaluate one part.
///
/// # Errors
/// If the corpus is missing or unreadable, or the command does not build or fails.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    match &args.what {
        EvalVerb::Agentdojo(args) => agentdojo::run(sh, args),
        EvalVerb::Context(args) => context::run(sh, args),
        EvalVerb::Contracts(args) => contracts::run(sh, args),
        EvalVerb::Redaction(args) => redaction::run(sh, args),
        EvalVerb::Routing(args) => routing::run(sh, args),
        EvalVerb::Suggest(args) => suggest::run(sh, args),
        EvalVerb::Work(args) => work::run(sh, args),
    }
}
