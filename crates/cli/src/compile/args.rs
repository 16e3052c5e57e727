//! The arguments of `weaver compile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use contextweaver::compile::{
    ContextItemKind, OverflowAction, OverflowPolicy, Phase, PromptFormat,
};
use weaver_types::Confidentiality;

use crate::argument_error::ArgumentError;
use crate::output_file::ReplaceFlag;
use crate::shared_args::parse_keyword;

/// The token counter if none is named.
const DEFAULT_COUNTER: &str = if cfg!(feature = "tiktoken") { "cl100k_base" } else { "chars4" };

const HELP: &str = "\
Examples:
  weaver compile --log events.jsonl --phase answer --budget 2000 --query 'open invoices'
  weaver compile --log events.jsonl --phase call --format anthropic > request.json
  weaver compile --log events.jsonl --format openai --native-calls
  weaver compile --log events.jsonl --overflow policy=error,user_turn=warn
  weaver compile --log - --phase answer --format json --explain --html report.html

The log has one item a line, oldest first:
  {\"id\", \"kind\", \"text\", \"parent_id\"?, \"sensitivity\"?, \"metadata\"?}
kind: user_turn, agent_msg, tool_call, tool_result, doc_snippet, retrieved_doc, memory_fact,
plan_state, policy, tool_card. sensitivity: public, internal, confidential, restricted.
metadata.tags are words that the query is compared with; metadata.pinned puts an item first. Of a
call, metadata.call = {\"id\", \"name\", \"arguments\"} is what --native-calls gives a provider: a call
that is shown with its result becomes a tool_calls message, tool_use or functionCall, and the result
its answer.

The text of a tool result passes through the firewall. The budget bounds what is written to
standard output (with --format json: `prompt`), counted with --tokens. The statistics come on
standard error, or with --format json in the JSON.

Exit codes: 0 done, 1 something had no room and --overflow error was given, 2 a wrong command
line, 3 a file that cannot be read or a line that is no item.";

/// What is written to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ContextFormat {
    /// One text, each item with a heading
    Text,
    /// The `messages` of a chat completion
    Openai,
    /// `system` and `messages`, with cache breakpoints
    Anthropic,
    /// `systemInstruction` and `contents`
    Gemini,
    /// The text with items, labels and statistics
    Json,
}

impl ContextFormat {
    pub(super) fn prompt_format(self) -> PromptFormat {
        match self {
            Self::Text | Self::Json => PromptFormat::Text,
            Self::Openai => PromptFormat::OpenAi,
            Self::Anthropic => PromptFormat::Anthropic,
            Self::Gemini => PromptFormat::Gemini,
        }
    }
}

fn parse_phase(text: &str) -> Result<Phase, ArgumentError> {
    Phase::parse(text).ok_or(ArgumentError::Phase)
}

fn parse_action(text: &str) -> Result<OverflowAction, ArgumentError> {
    match text {
        "drop" => Ok(OverflowAction::Drop),
        "warn" => Ok(OverflowAction::Warn),
        "error" => Ok(OverflowAction::Error),
        _ => Err(ArgumentError::Overflow),
    }
}

/// Parses `warn`, or `policy=error,user_turn=warn`, or both.
fn parse_overflow(text: &str) -> Result<OverflowPolicy, ArgumentError> {
    let mut policy = OverflowPolicy::default();
    for part in text.split(',') {
        match part.split_once('=') {
            None => policy.default_action = parse_action(part)?,
            Some((kind, word)) => {
                let known = ContextItemKind::parse(kind).ok_or_else(|| {
                    let all: Vec<&str> =
                        ContextItemKind::ALL.iter().map(|kind| kind.as_str()).collect();
                    ArgumentError::ItemKind { known: all.join(", ") }
                })?;
                policy.by_kind.insert(known, parse_action(word)?);
            }
        }
    }
    Ok(policy)
}

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Compile {
    /// The items, one JSON object per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) log: PathBuf,
    /// The step that the context is for: route, call, interpret, answer
    #[arg(long, value_parser = parse_phase, default_value = "answer")]
    pub(super) phase: Phase,
    /// Tokens that the whole may have; unless you say otherwise 2,000, 3,000, 4,000 or 6,000
    #[arg(long, value_name = "N")]
    pub(super) budget: Option<usize>,
    /// What the model is about to do; relevant items are preferred
    #[arg(long, value_name = "WORDS", default_value = "")]
    pub(super) query: String,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: ContextFormat,
    /// Explain for every candidate why it was included or left out
    #[arg(long)]
    pub(super) explain: bool,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    #[command(flatten)]
    pub(super) replace: ReplaceFlag,
    /// How tokens are counted
    #[arg(long, value_name = "NAME", default_value = DEFAULT_COUNTER)]
    pub(super) tokens: String,
    /// Leave out items of this sensitivity or higher
    #[arg(long, value_name = "LEVEL", value_parser = parse_keyword::<Confidentiality>,
        default_value = "confidential")]
    pub(super) floor: Confidentiality,
    /// Show `[REDACTED: level]` in their place
    #[arg(long)]
    pub(super) redact: bool,
    /// What to do when an item does not fit: drop, warn, error; per kind as `policy=error,doc_snippet=drop`
    #[arg(long, value_name = "ACTION", value_parser = parse_overflow, default_value = "drop")]
    pub(super) overflow: OverflowPolicy,
    /// In a provider's messages, use its native tool calls and results instead of text
    #[arg(long)]
    pub(super) native_calls: bool,
    /// Drop items that are too long instead of shortening them
    #[arg(long)]
    pub(super) whole: bool,
}
