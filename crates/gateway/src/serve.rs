//! An MCP server for any number of clients, in front of the configured upstreams.
//!
//! A [`Server`] has one `gateway`: store, policy and upstreams, which all clients share. Each session
//! on a `stream` has a `client`: its principal, its view of the tools and its run, out of `runs`.
//!
//! Data flows one way: `stream` reads `lines`, `message` sorts them, `requests` keeps
//! account of what is under way, `dispatch` answers by method, `meta_tools` and `proxy` turn
//! tool calls into a kernel `call`, `render` turns what comes back into MCP results.
//! `upstreams` brings the tools in, `tool_snapshot` is what there is at one moment,
//! `sanitised_description` is how a server's own words are shown.
//!
//! What holds for every client:
//! - Nothing but JSON-RPC is written to it; each request is answered once, a cancelled one never.
//! - A refusal or failure of a call is a result with `isError` and `verdict`, `reason`, `message`.
//! - Hidden and unknown tools get the same answer, also while their server is away.
//! - A tool that its server describes otherwise than was approved is listed nowhere.
//! - Lines, requests under way, their bytes and waiting answers are bounded.

mod approvals;
mod asked_client;
mod browse;
mod call;
mod call_argument_error;
mod call_progress;
mod call_receipt;
mod callers;
mod client;
mod client_call;
mod client_feature_cache;
mod client_link;
mod client_principal;
mod client_process;
mod clock;
mod completion;
mod confinement_signal;
mod cover_watch;
mod current_run;
mod definitions;
mod dispatch;
mod entry;
mod era;
mod error;
mod event;
mod execute_tool;
mod exported_name;
mod feature_request;
mod feature_requests;
mod feature_snapshot;
mod form_values;
mod gateway;
mod heartbeat;
mod import;
mod inbox;
mod instance_key;
mod justification;
mod lines;
mod list_page;
mod listed_definition;
mod listed_item;
mod measured_call;
mod memory;
mod message;
mod meta_tools;
mod near_name;
mod notices;
mod open;
mod open_relays;
mod open_requests;
mod output_schema;
mod own_tools;
mod parked_calls;
mod progress_reporter;
mod prompts;
mod proxy;
mod reload;
mod render;
mod requests;
mod resources;
mod run_clients;
mod run_keeper;
mod runs;
mod salt;
mod sanitised_description;
mod server;
mod server_events;
mod server_feature;
mod server_requests;
#[cfg(target_os = "linux")]
mod standard_streams;
mod stream;
mod subscriptions;
mod task;
mod task_support;
mod tasks;
mod timer;
mod tool_snapshot;
mod upstream_config;
mod upstreams;
mod user_statements;
mod watch_counts;
mod watched_resource;

pub use client_process::{ClientKey, ClientProcess, ProcessTable};
pub use current_run::CurrentRun;
pub use error::ServeError;
pub use import::{ProposalError, propose};
#[cfg(test)]
pub(crate) use import::{ToolDefinition, proposal};
pub(crate) use message::ClientMessage;
pub use own_tools::proposal as own_proposal;
pub use requests::ClientReads;
pub use server::{
    DRAINING, Farewell, MessageSession, Server, ServerStatus, SessionOwner, SessionStatus,
    UpstreamStatus,
};
pub use server_feature::{FeatureKind, FeatureProposal, ServerFeatures, propose_features};
pub use upstream_config::{oauth_settings, upstream_config};
pub use weaver_types::formats::upstream_digest;

use crate::config::Config;
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

/// Serves the client on standard input and output, until standard input ends.
///
/// # Errors
/// [`ServeError`], when the documents, the store or the runtime cannot be opened. Upstreams that
/// cannot be reached are no error: their tools say so when they are called.
pub fn run(config: Config, options: ServeOptions, profile: Option<&str>) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let server = Server::open(config, options).await?;
        let owner = SessionOwner {
            client: ClientKey::of_this_process().map_err(|error| ServeError::Run(error.into()))?,
            principal: None,
            identity: None,
            profile: profile.map(str::to_owned),
            folder: std::env::current_dir().ok(),
            label: "standard input".to_owned(),
        };
        #[cfg(target_os = "linux")]
        let (input, output) = (standard_streams::input(), standard_streams::output());
        #[cfg(not(target_os = "linux"))]
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let ended = server.serve_alone(&owner, input, output).await;
        server.close().await;
        ended
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    ended
}

/// The runtime of a gateway, whose process nobody else can look into.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, ServeError> {
    if let Err(error) = weaver_drivers::confine::keep_process_private() {
        tracing::warn!(%error, "processes of the same user can look into the gateway");
    }
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| ServeError::Runtime { problem: error.to_string() })
}
