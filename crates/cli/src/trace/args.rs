//! The arguments of `weaver trace` that query the log.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::shared_args::{JsonFlag, LedgerArg, PassphraseArgs};

/// The syntax of terms, shown by every command that takes them.
pub(super) const TERMS: &str = "\
Terms, which must all hold:
  principal: capability: run: call: request: handle: token:    an id
  session: user_sid: agent:                                    a name that the host gave
  event: outcome: reason: verdict: label:                      a word that is fixed
  since: until:                 RFC 3339, a day, or a span before now such as 2h
  anything else, or text:       a word of what was recorded; \"…\" for several in one term
`a,b` is either, a `*` at the end stands for anything: capability:files.* verdict:hold,deny since:1d
outcome: success failure partial unknown; verdict: allow ask hold deny; label: public internal
confidential restricted trusted untrusted. `weaver reasons` lists the reasons,
docs/reference/events.md the events.";

/// A term of `weaver trace` itself. Anything without a colon is taken for a misspelt subcommand.
pub(crate) fn parse_term(text: &str) -> Result<String, String> {
    match text.contains(':') {
        true => Ok(text.to_owned()),
        false => Err("neither a subcommand nor a term such as since:1h".to_owned()),
    }
}

/// The ledger to query.
#[derive(Debug, Args)]
pub(crate) struct Store {
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    /// Scan the log itself: neither use nor build the index beside it
    #[arg(long)]
    pub(super) no_index: bool,
}

#[derive(Debug, Args)]
#[command(after_help = format!("{TERMS}\n\nExample:\n  weaver trace list verdict:deny since:1d"))]
pub(crate) struct List {
    /// Which events; all without terms
    #[arg(value_name = "TERM")]
    pub(super) terms: Vec<String>,
    #[command(flatten)]
    pub(super) store: Store,
    /// The most events
    #[arg(long, value_name = "N", default_value_t = 50,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) limit: u16,
    /// Continue after this cursor of the previous page; new events never shift a page
    #[arg(long, value_name = "CURSOR")]
    pub(super) after: Option<String>,
    /// Oldest first, in the order of the log; the default is newest first
    #[arg(long)]
    pub(super) oldest_first: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct EventSelector {
    /// An event number, or the id of a call, request, handle or token
    pub(super) id: String,
    #[command(flatten)]
    pub(super) store: Store,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = TERMS)]
pub(crate) struct Tail {
    /// Which events; all without terms
    #[arg(value_name = "TERM")]
    pub(super) terms: Vec<String>,
    #[command(flatten)]
    pub(super) store: Store,
    /// How many of the newest events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) lines: u16,
    /// Keep printing new events until interrupted
    #[arg(short, long)]
    pub(super) follow: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = format!("{TERMS}\n\nSums over times alone come from the index as far as it goes. \
    --no-index reads every event."))]
pub(crate) struct Stats {
    /// Over which events; all without terms
    #[arg(value_name = "TERM")]
    pub(super) terms: Vec<String>,
    #[command(flatten)]
    pub(super) store: Store,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Header, salt and payload of each event exactly: what another verifier reads
    Jsonl,
    /// One run as the public contract TraceBundle; needs run:ID
    Bundle,
    /// OpenTelemetry spans (GenAI conventions) as one OTLP JSON file
    Otlp,
    /// A table; a cell that a spreadsheet would take for a formula gets an apostrophe before it
    Csv,
    /// Action traces of agent-kernel (Python), one JSON object a line
    Actions,
    /// Run records, one JSON object a line
    Runs,
}

#[derive(Debug, Args)]
#[command(after_help = format!("{TERMS}\n\nExample:\n  weaver trace export \
    --as bundle run:run_2d6b05bb0fdf3915 --out run.json --key root.key"))]
pub(crate) struct Export {
    /// Which events; all without terms
    #[arg(value_name = "TERM")]
    pub(super) terms: Vec<String>,
    #[command(flatten)]
    pub(super) store: Store,
    /// The form
    #[arg(long = "as", value_name = "FORM")]
    pub(super) form: ExportFormat,
    /// The new file; without it, standard output
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Sign a bundle with this key: the signature is written to FILE.sig
    #[arg(long, value_name = "FILE", requires = "out")]
    pub(super) key: Option<PathBuf>,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    /// Recompute the index from the log and compare
    #[arg(long, conflicts_with = "rebuild")]
    pub(super) check: bool,
    /// Delete the index and rebuild it
    #[arg(long)]
    pub(super) rebuild: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}
