//! `cargo xtask eval routing --data DIR`: evaluates the router.

mod reference;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

use super::CorpusArg;
use crate::{process, workspace};

const CORPUS_HELP: &str = "the corpus is no part of the repository; `--data DIR` names a folder of sets, \
    or one set: a folder with tools.jsonl of lines {\"id\", \"name\", \"description\", \
    \"namespace\", \"tags\", \"schema\"}, queries.jsonl of lines {\"query\", \"gold\": [id], \"part\"} and, \
    if there is one, examples.jsonl of the same lines";

/// Options of `eval routing`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Only this set; may be given several times.
    #[arg(long, value_name = "NAME")]
    set: Vec<String>,
    /// At most this many examples per tool, if the set has some; may be given several times.
    /// Without it 5 and 30 are tried.
    #[arg(long, value_name = "N")]
    examples: Vec<usize>,
    /// Leave out the runs with the table of word vectors.
    #[arg(long)]
    no_table: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Build the program that evaluates, run it and print its table.
///
/// # Errors
/// If the corpus is missing; says what is needed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let data = args.corpus.folder(CORPUS_HELP)?;
    let program = build_routing_program(sh)?;
    let sets = args.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
    let counts = args.examples.iter().flat_map(|n| ["--examples".to_owned(), n.to_string()]);
    let table = args.no_table.then(|| "--no-table".to_owned());
    let options: Vec<String> = sets.chain(counts).chain(table).collect();
    let text =
        cmd!(sh, "{program} eval {data} {options...}").quiet().read().context(CORPUS_HELP)?;
    let mut found: Value = serde_json::from_str(&text)?;
    reference::add_references(&mut found);
    if args.json {
        println!("{found}");
    } else {
        print!("{}", report::table(&found));
    }
    Ok(())
}

/// The program in the release profile, with only the features that routing needs.
pub fn build_routing_program(sh: &Shell) -> Result<PathBuf> {
    let target = workspace::metadata()?.target_directory.into_std_path_buf();
    let package = ["--package", "weaver-benches", "--bin", "routing"];
    let features = ["--no-default-features", "--features", "routing"];
    process::run(process::cargo(sh).args(["build", "--release"]).args(package).args(features))?;
    Ok(crate::build::program(&target.join("release"), "routing"))
}
