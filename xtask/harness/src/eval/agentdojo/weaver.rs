//! Runs `weaver replay` and `weaver contracts propose` as a user would, in one process per suite
//! and setting.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use xshell::Shell;

use super::corpus::Suite;
use super::scenario;
use crate::{build, workspace};

/// The `weaver` command, with a folder for its inputs.
pub struct Weaver {
    program: PathBuf,
    folder: PathBuf,
}

/// What `weaver contracts propose` proposes for a suite.
pub struct Proposal {
    /// A contracts document.
    pub contracts: String,
    /// Files with the terms of standing approvals.
    pub approvals: Vec<PathBuf>,
}

/// The conditions of a replay.
pub struct Setting<'a> {
    pub contracts: &'a str,
    pub approvals: Option<&'a [PathBuf]>,
    pub words: bool,
}

/// The decision on one step.
#[derive(Debug)]
pub struct Answer {
    pub tool: String,
    pub verdict: String,
    pub detail: String,
    pub sink: String,
    pub micros: u64,
}

/// The answers by scenario, each in the order of the steps.
pub struct Answers(BTreeMap<String, Vec<Answer>>);

impl Answers {
    /// The decisions on a scenario.
    pub fn of(&self, id: &str) -> Option<&[Answer]> {
        self.0.get(id).map(Vec::as_slice)
    }

    /// Fails if the verdicts differ. Reasons are not compared, because they name calls with random
    /// ids.
    pub fn check_same_verdicts(&self, other: &Self) -> Result<()> {
        let verdicts = |answers: &[Answer]| {
            let each = answers.iter().map(|one| (one.tool.clone(), one.verdict.clone()));
            each.collect::<Vec<_>>()
        };
        for (id, answers) in &self.0 {
            if other.of(id).map(verdicts) != Some(verdicts(answers)) {
                bail!("{id} is decided otherwise after a restart");
            }
        }
        Ok(())
    }
}

/// A tool under the name by which the replay calls it.
fn tool_with_suite(surface: &str, tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(members) = tool.as_object_mut() {
        members.insert("suite".to_owned(), surface.into());
    }
    tool
}

impl Weaver {
    /// The command that was named, or one that is built now.
    pub fn find(sh: &Shell, named: Option<PathBuf>) -> Result<Self> {
        let program = build::find_weaver(sh, named.as_deref(), true)?;
        let target = workspace::metadata()?.target_directory.into_std_path_buf();
        let folder = target.join("eval").join(format!("agentdojo-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self { program, folder })
    }

    /// The proposals for the tools of a suite.
    pub fn propose(&self, suite: &Suite) -> Result<Proposal> {
        let tools = self.folder.join(format!("{}-tools.json", suite.surface()));
        fs::write(&tools, json!({ "tools": suite.tools }).to_string())?;
        let terms = self.folder.join(format!("{}-proposed", suite.surface()));
        let mut command = Command::new(&self.program);
        command.args(["contracts", "propose"]).arg(&tools);
        command.args(["--surface", &suite.surface(), "--principal", "owner"]);
        command.arg("--approvals").arg(&terms);
        let contracts = self.run(command, "weaver contracts propose")?;
        let mut approvals: Vec<PathBuf> = match fs::read_dir(&terms) {
            Ok(files) => files.filter_map(|file| file.ok().map(|file| file.path())).collect(),
            Err(_) => Vec::new(),
        };
        approvals.sort();
        Ok(Proposal { contracts, approvals })
    }

    /// The rules that are suggested from these scenarios, under a policy that only observes.
    pub fn suggest(
        &self,
        policy: &str,
        suite: &Suite,
        setting: &Setting<'_>,
        which: &dyn Fn(&Value) -> bool,
    ) -> Result<String> {
        let history = self.folder.join("history.jsonl");
        let _ = fs::remove_file(&history);
        let mut command = self.replay_command(&self.policy(policy)?, suite, setting, which)?;
        command.arg("--history").arg(&history);
        self.run(command, "weaver replay")?;
        let mut suggest = Command::new(&self.program);
        suggest.args(["policy", "suggest", "--history"]).arg(&history);
        suggest.arg("--contracts").arg(self.folder.join("contracts.toml"));
        self.run(suggest, "weaver policy suggest")
    }

    /// The decisions of a policy on these scenarios.
    pub fn enforce(
        &self,
        policy: &str,
        suite: &Suite,
        setting: &Setting<'_>,
        which: &dyn Fn(&Value) -> bool,
    ) -> Result<Answers> {
        let command = self.replay_command(&self.policy(policy)?, suite, setting, which)?;
        self.answers(command)
    }

    fn policy(&self, text: &str) -> Result<PathBuf> {
        let file = self.folder.join("policy.toml");
        fs::write(&file, text)?;
        Ok(file)
    }

    /// Replays every task and pair of a suite.
    pub fn replay(
        &self,
        shipped: &Path,
        suite: &Suite,
        setting: &Setting<'_>,
        restarts: bool,
    ) -> Result<Answers> {
        let policy = shipped.join("policy.toml");
        let mut command = self.replay_command(&policy, suite, setting, &|_| true)?;
        if restarts {
            command.arg("--restarts");
        }
        self.answers(command)
    }

    /// The command that replays the scenarios that `which` selects.
    fn replay_command(
        &self,
        policy: &Path,
        suite: &Suite,
        setting: &Setting<'_>,
        which: &dyn Fn(&Value) -> bool,
    ) -> Result<Command> {
        let input = self.folder.join("scenarios.jsonl");
        let mut file = std::io::BufWriter::new(fs::File::create(&input)?);
        for scenario in scenario::scenarios(suite).filter(which) {
            writeln!(file, "{scenario}")?;
        }
        file.flush()?;
        let contracts = self.folder.join("contracts.toml");
        fs::write(&contracts, setting.contracts)?;
        let mut command = Command::new(&self.program);
        command.arg("replay").arg(&input).arg("--micros");
        let tools = self.folder.join(format!("{}-listed.json", suite.surface()));
        let listed = suite.tools.iter().map(|tool| tool_with_suite(&suite.surface(), tool));
        fs::write(&tools, json!({ "tools": listed.collect::<Vec<_>>() }).to_string())?;
        command.arg("--tools").arg(&tools);
        command.arg("--policy").arg(policy);
        command.arg("--contracts").arg(&contracts);
        if let Some(files) = setting.approvals.filter(|files| !files.is_empty()) {
            command.arg("--approvals").arg(self.copy_terms(files)?);
        }
        if !setting.words {
            command.arg("--no-user-words");
        }
        Ok(command)
    }

    fn answers(&self, command: Command) -> Result<Answers> {
        let answers = self.run(command, "weaver replay")?;
        let mut out: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
        for line in answers.lines() {
            let (id, answer) = parse_answer(line)?;
            out.entry(id).or_default().push(answer);
        }
        Ok(Answers(out))
    }

    /// A folder with only these files.
    fn copy_terms(&self, files: &[PathBuf]) -> Result<PathBuf> {
        let folder = self.folder.join("standing");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        for file in files {
            fs::copy(file, folder.join(file.file_name().context("a file without a name")?))?;
        }
        Ok(folder)
    }

    fn run(&self, mut command: Command, what: &str) -> Result<String> {
        let output = command.output();
        let output = output.with_context(|| format!("cannot start {}", self.program.display()))?;
        if !output.status.success() {
            bail!("`{what}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Drop for Weaver {
    fn drop(&mut self) {
        // If this fails, a folder is left in the build folder; the next run uses another name.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn parse_answer(line: &str) -> Result<(String, Answer)> {
    let value: Value = serde_json::from_str(line).context("an answer is not JSON")?;
    let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    if let Some(error) = value.get("error") {
        bail!("a scenario was refused: {error}");
    }
    let reasons = value["reasons"].as_array().cloned().unwrap_or_default();
    let reasons = reasons.iter().filter_map(|reason| reason["detail"].as_str());
    let detail = reasons.collect::<Vec<_>>().join("; ");
    let micros = value["micros"].as_u64().unwrap_or_default();
    let (tool, verdict, sink) = (word("tool"), word("verdict"), word("sink"));
    Ok((word("id"), Answer { tool, verdict, detail, sink, micros }))
}
