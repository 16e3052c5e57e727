//! Running a program under the shim.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::story::Acknowledgement;
use crate::trace::{self, Step};

/// A program to run under the shim, in a folder of its own.
#[derive(Debug)]
pub struct Run<'a> {
    /// The program.
    pub program: &'a Path,
    /// The shared object of the shim.
    pub shim: &'a Path,
    /// The folder; only what lies in it is recorded and failed.
    pub folder: &'a Path,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Which call fails and how, as `kind:nth:action`; `nth` may be `5+` or
    /// `5-9`.
    pub fault: Option<&'a str>,
    /// Whether syncs are answered and not done.
    pub drop_syncs: bool,
}

/// What became of it.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it ended by itself, with success.
    pub success: bool,
    /// Every whole line that it said.
    pub lines: Vec<String>,
    /// What it said on the standard error.
    pub complaint: String,
    /// The trace.
    pub steps: Vec<Step>,
}

impl Outcome {
    /// What was acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> Vec<Acknowledgement> {
        self.lines.iter().filter_map(|line| Acknowledgement::parse(line)).collect()
    }

    /// The number of calls that the shim could have failed.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.steps.iter().filter(|step| step.is_call()).count()
    }
}

impl Run<'_> {
    /// Runs it to its end. The trace lies beside the folder, as `<folder>.trace`.
    ///
    /// # Errors
    /// When it cannot be started, or left no trace.
    pub fn end(&self) -> Result<Outcome, String> {
        let folder = self.folder.canonicalize().map_err(|error| error.to_string())?;
        let trace = beside(&folder);
        let _ = std::fs::remove_file(&trace);
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .env("LD_PRELOAD", self.shim)
            .env("WEAVER_FAULTS_ROOT", &folder)
            .env("WEAVER_FAULTS_TRACE", &trace)
            .stdin(Stdio::null());
        if let Some(fault) = self.fault {
            command.env("WEAVER_FAULTS_FAIL", fault);
        }
        if self.drop_syncs {
            command.env("WEAVER_FAULTS_DROP_SYNCS", "1");
        }
        let output = command.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let whole = said.rfind('\n').and_then(|end| said.get(..end)).unwrap_or_default();
        Ok(Outcome {
            success: output.status.success(),
            lines: whole.lines().map(str::to_owned).collect(),
            complaint: String::from_utf8_lossy(&output.stderr).into_owned(),
            steps: trace::read(&trace)?,
        })
    }
}

/// Where the trace of a folder lies.
#[must_use]
pub fn beside(folder: &Path) -> PathBuf {
    folder.with_extension("trace")
}
