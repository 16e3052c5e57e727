//! `weaver posture`: how strict the policy is, and another posture for it.

use clap::Args;
use serde_json::json;
use weaver_gateway::setup::{PolicyRevision, Posture};
use weaver_policy_analysis::PolicyDiff;
use weaver_types::{Clock as _, SystemClock};

use super::init::{self, questions};
use super::policy::signing::SigningArgs;
use super::policy::{diff, history, replay, signing};
use super::shared_args::{ConfigArg, JsonFlag};
use super::{Exit, Failure, output};

/// How far back the recorded calls are judged again.
const REPLAYED_TIME: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);

#[derive(Debug, Args)]
pub(super) struct PostureArgs {
    /// The posture from now on; without it, the present one is shown
    #[arg(value_name = "POSTURE")]
    posture: Option<String>,
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    sign: SigningArgs,
    #[command(flatten)]
    output: JsonFlag,
}

pub(super) fn run(args: &PostureArgs) -> Result<Exit, Failure> {
    let now = SystemClock::default().now();
    let revision = PolicyRevision::open(&args.config.resolve()?, now)?;
    let present = Posture::of(revision.policy());
    let Some(word) = &args.posture else { return show(args, present) };
    let wanted = init::parse_posture(word)?;
    if wanted == present {
        return show(args, present);
    }
    let text = revision.with_posture(wanted, now)?;
    let draft = revision.draft(&text, now)?;
    if !args.output.json {
        let changes = diff::diff_text(&PolicyDiff::new(revision.policy(), &draft), &[]);
        output::text(&format!(
            "{}: {}\n{}: {}\n\n{changes}",
            present.as_str(),
            meaning(present),
            output::bold(wanted.as_str()),
            meaning(wanted),
        ))?;
        let store = &revision.config().store_path;
        if let Ok(history) = history::read_ledger(store, REPLAYED_TIME, now) {
            let report = replay::replay_history(&draft, &history, REPLAYED_TIME, now);
            output::text(&format!("{}\n", report.summary()))?;
        }
    }
    if !args.sign.yes {
        if args.output.json || !questions::has_terminal() {
            let message = "there is no terminal to ask on";
            return Err(Failure::new(Exit::Usage, "posture.no_terminal", message)
                .with_next_step(format!("`weaver posture {} --yes`", wanted.as_str())));
        }
        questions::confirm("Sign this?")?;
    }
    let version = args.sign.sign(&revision, &text, now)?;
    signing::print_signed(&revision, version, args.output.format())
}

/// Says which posture is in force, and what the others are.
fn show(args: &PostureArgs, present: Posture) -> Result<Exit, Failure> {
    if args.output.json {
        output::json(&json!({ "posture": present.as_str(), "meaning": meaning(present) }))?;
        return Ok(Exit::Ok);
    }
    let mut text = format!("{}: {}\n\nothers:\n", output::bold(present.as_str()), meaning(present));
    for (word, posture) in Posture::ALL.iter().filter(|(_, posture)| *posture != present) {
        text.push_str(&format!("  weaver posture {word:<8} {}\n", meaning(*posture)));
    }
    output::text(&text)?;
    Ok(Exit::Ok)
}

/// What a posture means for the calls of agents.
pub(super) fn meaning(posture: Posture) -> &'static str {
    match posture {
        Posture::Observe => {
            "everything goes through; the log says what `careful` would have stopped"
        }
        Posture::Careful => {
            "reads and local writes go through; what leaves the machine or destroys waits for you"
        }
        Posture::Locked => "every call waits for you",
    }
}
