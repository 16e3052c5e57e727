//! An MCP server for any number of clients, in front of the configured upstreams.
//!
//! A [`Server`] has one `gateway`: the store, the policy and the upstream servers, shared by all
//! clients. Each session on a stream has a `client`: its principal, the tools it may see, and its
//! run, which comes from `runs`.
//!
//! Data flows one way: `stream_session` reads `lines`, `message` classifies them, `requests` tracks
//! what is in flight, `dispatch` answers by method, `meta_tools` and `proxy` turn tool calls into a
//! kernel `call`, and `render` turns the outcome into an MCP result. `upstreams` connects the
//! servers, `tool_snapshot` is their tools at one moment, and `sanitised_description` prepares a
//! server's own words for display.
//!
//! Invariants for every client:
//! - Only JSON-RPC is written to it. Each request is answered once, a cancelled one never.
//! - A refused or failed call is a result with `isError` and `verdict`, `reason`, `message`.
//! - Hidden and unknown tools get the same answer, even while their server is unavailable.
//! - A tool whose current description differs from the approved one is never listed.
//! - Lines, requests in flight, their bytes and queued answers are bounded.

mod approvals;
mod audience;
mod browse;
mod call;
mod call_argument_error;
mod called_servers;
mod client;
mod client_call;
mod client_feature_cache;
mod client_link;
mod client_principal;
mod client_process;
mod client_tokens;
mod clock;
mod completion;
mod confinement_signal;
mod connected_clients;
mod current_run;
mod dispatch;
mod era;
mod error;
mod event;
mod execute_tool;
mod exported_name;
mod feature_methods;
mod feature_request;
mod feature_snapshot;
mod form_values;
mod gateway;
mod gateway_parts;
mod heartbeat;
mod in_flight_requests;
mod inbox;
mod instance_id;
mod instance_key;
mod instructions;
mod justification;
mod lines;
mod list_page;
mod listed_definition;
mod listed_schema;
mod long_work;
mod managed_server;
mod measured_call;
mod memory;
mod message;
mod meta_tool_definitions;
mod meta_tools;
mod name_suggestion;
mod notice_forwarder;
mod output_schema;
mod own_tools;
mod parked_calls;
mod pending_relays;
mod progress_notification;
mod progress_reporter;
mod prompts;
mod protected_file_watch;
mod proxy;
mod receipt_request;
mod refusal;
mod reload;
mod render;
mod request_limits;
mod requests;
mod resource_reader;
mod resources;
mod result_budget;
mod roots_changes;
mod run_clients;
mod run_tracker;
mod run_watch;
mod runs;
mod salt;
mod sanitised_description;
mod sanitised_item;
mod server;
mod server_changes;
mod server_events;
mod server_feature;
mod server_instructions;
mod server_requests;
#[cfg(target_os = "linux")]
mod standard_streams;
mod start_queue;
mod stored_listing;
mod stream_session;
mod subscriptions;
mod target_client;
mod task;
mod task_support;
mod tasks;
mod timer;
mod tool_proposal;
mod tool_snapshot;
mod unlisted_uri;
mod upstream_config;
mod upstreams;
mod user_statements;

pub use client_process::{ClientKey, ClientProcess, ProcessTable};
pub use current_run::CurrentRun;
pub use error::ServeError;
pub(crate) use message::{ClientMessage, code, outcome_unknown_result};
pub use own_tools::propose_own_tool;
pub use requests::ResponseStreaming;
pub use server::{
    AfterShutdown, DRAINING_METHOD, MessageSession, Server, ServerStatus, SessionOwner,
    SessionStatus, UpstreamStatus,
};
pub(crate) use server_events::offered_capabilities;
pub use server_feature::{FeatureKind, FeatureProposal, ServerFeatures, propose_features};
pub use stored_listing::read_stored_tools;
pub(crate) use stored_listing::{StoredListing, StoredTool};
pub use tool_proposal::{ProposalError, propose};
#[cfg(test)]
pub(crate) use tool_proposal::{ToolDefinition, propose_definition};
pub(crate) use upstream_config::with_workspace_folder;
pub use upstream_config::{oauth_settings, upstream_config};
pub use weaver_types::formats::upstream_digest;

use crate::config::Config;
use weaver_drivers::confine::Launcher;
use weaver_types::signature::SigningKey;

/// The subcommand that starts another program in confinement. A program that calls [`run`] is
/// started again with it as its first argument, and must call
/// [`launch`](weaver_drivers::confine::launch) before it does anything else.
pub const LAUNCH_SUBCOMMAND: &str = "launch";

/// Options of the host, in addition to the configuration.
pub struct ServeOptions {
    /// Skips the signature checks of the documents. Every decision records this.
    pub unsigned_development: bool,
    /// The log signing key that the configuration names. Without it no checkpoints are signed.
    pub log_key: Option<SigningKey>,
    /// The program that confines the servers' processes.
    pub launcher: Launcher,
}

impl Default for ServeOptions {
    /// Signed documents, no log key, and this program as the launcher with the subcommand
    /// [`LAUNCH_SUBCOMMAND`].
    fn default() -> Self {
        let launcher = Launcher::this_program(LAUNCH_SUBCOMMAND);
        Self { unsigned_development: false, log_key: None, launcher }
    }
}

/// Serves the client on standard input and output, until standard input ends.
///
/// # Errors
/// [`ServeError`], when the documents, the store or the runtime cannot be opened. An unreachable
/// upstream is no error: calls to its tools report it.
pub fn run(config: Config, options: ServeOptions, profile: Option<&str>) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let server = Box::pin(Server::open(config, options)).await?;
        let owner = SessionOwner {
            client: ClientKey::for_starter_of_this_process()
                .map_err(|error| ServeError::Run(error.into()))?,
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
        let ended = server.serve_only_client(&owner, input, output).await;
        server.close().await;
        ended
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    ended
}

/// Builds the gateway's runtime, stops other processes of the user from inspecting this one, and
/// gets hold of what its servers leave behind.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, ServeError> {
    if let Err(error) = weaver_drivers::confine::keep_process_private() {
        tracing::warn!(%error, "processes of the same user can look into the gateway");
    }
    if let Err(error) = weaver_drivers::confine::adopt_orphans() {
        tracing::warn!(%error, "what a server leaves when it ends is not found");
    }
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| ServeError::Runtime { problem: error.to_string() })
}
