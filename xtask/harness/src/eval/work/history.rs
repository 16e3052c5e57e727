//! The tasks as recorded histories: what each half of them did under a policy in observe mode.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::Shell;

use super::agent::Agent;
use super::session::{Session, Setting, ToolAccess};
use super::{TestBed, posture_documents, tasks};
use crate::child;
use crate::counterparts::cache::Cache;
use crate::counterparts::trust::{Documents, Trust};

/// The documents that an observing policy without rules is used with.
const DOCUMENT_NAMES: [&str; 2] = ["contracts.toml", "keys.toml"];

/// The logs of both halves, and the command that wrote them.
pub struct Histories {
    cache: Cache,
    weaver: PathBuf,
    contracts: PathBuf,
    logs: [PathBuf; 2],
}

impl Histories {
    /// Runs the tasks, every other one in each half, each with its own client.
    pub fn record(sh: &Shell, weaver: Option<&Path>, policy: &str) -> Result<Self> {
        let test_bed = TestBed::set_up(sh, weaver)?;
        let trust =
            observing_trust(&test_bed, policy).context("cannot set up the signed documents")?;
        let logs = [test_bed.record_half(&trust, 0)?, test_bed.record_half(&trust, 1)?];
        let TestBed { cache, weaver, .. } = test_bed;
        let contracts = trust.folder().join("contracts.toml");
        Ok(Self { cache, weaver, contracts, logs })
    }

    /// The rules that are suggested from one half.
    pub fn suggest(&self, half: usize) -> Result<String> {
        self.run_policy_command("suggest", half, &[])
    }

    /// How a draft policy decides the calls of a half.
    pub fn replay(&self, half: usize, draft: &str) -> Result<Value> {
        let file = self.cache.run().join("draft.toml");
        fs::write(&file, draft)?;
        let said = self.run_policy_command("replay", half, &[Path::new("--json"), &file])?;
        serde_json::from_str(&said).context("`weaver policy replay` says no JSON")
    }

    fn run_policy_command(&self, verb: &str, half: usize, more: &[&Path]) -> Result<String> {
        let log = self.logs.get(half).context("there are two halves")?;
        let mut command = self.cache.command(&self.weaver);
        command.args(["policy", verb]).args(more);
        command.arg("--store").arg(log).arg("--contracts").arg(&self.contracts);
        child::run(&mut command, "", TIMEOUT)?.succeeded("weaver policy")
    }
}

const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// The contracts that `weaver init` writes, with this policy.
fn observing_trust(test_bed: &TestBed, policy: &str) -> Result<Trust> {
    let made =
        posture_documents(&test_bed.cache, &test_bed.weaver, "observe", &test_bed.environment)?;
    let folder = test_bed.cache.run().join("observing-documents");
    fs::create_dir_all(&folder)?;
    for name in DOCUMENT_NAMES {
        fs::copy(made.plain.folder().join(name), folder.join(name))?;
    }
    fs::write(folder.join("policy.toml"), policy)?;
    Trust::new(&test_bed.cache, &test_bed.weaver, &Documents { folder: &folder, name: "observing" })
}

impl TestBed {
    /// Runs every other task with one gateway, and returns its log.
    fn record_half(&self, trust: &Trust, half: usize) -> Result<PathBuf> {
        let folder = self.cache.run().join(format!("half-{half}"));
        let setting = Setting {
            cache: &self.cache,
            weaver: &self.weaver,
            trust,
            environment: &self.environment,
            folder: &folder,
        };
        let mut session = Session::open(&setting, ToolAccess::Gateway)?;
        for task in tasks::all_tasks().iter().skip(half).step_by(2) {
            self.environment.reset(&self.template)?;
            session.close_connections()?;
            session = Session::open(&setting, ToolAccess::Gateway)?;
            if let Err(error) = (task.script)(&mut Agent::new(&mut session, &self.environment)) {
                eprintln!("{}: {error:#}", task.name);
            }
        }
        session.close()?;
        Ok(folder.join(".weaver/ledger.db"))
    }
}
