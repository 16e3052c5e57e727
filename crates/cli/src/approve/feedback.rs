//! `weaver feedback`: records whether the result of a call turned out right.
//!
//! The gateway counts outcomes by tool. If the sentinel `calibration-flags` is active, it holds a
//! call that rests on a tool which is wrong more often than its confidence allows. Recording an
//! outcome can therefore cause or avoid a hold, so it needs an operator's signature, like every
//! operator statement.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use weaver_policy::approval::{BeliefOutcome, OperatorAction};
use weaver_policy::signal::{BeliefClass, CalibrationThresholds, ClassOutcomes};
use weaver_trace_store::query::{
    EventFacts, EventFilter, EventOrder, FilterField, LogQuery, run_query,
};
use weaver_types::ledger::Namespace;
use weaver_types::{CallId, EventKind};

use super::approval_store::ApprovalStore;
use super::args::{ApprovalSource, SignWith};
use super::rejections::not_found_failure;
use super::{operator_statement, terminal_text};
use crate::shared_args::JsonFlag;
use crate::{Exit, Failure, output};

/// The confidence in a trusted result, in thousandths.
const TRUSTED_CONFIDENCE: u16 = 1_000;
/// The confidence in any other result, in thousandths.
const UNTRUSTED_CONFIDENCE: u16 = 500;

/// `weaver feedback`.
#[derive(Debug, Subcommand)]
pub(crate) enum Feedback {
    /// Record whether the result of a call turned out to be right
    Record(Record),
    /// Show how often each tool was right, and which are flagged
    List(List),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  weaver feedback record call_0123… --wrong --key alice.key\n  \
    weaver feedback record --class web.search --confidence 900 --right --key alice.key\n\n\
    The sentinel `calibration-flags` holds what rests on a tool that is wrong too often."
)]
pub(crate) struct Record {
    /// The call whose result it is about
    #[arg(value_name = "CALL", required_unless_present = "class")]
    call: Option<String>,
    /// A tool, or a class of beliefs of a host, instead of a call
    #[arg(long, value_name = "CLASS", conflicts_with = "call", requires = "confidence")]
    class: Option<String>,
    /// Its confidence, 0 to 1000; for a call 1000 if its result was trusted, otherwise 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1000))]
    confidence: Option<u16>,
    /// It was right
    #[arg(long, required_unless_present = "wrong", conflicts_with = "wrong")]
    right: bool,
    /// It was wrong
    #[arg(long)]
    wrong: bool,
    #[command(flatten)]
    sign: SignWith,
    #[command(flatten)]
    from: ApprovalSource,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    from: ApprovalSource,
    #[command(flatten)]
    output: JsonFlag,
}

pub(crate) fn run(args: &Feedback) -> Result<Exit, Failure> {
    match args {
        Feedback::Record(args) => record_outcome(args),
        Feedback::List(args) => list_calibration(args),
    }
}

fn record_outcome(args: &Record) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let outcome = match (&args.call, &args.class) {
        (Some(call), _) => outcome_of_call(&store, call, args)?,
        (None, class) => BeliefOutcome {
            class: class.clone().unwrap_or_default(),
            confidence: args.confidence.unwrap_or(UNTRUSTED_CONFIDENCE),
            correct: args.right,
            call: None,
        },
    };
    if outcome.to_calibration_sample().is_none() {
        let message =
            format!("`{}` is not a class", terminal_text::escape_line(&outcome.class, 160));
        return Err(Failure::new(Exit::Usage, "feedback.class", message)
            .with_next_step("write the id of a tool: no blanks, nothing invisible"));
    }
    let how = if outcome.correct { "right" } else { "wrong" };
    let class = terminal_text::escape_line(&outcome.class, 160);
    let shown = format!("`{class}`, sure to {} of 1000, was {how}\n", outcome.confidence);
    operator_statement::sign_and_submit(
        &store,
        &args.sign,
        OperatorAction::Outcome(outcome),
        &shown,
        "Record this outcome?",
    )
}

/// The outcome of a completed call, from what the log says of it.
fn outcome_of_call(
    store: &ApprovalStore,
    id: &str,
    args: &Record,
) -> Result<BeliefOutcome, Failure> {
    let call = CallId::parse(id).map_err(|_| not_found_failure("call", id))?;
    let filter = EventFilter::default()
        .with(FilterField::Call, call.as_str())
        .with(FilterField::Event, EventKind::Outcome.as_str());
    let question = LogQuery { filter, order: EventOrder::Newest, after: None, limit: 1 };
    let page = run_query(store.reader(), None, &question);
    let page = page.map_err(|error| Failure::new(Exit::Store, error.code(), error.to_string()))?;
    let ended = page.events.first().ok_or_else(|| not_found_failure("call with an outcome", id))?;
    let class = EventFacts::capability(ended)
        .ok_or_else(|| not_found_failure("call with an outcome", id))?;
    let trusted = ended.label().is_some_and(|(_, integrity)| integrity == "trusted");
    let default_confidence = if trusted { TRUSTED_CONFIDENCE } else { UNTRUSTED_CONFIDENCE };
    Ok(BeliefOutcome {
        class: class.to_owned(),
        confidence: args.confidence.unwrap_or(default_confidence),
        correct: args.right,
        call: Some(call),
    })
}

fn list_calibration(args: &List) -> Result<Exit, Failure> {
    let store = ApprovalStore::open(&args.from)?;
    let mut found: Vec<(BeliefClass, ClassOutcomes)> = Vec::new();
    let mut unreadable = 0_usize;
    store.for_each_record(Namespace::Calibration, |id, record| {
        let value: Option<Value> = serde_json::from_slice(&record.value).ok();
        let outcomes = value.and_then(|mut value| value.get_mut("outcomes").map(Value::take));
        let outcomes = outcomes.and_then(|value| serde_json::from_value(value).ok());
        match (BeliefClass::parse(id), outcomes) {
            (Ok(class), Some(outcomes)) => found.push((class, outcomes)),
            _ => unreadable += 1,
        }
    })?;
    for (class, outcomes) in &found {
        let calibration = outcomes.calibration(&CalibrationThresholds::default());
        if args.output.json {
            output::line(&terminal_text::escape_json(&json!({
                "class": class.as_str(),
                "samples": calibration.samples,
                "gap": calibration.gap,
                "error": calibration.ece,
                "brier": calibration.brier,
                "flagged": calibration.flagged,
            })))?;
        } else {
            let name = output::bold(&terminal_text::escape_line(class.as_str(), 160));
            let flag = if calibration.flagged { ", flagged" } else { "" };
            output::line(&format!(
                "{name}  {} outcomes, surer than right by {:.3}, error {:.3}{flag}",
                calibration.samples, calibration.gap, calibration.ece
            ))?;
        }
    }
    if unreadable > 0 {
        let message = format!("{unreadable} records cannot be read by this build");
        return Err(Failure::new(Exit::Store, "feedback.unreadable", message)
            .with_next_step("use the build that wrote them, or a newer one"));
    }
    if found.is_empty() && !args.output.json {
        output::line("no outcome was recorded yet")?;
    }
    Ok(Exit::Ok)
}
