//! `cargo xtask eval redaction [--data DIR]`: evaluates `weaver redact`.

mod corpus;
mod evasion;
mod marked_texts;
mod peers;
mod report;
mod score;
mod sets;
mod stream;
mod unowned_values;
mod weaver;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;
use xshell::Shell;

use crate::workspace;

use corpus::Corpus;
use score::Score;
use weaver::Weaver;

const CORPUS_HELP: &str = "the corpus is no part of the repository; leave out `--data` for the project's own \
    texts alone; `--data DIR` names a folder with \
    *.jsonl or *.jsonl.gz of lines {\"id\", \"text\", \"spans\": [{\"start\", \"end\", \"type\"}], \
    \"source\", \"rule\"} (offsets in characters) and, if there is one, evasion.jsonl of lines \
    {\"id\", \"text\", \"must_not_leak\", \"kind\"}";

/// Options of `eval redaction`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of the corpus. The project's own texts, in `xtask/harness/data/redaction`, are scored with
    /// or without it.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Only this split: dev or test.
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// A built command to use, instead of building one in the release profile.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
    /// Skip the streams.
    #[arg(long)]
    no_stream: bool,
    /// Show what was missed and what was masked unnecessarily.
    #[arg(long)]
    show: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Run the command and print the table.
///
/// # Errors
/// If the corpus is missing; says what is needed.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let corpus = args.data.as_deref().map(|data| read_corpus(data, args)).transpose()?;
    let texts = marked_texts::read(&workspace::root()?.join("xtask/harness/data/redaction"))?;
    let weaver = Weaver::find(sh, args.weaver.clone())?;
    let sets = sets::score(&weaver, &texts)?;
    let Some(corpus) = corpus else {
        match args.json {
            true => println!("{}", json!({ "sets": sets.to_json() })),
            false => print!("{}", sets.table(args.show)),
        }
        return Ok(());
    };
    let answers = weaver.redact(corpus.texts(), &[])?;
    let mut score = Score::default();
    for (case, answer) in corpus.cases.iter().zip(&answers) {
        score.add(case, answer);
    }
    let evasions = evasion::score(&weaver, &corpus.evasions)?;
    let streams = match args.no_stream {
        true => None,
        false => Some(stream::compare_streams(&weaver, &corpus.cases, &answers)?),
    };
    let results = report::Results { cases: corpus.cases.len(), score, evasions, streams, sets };
    if args.json {
        println!("{}", results.to_json());
    } else {
        print!("{}\n{}", results.table(&peers::load()?), results.sets.table(args.show));
        if args.show {
            print!("{}", results.score.errors_text());
        }
    }
    Ok(())
}

fn read_corpus(data: &Path, args: &Args) -> Result<Corpus> {
    if !data.is_dir() {
        bail!("{} is not a folder: {CORPUS_HELP}", data.display());
    }
    let corpus = Corpus::read(data, args.split.as_deref())?;
    if corpus.cases.is_empty() {
        bail!("{} has no cases: {CORPUS_HELP}", data.display());
    }
    Ok(corpus)
}
