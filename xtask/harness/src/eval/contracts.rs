//! `cargo xtask eval contracts --data DIR`: checks proposed contracts on tools of other projects.
//!
//! The labels come from two sources. AgentDojo's tools have the effects in `labels.json`; a tool
//! that is not listed only reads. Tools of the routing catalogs count if they have hints, which are
//! their labels. A server may lie, so proposals below a hint are listed for review.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use xshell::Shell;

use super::CorpusArg;
use crate::build;

const CORPUS_HELP: &str = "the corpus is no part of the repository; `--data DIR` names a folder with \
    agentdojo/tools.json and labels.json, and catalogs as routing/NAME/tools.jsonl";

/// What a tool can do, from harmless to dangerous.
const KINDS: [&str; 6] = ["read", "write", "external_send", "payment", "credential", "destructive"];

/// Options of `eval contracts`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// A built command to use, instead of building one in the release profile.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
}

/// Propose contracts for every labelled tool and print the figures.
///
/// # Errors
/// If the corpus is missing, or a proposal is too low.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let data = args.corpus.folder(CORPUS_HELP)?;
    let weaver = build::find_weaver(sh, args.weaver.as_deref(), true)?;
    let low = score_agentdojo(data, &weaver)?.print("agentdojo");
    for folder in fs::read_dir(data.join("routing")).context(CORPUS_HELP)? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        let list = folder.path().join("tools.jsonl");
        if list.exists() {
            score_catalog(&list, &weaver)?.print(&name);
        }
    }
    if low > 0 {
        bail!("{low} proposals are too low");
    }
    Ok(())
}

/// How proposals compare with labels.
#[derive(Default)]
struct Score {
    right: usize,
    too_low: Vec<String>,
    too_high: Vec<String>,
}

impl Score {
    fn count(&mut self, id: &str, found: &str, label: &str) {
        let place = |word: &str| KINDS.iter().position(|kind| *kind == word);
        let message = format!("{id}: proposed {found}, labelled {label}");
        match place(found).cmp(&place(label)) {
            std::cmp::Ordering::Equal => self.right += 1,
            std::cmp::Ordering::Less => self.too_low.push(message),
            std::cmp::Ordering::Greater => self.too_high.push(message),
        }
    }

    /// Prints the figures, and returns how many proposals are too low.
    fn print(&self, what: &str) -> usize {
        let (low, high) = (self.too_low.len(), self.too_high.len());
        let all = self.right + low + high;
        println!("{what}: {} of {all} right, {low} too low, {high} too high", self.right);
        for message in self.too_low.iter().chain(&self.too_high) {
            println!("  {message}");
        }
        low
    }
}

fn score_agentdojo(data: &Path, weaver: &Path) -> Result<Score> {
    let read = |name: &str| -> Result<Value> {
        let path = data.join("agentdojo").join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    };
    let (tools, labels) = (read("tools.json").context(CORPUS_HELP)?, read("labels.json")?);
    let tools = tools["tools"].as_array().context("tools.json has no list `tools`")?;
    let mut score = Score::default();
    for (id, proposal) in propose(weaver, tools)? {
        let name = id.rsplit('.').next().unwrap_or(&id);
        let label = labels["effects"][name].as_str().unwrap_or("read");
        score.count(&id, proposed_kind(&proposal), label);
    }
    Ok(score)
}

/// Scores the tools of a catalog that have hints, which are their labels.
fn score_catalog(list: &Path, weaver: &Path) -> Result<Score> {
    let text = fs::read_to_string(list)?;
    let tools = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let mut labels = BTreeMap::new();
    let mut hinted = Vec::new();
    for tool in tools {
        let (Some(label), Some(name)) = (label_from_hints(&tool), tool["name"].as_str()) else {
            continue;
        };
        labels.insert(name.to_owned(), label);
        hinted.push(tool);
    }
    let mut score = Score::default();
    if hinted.is_empty() {
        return Ok(score);
    }
    for (id, proposal) in propose(weaver, &hinted)? {
        let found = proposed_kind(&proposal);
        // Hints do not distinguish sinks.
        let found = if matches!(found, "read" | "destructive") { found } else { "write" };
        if let Some(label) = labels.get(&id) {
            score.count(&id, found, label);
        }
    }
    Ok(score)
}

fn label_from_hints(tool: &Value) -> Option<&'static str> {
    let hint = |key: &str| tool["annotations"][key].as_bool();
    match (hint("readOnlyHint"), hint("destructiveHint")) {
        (None, None) => None,
        (_, Some(true)) => Some("destructive"),
        (Some(true), _) => Some("read"),
        (Some(false) | None, Some(false) | None) => Some("write"),
    }
}

fn proposed_kind(proposal: &Value) -> &'static str {
    match (proposal["effects"]["impact"].as_str(), proposal["sink"].as_str()) {
        (Some("read"), _) => "read",
        (Some("write"), Some("external_send")) => "external_send",
        (Some("write"), Some("payment")) => "payment",
        (Some("write"), Some("credential")) => "credential",
        (Some("write"), _) => "write",
        _ => "destructive",
    }
}

/// The proposals by tool id.
fn propose(weaver: &Path, tools: &[Value]) -> Result<BTreeMap<String, Value>> {
    let mut child = Command::new(weaver)
        .args(["contracts", "propose", "--tools", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", weaver.display()))?;
    let input = json!({ "tools": tools }).to_string();
    // The command reads all of its input before it writes.
    child.stdin.take().context("no input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("`weaver contracts propose` failed");
    }
    let lines = String::from_utf8(output.stdout)?;
    let each = lines.lines().map(|line| -> Result<_> {
        let value: Value = serde_json::from_str(line)?;
        Ok((value["capability"].as_str().unwrap_or_default().to_owned(), value))
    });
    each.collect()
}
