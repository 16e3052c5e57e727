//! The tasks as histories: what each half of them did, under a policy that only observes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::Shell;

use super::agent::Agent;
use super::session::{Session, Setting, ToolAccess};
use super::{TestBed, posture_trusts, tasks};
use crate::child;
use crate::counterparts::cache::Cache;
use crate::counterparts::trust::{Documents, Trust};

/// The documents, as a policy without a rule observes with them.
const DOCUMENTS: [&str; 2] = ["contracts.toml", "keys.toml"];

/// The logs of both halves, and the command that made them.
pub struct Histories {
    cache: Cache,
    weaver: PathBuf,
    contracts: PathBuf,
    logs: [PathBuf; 2],
}

impl Histories {
    /// Does the tasks, every other one in each half, each as a client of its own.
    pub fn record(sh: &Shell, weaver: Option<&Path>, policy: &str) -> Result<Self> {
        let bed = TestBed::set_up(sh, weaver)?;
        let trust = observing(&bed, policy).context("cannot set up the signed documents")?;
        let logs = [bed.half(&trust, 0)?, bed.half(&trust, 1)?];
        let TestBed { cache, weaver, .. } = bed;
        let contracts = trust.folder().join("contracts.toml");
        Ok(Self { cache, weaver, contracts, logs })
    }

    /// The rules that are suggested from one half.
    pub fn suggest(&self, half: usize) -> Result<String> {
        self.policy("suggest", half, &[])
    }

    /// What a draft makes of a half.
    pub fn replay(&self, half: usize, draft: &str) -> Result<Value> {
        let file = self.cache.run().join("draft.toml");
        fs::write(&file, draft)?;
        let said = self.policy("replay", half, &[Path::new("--json"), &file])?;
        serde_json::from_str(&said).context("`weaver policy replay` says no JSON")
    }

    fn policy(&self, verb: &str, half: usize, more: &[&Path]) -> Result<String> {
        let log = self.logs.get(half).context("there are two halves")?;
        let mut command = self.cache.command(&self.weaver);
        command.args(["policy", verb]).args(more);
        command.arg("--store").arg(log).arg("--contracts").arg(&self.contracts);
        child::run(&mut command, "", PATIENCE)?.succeeded("weaver policy")
    }
}

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// The contracts that `weaver init` makes, under this policy.
fn observing(bed: &TestBed, policy: &str) -> Result<Trust> {
    let made = posture_trusts(&bed.cache, &bed.weaver, "observe", &bed.place)?;
    let folder = bed.cache.run().join("observing-documents");
    fs::create_dir_all(&folder)?;
    for name in DOCUMENTS {
        fs::copy(made.plain.folder().join(name), folder.join(name))?;
    }
    fs::write(folder.join("policy.toml"), policy)?;
    Trust::new(&bed.cache, &bed.weaver, &Documents { folder: &folder, name: "observing" })
}

impl TestBed {
    /// Does every other task behind one gateway, and gives its log.
    fn half(&self, trust: &Trust, half: usize) -> Result<PathBuf> {
        let folder = self.cache.run().join(format!("half-{half}"));
        let setting = Setting {
            cache: &self.cache,
            weaver: &self.weaver,
            trust,
            place: &self.place,
            folder: &folder,
        };
        let mut session = Session::open(&setting, ToolAccess::Gateway)?;
        for task in tasks::all().iter().skip(half).step_by(2) {
            self.place.reset(&self.template)?;
            session.leave()?;
            session = Session::open(&setting, ToolAccess::Gateway)?;
            if let Err(error) = (task.script)(&mut Agent::new(&mut session, &self.place)) {
                eprintln!("{}: {error:#}", task.name);
            }
        }
        session.close()?;
        Ok(folder.join(".weaver/ledger.db"))
    }
}
