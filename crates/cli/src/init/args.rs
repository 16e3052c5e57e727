//! The arguments of `weaver init` and `weaver update`.

use std::path::PathBuf;

use clap::Args;

use crate::shared_args::{ConfigArg, JsonFlag, PassphraseArgs};

const EXAMPLES: &str = "\
Examples:
  weaver init                          look for MCP clients, review, sign
  weaver init --yes                    the same with safe answers and no questions
  weaver init --from mcp.json --dir guarded --yes --passphrase-fd 3 3< <(pass show weaver)
  weaver init --json > review.json     what it would do, and nothing written

Postures: `observe` stops nothing and records what `careful` would have stopped; `careful` lets
through reads and writes on this machine, and what leaves it or destroys waits for a person; under
`locked` everything waits. Run it again to take in new servers and tools: what is there stays as it
is. Next comes `weaver connect`.

An answers file: {\"posture\": \"careful\", \"tools\": {\"files.move_file\": \"deny\"}, \"leave\": [\"old\"]}";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Init {
    /// Take the servers of this file instead of looking for clients; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) from: Vec<PathBuf>,
    /// Take the servers that files of the current folder name, too: their commands run
    #[arg(long)]
    pub(super) project: bool,
    /// The folder of the new gateway; the default is `weaver` in your configuration folder
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// How strict the first policy is: observe, careful or locked
    #[arg(long, value_name = "POSTURE")]
    pub(super) posture: Option<String>,
    /// Ask nothing: careful, unless --posture says otherwise
    #[arg(long)]
    pub(super) yes: bool,
    /// Take the answers from this JSON file, and ask nothing
    #[arg(long, value_name = "FILE", conflicts_with = "yes")]
    pub(super) answers: Option<PathBuf>,
    /// Leave servers with secrets in their settings where they are
    #[arg(long)]
    pub(super) leave_secrets: bool,
    /// Where secrets in the settings of servers go: `env`, a file for you alone, or `keychain`
    #[arg(long, value_name = "PLACE", conflicts_with = "leave_secrets")]
    pub(super) secrets: Option<String>,
    /// How long one server may take to start and list its tools
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(super) timeout: u64,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weaver update --yes\n  weaver update files --timeout 300\n\nNew servers and tools get contracts and rules, as a setup would give them. What changed waits for\n`weaver contracts approve`."
)]
pub(crate) struct Update {
    /// Only these servers; without a name, all of them are started
    #[arg(value_name = "SERVER")]
    pub(super) servers: Vec<String>,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// A file with new servers; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) from: Vec<PathBuf>,
    /// Take servers of this folder's files too
    #[arg(long)]
    pub(super) project: bool,
    /// Ask nothing
    #[arg(long)]
    pub(super) yes: bool,
    /// Where secrets go: `env` (a file) or `keychain`
    #[arg(long, value_name = "PLACE")]
    pub(super) secrets: Option<String>,
    /// Take in this tool, although it addresses the model
    #[arg(long, value_name = "TOOL")]
    pub(super) accept: Vec<String>,
    /// The root key, if not where `weaver init` put it
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    /// How long one server may take [default: 60]
    #[arg(long, value_name = "SECONDS", default_value_t = 60, hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(super) timeout: u64,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

impl Init {
    /// Whether the command asks questions.
    pub(super) fn asks(&self) -> bool {
        !self.yes && self.answers.is_none() && !self.output.json
    }
}
