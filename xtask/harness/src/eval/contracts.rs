//! `cargo xtask eval contracts --data DIR`: how right proposed contracts are on foreign tools.
//!
//! Two rules give the labels. AgentDojo's tools have the effects of `labels.json`, where a tool
//! that it does not list reads. Tools of the routing catalogs count where they carry hints: the
//! label is what the hints say. A server may lie: what falls below its hint is listed, to be read.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use xshell::Shell;

use crate::{process, workspace};

const NEEDS: &str = "the corpus is no part of the repository; `--data DIR` names a folder with \
    agentdojo/tools.json and labels.json, and catalogs as routing/NAME/tools.jsonl";

/// What a tool can do, from harmless to dangerous.
const KINDS: [&str; 6] = ["read", "write", "external_send", "payment", "credential", "destructive"];

/// Options of `eval contracts`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of the corpora.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A built command to ask, instead of building one in the release profile.
    #[arg(long, value_name = "FILE")]
    weaver: Option<PathBuf>,
}

/// Proposes contracts for every labelled tool and prints the figures.
///
/// # Errors
/// Says what is needed when the corpus is not there; fails where a proposal is too low.
pub fn run(sh: &Shell, args: &Args) -> Result<()> {
    let Some(data) = args.data.as_ref().filter(|data| data.is_dir()) else { bail!("{NEEDS}") };
    let weaver = match &args.weaver {
        Some(weaver) => weaver.clone(),
        None => built(sh)?,
    };
    let low = agentdojo(data, &weaver)?.print("agentdojo");
    for folder in fs::read_dir(data.join("routing")).context(NEEDS)? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        let list = folder.path().join("tools.jsonl");
        if list.exists() {
            catalog(&list, &weaver)?.print(&name);
        }
    }
    if low > 0 {
        bail!("{low} proposals are too low");
    }
    Ok(())
}

fn built(sh: &Shell) -> Result<PathBuf> {
    let build = ["build", "--release", "--package", "weaver-cli", "--bin", "weaver"];
    process::run(process::cargo(sh).args(build))?;
    let target = workspace::metadata()?.target_directory.into_std_path_buf();
    Ok(target.join("release").join(format!("weaver{}", std::env::consts::EXE_SUFFIX)))
}

/// How proposals stand against labels.
#[derive(Default)]
struct Score {
    right: usize,
    too_low: Vec<String>,
    too_high: Vec<String>,
}

impl Score {
    fn count(&mut self, id: &str, found: &str, label: &str) {
        let place = |word: &str| KINDS.iter().position(|kind| *kind == word);
        let told = format!("{id}: proposed {found}, labelled {label}");
        match place(found).cmp(&place(label)) {
            std::cmp::Ordering::Equal => self.right += 1,
            std::cmp::Ordering::Less => self.too_low.push(told),
            std::cmp::Ordering::Greater => self.too_high.push(told),
        }
    }

    /// Prints the figures, and gives how many are too low.
    fn print(&self, what: &str) -> usize {
        let (low, high) = (self.too_low.len(), self.too_high.len());
        let all = self.right + low + high;
        println!("{what}: {} of {all} right, {low} too low, {high} too high", self.right);
        for told in self.too_low.iter().chain(&self.too_high) {
            println!("  {told}");
        }
        low
    }
}

fn agentdojo(data: &Path, weaver: &Path) -> Result<Score> {
    let read = |name: &str| -> Result<Value> {
        let path = data.join("agentdojo").join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    };
    let (tools, labels) = (read("tools.json").context(NEEDS)?, read("labels.json")?);
    let tools = tools["tools"].as_array().context("tools.json has no list `tools`")?;
    let mut score = Score::default();
    for (id, proposal) in proposals(weaver, tools)? {
        let name = id.rsplit('.').next().unwrap_or(&id);
        let label = labels["effects"][name].as_str().unwrap_or("read");
        score.count(&id, kind(&proposal), label);
    }
    Ok(score)
}

/// The tools of a catalog that carry hints, which are their labels.
fn catalog(list: &Path, weaver: &Path) -> Result<Score> {
    let text = fs::read_to_string(list)?;
    let tools = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let mut labels = BTreeMap::new();
    let mut hinted = Vec::new();
    for tool in tools {
        let (Some(label), Some(name)) = (by_hint(&tool), tool["name"].as_str()) else { continue };
        labels.insert(name.to_owned(), label);
        hinted.push(tool);
    }
    let mut score = Score::default();
    if hinted.is_empty() {
        return Ok(score);
    }
    for (id, proposal) in proposals(weaver, &hinted)? {
        let found = kind(&proposal);
        // A hint knows no sinks.
        let found = if matches!(found, "read" | "destructive") { found } else { "write" };
        if let Some(label) = labels.get(&id) {
            score.count(&id, found, label);
        }
    }
    Ok(score)
}

fn by_hint(tool: &Value) -> Option<&'static str> {
    let hint = |key: &str| tool["annotations"][key].as_bool();
    match (hint("readOnlyHint"), hint("destructiveHint")) {
        (None, None) => None,
        (_, Some(true)) => Some("destructive"),
        (Some(true), _) => Some("read"),
        (Some(false) | None, Some(false) | None) => Some("write"),
    }
}

fn kind(proposal: &Value) -> &'static str {
    match (proposal["effects"]["impact"].as_str(), proposal["sink"].as_str()) {
        (Some("read"), _) => "read",
        (Some("write"), Some("external_send")) => "external_send",
        (Some("write"), Some("payment")) => "payment",
        (Some("write"), Some("credential")) => "credential",
        (Some("write"), _) => "write",
        _ => "destructive",
    }
}

/// What the command proposes, by the id of the tool.
fn proposals(weaver: &Path, tools: &[Value]) -> Result<BTreeMap<String, Value>> {
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
