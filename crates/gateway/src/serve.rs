//! `weaver serve`: an MCP server on stdin and stdout, in front of the configured upstreams.
//!
//! Data flows one way: `stdio` reads `lines`, `message` sorts them, `requests` keeps
//! account of what is under way, `dispatch` answers by method, `meta_tools` and `proxy` turn
//! tool calls into a kernel `call`, `render` turns what comes back into MCP results.
//! `upstreams` brings the tools in, `snapshot` is the snapshot of what there is, `described` is
//! how a server's own words are shown.
//!
//! What holds for every client:
//! - Nothing but JSON-RPC goes to stdout; each request is answered once, a cancelled one never.
//! - A refusal or failure of a call is a result with `isError` and `verdict`, `reason`, `message`.
//! - Hidden and unknown tools get the same answer, also while their server is away.
//! - A tool that its server describes otherwise than was approved is listed nowhere.
//! - Lines, requests under way, their bytes and waiting answers are bounded.

mod approvals;
mod browse;
mod call;
mod call_progress;
mod callers;
mod client_link;
mod client_process;
mod clock;
mod completion;
mod confined;
mod covered;
mod current_run;
mod definitions;
mod dispatch;
mod entry;
mod error;
mod exported_name;
mod feature_requests;
mod feature_snapshot;
mod form_values;
mod gateway;
mod heartbeat;
mod import;
mod inbox;
mod justification;
mod lines;
mod listed_item;
mod memory;
mod message;
mod meta_tools;
mod notices;
mod open;
mod output_schema;
mod own_tools;
mod prompts;
mod proxy;
mod reload;
mod render;
mod requests;
mod resources;
mod run_keeper;
mod salt;
mod sanitised_description;
mod server_events;
mod server_feature;
mod server_requests;
mod stdio;
mod subscriptions;
mod timer;
mod tool_snapshot;
mod upstream_config;
mod upstreams;
mod user_statements;
mod watch_counts;

use std::sync::Arc;

pub use client_process::{ClientKey, ClientProcess, ProcessTable};
pub use current_run::CurrentRun;
pub use error::ServeError;
pub use import::{ProposalError, propose};
pub use own_tools::proposal as own_proposal;
pub use server_feature::{FeatureKind, FeatureProposal, ServerFeatures, propose_features};
pub use upstream_config::upstream_config;
pub use weaver_types::formats::upstream_digest;

use crate::config::Config;
use crate::publish::{self, Keeper};
use gateway::Gateway;
use weaver_drivers::confine::Launcher;
use weaver_types::signature::SigningKey;

/// The verb under which this program starts another one, confined: a program that calls [`run`] is
/// started again with it as its first argument, and calls
/// [`launch`](weaver_drivers::confine::launch) before it does anything else.
pub const LAUNCH: &str = "launch";

/// What a host decides about serving, beside the configuration.
pub struct ServeOptions {
    /// Do not check the signatures of the documents. Every decision says so.
    pub unsigned_development: bool,
    /// The key of the log, which the configuration names; without it no checkpoints are signed.
    pub log_key: Option<SigningKey>,
    /// The program that confines the servers' processes.
    pub launcher: Launcher,
}

impl Default for ServeOptions {
    /// Signed documents, no log key, and this program as the launcher, under the verb [`LAUNCH`].
    fn default() -> Self {
        let launcher = Launcher::this_program(LAUNCH);
        Self { unsigned_development: false, log_key: None, launcher }
    }
}

/// Serves until stdin ends.
///
/// # Errors
/// [`ServeError`], when the documents, the store or the runtime cannot be opened. Upstreams that
/// cannot be reached are no error: their tools say so when they are called.
pub fn run(config: Config, options: ServeOptions) -> Result<(), ServeError> {
    if let Err(error) = weaver_drivers::confine::keep_process_private() {
        tracing::warn!(%error, "processes of the same user can look into the gateway");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| ServeError::Runtime { problem: error.to_string() })?;
    let mut opened = open::open(&config, options)?;
    let ended = runtime.block_on(async {
        let (keeper, pruning) = (opened.keeper.take(), opened.pruning.take());
        let gateway = Arc::new(Gateway::new(config, opened).await?);
        let keeping = keeper.map(Keeper::start);
        let tenant = gateway.principal().tenant.clone();
        let pruning = pruning.map(|(ledger, rules)| {
            tokio::spawn(publish::prune(ledger, rules, tenant, Arc::clone(&gateway.clock)))
        });
        gateway.upstreams.start(&gateway);
        let watching = [
            tokio::spawn(approvals::watch(Arc::clone(&gateway))),
            tokio::spawn(reload::watch(Arc::clone(&gateway))),
            tokio::spawn(covered::watch(Arc::clone(&gateway))),
            tokio::spawn(server_requests::serve(Arc::clone(&gateway))),
        ];
        let ended = stdio::serve(&gateway).await;
        if let Err(error) = gateway.leave().await {
            tracing::warn!(%error, "the end of the run is not recorded");
        }
        watching.iter().chain(&pruning).for_each(tokio::task::JoinHandle::abort);
        if let Some(keeping) = keeping {
            keeping.end().await;
        }
        ended
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    ended
}
