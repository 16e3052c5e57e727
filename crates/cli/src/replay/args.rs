//! The arguments of `weaver replay`.

use std::path::PathBuf;

use clap::Args;

use crate::shared_args::JsonFlag;

const HELP: &str = "\
Examples:
  weaver replay tasks.jsonl --policy policy.toml --contracts contracts.toml
  weaver replay - --policy p.toml --contracts c.toml --approvals standing/ < tasks.jsonl

A scenario, one a line; further fields are passed over:
  {\"id\", \"prompt\", \"steps\": [{\"tool\", \"args\", \"output\", \"untrusted\"?, \"error\"?, \"release\"?}]}

An answer, one a step:
  {\"id\", \"step\", \"tool\", \"verdict\", \"reason\", \"detail\", \"reasons\"?, \"sink\", \"call\", \"released_by\"?}

Nothing is executed: each tool answers what was recorded. What an output taints follows from the
contracts; `untrusted` is for those who score. A held step is released as an approver would, so
that the task goes on, unless it says `\"release\": false`. `prompt` counts as the user's own
words, as a host would report them, unless --no-user-words.

The documents need no signature and decide for nobody. The folder of --approvals has files of
terms, as `weaver approve standing grant --from` reads them; each is signed here by people made
up for the replay. A line that is no scenario gets an answer with its `error`; the others are
replayed, and the command ends with 3. How it went is said on standard error.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Replay {
    /// The scenarios; `-` is standard input
    #[arg(value_name = "SCENARIOS")]
    pub(super) scenarios: PathBuf,
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub(super) policy: PathBuf,
    /// The contracts
    #[arg(long, value_name = "FILE")]
    pub(super) contracts: PathBuf,
    /// A folder with the terms of standing approvals, *.toml
    #[arg(long, value_name = "DIR")]
    pub(super) approvals: Option<PathBuf>,
    /// The tools with their schemas, as servers list them; without it no schema is known
    #[arg(long, value_name = "FILE")]
    pub(super) tools: Option<PathBuf>,
    /// Who calls; the policy's only principal, or `owner`
    #[arg(long, value_name = "ID")]
    pub(super) principal: Option<String>,
    /// Replay as without a trusted host: nobody reports what the user said
    #[arg(long)]
    pub(super) no_user_words: bool,
    /// Add the processor time of each decision, in microseconds
    #[arg(long)]
    pub(super) micros: bool,
    /// Write what the log of each scenario holds to this new file, for `weaver policy suggest`
    #[arg(long, value_name = "FILE")]
    pub(super) history: Option<PathBuf>,
    /// Reopen the ledger and the kernel before every step
    #[arg(long)]
    pub(super) restarts: bool,
    #[command(flatten)]
    pub(crate) output: JsonFlag,
}
