//! The arguments of `weaver contracts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::shared_args::{ConfigArg, JsonFlag};

const EXAMPLES: &str = "\
See what every server offers, and how it stands against what was approved:
  weaver contracts list
  weaver contracts list --surface files

Is everything as it was approved? Ends with 1 where it is not:
  weaver contracts mismatches
  weaver contracts diff

Approve a changed tool in the contracts document, then sign it:
  weaver contracts approve files read_file
  weaver sign policy/contracts.toml --key root.key

Or keep what was approved in the ledger, while the gateway is stopped:
  weaver contracts snapshot --approved-by local-operator
  weaver contracts approve files read_file --approved-by local-operator

What a signed document pins counts; what it does not pin is compared with the ledger. A surface is one server by its name, or `kernel`: everything that the gateway's kernel holds.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Contracts {
    /// List the servers' tools and how each compares with its approved contract
    List(List),
    /// Approve everything that the servers list now, and record it in the ledger
    Snapshot(Snapshot),
    /// Show changed, new, missing and unreadable contracts; exits with 1 if there are any
    Mismatches(List),
    /// Approve tools as they are now: in the contracts document, or in the ledger
    Approve(Approve),
    /// Show what changed since a tool was approved, in old and new words, and what is new
    Diff(Diff),
    /// Draft contracts for tools without one, each with its reasons
    Propose(Propose),
}

/// Which configuration's tools to list.
#[derive(Debug, Args)]
pub(crate) struct ToolSource {
    #[command(flatten)]
    pub(crate) config: ConfigArg,
    /// Do not verify the signatures of the documents
    #[arg(long)]
    pub(crate) unsigned_development: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(super) from: ToolSource,
    /// One server, or `kernel` for all of them
    #[arg(long, value_name = "SURFACE", default_value = "kernel")]
    pub(super) surface: String,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

const PROPOSE: &str = "\
Examples:
  weaver contracts propose --out contracts.toml
  weaver contracts propose --config weaver.toml --server files --server mail
  weaver contracts propose --tools tools.json --surface files > contracts.toml

Without `--tools` the servers of the configuration are started, and one document is written for all
of them, each tool with the digest of what its server says now. With `--tools` nothing is started:
the file is a server's answer to tools/list, or its list of tools. The document is a beginning:
each line has its reason, and where names, descriptions, schemas and hints leave it open, the
stricter is proposed. Read it through, then sign it with `weaver sign`. --approvals writes the
terms of standing approvals beside it, for `weaver approve standing grant --from`.

It ends with 5 where a server did not start or list its tools: what the others list is written all
the same, and standard error says who is missing and why.";

#[derive(Debug, Args)]
#[command(after_help = PROPOSE)]
pub(crate) struct Propose {
    /// A list of tools instead of the servers, as `--tools`
    #[arg(value_name = "FILE", conflicts_with_all = ["tools", "config"])]
    pub(super) file: Option<PathBuf>,
    /// A list of tools instead of the servers; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(super) tools: Option<PathBuf>,
    /// The server's name, which stands before that of each tool of the list
    #[arg(long, value_name = "NAME", conflicts_with_all = ["config", "server"])]
    pub(super) surface: Option<String>,
    #[command(flatten)]
    pub(super) config: ConfigArg,
    /// Only this server; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "tools"])]
    pub(super) server: Vec<String>,
    /// Write the document into this file, which must not exist yet
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(super) out: Option<PathBuf>,
    /// Write the terms of standing approvals into this folder
    #[arg(long, value_name = "DIR")]
    pub(super) approvals: Option<PathBuf>,
    /// Whom the standing approvals name
    #[arg(long, value_name = "ID", default_value = "owner")]
    pub(super) principal: String,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Snapshot {
    #[command(flatten)]
    pub(super) from: ToolSource,
    /// Who approves; it is recorded
    #[arg(long, value_name = "NAME")]
    pub(super) approved_by: String,
    /// One server, or `kernel` for all of them
    #[arg(long, value_name = "SURFACE", default_value = "kernel")]
    pub(super) surface: String,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(super) from: ToolSource,
    /// One server, or `kernel` for ids with their server
    pub(super) surface: String,
    /// The tools, by their names or ids
    #[arg(required = true, value_name = "TOOL")]
    pub(super) tools: Vec<String>,
    /// Approve in the ledger, under this name, instead of in the contracts document
    #[arg(long, value_name = "NAME")]
    pub(super) approved_by: Option<String>,
    /// Print the contracts document as it would be, and write nothing
    #[arg(long, conflicts_with = "approved_by")]
    pub(super) print: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(super) from: ToolSource,
    /// One server, or `kernel` for all of them
    #[arg(long, value_name = "SURFACE", default_value = "kernel")]
    pub(super) surface: String,
    /// These tools only, by their ids
    #[arg(value_name = "TOOL")]
    pub(super) tools: Vec<String>,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}
