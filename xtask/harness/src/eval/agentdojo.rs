//! `cargo xtask eval agentdojo --data DIR`: replays hijacked agents without a model.

pub(super) mod contracts;
pub(super) mod corpus;
pub(super) mod interval;
mod published;
mod report;
pub(super) mod scenario;
mod score;
pub(super) mod weaver;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use xshell::Shell;

use super::CorpusArg;
use corpus::Corpus;
use report::{Results, Variant};
use weaver::Weaver;

pub(super) const CORPUS_HELP: &str = "the corpus is no part of the repository; `--data DIR` names a folder with \
    tools.json, user_tasks.jsonl, injection_tasks.jsonl, pairs.jsonl and, if there is one, \
    labels.json: AgentDojo as plain calls";

/// The folder of this evaluation's documents.
pub(super) const DOCUMENTS_FOLDER: &str = "examples/agentdojo";

/// Options of `eval agentdojo`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Contracts instead of the reviewed ones; `weaver contracts propose` adds what they do not
    /// cover.
    #[arg(long, value_name = "FILE")]
    contracts: Option<PathBuf>,
    /// Standing approvals instead of the shipped ones.
    #[arg(long, value_name = "DIR")]
    approvals: Option<PathBuf>,
    /// A built command to use, instead of building one in the release profile.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
    /// Only this suite.
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// Replay everything once more, with ledger and kernel reopened before every step, and fail if
    /// a verdict differs.
    #[arg(long)]
    restarts: bool,
    /// Show every attack that went through and every step of a user that was held.
    #[arg(long)]
    show: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Replay the suites and print the table.
///
/// # Errors
/// If the corpus is missing; says what is needed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let data = args.corpus.folder(CORPUS_HELP)?;
    let corpus = Corpus::read(data, args.suite.as_deref()).context(CORPUS_HELP)?;
    if corpus.suites.is_empty() {
        bail!("{} has no suites: {CORPUS_HELP}", data.display());
    }
    let weaver = Weaver::find(sh, args.weaver.clone())?;
    let shipped = sh.current_dir().join(DOCUMENTS_FOLDER);
    let reviewed = args.contracts.clone().unwrap_or_else(|| shipped.join("contracts.toml"));
    let standing = args.approvals.clone().unwrap_or_else(|| shipped.join("approvals"));
    let mut results = Results::default();
    for suite in &corpus.suites {
        let proposal = weaver.propose(suite)?;
        let documents = [
            ("", contracts::merge_contracts(&reviewed, &proposal.contracts, suite)?),
            ("proposal", proposal.contracts.clone()),
        ];
        let approvals = contracts::standing_approvals(&standing, &proposal, suite)?;
        for (name, contracts) in &documents {
            for words in [true, false] {
                for with in [true, false] {
                    let variant = Variant { proposal: !name.is_empty(), words, approvals: with };
                    let approvals = with.then_some(approvals.as_slice());
                    let setting = weaver::Setting { contracts, approvals, words };
                    let answers = weaver.replay(&shipped, suite, &setting, false)?;
                    if args.restarts {
                        answers.check_same_verdicts(
                            &weaver.replay(&shipped, suite, &setting, true)?,
                        )?;
                    }
                    results.add(variant, suite, score::score_suite(suite, &answers)?);
                }
            }
        }
    }
    if args.json {
        println!("{}", results.to_json());
    } else {
        print!("{}", results.table());
        if args.show {
            print!("{}", results.notes_text());
        }
    }
    Ok(())
}
