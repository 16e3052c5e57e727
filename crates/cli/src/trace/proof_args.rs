//! The arguments of `weaver trace` for signing, proving and pruning.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use weaver_types::{EventKind, PrincipalId};

use crate::age;
use crate::argument_error::ArgumentError;
use crate::shared_args::{JsonFlag, LedgerArg, PassphraseArgs};

/// The keys that a verifier trusts, from outside the log.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The key that signs for the log: a verifier key (name+id+base64), a file with one, or a key file
    #[arg(long, value_name = "VKEY|FILE")]
    pub(super) key: Option<String>,
    /// The log size up to which the key is valid, if it is known to have ended
    #[arg(long, value_name = "N", requires = "key")]
    pub(super) until: Option<u64>,
    /// The verifier key of a witness that must have signed too; may be repeated
    #[arg(long, value_name = "VKEY|FILE", requires = "key")]
    pub(super) witness: Vec<String>,
    /// How many witnesses must have signed; all by default
    #[arg(long, value_name = "N", requires = "witness")]
    pub(super) quorum: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct HeadArgs {
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Without --head or --checkpoint nothing comes from outside, and truncation \
    cannot be ruled out.\n\nExample:\n  weaver trace verify --checkpoint log.checkpoint \
    --key log_…+1f0c…+AZ…"
)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    /// An earlier head, as `weaver trace head` printed it
    #[arg(long, value_name = "FILE", conflicts_with = "checkpoint")]
    pub(super) head: Option<PathBuf>,
    /// An earlier checkpoint, as `weaver trace checkpoint` printed it
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(super) checkpoint: Option<PathBuf>,
    #[command(flatten)]
    pub(super) believed: TrustArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(
    after_help = "It works beside a running gateway. Keep what is printed where whoever can \
    write the ledger cannot: with it and the public key, any later cut, change or rewriting is found.\
    \n\nExample:\n  weaver trace checkpoint --key log.key > log.checkpoint"
)]
pub(crate) struct Checkpoint {
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    /// The key file of the key that signs for the log
    #[arg(long, value_name = "FILE")]
    pub(super) key: PathBuf,
    /// Write it atomically to this file instead; an existing file must hold a checkpoint that this
    /// log extends
    #[arg(long, value_name = "FILE")]
    pub(super) publish: Option<PathBuf>,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Show the keys that the log names, and the one in force
    Show {
        #[command(flatten)]
        ledger: LedgerArg,
        #[command(flatten)]
        output: JsonFlag,
    },
    /// Name the first key of the log, or the first one after a key that ended
    Declare(Change),
    /// Rotate to another key: the current key signs the handover and is no longer valid
    Rotate {
        #[command(flatten)]
        change: Change,
        /// The key file of the next key; its passphrase is not needed
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
    /// End the key without a successor
    End(Change),
}

/// A change of the log's key. It is an event of the log, so nobody else may write it meanwhile.
#[derive(Debug, Args)]
pub(crate) struct Change {
    #[command(flatten)]
    pub(super) ledger: LedgerArg,
    /// The key file: of the key that is declared, or of the one in force
    #[arg(long, value_name = "FILE")]
    pub(super) key: PathBuf,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weaver trace prove call_… --key log.key --out receipt.json
  weaver trace prove --check receipt.json --key log_…+1f0c…+AZ…
  weaver trace prove --conflict a.checkpoint b.checkpoint --key log_…+1f0c…+AZ… --out proof.json

A receipt has the headers of all events of the call. --disclose puts their payloads in, redacted
as they are recorded. It shows what was recorded, not that nothing else was.

A proof of two histories is made from two checkpoints by one key that cannot both be true. Where
they have two sizes, --store names the log of the larger one. It ends with 1 when they agree.")]
pub(crate) struct Prove {
    /// The call, or the number of an event: make a receipt for it
    #[arg(value_name = "CALL|EVENT", required_unless_present_any = ["check", "conflict"],
        conflicts_with_all = ["check", "conflict"])]
    pub(super) id: Option<String>,
    /// Check a receipt, or a proof of two histories; nothing but the key is needed
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with_all = ["conflict", "store"])]
    pub(super) check: Option<PathBuf>,
    /// Prove that one key signed two histories, from two checkpoints
    #[arg(long, num_args = 2, value_names = ["A", "B"], requires = "key")]
    pub(super) conflict: Option<Vec<PathBuf>>,
    /// The ledger, or the weaver.toml that names it; without the option, the nearest, or your own
    #[arg(long, value_name = "FILE", value_parser = crate::config_path::parse_store_argument)]
    pub(super) store: Option<PathBuf>,
    /// A checkpoint that covers the call; without it one is signed now, with the key file of --key
    #[arg(long, value_name = "FILE", requires = "id")]
    pub(super) checkpoint: Option<PathBuf>,
    /// Put payloads and salts into the receipt
    #[arg(long, requires = "id")]
    pub(super) disclose: bool,
    /// The new file; without it, standard output
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) believed: TrustArgs,
    #[command(flatten)]
    pub(super) passphrase: PassphraseArgs,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
#[command(
    after_help = "All conditions must hold. What open calls and requests rest on stays, and so do \
    key changes, loaded policies and the notes of pruning. The headers stay too: the log verifies as \
    before, and shows what was pruned. Backups and exports are not reached. Pruning may be broken off \
    at any time; the same command goes on where it was.\n\nExample:\n  weaver trace prune \
    --store .weaver/ledger.db --older-than 90d --kind call.outcome --dry-run"
)]
pub(crate) struct Prune {
    /// The ledger, which no other process may write meanwhile
    #[arg(long, value_name = "FILE")]
    pub(super) store: PathBuf,
    /// The minimum age of a payload, such as 90d; at least one day
    #[arg(long, value_name = "SPAN", value_parser = age::parse)]
    pub(super) older_than: std::time::Duration,
    /// Only events about this principal
    #[arg(long, value_name = "ID", value_parser = parse_principal)]
    pub(super) principal: Option<PrincipalId>,
    /// Only events about capabilities with this tag
    #[arg(long, value_name = "TAG")]
    pub(super) tag: Option<String>,
    /// Only events of this kind, such as call.outcome; may be given several times
    #[arg(long, value_name = "EVENT", value_parser = parse_event_kind)]
    pub(super) kind: Vec<EventKind>,
    /// Who prunes; the log records it permanently
    #[arg(long, value_name = "NAME", default_value = "operator")]
    pub(super) by: String,
    /// Show what would be removed, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

fn parse_principal(text: &str) -> Result<PrincipalId, ArgumentError> {
    PrincipalId::parse(text).map_err(ArgumentError::malformed)
}

fn parse_event_kind(text: &str) -> Result<EventKind, ArgumentError> {
    EventKind::parse(text).ok_or_else(|| {
        let known: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
        ArgumentError::EventKind { known: known.join(", ") }
    })
}
