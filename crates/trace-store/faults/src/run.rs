//! Runs a program under the shim.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::trace::{self, Step};
use crate::workload::Acknowledgement;

/// A program to run under the shim, in a folder of its own.
#[derive(Debug)]
pub struct Run<'a> {
    /// The program.
    pub program: &'a Path,
    /// The shared object of the shim.
    pub shim: &'a Path,
    /// The folder; only calls on files in it are recorded and made to fail.
    pub folder: &'a Path,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Which call fails and how, as `kind:nth:action`; `nth` may be `5+` or
    /// `5-9`.
    pub fault: Option<&'a str>,
    /// Whether syncs report success without being done.
    pub drop_syncs: bool,
}

/// How a program ended, and what it did.
#[derive(Debug)]
pub struct RunOutcome {
    /// Whether it ended by itself, with success.
    pub success: bool,
    /// Every complete line on its standard output.
    pub lines: Vec<String>,
    /// Its standard error.
    pub stderr: String,
    /// The trace.
    pub steps: Vec<Step>,
}

impl RunOutcome {
    /// The acknowledgements that it printed.
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
    /// Runs the program to its end. The trace is written next to the folder, as `<folder>.trace`.
    ///
    /// # Errors
    /// When it cannot be started, or left no trace.
    pub fn run(&self) -> Result<RunOutcome, String> {
        let folder = self.folder.canonicalize().map_err(|error| error.to_string())?;
        let trace = trace_path(&folder);
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
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let complete_lines =
            stdout.rfind('\n').and_then(|end| stdout.get(..end)).unwrap_or_default();
        Ok(RunOutcome {
            success: output.status.success(),
            lines: complete_lines.lines().map(str::to_owned).collect(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            steps: trace::read(&trace)?,
        })
    }
}

/// The path of the trace of a folder.
#[must_use]
pub fn trace_path(folder: &Path) -> PathBuf {
    folder.with_extension("trace")
}
