//! The arguments of `weaver connect` and `weaver disconnect`.

use clap::Args;
use weaver_gateway::clients::Client;

use crate::shared_args::{ConfigArg, JsonFlag};

fn clients_text() -> String {
    let ids: Vec<&str> = Client::all().iter().map(|client| client.id).collect();
    format!("Clients: {}.", ids.join(", "))
}

#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  weaver connect --dry-run        show what would change\n  weaver connect                  every client whose servers Weaver knows\n  weaver connect cursor zed       these two\n  weaver connect --status --wait 60   wait for the first call, and say what it was\n\nServers that weaver.toml does not have stay in the client. What the file held before is kept, and\n`weaver disconnect` puts it back byte for byte.\n\n{}", clients_text()))]
pub(crate) struct Connect {
    /// The clients; without any, all whose configuration has servers that Weaver knows
    #[arg(value_name = "CLIENT")]
    pub(super) clients: Vec<String>,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// Also the files of this folder, such as .mcp.json; everyone who shares them gets the change
    /// too
    #[arg(long)]
    pub(super) project: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Show which clients are connected, and the last call that arrived
    #[arg(long, conflicts_with_all = ["dry_run", "project"])]
    pub(super) status: bool,
    /// With --status: wait up to this many seconds for the first call since connecting
    #[arg(long, value_name = "SECONDS", requires = "status",
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) wait: Option<u64>,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = format!("Examples:\n  weaver disconnect --dry-run\n  weaver disconnect\n  weaver disconnect cursor\n  weaver disconnect --project     only the files of this folder\n\nA file that nobody changed since gets back every byte; from one that was changed only the entry\n`weaver` goes, and the old entries come back.\n\n{}", clients_text()))]
pub(crate) struct Disconnect {
    /// The clients; without any, all that are connected
    #[arg(value_name = "CLIENT")]
    pub(super) clients: Vec<String>,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// Only the files of this folder, such as .mcp.json
    #[arg(long)]
    pub(super) project: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}
