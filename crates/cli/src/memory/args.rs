//! The arguments of `weaver memory`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use contextweaver::memory::{Confidence, EntryKind};
use weaver_types::Confidentiality;

use crate::argument_error::ArgumentError;
use crate::shared_args::{ConfigArg, JsonFlag, parse_keyword};

const EXAMPLES: &str = "\
Remember something for a day, and look at it:
  weaver memory put user_preference compact --ttl 24h --source profile
  weaver memory get user_preference
  weaver memory list

Facts may contradict each other, until you say which one stands:
  weaver memory put tz UTC --kind fact --source profile
  weaver memory put tz CET --kind fact --source mail
  weaver memory get tz --kind fact --json
  weaver memory resolve tz 2 --why \"the user said so\"

Note what happened, forget, and take a copy:
  weaver memory put \"Sent the invoices of May\" --kind episode
  weaver memory forget user_preference
  weaver memory forget --expired
  weaver memory export > memory.jsonl

The file is that of --store; without it, that of `[memory]` in the configuration, or the one beside
its ledger, `.weaver/ledger.db.memory`. What is put is untrusted unless you say --trusted: an agent that is
shown it may then do less by itself.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Memory {
    /// List the entries, a page at a time
    List(List),
    /// Print the entry of a key
    Get(Get),
    /// Store a value, a fact or an episode
    Put(PutArgs),
    /// Forget the entry of a key, or everything that has expired
    Forget(Forget),
    /// Choose which of several claims about a fact is right
    Resolve(Resolve),
    /// Turn recurring episodes into facts: 3 alike in 2 sessions
    Consolidate(Consolidate),
    /// Print everything as JSON lines
    Export(Export),
}

/// The file of durable memory.
#[derive(Debug, Args)]
pub(crate) struct MemoryFile {
    /// The file of durable memory; by default that of `[memory]`, or `.weaver/ledger.db.memory`
    #[arg(long, value_name = "FILE")]
    pub(super) store: Option<PathBuf>,
    #[command(flatten)]
    pub(super) config: ConfigArg,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(super) place: MemoryFile,
    /// Only this kind: value, fact, episode
    #[arg(long, value_name = "KIND", value_parser = parse_keyword::<EntryKind>)]
    pub(super) kind: Option<EntryKind>,
    /// Continue after this entry, the `next` of the previous page
    #[arg(long, value_name = "KIND/KEY")]
    pub(super) after: Option<String>,
    /// How many entries per page
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(super) limit: u16,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The key
    pub(super) key: String,
    #[command(flatten)]
    pub(super) place: MemoryFile,
    /// What it is: value, fact, episode
    #[arg(long, value_name = "KIND", default_value = "value", value_parser = parse_keyword::<EntryKind>)]
    pub(super) kind: EntryKind,
    /// Print this if there is no entry, instead of failing
    #[arg(long, value_name = "VALUE")]
    pub(super) default: Option<String>,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// The key; of an episode, which has none, its text
    pub(super) key: String,
    /// The value: JSON, otherwise text; `-` reads it from standard input
    pub(super) value: Option<String>,
    #[command(flatten)]
    pub(super) place: MemoryFile,
    /// What it is: value, fact, episode
    #[arg(long, value_name = "KIND", default_value = "value", value_parser = parse_keyword::<EntryKind>)]
    pub(super) kind: EntryKind,
    /// Treat the value as text, even if it parses as JSON
    #[arg(long)]
    pub(super) text: bool,
    /// Where it came from
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) source: String,
    /// How long it is valid: seconds, or a duration such as 90m, 24h, 7d
    #[arg(long, value_name = "SPAN", alias = "ttl-s", value_parser = parse_ttl)]
    pub(super) ttl: Option<Duration>,
    /// How confident its source is, from 0 to 1
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_confidence)]
    pub(super) confidence: Confidence,
    /// The session in which it was learnt
    #[arg(long, value_name = "ID", default_value = "")]
    pub(super) session: String,
    /// Vouch for it: it does not taint the runs that read it
    #[arg(long)]
    pub(super) trusted: bool,
    /// How confidential it is: internal, confidential, restricted
    #[arg(long, value_name = "LEVEL", default_value = "internal",
        value_parser = parse_keyword::<Confidentiality>)]
    pub(super) confidentiality: Confidentiality,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The key
    #[arg(required_unless_present = "expired", conflicts_with = "expired")]
    pub(super) key: Option<String>,
    #[command(flatten)]
    pub(super) place: MemoryFile,
    /// What it is: value, fact, episode
    #[arg(long, value_name = "KIND", default_value = "value", value_parser = parse_keyword::<EntryKind>)]
    pub(super) kind: EntryKind,
    /// Forget everything that has expired
    #[arg(long)]
    pub(super) expired: bool,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The key of the fact
    pub(super) key: String,
    /// The number of the claim that is right
    pub(super) claim: u32,
    #[command(flatten)]
    pub(super) place: MemoryFile,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Consolidate {
    #[command(flatten)]
    pub(super) place: MemoryFile,
    #[command(flatten)]
    pub(super) output: JsonFlag,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(super) place: MemoryFile,
    /// Only this kind: value, fact, episode
    #[arg(long, value_name = "KIND", value_parser = parse_keyword::<EntryKind>)]
    pub(super) kind: Option<EntryKind>,
    /// The output is always JSON lines; accepted for scripts
    #[arg(long, hide = true)]
    pub(super) json: bool,
}

/// Parses seconds, with or without a fraction, or a number with a unit.
fn parse_ttl(text: &str) -> Result<Duration, ArgumentError> {
    let (number, unit) = match text.chars().next_back() {
        Some('s') => (text.strip_suffix('s'), 1.0),
        Some('m') => (text.strip_suffix('m'), 60.0),
        Some('h') => (text.strip_suffix('h'), 3_600.0),
        Some('d') => (text.strip_suffix('d'), 86_400.0),
        _ => (Some(text), 1.0),
    };
    let seconds = number.and_then(|number| number.parse::<f64>().ok());
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds * unit).ok())
        .ok_or(ArgumentError::Span)
}

fn parse_confidence(text: &str) -> Result<Confidence, ArgumentError> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => {
            Ok(Confidence::from_millionths((number * 1_000_000.0).round() as u32))
        }
        _ => Err(ArgumentError::Confidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_seconds_or_have_a_unit() {
        for (text, millis) in [("1.5", 1_500), ("90m", 5_400_000), ("7d", 604_800_000), ("0", 0)] {
            assert_eq!(parse_ttl(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for wrong in ["", "d", "-1", "1 h", "inf", "NaN", "1e300d"] {
            assert!(parse_ttl(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_confidence("0.25").unwrap().millionths(), 250_000);
        assert!(parse_confidence("1.1").is_err() && parse_confidence("NaN").is_err());
    }
}
