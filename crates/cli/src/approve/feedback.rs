//! `weaver feedback`: whether what a call said turned out right.
//!
//! The gateway counts outcomes by tool. Where the sentinel `calibration-flags` is armed, a call that
//! rests on a tool which is wrong more often than it was sure is held. So who records an outcome can
//! bring a prompt about, or spare one: it takes an operator's signature, like every word to a gateway.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use weaver_policy::approval::{BeliefOutcome, OperatorAction};
use weaver_policy::signal::{BeliefClass, Bounds, ClassOutcomes};
use weaver_trace_store::query::{Facts, Field, Filter, Order, Question, ask};
use weaver_types::ledger::Namespace;
use weaver_types::{CallId, EventKind};

use super::approval_store::ApprovalStore;
use super::args::{ApprovalSource, SignWith};
use super::rejections::unknown;
use super::{screen, word};
use crate::shared_args::Json;
use crate::{Exit, Failure, output};

/// How sure a trusted result is, in thousandths.
const TRUSTED: u16 = 1_000;
/// How sure any other result is.
const UNTRUSTED: u16 = 500;

/// `weaver feedback`.
#[derive(Debug, Subcommand)]
pub(crate) enum Feedback {
    /// Say whether what a call brought turned out right
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
    /// How sure it was, 0 to 1000; of a call 1000 if its result was trusted, otherwise 500
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
    output: Json,
}

pub(crate) fn run(args: &Feedback) -> Result<Exit, Failure> {
    match args {
        Feedback::Record(args) => record(args),
        Feedback::List(args) => list(args),
    }
}

fn record(args: &Record) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let outcome = match (&args.call, &args.class) {
        (Some(call), _) => of_call(&place, call, args)?,
        (None, class) => BeliefOutcome {
            class: class.clone().unwrap_or_default(),
            confidence: args.confidence.unwrap_or(UNTRUSTED),
            correct: args.right,
            call: None,
        },
    };
    if outcome.sample().is_none() {
        let message = format!("`{}` is no class", screen::line(&outcome.class, 160));
        return Err(Failure::new(Exit::Usage, "feedback.class", message)
            .next("write the id of a tool: no blanks, nothing invisible"));
    }
    let how = if outcome.correct { "right" } else { "wrong" };
    let class = screen::line(&outcome.class, 160);
    let shown = format!("`{class}`, sure to {} of 1000, was {how}\n", outcome.confidence);
    word::say(&place, &args.sign, OperatorAction::Outcome(outcome), &shown, "Record this outcome?")
}

/// What the log knows of a call that came to its end.
fn of_call(place: &ApprovalStore, id: &str, args: &Record) -> Result<BeliefOutcome, Failure> {
    let call = CallId::parse(id).map_err(|_| unknown("call", id))?;
    let filter = Filter::default()
        .with(Field::Call, call.as_str())
        .with(Field::Event, EventKind::Outcome.as_str());
    let question = Question { filter, order: Order::Newest, after: None, limit: 1 };
    let page = ask(place.reader(), None, &question);
    let page = page.map_err(|error| Failure::new(Exit::Store, error.code(), error.to_string()))?;
    let ended = page.events.first().ok_or_else(|| unknown("call with an outcome", id))?;
    let class = Facts::capability(ended).ok_or_else(|| unknown("call with an outcome", id))?;
    let trusted = ended.label().is_some_and(|(_, integrity)| integrity == "trusted");
    let usual = if trusted { TRUSTED } else { UNTRUSTED };
    Ok(BeliefOutcome {
        class: class.to_owned(),
        confidence: args.confidence.unwrap_or(usual),
        correct: args.right,
        call: Some(call),
    })
}

fn list(args: &List) -> Result<Exit, Failure> {
    let place = ApprovalStore::open(&args.from)?;
    let mut found: Vec<(BeliefClass, ClassOutcomes)> = Vec::new();
    let mut unreadable = 0_usize;
    place.records(Namespace::Calibration, |id, record| {
        let value: Option<Value> = serde_json::from_slice(&record.value).ok();
        let outcomes = value.and_then(|mut value| value.get_mut("outcomes").map(Value::take));
        let outcomes = outcomes.and_then(|value| serde_json::from_value(value).ok());
        match (BeliefClass::parse(id), outcomes) {
            (Ok(class), Some(outcomes)) => found.push((class, outcomes)),
            _ => unreadable += 1,
        }
    })?;
    for (class, outcomes) in &found {
        let of = outcomes.calibration(&Bounds::default());
        if args.output.json {
            output::line(&screen::json(&json!({
                "class": class.as_str(),
                "samples": of.samples,
                "gap": of.gap,
                "error": of.ece,
                "brier": of.brier,
                "flagged": of.flagged,
            })))?;
        } else {
            let name = output::bold(&screen::line(class.as_str(), 160));
            let flag = if of.flagged { ", flagged" } else { "" };
            output::line(&format!(
                "{name}  {} outcomes, surer than right by {:.3}, error {:.3}{flag}",
                of.samples, of.gap, of.ece
            ))?;
        }
    }
    if unreadable > 0 {
        let message = format!("{unreadable} records cannot be read by this build");
        return Err(Failure::new(Exit::Store, "feedback.unreadable", message)
            .next("use the build that wrote them, or a newer one"));
    }
    if found.is_empty() && !args.output.json {
        output::line("no outcome was recorded yet")?;
    }
    Ok(Exit::Ok)
}
