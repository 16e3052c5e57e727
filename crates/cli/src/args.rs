//! The command line: what can be typed. Nothing is opened or checked here.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};

use super::exit::Exit;
use super::shared_args::{ConfigArg, JsonFlag, PassphraseArgs};
use super::trace::args as ask;
use super::trace::proof_args as proof;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const ABOUT: &str = "\
Weaver stands between an AI agent and the tools it can call.

It shows the model a few tools that fit the goal, lets through only what your
signed policy allows, cuts what a tool returns down to what the model may see,
and keeps a record that nobody can change without being found out. Put it in
front of the MCP servers you already use.";

const EXAMPLES: &str = "\
See it work, offline, in a temporary folder:
  weaver demo

Put it in front of your own servers:
  weaver init            find your MCP clients, review what each tool may do, sign
  weaver connect         put the clients behind Weaver; `weaver disconnect` takes that back
  weaver                 how things stand

Or by hand, with a first weaver.toml:
  [principal]
  id = \"owner\"
  [trust]
  root = \"ed25519:…\"
  [mcpServers.files]
  command = \"npx\"
  args = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"${HOME}/notes\"]
then `weaver keys new`, `weaver sign policy/*.toml --key root.key`, `weaver check`.

Look at what happened:
  weaver trace
  weaver trace why call_…
  weaver trace verify";

/// The text below the options of `weaver help`.
fn after_help() -> String {
    format!("{EXAMPLES}\n\nExit codes:\n{}", Exit::table())
}

#[derive(Debug, Parser)]
#[command(
    name = "weaver",
    version,
    about = "Routes, decides, executes, firewalls and records an agent's tool calls",
    long_about = ABOUT,
    after_long_help = after_help(),
    styles = STYLES,
    max_term_width = 80,
    infer_subcommands = false,
    args_conflicts_with_subcommands = true
)]
pub(super) struct Cli {
    /// Without a command: show the current state
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// The configuration whose state is shown; the default is the nearest weaver.toml, or your own
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Set Weaver up from the MCP clients on this machine: find, review, sign
    Init(Box<super::init::args::Init>),
    /// Add new servers and new tools; existing entries stay as they are
    Update(Box<super::init::args::Update>),
    /// Take servers out of the configuration
    Remove(super::remove::Remove),
    /// Review tools again: what each does, and what happens when it is called
    Review(super::init::review::Review),
    /// Connect MCP clients to Weaver, and show their state
    Connect(super::connect::args::Connect),
    /// Restore the clients' own configurations
    Disconnect(super::connect::args::Disconnect),
    /// Serve MCP on standard input and output, in front of the configured servers
    Serve(super::serve::Serve),
    /// Run the daemon that all clients of a configuration share
    Daemon(super::daemon::Daemon),
    /// Show the daemon: its clients, servers and held calls
    Status(super::daemon::DaemonArgs),
    /// Stop the daemon after it has answered the calls in progress
    Stop(super::daemon::DaemonArgs),
    /// Restart the daemon; clients continue without a restart
    Restart(super::daemon::restart::Restart),
    /// Show the log of the daemon
    Logs(super::daemon::logs::Logs),
    /// Make the daemon a service of your own session (systemd, launchd)
    #[cfg(unix)]
    #[command(subcommand)]
    Service(super::service::Service),
    /// List, add and remove the clients that may connect over HTTP
    #[command(subcommand)]
    Clients(super::clients::Clients),
    /// Log in at a server behind the gateway that requires it
    Login(super::login::Login),
    /// Forget a login at a server
    Logout(super::login::Logout),
    /// Show the whole path of a call in one minute, offline, in a temporary folder
    Demo(Demo),
    /// The small MCP server behind the demo, on standard input and output
    #[command(hide = true)]
    DemoServer {
        /// A folder that the demo created
        #[arg(long, value_name = "DIR")]
        root: PathBuf,
    },
    /// Report every problem in a configuration and its signed documents
    Check(Check),
    /// Check everything that the gateway depends on, and say what to do
    #[command(after_help = "Example:\n  weaver doctor")]
    Doctor(Check),
    /// Create and show private keys
    #[command(subcommand)]
    Keys(Keys),
    /// Sign documents: policy, contracts, keys
    Sign(Sign),
    /// Read and verify the log; without a subcommand, show what happened today
    Trace(Box<TraceArgs>),
    /// Turn one held or denied call into a rule, see what it changes, sign
    Allow(Box<super::allow::args::Allow>),
    /// Show how strict the policy is, or change it: observe, careful or locked
    Posture(super::posture::PostureArgs),
    /// List held calls; grant, deny or revoke them
    #[command(subcommand)]
    Approve(Box<super::approve::args::Approve>),
    /// Examine policy, contracts and keys: lint, test, explain, decide, ask, compare
    #[command(subcommand)]
    Policy(Box<super::policy::args::Policy>),
    /// Show what the gateway's kernel knows: documents, decision keys, tools
    #[command(subcommand)]
    Kernel(super::kernel::args::Kernel),
    /// Compare the tools that servers list with the approved contracts, and approve changes
    #[command(subcommand)]
    Contracts(Box<super::contracts::args::Contracts>),
    /// Record whether the result of a call turned out to be right, and show how often it did
    #[command(subcommand)]
    Feedback(Box<super::approve::feedback::Feedback>),
    /// List, read, write, forget and export durable memory
    #[command(subcommand)]
    Memory(Box<super::memory::args::Memory>),
    /// Rank tools for queries, as the gateway would
    Route(Box<super::route::args::Route>),
    /// Compile a log of items into a context for a model, within a token budget
    Compile(Box<super::compile::args::Compile>),
    /// Examine catalogs of tools: lint, snapshot, diff, convert, search
    #[command(subcommand)]
    Catalog(Box<super::catalog::args::Catalog>),
    /// Mask secrets and personal data in a text or in JSON lines
    Redact(Box<super::redact::args::Redact>),
    /// Replay recorded calls through the policy, without executing any
    Replay(Box<super::replay::args::Replay>),
    /// Show how a result would look to a model, in each mode
    Inspect(Box<super::inspect::args::Inspect>),
    /// List the reason codes of decisions
    Reasons(JsonFlag),
    /// Print the JSON Schema of weaver.toml or of a document, for an editor
    Schema {
        /// The file
        #[arg(value_enum, value_name = "FILE", default_value = "config")]
        of: super::schema::SchemaFile,
    },
    /// Write manual pages, one for each command, into a folder
    #[command(after_help = "Example:\n  weaver man ~/.local/share/man/man1")]
    Man(super::man_pages::ManPages),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Print one JSON object per step
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the configuration, keys, documents and ledger in this new folder
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    pub(super) config: ConfigArg,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// Create a key and write it, encrypted with a passphrase, to a new file
    #[command(after_help = "Example:\n  weaver keys new --out root.key --id root")]
    New {
        /// The new file; an existing one is never overwritten
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// The name of the key
        #[arg(long, value_name = "NAME")]
        id: String,
        #[command(flatten)]
        passphrase: PassphraseArgs,
        #[command(flatten)]
        output: JsonFlag,
    },
    /// Change the passphrase of a key file; the key itself stays the same
    #[command(after_help = "Example:\n  weaver keys passphrase owner.key")]
    Passphrase {
        /// The key file
        file: PathBuf,
        #[command(flatten)]
        passphrase: PassphraseArgs,
        /// Read the new passphrase from this file descriptor
        #[arg(long, value_name = "N")]
        new_passphrase_fd: Option<u32>,
        #[command(flatten)]
        output: JsonFlag,
    },
    /// Show the name and public key of a key file; no passphrase is needed
    Show {
        /// The key file
        file: PathBuf,
        #[command(flatten)]
        output: JsonFlag,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  weaver sign policy/policy.toml --key root.key\n\n\
    The kind of each document is read from the document. FILE.sig is written beside it, and only \
    if every document is without fault.")]
pub(super) struct Sign {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// The key file of the root key, if not where `weaver init` put it
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct TraceArgs {
    #[command(subcommand)]
    pub(super) command: Option<TraceCommand>,
    /// Which calls (see `list --help`); today's without a term
    #[arg(value_name = "TERM", value_parser = ask::parse_term)]
    pub(super) terms: Vec<String>,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// The ledger, instead of the one of the configuration
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(super) store: Option<PathBuf>,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Subcommand)]
pub(super) enum TraceCommand {
    /// List the events that match the terms, newest first, a page at a time
    #[command(visible_alias = "query")]
    List(ask::List),
    /// Show one event, or all events of a call, in full
    Show(ask::EventSelector),
    /// Explain one call from start to end: goal, shortlist, decision, approval, token, result, views
    Why(ask::EventSelector),
    /// Print the latest events, and follow the log
    Tail(ask::Tail),
    /// Show statistics: grants, refusals by reason, outcomes, redactions, holds, handles, budgets
    Stats(ask::Stats),
    /// Export events in a format that other programs read
    Export(ask::Export),
    /// Show the state of the index beside the ledger; check or rebuild it
    Index(ask::IndexArgs),
    /// Print the head as JSON; kept elsewhere, it lets a later verification detect a truncated log
    ///
    /// Beside it, on standard error, stands what was signed last and what each target of
    /// `[log] publish` got last: how many events, when, and what went wrong since. With --json all
    /// of it is one object, which `weaver trace verify --head` takes too.
    Head(proof::HeadArgs),
    /// Verify the whole log, and name the first bad event
    Verify(proof::Verify),
    /// Sign a checkpoint of the events synced to disk, and print it
    Checkpoint(proof::Checkpoint),
    /// Show, declare, rotate or end the key that signs for the log
    #[command(subcommand)]
    Key(proof::Key),
    /// Make or check a receipt for one call, or prove that a log has two histories
    Prove(Box<proof::Prove>),
    /// Remove old payloads for good; the log can still be verified
    Prune(proof::Prune),
}
