//! The arguments of `weaver kernel`.

use clap::{Args, Subcommand};
use weaver_types::{AgentId, SafetyClass};

use crate::contracts::args::ToolSource;
use crate::shared_args::{JsonFlag, parse_keyword};

const EXAMPLES: &str = "\
See what stands behind the gateway, without connecting a server:
  weaver kernel info
  weaver kernel namespaces

See the tools that only read locally, and those that one agent may use:
  weaver kernel tools --safety read_only
  weaver kernel tools --agent meeting_copilot";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Kernel {
    /// Show documents, servers, agents and caps; connects nothing
    Info(KernelArgs),
    /// List the decision keys and the namespaces of capabilities; connects nothing
    Namespaces(KernelArgs),
    /// List the tools of the servers as the signed contracts make them
    Tools(Tools),
}

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    #[command(flatten)]
    pub(super) from: ToolSource,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(super) from: ToolSource,
    /// Only tools of this class or below: read_only, local_write, network, destructive
    #[arg(long, value_name = "CLASS", value_parser = parse_keyword::<SafetyClass>)]
    pub(super) safety: Option<SafetyClass>,
    /// Only tools that this agent may use: by their contracts and by the policy's `agents`
    #[arg(long, value_name = "AGENT")]
    pub(super) agent: Option<AgentId>,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}
