//! `cargo xtask eval context`: compiles long logs with `weaver compile` and checks its guarantees,
//! next to the peer.

mod log;
mod peer;
mod promise;
mod report;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use crate::{build, process, speed, workspace};
use log::Log;

/// The query for each log, which the benches of the peer use too.
const QUERY: &str = "summarise the payment dispute and the rollback of the billing service";
/// The budgets that each log is compiled for; `None` is the default of the phase.
const BUDGETS: [Option<usize>; 4] = [None, Some(500), Some(50), Some(1)];
const CORPUS_HELP: &str = "`--data DIR` names a folder of logs, NAME.jsonl, with lines {\"id\", \"kind\" or \
    \"type\", \"text\", \"parent_id\"?, \"sensitivity\"?}; the peer's scenario logs lie in its \
    repository under benchmarks/scenarios, and in no package of it";

/// Options of `eval context`.
#[derive(clap::Args)]
pub struct Args {
    /// A folder of more logs, in addition to the generated one.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How many events the generated log has.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    events: usize,
    /// Run the peer on the same logs; at 10,000 events it takes some minutes.
    #[arg(long)]
    peer: bool,
    /// The command to evaluate; without it one is built.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Compile each log for several budgets, check the results, and print a table.
///
/// # Errors
/// If a log cannot be read, a command does not build or fails, or a guarantee is broken.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let target = workspace::metadata()?.target_directory.into_std_path_buf();
    let folder = target.join("eval").join("context");
    fs::create_dir_all(&folder)?;
    let maker = speed::compile_speed(sh, &target)?;
    let weaver = build::find_weaver(sh, args.weaver.as_deref(), true)?;
    let (made, count) = (folder.join("made"), args.events.to_string());
    process::run(cmd!(sh, "{maker} workloads {made} {count}"))?;
    let mut logs = vec![Log::read(&made.join(format!("events_{count}.jsonl")))?];
    if let Some(data) = &args.data {
        logs.extend(read_logs(data)?);
    }
    let mut rows = Vec::new();
    for log in &logs {
        let file = folder.join(format!("{}.jsonl", log.name));
        fs::write(&file, log.lines())?;
        for budget in BUDGETS {
            rows.push(compile_row(&maker, &weaver, log, &file, budget)?);
        }
        if args.peer
            && let Some(row) = rows.iter_mut().rev().nth(BUDGETS.len() - 1)
        {
            eprintln!("the peer reads {} ({} events)", log.name, log.items.len());
            row["peer"] = peer::row(sh, &target, &maker, log, &file)?;
        }
    }
    if args.json {
        println!("{}", json!({ "query": QUERY, "phase": "answer", "logs": rows }));
    } else {
        print!("{}", report::table(&rows));
    }
    let broken: Vec<String> = rows.iter().filter_map(report::violations).collect();
    if !broken.is_empty() {
        bail!("not kept:\n{}", broken.join("\n"));
    }
    Ok(())
}

fn read_logs(folder: &Path) -> Result<Vec<Log>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("{}: {CORPUS_HELP}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    if files.is_empty() {
        bail!("{} holds no log: {CORPUS_HELP}", folder.display());
    }
    files.iter().map(|file| Log::read(file)).collect()
}

/// Compiles one log for one budget.
fn compile_row(
    maker: &Path,
    weaver: &Path,
    log: &Log,
    file: &Path,
    budget: Option<usize>,
) -> Result<Value> {
    let mut command = std::process::Command::new(weaver);
    command.args(["compile", "--phase", "answer", "--format", "json", "--query", QUERY]);
    command.arg("--log").arg(file);
    command.args(budget.iter().flat_map(|n| ["--budget".to_owned(), n.to_string()]));
    let output = command.output().with_context(|| format!("cannot start {}", weaver.display()))?;
    if !output.status.success() {
        bail!("`weaver compile` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let pack: Value = serde_json::from_slice(&output.stdout)?;
    let tokens = count_tokens(maker, pack["prompt"].as_str().unwrap_or_default())?;
    Ok(promise::row(log, &pack, tokens))
}

/// The tokens of a text, counted independently of the command that made it.
fn count_tokens(maker: &Path, text: &str) -> Result<usize> {
    let file = workspace::metadata()?.target_directory.into_std_path_buf();
    let file = file.join("eval").join("context").join("prompt.txt");
    fs::write(&file, text)?;
    let output = std::process::Command::new(maker).arg("tokens").arg(&file).output()?;
    let count = String::from_utf8(output.stdout)?;
    count.trim().parse().context("no count of tokens")
}
